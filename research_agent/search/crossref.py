"""Crossref: what publishers registered with a DOI. Needs no key; ``RESEARCH_CONTACT`` gets better service.

https://api.crossref.org/swagger-ui/index.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, make_hit, objects, plain, short_query, strings, text
from research_agent.search.api import Api
from research_agent.search.base import Setup
from research_agent.search.dates import check_day

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://api.crossref.org"
CONTACT = "RESEARCH_CONTACT"
_FIELDS = "DOI,URL,title,author,issued,abstract,container-title"


class Crossref:
    """Searches the metadata of scholarly works. A hit leads to the publisher's page."""

    name = "crossref"

    def __init__(self, client: GuardedClient, contact: str = "", base: str = BASE) -> None:
        self._contact = contact
        self._api = Api(name="Crossref", client=client, base=base)

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; limited by the date of publishing."""
        params = {"query": short_query(query), "rows": str(min(limit, 50)), "select": _FIELDS}
        ends = {"from-pub-date": check_day(since), "until-pub-date": check_day(until)}
        if since or until:
            params["filter"] = ",".join(f"{name}:{day}" for name, day in ends.items() if day)
        if self._contact:
            params["mailto"] = self._contact
        answer = await self._api.json("GET", "/works", params=params)
        if not isinstance(dig(answer, "message", "items"), list):
            raise self._api.unreadable()
        return choose(map(self._hit, objects(answer, "message", "items")), limit, since=since, until=until)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        doi = text(item.get("DOI"))
        url = item.get("URL") or (f"https://doi.org/{quote(doi, safe='/:;()')}" if doi else None)
        names = [f"{text(who.get('given'))} {text(who.get('family'))}".strip() for who in objects(item, "author")]
        about = [
            ", ".join(filter(None, names[:3])),
            *strings(item.get("container-title"))[:1],
            plain(item.get("abstract")),
        ]
        titles = dig(item, "title")
        title = plain(titles[0] if isinstance(titles, list) and titles else titles)
        return make_hit(self.name, url, title, ". ".join(filter(None, about)), _issued(item))


def _issued(item: dict[str, Any]) -> str:
    """The date in ``issued.date-parts``, to the precision it has; a part may be null."""
    parts = dig(item, "issued", "date-parts", 0)
    whole: list[int] = []
    for part, (low, high) in zip(
        parts if isinstance(parts, list) else [], ((1000, 9999), (1, 12), (1, 31)), strict=False
    ):
        if not isinstance(part, int) or not low <= part <= high:
            break
        whole.append(part)
    return "-".join(f"{part:02d}" for part in whole)


def make(setup: Setup) -> Crossref:
    """Crossref, in its polite pool when the environment has an address to write to."""
    return Crossref(setup.client, setup.get(CONTACT))
