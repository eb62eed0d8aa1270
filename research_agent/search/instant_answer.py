"""DuckDuckGo's Instant Answers: what is known about a name, with its sources. Not a web search; needs no key.

https://duckduckgo.com/api
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, make_hit, objects, plain, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import Setup

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://api.duckduckgo.com"
_NESTED = 3  # levels of grouped topics that are looked at; one is documented


class InstantAnswer:
    """Looks names up in DuckDuckGo's Instant Answers. Knows no dates."""

    name = "instant_answer"

    def __init__(self, client: GuardedClient, base: str = BASE) -> None:
        self._api = Api(name="DuckDuckGo Instant Answer", client=client, base=base)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`."""
        params = {
            "q": short_query(query),
            "format": "json",
            "no_html": "1",
            "no_redirect": "1",
            "skip_disambig": "1",
            "t": "research-agent",
        }
        answer = await self._api.json("GET", "/", params=params)
        if not isinstance(answer, dict):
            raise self._api.unreadable()
        return choose(self._hits(answer), limit)

    def _hits(self, answer: dict[str, Any]) -> Iterator[SearchHit | None]:
        heading = text(answer.get("Heading"))
        source = text(answer.get("AbstractSource"))
        about = plain(answer.get("AbstractText")) or plain(answer.get("Abstract"))
        title = f"{heading} ({source})" if heading and source else heading or source
        yield self._hit(answer.get("AbstractURL"), title, about)
        yield self._hit(
            answer.get("DefinitionURL"), text(answer.get("DefinitionSource")), plain(answer.get("Definition"))
        )
        for topic in [*objects(answer, "Results"), *_topics(answer, _NESTED)]:
            said = plain(topic.get("Text"))
            yield self._hit(topic.get("FirstURL"), said.split(" - ", 1)[0], said)

    def _hit(self, url: Any, title: str, snippet: str) -> SearchHit | None:
        # Topics mostly lead back to DuckDuckGo, to pages that only a browser can show.
        if not isinstance(url, str) or _host(url).endswith("duckduckgo.com"):
            return None
        return make_hit(self.name, url, title, snippet)


def _topics(group: dict[str, Any], levels: int) -> Iterator[dict[str, Any]]:
    for topic in [*objects(group, "RelatedTopics"), *objects(group, "Topics")]:
        if "FirstURL" in topic:
            yield topic
        elif levels:
            yield from _topics(topic, levels - 1)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def make(setup: Setup) -> InstantAnswer:
    """Instant Answers; there is nothing to configure."""
    return InstantAnswer(setup.client)
