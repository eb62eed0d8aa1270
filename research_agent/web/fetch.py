"""An address in, a `Page` out: fetched by the guarded client, read in a process that can be killed."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from html import unescape
from typing import Protocol

from research_agent.documents import Page
from research_agent.web.addresses import next_hop
from research_agent.web.client import GuardedClient, Response
from research_agent.web.errors import TooManyRedirects

MAX_REFRESHES = 2
_STUB_BYTES = 20_000  # a page that only sends the reader on is shorter
_REFRESH = re.compile(
    rb"<meta\b[^<>]{0,100}http-equiv\s*=\s*[\"']?refresh\b[^<>]{0,100}content\s*=\s*[\"']?\s*([0-5])(?:\.0*)?\s*[;,]"
    rb"\s*url\s*=\s*[\"']?([^\"'<>\s]{1,2000})",
    re.IGNORECASE,
)


class Extractor(Protocol):
    """What turns bytes into a page: an `ExtractionWorker` or a pool of them."""

    async def extract(self, data: bytes, *, url: str, media_type: str) -> Page: ...

    async def close(self) -> None: ...


class WebReader:
    """Reads pages of the web. Owns neither event loop nor cache: the caller keeps what was read.

    `close` closes the client and the extractor as well.
    """

    def __init__(self, client: GuardedClient, worker: Extractor) -> None:
        self._client = client
        self._worker = worker

    async def read(self, url: str) -> Page:
        """The page at `url`.

        Raises `SourceError` with what to try instead: no answer, an error for an answer, no text, or a page that is
        not the one asked for (block page, cookie wall, login, script-only shell, soft 404).
        """
        response = await self._client.get_page(url)
        for _ in range(MAX_REFRESHES):
            if not (following := _refresh(response)):
                break
            response = await self._client.get_page(following)
        if _refresh(response):
            raise TooManyRedirects("the page sends its reader round in circles: use another source")
        page = await self._worker.extract(response.body, url=response.url, media_type=response.media_type)
        return dataclasses.replace(
            page,
            requested_url=url if url != response.url else "",
            fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
            truncated=page.truncated or response.truncated,
        )

    async def close(self) -> None:
        """Close the connections and end the reading processes."""
        await self._client.aclose()
        await self._worker.close()


def _refresh(response: Response) -> str:
    """Where a page without content sends its reader on to; "" for a page that stays."""
    if len(response.body) > _STUB_BYTES or "html" not in response.media_type:
        return ""
    found = _REFRESH.search(response.body)
    return next_hop(response.url, unescape(found[2].decode("utf-8", "replace"))) if found else ""
