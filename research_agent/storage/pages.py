"""Pages that were fetched before: reused while they are young enough."""

from __future__ import annotations

from research_agent.documents import Page
from research_agent.storage.database import Pool, fetch
from research_agent.urls import canonical_url


class PageStore:
    """The pages of all runs. The journal writes them with the tool call that read them."""

    def __init__(self, pool: Pool, max_age: float) -> None:
        """`max_age` in seconds; 0 reuses nothing."""
        self._pool = pool
        self._max_age = max_age

    async def find(self, url: str) -> Page | None:
        """The page that `url` gave last, if that was not too long ago."""
        if self._max_age <= 0:
            return None
        rows = await fetch(self._pool, "find_page", url_key=canonical_url(url), max_age=self._max_age)
        return Page(**rows[0]) if rows else None
