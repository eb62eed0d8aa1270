"""Tool calls of a made-up run, and what comes of them: in the words of the program itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from research_agent import prompts
from research_agent.documents import Citation, Page, Passage, SearchHit

READ_FAILURES = {
    "403": "{host} does not let programs read this page (403): use another source",
    "404": "{host} has no such page (404): check the address, or use another source",
    "429": "{host} takes no more requests for 30 s (429): use another host",
    "503": "{host} is in trouble (503): use another source",
    "robots_denied": "the robots.txt of {host} asks programs not to read this page: use another source",
    "not_evidence": "it is a cookie wall, the page behind it does not show: try another source",
    "timed_out": "{host} did not answer in time: try another source",
}


@dataclass(frozen=True)
class Act:
    """One tool call and what comes of it."""

    tool: str
    args: dict[str, Any]
    result: str
    artifact: dict[str, Any] | None = None
    page: Page | None = None
    error_type: str | None = None
    milliseconds: int = 400


def search(query: str, *pages: Page, provider: str = "brave", milliseconds: int = 420) -> Act:
    """A search that finds `pages`, in this order."""
    hits = [
        SearchHit(page.url, page.title, page.text.partition("\n")[0][:200], page.published, provider) for page in pages
    ]
    found = {"hits": [asdict(hit) for hit in hits]}
    return Act("search_web", {"query": query}, prompts.render_hits(query, hits), found, milliseconds=milliseconds)


def failed_search(query: str, error_type: str = "search_failed") -> Act:
    text = "The search could not be carried out: no provider answered. Try again with other words."
    return Act("search_web", {"query": query}, text, error_type=error_type, milliseconds=10_000)


def read(page: Page, focus: str = "", milliseconds: int = 900) -> Act:
    """A page that is read; the model is shown each of its paragraphs that has a figure or a name to cite."""
    passages = passages_of(page)[:6]
    citation = Citation(
        url=page.url,
        also_at=[],
        title=page.title,
        kind=page.kind,
        content_hash=page.content_hash,
        author=page.author,
        site=page.site,
        published=page.published,
        language=page.language,
        passages=passages,
    )
    artifact = {"hits": [{"url": url} for url in (page.url, *page.links)], "citation": citation}
    args = {"url": page.url, **({"focus": focus} if focus else {})}
    result = prompts.render_page(page.title, page.url, passages)
    return Act("fetch_url", args, result, artifact, page, milliseconds=milliseconds)


def failed_read(url: str, error_type: str) -> Act:
    milliseconds = 20_000 if error_type == "timed_out" else 350
    text = READ_FAILURES[error_type].format(host=urlsplit(url).hostname)
    return Act("fetch_url", {"url": url}, text, error_type=error_type, milliseconds=milliseconds)


def ask(question: str, answer: str = "") -> Act:
    return Act("ask_human", {"question": question}, answer, milliseconds=2)


def passages_of(page: Page) -> list[Passage]:
    """Its paragraphs, with their true offsets."""
    passages, start = [], 0
    for paragraph in page.text.split("\n\n"):
        passages.append(Passage(start=start, end=start + len(paragraph), text=paragraph))
        start += len(paragraph) + 2
    return passages
