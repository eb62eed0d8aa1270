"""OpenAlex: scholarly works of all publishers. Without ``OPENALEX_API_KEY`` (free) only a few searches a day.

https://developers.openalex.org/api-reference
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, iso_date, make_hit, objects, plain, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import Setup
from research_agent.search.dates import check_day

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://api.openalex.org"
VARIABLE = "OPENALEX_API_KEY"
_FIELDS = "id,doi,display_name,publication_date,authorships,primary_location,open_access,abstract_inverted_index"
_ABSTRACT_WORDS = 120


class OpenAlex:
    """Searches scholarly works. A hit leads to the open version where there is one."""

    name = "openalex"

    def __init__(self, client: GuardedClient, key: str = "", base: str = BASE) -> None:
        self._key = key
        hint = "" if key else f"set {VARIABLE} (free), or "
        self._api = Api(
            name="OpenAlex",
            client=client,
            base=base,
            key=key,
            variable=VARIABLE,
            statuses={
                403: ("limited", "was asked too fast (HTTP 403); use another provider for a while"),
                429: ("limited", f"has no searches left today (HTTP 429); {hint}use another provider"),
            },
        )

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the date of publishing."""
        params = {"search": short_query(query), "per_page": str(min(limit, 50)), "select": _FIELDS}
        ends = {"from_publication_date": check_day(since), "to_publication_date": check_day(until)}
        if since or until:
            params["filter"] = ",".join(f"{name}:{day}" for name, day in ends.items() if day)
        if self._key:
            params["api_key"] = self._key
        answer = await self._api.json("GET", "/works", params=params)
        if not isinstance(dig(answer, "results"), list):
            raise self._api.unreadable()
        return choose(map(self._hit, objects(answer, "results")), limit, since=since, until=until)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        places = (
            dig(item, "open_access", "oa_url"),
            dig(item, "primary_location", "landing_page_url"),
            item.get("doi"),
            item.get("id"),
        )
        url = next((place for place in places if isinstance(place, str) and place), None)
        names = [text(dig(who, "author", "display_name")) for who in objects(item, "authorships")[:3]]
        about = [
            ", ".join(filter(None, names)),
            text(dig(item, "primary_location", "source", "display_name")),
            _abstract(item.get("abstract_inverted_index")),
        ]
        published = iso_date(item.get("publication_date"))
        return make_hit(self.name, url, plain(item.get("display_name")), ". ".join(filter(None, about)), published)


def _abstract(index: Any) -> str:
    """The abstract, which comes as word → positions."""
    if not isinstance(index, dict):
        return ""
    placed = [
        (position, word)
        for word, positions in index.items()
        if isinstance(positions, list)
        for position in positions
        if isinstance(position, int) and 0 <= position < _ABSTRACT_WORDS
    ]
    return plain(" ".join(word for _, word in sorted(placed)))


def make(setup: Setup) -> OpenAlex:
    """OpenAlex with the key of the environment, or without."""
    return OpenAlex(setup.client, setup.get(VARIABLE))
