"""An answer of a server: what is read of it, and which error its status stands for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

from research_agent.errors import SourceError
from research_agent.web.decode import BodyDecoder
from research_agent.web.errors import HttpStatus, RateLimited, Unreachable, WrongType
from research_agent.web.extract.media import PDF_TYPES, VAGUE_TYPES, essence_of, is_pdf, is_readable
from research_agent.web.transport import raw_bytes

_MAX_RETRY_AFTER = 10.0  # seconds; longer waits are for the caller to decide on


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. `body` is decompressed and cut at the caller's limit, which `truncated` says."""

    status: int
    url: str  # where it came from after redirects, byte for byte
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    media_type: str  # the Content-Type header, parameters included; "" when there is none
    truncated: bool


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Most bytes of one body, after decompression."""

    page: int = 3_000_000
    pdf: int = 20_000_000


async def read_page(response: httpx.Response, url: str, limits: SizeLimits) -> Response:
    """The body of a page. Raises `WrongType` as early as it can be known that there is no text in it."""
    essence = essence_of(response.headers.get("content-type", ""))
    if not is_readable(essence):
        raise _wrong_type(essence)
    decoder = BodyDecoder(response.headers.get("content-encoding", ""), limits.page)
    size = response.headers.get("content-length", "")
    pdf = essence in PDF_TYPES
    if pdf and size.isdigit() and len(size) < 20 and int(size) > limits.pdf:
        raise WrongType(f"it is a PDF of {int(size) // 1_000_000} MB, too long to read: use another source")
    seen_start = False
    wire = 0
    async for chunk in raw_bytes(response, response.request.url.host):
        wire += len(chunk)
        decoder.feed(chunk)
        if not seen_start and len(decoder.content) >= 1024:
            seen_start = True
            pdf = _check_start(bytes(decoder.content[:1024]), essence)
            decoder.limit = limits.pdf if pdf else limits.page
        if decoder.full or wire > decoder.limit:
            break
    else:
        decoder.finish()
        pdf = _check_start(bytes(decoder.content[:1024]), essence)
    truncated = decoder.full or wire > decoder.limit
    if pdf and truncated:
        raise WrongType(f"it is a PDF of over {limits.pdf // 1_000_000} MB, too long to read: use another source")
    return _response(response, url, bytes(decoder.content), truncated=truncated)


async def read_any(response: httpx.Response, url: str, limit: int) -> Response:
    """The first `limit` bytes of the body, whatever it is."""
    decoder = BodyDecoder(response.headers.get("content-encoding", ""), limit)
    wire = 0
    async for chunk in raw_bytes(response, response.request.url.host):
        wire += len(chunk)
        decoder.feed(chunk)
        if decoder.full or wire > limit:
            break
    else:
        decoder.finish()
    return _response(response, url, bytes(decoder.content), truncated=decoder.full or wire > limit)


def status_error(host: str, response: httpx.Response) -> HttpStatus:
    """The error that this status stands for, in words for the model."""
    status, wait = response.status_code, retry_after(response.headers)
    if status == 429:
        when = f"for {wait:.0f} s" if wait is not None else "for a while"
        return RateLimited(f"{host} takes no more requests {when} (429): use another host", wait)
    if status in (401, 407):
        text = f"{host} wants a login for this page ({status}): use another source"
    elif status in (402, 403, 451):
        text = f"{host} does not let programs read this page ({status}): use another source"
    elif status in (404, 410):
        text = f"{host} has no such page ({status}): check the address, or use another source"
    elif status >= 500:
        text = f"{host} is in trouble ({status}): use another source"
    else:
        text = f"{host} answered with status {status}: use another source"
    return HttpStatus(text, status, wait)


def retry_wait(error: SourceError) -> float | None:
    """Seconds after which the same GET may work; ``None`` when trying again makes no sense."""
    if isinstance(error, Unreachable):
        return 0.2 if error.passing else None
    if not isinstance(error, HttpStatus) or error.status not in (429, 502, 503, 504):
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= _MAX_RETRY_AFTER else None
    return None if error.status == 429 else 0.5


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, from either form of ``Retry-After``."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - time.time())


def _response(response: httpx.Response, url: str, body: bytes, *, truncated: bool) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    media_type = headers.get("content-type", "").partition(",")[0]  # some servers send it twice
    return Response(response.status_code, url, headers, body, media_type, truncated)


def _check_start(start: bytes, essence: str) -> bool:
    """Whether it is a PDF, by its first bytes. Raises `WrongType` for binary content without a type."""
    if is_pdf(start):
        return True
    unicode_text = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if essence in VAGUE_TYPES and not unicode_text and sum(byte < 9 for byte in start) > len(start) // 50:
        raise _wrong_type("a binary file")
    return False


def _wrong_type(what: str) -> WrongType:
    return WrongType(f"it is {ascii(what)[1:60].rstrip(chr(39))}, which has no readable text: use another source")
