"""The graph for ``langgraph dev`` and LangGraph Studio, which bring their own server and checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from research_agent.graph.graph import ResearchGraph, build_graph
from research_agent.models.load import load_model
from research_agent.runs.sources import open_sources
from research_agent.settings import load_settings


@asynccontextmanager
async def make_graph() -> AsyncIterator[ResearchGraph]:
    """The graph over the model and the sources of the environment. Input: ``{"topic": "…"}``.

    Raises:
        UsageError: the sources or the model cannot be used.
    """
    settings = load_settings()
    async with open_sources(settings) as sources:
        yield build_graph(load_model(settings), sources.tools())
