"""The graph for ``langgraph dev`` and LangGraph Studio, which bring their own server and checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from research_agent.errors import UsageError
from research_agent.graph import ResearchGraph, build_graph
from research_agent.models.load import load_model
from research_agent.search.corpus import Corpus
from research_agent.settings import load_settings
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web


@asynccontextmanager
async def make_graph() -> AsyncIterator[ResearchGraph]:
    """The graph over the model and corpus of the environment. Input: ``{"topic": "…"}``.

    Raises:
        UsageError: no corpus is set, or it or the model cannot be used.
    """
    settings = load_settings()
    if settings.corpus is None:
        raise UsageError("there is nothing to search: set RESEARCH_CORPUS to a folder of documents")
    corpus = await Corpus.open(settings.corpus, settings.cache_dir)
    try:
        yield build_graph(load_model(settings), [make_search_web(corpus), make_fetch_url(corpus)])
    finally:
        await corpus.close()
