"""The tool `fetch_url`: an address in, the passages that matter out."""

from __future__ import annotations

from typing import Any, Protocol

from langchain_core.tools import BaseTool, tool

from research_agent import prompts
from research_agent.documents import Citation, Page, Passage
from research_agent.errors import SourceError
from research_agent.evidence.passages import choose_passages, split_passages
from research_agent.text import clean
from research_agent.tools.runtime import InjectedRuntime
from research_agent.urls import canonical_url, find_urls, short_address, url_host

WHOLE = 14_000  # characters up to which a page is shown whole
PASSAGE_BUDGET = 6_000  # characters that are shown of a longer one at a time
MAX_LINKS = 50  # addresses of one page that may be fetched afterwards


class PageReader(Protocol):
    """Where pages come from. Raises `SourceError` with a hint when one can't be read."""

    async def read(self, url: str) -> Page: ...


def make_fetch_url(reader: PageReader) -> BaseTool:
    """`fetch_url` over `reader`.

    Artifact: ``{"citation": Citation, "page": Page, "hits": [{"url": …}]}``: the ledger entry that this page would
    be, the page for the journal, and the addresses that it leads to.
    """

    @tool(response_format="content_and_artifact", parse_docstring=True)
    async def fetch_url(url: str, runtime: InjectedRuntime, focus: str = "") -> tuple[str, dict[str, Any]]:
        """Read a page, whole or, if it is long, what of it matters for the topic; only pages read so can be cited.

        Args:
            url: an address that a search result or a page gave.
            focus: words for what to look for on a long page, also in a second look at what was not shown.
        """
        url = url.strip()
        if not _was_offered(url, runtime.state):
            raise SourceError(prompts.NO_RESULT_YET, "not_offered")
        runtime.stream_writer({"waiting": f"reading {short_address(url)}"})
        page = await reader.read(url)
        topic = runtime.state["topic"]
        passages = _passages(page, runtime.state, topic, clean(focus))
        if not passages:
            raise SourceError(f"There is no readable text at {url}. Try another source.")
        return prompts.render_page(page.title, page.url, passages), {
            "citation": _citation(page, passages),
            "page": page,
            "hits": [{"url": link} for link in _links(page, passages)],
        }

    return fetch_url


def _passages(page: Page, state: dict[str, Any], topic: str, focus: str) -> list[Passage]:
    """What is shown of the page: all of a short one, else what meets topic and focus best. A second look is at what
    was not shown yet, by the focus alone; where nothing is left, what was shown comes again and is nothing new."""
    ledger = state.get("citations", [])
    shown: list[Passage] = next((e["passages"] for e in ledger if e["content_hash"] == page.content_hash), [])
    if len(page.text) <= WHOLE:
        return split_passages(page.text)
    seen = [(passage["start"], passage["end"]) for passage in shown]
    query = focus if shown and focus else f"{topic} {focus}"
    return choose_passages(page.text, query, PASSAGE_BUDGET, seen) or list(shown)


def _was_offered(url: str, state: dict[str, Any]) -> bool:
    """Whether a result, a page or the topic gave this address, or another one on its host."""
    offered = [*state.get("seen_urls", []), *find_urls(state["topic"])]
    if canonical_url(url) in {canonical_url(each) for each in offered}:
        return True
    host = url_host(url)
    return bool(host) and host in {url_host(each) for each in offered}


def _links(page: Page, passages: list[Passage]) -> list[str]:
    """Addresses that the page gives: those the model sees first."""
    shown = [url for passage in passages for url in find_urls(passage["text"])]
    return list(dict.fromkeys([page.url, *shown, *page.links]))[:MAX_LINKS]


def _citation(page: Page, passages: list[Passage]) -> Citation:
    return Citation(
        url=page.url,
        also_at=[page.requested_url] if page.requested_url else [],
        title=page.title,
        kind=page.kind,
        content_hash=page.content_hash,
        author=page.author,
        site=page.site,
        published=page.published,
        language=page.language,
        passages=passages,
    )
