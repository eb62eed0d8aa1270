"""SearXNG: a metasearch server of one's own, at any address. ``SEARXNG_URL`` says where.

https://docs.searxng.org/dev/search_api.html
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from research_agent.documents import SearchHit
from research_agent.errors import UsageError
from research_agent.search.answers import choose, cut, dig, iso_date, make_hit, objects, plain, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import SearchError, Setup
from research_agent.search.dates import check_day, recency

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

VARIABLE = "SEARXNG_URL"
_JSON_OFF = f"does not give JSON: add json to search.formats in the settings.yml of the server at {VARIABLE}"


class SearXNG:
    """Searches through one SearXNG server. A user and password in its URL are sent as basic authentication."""

    name = "searxng"

    def __init__(self, client: GuardedClient, base: str, language: str = "") -> None:
        try:
            parts = urlsplit(base.strip())
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
            parts.port  # noqa: B018 - raises when it is no number
        except ValueError:
            usable = False
        if not usable:
            raise UsageError(f"{VARIABLE} is no address: give the server's, such as http://localhost:8080")
        self._headers = {"accept": "application/json"}
        host = parts.netloc
        if "@" in host:
            login, host = host.rsplit("@", 1)
            self._headers["authorization"] = "Basic " + b64encode(unquote(login).encode()).decode()
        self._language = language
        self._api = Api(
            name="SearXNG",
            client=client,
            base=urlunsplit((parts.scheme, host, parts.path.rstrip("/").removesuffix("/search"), "", "")),
            trusted=True,
            deadline=15.0,  # it waits for other engines itself
            statuses={
                401: (
                    "refused",
                    f"wants a login (HTTP 401): put user:password@ into {VARIABLE}, or use another provider",
                ),
                403: ("refused", f"{_JSON_OFF}, or use another provider (HTTP 403)"),
                404: ("failed", f"is not at the address in {VARIABLE} (HTTP 404); use another provider"),
            },
        )

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; the server knows only spans back from today, dated hits are checked to the day."""
        params = {"q": short_query(query), "format": "json"}
        if self._language:
            params["language"] = self._language
        check_day(until)
        if back := recency(since):
            params["time_range"] = back.replace("week", "month")  # older servers don't know a week
        body = await self._api.call("GET", "/search", params=params, headers=self._headers)
        if body.lstrip()[:1] == b"<":
            raise SearchError(f"SearXNG {_JSON_OFF}, or use another provider (it answered with a page)", "refused")
        answer = self._api.decode(body)
        if not isinstance(dig(answer, "results"), list):
            raise self._api.unreadable()
        hits = choose(map(self._hit, objects(answer, "results")), limit, since=since, until=until)
        if not hits and (silent := _silent_engines(answer)):
            raise SearchError(f"SearXNG found nothing, and these engines did not answer: {silent}; try again later")
        return hits

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        return make_hit(
            self.name,
            item.get("url"),
            plain(item.get("title")),
            plain(item.get("content")),
            iso_date(item.get("publishedDate")),
        )


def _silent_engines(answer: Any) -> str:
    """Engines that SearXNG itself got nothing from; it says so with status 200."""
    found = dig(answer, "unresponsive_engines")
    names = [text(dig(pair, 0)) for pair in found] if isinstance(found, list) else []
    return cut(", ".join(sorted(name for name in names if name)), 200)


def make(setup: Setup) -> SearXNG:
    """SearXNG at the address in the environment."""
    return SearXNG(setup.client, setup.require("searxng", VARIABLE, "the address of a server"), setup.language)
