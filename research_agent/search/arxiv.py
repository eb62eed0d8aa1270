"""arXiv: preprints of physics, mathematics, computer science and neighbours. Needs no key.

https://info.arxiv.org/help/api/user-manual.html; https://info.arxiv.org/help/api/tou.html: one request in 3 s.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, iso_date, make_hit, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import SearchError, Setup
from research_agent.search.dates import span
from research_agent.text import content_words

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://export.arxiv.org"
SPACING = 3.0  # seconds between two requests, by the terms of use
_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_MAX_WORDS = 10


class Arxiv:
    """Searches preprints. A hit leads to the page with the abstract."""

    name = "arxiv"

    def __init__(self, client: GuardedClient, base: str = BASE, spacing: float = SPACING) -> None:
        self._api = Api(name="arXiv", client=client, base=base, deadline=20.0)
        self._spacing = spacing
        self._turn = asyncio.Lock()
        self._next = 0.0

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the day of submission. All words, or else any of them."""
        # Only letters and digits reach arXiv's query language, and AND, OR and ANDNOT are no search words.
        words = [word for word in re.findall(r"\w+", short_query(query)) if content_words(word)][:_MAX_WORDS]
        days = ""
        if since or until:
            first, last = (day.replace("-", "") for day in span(since, until))
            days = f" AND submittedDate:[{first}0000 TO {last}2359]"
        for joined in dict.fromkeys(f" {how} ".join(f"all:{word}" for word in words) for how in ("AND", "OR")):
            if joined and (hits := await self._ask(f"({joined}){days}", limit)):
                return choose(hits, limit, since=since, until=until)
        return []

    async def _ask(self, search_query: str, limit: int) -> list[SearchHit | None]:
        params = {
            "search_query": search_query,
            "start": "0",
            "max_results": str(min(limit, 50)),
            "sortBy": "relevance",
            "sortOrder": "descending",
        }
        async with self._turn:
            await asyncio.sleep(max(0.0, self._next - time.monotonic()))
            try:
                body = await self._api.call("GET", "/api/query", params=params)
            finally:
                self._next = time.monotonic() + self._spacing
        feed = self._parse(body)
        entries = feed.findall(f"{_ATOM}entry")
        if any("api/errors" in _line(entry, "id") for entry in entries):
            raise SearchError("arXiv does not accept this query; use fewer and plainer words", "rejected")
        if not entries and (feed.findtext(_TOTAL) or "0").strip() not in ("", "0"):
            raise SearchError("arXiv gave an empty answer though it found something; try again")
        return [self._hit(entry) for entry in entries]

    def _parse(self, body: bytes) -> ElementTree.Element:
        written = body.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
        # Entities are where XML becomes dangerous, and they need a DOCTYPE, which a feed has not.
        if "<!DOCTYPE" in written or "<!ENTITY" in written:
            raise self._api.unreadable()
        try:
            feed = ElementTree.fromstring(written)  # noqa: S314
        except (ElementTree.ParseError, ValueError):
            raise self._api.unreadable() from None
        if feed.tag != f"{_ATOM}feed":
            raise self._api.unreadable()
        return feed

    def _hit(self, entry: ElementTree.Element) -> SearchHit | None:
        links = [link.get("href") for link in entry.findall(f"{_ATOM}link") if link.get("rel") == "alternate"]
        names = [_line(author, "name") for author in entry.findall(f"{_ATOM}author")[:3]]
        snippet = ". ".join(filter(None, (", ".join(filter(None, names)), _line(entry, "summary"))))
        url = links[0] if links else _line(entry, "id")
        return make_hit(self.name, url, _line(entry, "title"), snippet, iso_date(_line(entry, "published")))


def _line(element: ElementTree.Element, name: str) -> str:
    return text(element.findtext(f"{_ATOM}{name}"))


def make(setup: Setup) -> Arxiv:
    """arXiv; there is nothing to configure."""
    return Arxiv(setup.client)
