"""A searchable set of pages in memory, for graphs without a corpus on disk."""

from __future__ import annotations

from typing import Any, cast

from research_agent.documents import Citation, Page, Passage, SearchHit
from research_agent.errors import SourceError


class Library:
    """Search provider and page reader over `pages` (url → text). Each search finds all of them."""

    name = "library"

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.read_urls: list[str] = []

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        return [SearchHit(url, f"Title of {url}", text[:80]) for url, text in self.pages.items()][:limit]

    async def read(self, url: str) -> Page:
        self.read_urls.append(url)
        if url not in self.pages:
            raise SourceError("There is no such page. Try another source.")
        return Page(url, f"Title of {url}", self.pages[url])


def a_citation(*texts: str, title: str = "A page", **more: Any) -> Citation:
    """A source of which these passages were shown, one after the other in its text."""
    passages, start = [], 0
    for text in texts:
        passages.append(Passage(start=start, end=start + len(text), text=text))
        start += len(text) + 2
    known = Citation(
        url="https://a.example/", also_at=[], title=title, kind="page", content_hash=title, author="", site="",
        published="", language="", passages=passages,
    )  # fmt: skip
    return cast(Citation, {**known, **more})
