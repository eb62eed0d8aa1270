"""Wikipedia in any language. Needs no key.

https://www.mediawiki.org/wiki/API:Search, …/Extension:TextExtracts
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from research_agent.documents import SearchHit
from research_agent.errors import UsageError
from research_agent.language import guess_language
from research_agent.search.answers import choose, dig, make_hit, objects, short_query, text
from research_agent.search.api import Api
from research_agent.search.base import SearchError, Setup, Trouble

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient

BASE = "https://{language}.wikipedia.org"
_LIMITED = ("ratelimited", "maxlag", "cirrussearch-too-busy-error")


class Wikipedia:
    """Searches one Wikipedia: of the language given, else guessed from the query; then the English one.

    Articles change all the time, so a span of days means nothing here.
    """

    name = "wikipedia"

    def __init__(self, client: GuardedClient, language: str = "", base: str = BASE) -> None:
        self._language = re.split("[-_]", language.strip().lower())[0]
        if self._language and not re.fullmatch("[a-z]{2,12}", self._language):
            raise UsageError(f"{language[:40]!r} is no language: give a code such as en, de or vi")
        self._client = client
        self._base = base

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`."""
        query = short_query(query)
        for language in dict.fromkeys((self._language or guess_language(query), "en")):
            if hits := await self._search_one(language, query, limit):
                return hits
        return []

    async def _search_one(self, language: str, query: str, limit: int) -> list[SearchHit]:
        api = Api(name=f"Wikipedia ({language})", client=self._client, base=self._base.format(language=language))
        params = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(min(limit, 20)),
            "prop": "extracts|info|description|pageprops",
            "exintro": "1",
            "explaintext": "1",
            "exchars": "500",
            "exlimit": "20",
            "inprop": "url",
            "ppprop": "disambiguation",
        }
        answer = await api.json("GET", "/w/api.php", params=params)
        if not isinstance(answer, dict):
            raise api.unreadable()
        if "error" in answer:
            raise _problem(api.name, text(dig(answer, "error", "code")))
        # Pages that only tell meanings apart come last: there is nothing to quote in them.
        ranked = sorted(objects(answer, "query", "pages"), key=lambda page: (_disambiguates(page), _index(page)))
        return choose(map(self._hit, ranked), limit)

    def _hit(self, page: dict[str, Any]) -> SearchHit | None:
        snippet = text(page.get("extract")) or text(page.get("description"))
        return make_hit(self.name, page.get("fullurl") or page.get("canonicalurl"), text(page.get("title")), snippet)


def _problem(name: str, code: str) -> SearchError:
    """Wikipedia says what is wrong in an answer with status 200."""
    if code in _LIMITED:
        return SearchError(f"{name} is busy or asked too often; use another provider for a while", "limited")
    trouble: Trouble = "rejected" if "search" in code or "param" in code or code.startswith("bad") else "failed"
    return SearchError(f"{name} can't search for this; use fewer and plainer words", trouble)


def _disambiguates(page: dict[str, Any]) -> bool:
    return dig(page, "pageprops", "disambiguation") is not None


def _index(page: dict[str, Any]) -> float:
    index = page.get("index")
    return index if isinstance(index, int) else float("inf")


def make(setup: Setup) -> Wikipedia:
    """Wikipedia in the language of the setup, else in that of each query."""
    return Wikipedia(setup.client, setup.language)
