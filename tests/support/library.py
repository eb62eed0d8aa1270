"""A searchable set of pages in memory, for graphs without a corpus on disk."""

from __future__ import annotations

from research_agent.documents import Page, SearchHit
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
