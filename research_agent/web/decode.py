"""Decompression that can't be made to use more memory than the caller allows.

httpx inflates each chunk whole, so 300 KB of gzip become 300 MB before anyone can count them. Here every
layer gives at most 64 KB at a time and is only asked while there is room.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from research_agent.web.errors import Unreachable

_STEP = 64 * 1024  # bytes a layer gives at once
_MAX_LAYERS = 2
_MAX_MEMBERS = 1000  # gzip files glued together into one body
_BROKEN = "its compressed data is broken: try another source"


class BodyDecoder:
    """Bytes from the wire in, at most `limit` bytes of content out.

    `full` says that the limit is reached: reading on is of no use. `limit` may be raised before that.
    Raises `Unreachable` for broken data and for compressions that were not asked for.
    """

    def __init__(self, content_encoding: str, limit: int) -> None:
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        unknown = [name for name in names if name not in ("gzip", "x-gzip", "deflate")]
        if unknown or len(names) > _MAX_LAYERS:
            what = ascii(unknown[0][:20]) if unknown else f"{len(names)} layers"
            raise Unreachable(f"its server sends a compression that was not asked for ({what}): try another source")
        # The inner layers of the body are the outer ones of the list.
        self._layers = [_Inflate(raw_deflate=name == "deflate") for name in reversed(names)]
        self._passed = [0] * len(names)
        self.limit = limit
        self.content = bytearray()
        self.full = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes from the wire."""
        for piece in self._through(data, 0):
            self.content += piece
            if len(self.content) > self.limit:
                self.full = True
                del self.content[self.limit :]
                return

    def finish(self) -> None:
        """Say that the body has ended. A compressed body that was cut off keeps what came."""
        if any(layer.broken_off for layer in self._layers):
            self.full = True

    def _through(self, data: bytes, depth: int) -> Iterator[bytes]:
        if depth == len(self._layers):
            yield data
            return
        for piece in self._layers[depth].pieces(data):
            self._passed[depth] += len(piece)
            if self._passed[depth] > self.limit + _STEP:  # a layer of a bomb: much data that comes to little
                self.full = True
                return
            yield from self._through(piece, depth + 1)


class _Inflate:
    def __init__(self, *, raw_deflate: bool) -> None:
        self._raw_deflate = raw_deflate
        self._members = 0
        self._inflater = self._new(zlib.MAX_WBITS if raw_deflate else zlib.MAX_WBITS | 16)

    @property
    def broken_off(self) -> bool:
        return not self._inflater.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater.eof:
                if self._raw_deflate or self._members >= _MAX_MEMBERS or not data.startswith(b"\x1f\x8b"):
                    return  # padding after the end
                self._inflater = self._new(zlib.MAX_WBITS | 16)
            yield self._step(data)
            while self._inflater.unconsumed_tail:
                yield self._step(self._inflater.unconsumed_tail)
            data = self._inflater.unused_data

    def _step(self, data: bytes) -> bytes:
        try:
            return self._inflater.decompress(data, _STEP)
        except zlib.error:
            if not self._raw_deflate or self._members > 1:
                raise Unreachable(_BROKEN) from None
        # "deflate" should mean zlib's format, but some servers send the bare one.
        self._inflater = self._new(-zlib.MAX_WBITS)
        try:
            return self._inflater.decompress(data, _STEP)
        except zlib.error:
            raise Unreachable(_BROKEN) from None

    def _new(self, wbits: int) -> zlib._Decompress:
        self._members += 1
        return zlib.decompressobj(wbits)
