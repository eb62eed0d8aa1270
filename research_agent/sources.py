"""Where a run searches and reads: opened for one run, closed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from research_agent.errors import UsageError
from research_agent.progress import Progress, Watcher
from research_agent.search.base import SearchProvider
from research_agent.search.corpus import Corpus
from research_agent.settings import Settings
from research_agent.tools.fetch_url import PageReader, make_fetch_url
from research_agent.tools.search_web import make_search_web

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@dataclass(frozen=True, slots=True)
class Sources:
    """What can be searched, and what can be read."""

    search: SearchProvider
    reader: PageReader

    def tools(self) -> list[BaseTool]:
        """The tools over them."""
        return [make_search_web(self.search), make_fetch_url(self.reader)]


@asynccontextmanager
async def open_sources(settings: Settings, watch: Watcher = lambda progress: None) -> AsyncIterator[Sources]:
    """The sources that `settings` name.

    Raises:
        UsageError: there is nothing to search, or it cannot be used.
    """
    if settings.corpus is None:
        raise UsageError("there is nothing to search: give a folder of documents with --corpus DIR")
    watch(Progress("waiting", f"the index of {settings.corpus}"))
    corpus = await Corpus.open(settings.corpus, settings.cache_dir)
    try:
        watch(Progress("note", f"{corpus.documents} documents in {settings.corpus}"))
        for skipped in corpus.skipped:
            watch(Progress("problem", f"skipped {skipped.path}: {skipped.reason}"))
        yield Sources(corpus, corpus)
    finally:
        await corpus.close()
