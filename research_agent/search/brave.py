"""Brave Search: an index of its own. Needs ``BRAVE_API_KEY``.

https://api-dashboard.search.brave.com/app/documentation/web-search
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, iso_date, make_hit, objects, plain, short_query
from research_agent.search.api import Api
from research_agent.search.base import Setup
from research_agent.search.dates import span

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient, Response

BASE = "https://api.search.brave.com"
VARIABLE = "BRAVE_API_KEY"


class Brave:
    """Searches the web through Brave."""

    name = "brave"

    def __init__(self, client: GuardedClient, key: str, base: str = BASE) -> None:
        self._headers = {"x-subscription-token": key, "accept": "application/json"}
        self._api = Api(name="Brave", client=client, base=base, key=key, variable=VARIABLE, told_wait=_told_wait)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the date of the page."""
        params = {
            "q": short_query(query),
            "count": str(min(limit, 20)),
            "result_filter": "web",
            "text_decorations": "false",
        }
        if since or until:
            params["freshness"] = "{}to{}".format(*span(since, until))
        answer = await self._api.json("GET", "/res/v1/web/search", params=params, headers=self._headers)
        if not isinstance(answer, dict):
            raise self._api.unreadable()
        return choose(map(self._hit, objects(answer, "web", "results")), limit, since=since, until=until)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        return make_hit(
            self.name,
            item.get("url"),
            plain(item.get("title")),
            plain(item.get("description")),
            iso_date(dig(item, "page_age")),
        )


def _told_wait(response: Response) -> float | None:
    """Seconds until the exhausted windows open again: ``X-RateLimit-*`` list a value for each window."""
    try:
        remaining, resets = (
            [int(part) for part in response.headers[f"x-ratelimit-{name}"].split(",")]
            for name in ("remaining", "reset")
        )
    except (KeyError, ValueError):
        return None
    return max((reset for left, reset in zip(remaining, resets, strict=False) if left <= 0), default=None)


def make(setup: Setup) -> Brave:
    """Brave with the key of the environment."""
    return Brave(setup.client, setup.require("brave", VARIABLE, "a key", "BRAVE_SEARCH_API_KEY"))
