"""Several providers as one: all at once with their rankings fused, or one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from research_agent.documents import SearchHit
from research_agent.errors import SourceError
from research_agent.search.base import SearchError, SearchProvider
from research_agent.urls import canonical_url

# Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet, SIGIR 2009. Their constant.
_K = 60

Report = Callable[[str], None]


def ignore_problem(problem: str) -> None:
    """What is done with problems when nobody asks."""


class Merged:
    """All of `providers` at once, their rankings fused; a page that several found is one hit.

    Args:
        report: told each problem of a provider, also when the others found something.
    """

    def __init__(self, providers: Sequence[SearchProvider], report: Report = ignore_problem) -> None:
        self._providers = tuple(providers)
        self._report = report
        self.name = ",".join(provider.name for provider in self._providers)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; `SearchError` only when nothing was found and a provider failed."""
        errors: list[SourceError] = []

        async def ask(provider: SearchProvider) -> list[SearchHit]:
            try:
                return await provider.search(query, limit, since=since, until=until)
            except SourceError as error:
                errors.append(error)
                self._report(str(error))
                return []

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(provider)) for provider in self._providers]
        hits = fuse([task.result() for task in tasks], limit)
        if not hits and errors:
            raise _together(errors)
        return hits


class Chain:
    """`providers` in turn, until one finds something.

    Args:
        report: told each problem of a provider, also when a later one found something.
    """

    def __init__(self, providers: Sequence[SearchProvider], report: Report = ignore_problem) -> None:
        self._providers = tuple(providers)
        self._report = report
        self.name = ">".join(provider.name for provider in self._providers)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; `SearchError` only when nothing was found and a provider failed."""
        errors: list[SourceError] = []
        for provider in self._providers:
            try:
                if hits := await provider.search(query, limit, since=since, until=until):
                    return hits
            except SourceError as error:
                errors.append(error)
                self._report(str(error))
        if errors:
            raise _together(errors)
        return []


@dataclass(slots=True)
class _Entry:
    """One page in the making, from the hits that lead to it."""

    best: SearchHit
    rank: int
    score: float = 0.0
    snippet: str = ""
    published: str = ""
    sources: list[str] = field(default_factory=list)


def fuse(rankings: Sequence[Sequence[SearchHit]], limit: int) -> list[SearchHit]:
    """The first `limit` of all hits by reciprocal rank fusion, one a canonical URL.

    The address is, byte for byte, that of the best ranked hit; equals keep the order of `rankings`.
    """
    entries: dict[str, _Entry] = {}
    for ranking in rankings:
        counted: set[str] = set()
        for rank, hit in enumerate(ranking, start=1):
            key = canonical_url(hit.url)
            if key in counted:  # one provider has one vote
                continue
            counted.add(key)
            entry = entries.setdefault(key, _Entry(hit, rank))
            if rank < entry.rank:
                entry.best, entry.rank = hit, rank
            entry.score += 1 / (_K + rank)
            entry.snippet = max(entry.snippet, hit.snippet, key=len)
            entry.published = entry.published or hit.published
            entry.sources += [name for name in hit.source.split("+") if name and name not in entry.sources]
    ordered = sorted(entries.values(), key=lambda entry: (-entry.score, entry.rank))  # stable, so deterministic
    return [
        replace(
            entry.best,
            snippet=entry.best.snippet or entry.snippet,
            published=entry.best.published or entry.published,
            source="+".join(entry.sources),
        )
        for entry in ordered[:limit]
    ]


def _together(errors: Sequence[SourceError]) -> SourceError:
    """All that went wrong as one error, each problem once."""
    if len(errors) == 1:
        return errors[0]
    return SearchError("; ".join(dict.fromkeys(str(error) for error in errors)))
