"""The tool `search_web`: words in, leads out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from langchain_core.tools import BaseTool, tool

from research_agent import prompts
from research_agent.search.base import SearchProvider
from research_agent.text import one_line
from research_agent.tools.runtime import InjectedRuntime

MAX_HITS = 8


def make_search_web(provider: SearchProvider, since: str = "", until: str = "") -> BaseTool:
    """`search_web` over `provider`, for what was published between two days.

    Artifact: ``{"hits": [SearchHit as dict]}``.
    """

    @tool(response_format="content_and_artifact", parse_docstring=True)
    async def search_web(query: str, runtime: InjectedRuntime) -> tuple[str, dict[str, Any]]:
        """Find pages about something. Returns titles, addresses and snippets: leads to read, not evidence.

        Args:
            query: a few precise words, in the language of the pages you want; not a whole question.
        """
        query = one_line(query)
        runtime.stream_writer({"waiting": f"search: {query[:80]}"})
        hits = await provider.search(query, MAX_HITS, since=since, until=until)
        return prompts.render_hits(query, hits), {"hits": [asdict(hit) for hit in hits]}

    return search_web
