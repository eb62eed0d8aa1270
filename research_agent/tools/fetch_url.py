"""The tool `fetch_url`: an address in, the passages that matter out."""

from __future__ import annotations

from typing import Any, Protocol

from langchain_core.tools import BaseTool, tool

from research_agent import prompts
from research_agent.errors import SourceError
from research_agent.evidence.passages import choose_passages
from research_agent.state import Citation, Passage
from research_agent.text import clean
from research_agent.tools.runtime import InjectedRuntime
from research_agent.web.page import Page

PASSAGE_BUDGET = 3000  # characters of one page that the model is shown


class PageReader(Protocol):
    """Where pages come from. Raises `SourceError` with a hint when one can't be read."""

    async def read(self, url: str) -> Page: ...


def make_fetch_url(reader: PageReader) -> BaseTool:
    """`fetch_url` over `reader`. Artifact: ``{"citation": Citation, "page": Page}``: the ledger entry that this page
    would be, and the page for the journal."""

    @tool(response_format="content_and_artifact", parse_docstring=True)
    async def fetch_url(url: str, runtime: InjectedRuntime, focus: str = "") -> tuple[str, dict[str, Any]]:
        """Read a page. Returns the passages of it that matter for the topic; only pages read so can be cited.

        Args:
            url: an address that a search result or a page gave.
            focus: words for what to look for on this page, beside the topic; "" for the topic alone.
        """
        if url not in runtime.state.get("seen_urls", []) and url not in runtime.state["topic"]:
            raise SourceError(prompts.NO_RESULT_YET)
        runtime.stream_writer({"waiting": f"reading {url}"})
        page = await reader.read(url)
        topic = runtime.state["topic"]
        passages = choose_passages(page.text, f"{topic} {clean(focus)}", PASSAGE_BUDGET)
        if not passages:
            raise SourceError(f"There is no readable text at {url}. Try another source.")
        return prompts.render_page(page.title, url, passages), {"citation": _citation(page, passages), "page": page}

    return fetch_url


def _citation(page: Page, passages: list[Passage]) -> Citation:
    return Citation(
        url=page.url,
        title=page.title,
        kind=page.kind,
        content_hash=page.content_hash,
        author=page.author,
        site=page.site,
        published=page.published,
        language=page.language,
        passages=passages,
    )
