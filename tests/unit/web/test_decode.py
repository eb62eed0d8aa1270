"""Decompression in small steps, with a limit that holds."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.web.decode import BodyDecoder
from research_agent.web.errors import Unreachable

PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes, "": bytes}


def unpack(encoding: str, data: bytes, *, limit: int = 10**6, step: int = 100) -> BodyDecoder:
    decoder = BodyDecoder(encoding, limit)
    for i in range(0, len(data), step):
        decoder.feed(data[i : i + step])
    decoder.finish()
    return decoder


@given(st.binary(max_size=3000), st.sampled_from(sorted(PACKERS)), st.integers(1, 700))
def test_what_was_packed_comes_out_whole(data: bytes, encoding: str, step: int) -> None:
    decoder = unpack(encoding, PACKERS[encoding](data), step=step)
    assert (bytes(decoder.content), decoder.full) == (data, False)


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_the_limit_holds_whatever_comes(data: bytes, limit: int) -> None:
    decoder = unpack("gzip", gzip.compress(data), limit=limit)
    assert bytes(decoder.content) == data[:limit]
    assert decoder.full is (len(data) > limit)


def test_layers_are_taken_off_in_reverse() -> None:
    data = b"text " * 100
    assert unpack("deflate, gzip", gzip.compress(zlib.compress(data))).content == data
    for encoding in ("gzip, gzip, gzip", "br", "zstd", "compress", "gzip, br", "rot13\r\n"):
        with pytest.raises(Unreachable, match="not asked for"):
            BodyDecoder(encoding, 10)


def test_a_layer_that_comes_to_nothing_is_bounded() -> None:
    nothing = gzip.compress(gzip.compress(b"") * 500_000)
    decoder = unpack("gzip, gzip", nothing, limit=100_000, step=65536)
    assert (len(decoder.content), decoder.full) == (0, True)


def test_files_glued_together_are_bounded() -> None:
    decoder = unpack("gzip", gzip.compress(b"x") * 5000, step=65536)
    assert len(decoder.content) == 1000


def test_a_body_that_was_cut_off_keeps_what_came() -> None:
    text = random.Random(1).randbytes(5000)
    decoder = unpack("gzip", gzip.compress(text)[:3000])
    assert text.startswith(bytes(decoder.content))
    assert len(decoder.content) > 1000
    assert decoder.full


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_broken_data_is_an_error(encoding: str) -> None:
    with pytest.raises(Unreachable, match="broken"):
        unpack(encoding, b"this is not compressed at all")
    good = PACKERS[encoding](random.Random(1).randbytes(5000))
    with pytest.raises(Unreachable, match="broken"):
        unpack(encoding, good[:1000] + b"\xff" * 500 + good[1500:])
