"""Exa: search by meaning. Needs ``EXA_API_KEY``.

https://exa.ai/docs/reference/search
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, iso_date, make_hit, objects, short_query, strings, text
from research_agent.search.api import Api
from research_agent.search.base import Setup
from research_agent.search.dates import check_day

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://api.exa.ai"
VARIABLE = "EXA_API_KEY"


class Exa:
    """Searches the web through Exa."""

    name = "exa"

    def __init__(self, client: GuardedClient, key: str, base: str = BASE) -> None:
        self._headers = {"x-api-key": key}
        self._api = Api(name="Exa", client=client, base=base, key=key, variable=VARIABLE)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the date of publishing."""
        body: dict[str, Any] = {
            "query": short_query(query, 1000, 200),
            "type": "auto",
            "numResults": min(limit, 25),
            "contents": {"highlights": True},  # without contents there is nothing but titles
        }
        if check_day(since):
            body["startPublishedDate"] = f"{since}T00:00:00.000Z"
        if check_day(until):
            body["endPublishedDate"] = f"{until}T23:59:59.999Z"
        answer = await self._api.json("POST", "/search", json=body, headers=self._headers)
        if not isinstance(dig(answer, "results"), list):
            raise self._api.unreadable()
        return choose(map(self._hit, objects(answer, "results")), limit, since=since, until=until)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        snippet = " … ".join(strings(item.get("highlights"))) or text(item.get("summary")) or text(item.get("text"))
        return make_hit(
            self.name, item.get("url"), text(item.get("title")), snippet, iso_date(item.get("publishedDate"))
        )


def make(setup: Setup) -> Exa:
    """Exa with the key of the environment."""
    return Exa(setup.client, setup.require("exa", VARIABLE, "a key"))
