"""What every search provider gives, and the protocol it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One lead: a place worth reading. A hit is no evidence until its page was read."""

    url: str
    title: str
    snippet: str
    published: str = ""  # ISO date where the provider knows one
    source: str = ""  # name of the provider


class SearchProvider(Protocol):
    """A place that can be searched. Raises `SourceError` with a hint when it can't answer."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """At most `limit` hits, best first; an empty list when nothing matches."""
        ...
