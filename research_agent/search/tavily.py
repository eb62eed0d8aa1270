"""Tavily: web search made for agents. With ``TAVILY_API_KEY``, or without a key at a low rate.

https://docs.tavily.com/documentation/api-reference/endpoint/search, …/documentation/keyless
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, iso_date, make_hit, objects, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import Setup
from research_agent.search.dates import check_day

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient, Response

BASE = "https://api.tavily.com"
VARIABLE = "TAVILY_API_KEY"


class Tavily:
    """Searches the web through Tavily."""

    name = "tavily"

    def __init__(self, client: GuardedClient, key: str = "", base: str = BASE) -> None:
        self._headers = {"authorization": f"Bearer {key}"} if key else {"x-tavily-access-mode": "keyless"}
        spent = f"has no searches left for this key or plan; see the plan of {VARIABLE}, or use another provider"
        if not key:
            spent = f"allows no more searches without a key; set {VARIABLE}, or use another provider"
        self._api = Api(
            name="Tavily",
            client=client,
            base=base,
            key=key,
            variable=VARIABLE,
            statuses={429: ("limited", spent)} if not key else {432: ("refused", spent), 433: ("refused", spent)},
            told_wait=_told_wait,
        )

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the date of publishing."""
        body: dict[str, Any] = {
            "query": short_query(query),
            "max_results": min(limit, 20),
            "search_depth": "basic",
        }
        if check_day(since):
            body["start_date"] = since
        if check_day(until):
            body["end_date"] = until
        answer = await self._api.json("POST", "/search", json=body, headers=self._headers)
        if not isinstance(dig(answer, "results"), list):
            raise self._api.unreadable()
        return choose(map(self._hit, objects(answer, "results")), limit, since=since, until=until)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        return make_hit(
            self.name,
            item.get("url"),
            text(item.get("title")),
            text(item.get("content")),
            iso_date(item.get("published_date")),
        )


def _told_wait(response: Response) -> float | None:
    """The keyless limit says in its body how long it lasts."""
    try:
        seconds = dig(json.loads(response.body), "error", "retry_after_seconds")
    except (ValueError, RecursionError):
        return None
    return float(seconds) if isinstance(seconds, int | float) and abs(seconds) < 1e9 else None


def make(setup: Setup) -> Tavily:
    """Tavily with the key of the environment, or without."""
    return Tavily(setup.client, setup.get(VARIABLE))
