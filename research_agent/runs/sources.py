"""Where a run searches and reads: opened for one run, closed after it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.runs.events import Progress, Watcher
from research_agent.search.base import SearchProvider
from research_agent.search.corpus.provider import Corpus
from research_agent.settings import Settings
from research_agent.tools.fetch_url import PageReader, make_fetch_url
from research_agent.tools.plan import make_plan
from research_agent.tools.search_web import make_search_web
from research_agent.urls import canonical_url

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from research_agent.storage.pages import PageStore
    from research_agent.web.fetch import WebReader


@dataclass(frozen=True, slots=True)
class Sources:
    """What can be searched, and what can be read; `since` and `until` are days as ``YYYY-MM-DD`` or ""."""

    search: SearchProvider
    reader: PageReader
    since: str = ""
    until: str = ""

    def tools(self) -> list[BaseTool]:
        """The tools over them."""
        return [make_plan(), make_search_web(self.search, self.since, self.until), make_fetch_url(self.reader)]


class Reader:
    """Documents from the corpus, pages from the web or from what was fetched before."""

    def __init__(self, corpus: Corpus | None, web: WebReader, store: PageStore | None) -> None:
        self._corpus, self._web, self._store = corpus, web, store
        self._read: dict[str, Page] = {}  # in this run, whatever its age

    async def read(self, url: str) -> Page:
        """The page at `url`. Raises `SourceError` with a hint when it can't be read."""
        if url.lower().startswith("file:"):
            if self._corpus is None:
                raise SourceError("Files can only be read from a corpus. Try a page of the web.")
            return await self._corpus.read(url)
        key = canonical_url(url)
        page = self._read.get(key) or (await self._store.find(url) if self._store else None)
        self._read[key] = page = page or await self._web.read(url)
        return page


@asynccontextmanager
async def open_sources(
    settings: Settings, watch: Watcher = lambda progress: None, store: PageStore | None = None
) -> AsyncIterator[Sources]:
    """The sources that `settings` name: the corpus alone if there is one and nothing else is asked for, else the web.

    Raises:
        UsageError: a source is unknown or cannot be used.
    """
    from research_agent.search.load import load_search
    from research_agent.web.client import GuardedClient
    from research_agent.web.fetch import WebReader
    from research_agent.web.pool import ExtractionPool

    corpus = await _open_corpus(settings, watch)
    names = settings.search_names or (["corpus"] if corpus else [])
    try:
        client = GuardedClient(
            allow_hosts=settings.allowed_hosts, contact=settings.contact, respect_robots=settings.respect_robots
        )
        web = WebReader(client, ExtractionPool())
        try:
            search = load_search(
                names,
                client,
                environment=os.environ,
                corpus=corpus,
                report=lambda text: watch(Progress("problem", text)),
            )
            yield Sources(search, Reader(corpus, web, store), settings.since, settings.until)
        finally:
            await web.close()
    finally:
        if corpus:
            await corpus.close()


async def _open_corpus(settings: Settings, watch: Watcher) -> Corpus | None:
    if settings.corpus is None:
        return None
    watch(Progress("waiting", f"the index of {settings.corpus}"))
    corpus = await Corpus.open(settings.corpus, settings.cache_dir)
    watch(Progress("note", f"{corpus.documents} documents in {settings.corpus}"))
    for skipped in corpus.skipped:
        watch(Progress("problem", f"skipped {skipped.path}: {skipped.reason}"))
    return corpus
