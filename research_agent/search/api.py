"""One call of a search service over HTTP: every way in which it does not answer becomes a `SearchError`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from research_agent.errors import SourceError, UsageError
from research_agent.search.base import SearchError, Trouble
from research_agent.web.response import retry_after

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient, Response

DEADLINE = 10.0  # seconds for one request
_SHORT_WAIT = 3.0  # seconds; a wait up to this is sat out once, a longer one is passed on
_LONGEST_WAIT = 86_400.0


@dataclass(frozen=True, slots=True)
class Api:
    """Where a service is and how it says no.

    `statuses` gives what an HTTP status means here where that is not the usual; the text follows the service's
    name. `told_wait` reads how long to wait from an answer that has no Retry-After.
    """

    name: str
    client: GuardedClient
    base: str
    key: str = field(default="", repr=False)
    variable: str = ""  # environment variable that holds the key
    trusted: bool = False  # the base URL is the user's own and may be private
    deadline: float = DEADLINE
    statuses: Mapping[int, tuple[Trouble, str]] = field(default_factory=dict)
    told_wait: Callable[[Response], float | None] = lambda response: None

    def __post_init__(self) -> None:
        if any(not "!" <= character <= "~" for character in self.key):
            raise UsageError(f"{self.variable} holds a character that no key has: set it again, without spaces")

    async def json(self, method: str, path: str, **request: Any) -> Any:
        """The decoded answer of `call`."""
        return self.decode(await self.call(method, path, **request))

    def decode(self, body: bytes) -> Any:
        """The JSON in `body`."""
        try:
            return json.loads(body)
        except (ValueError, RecursionError):  # not JSON, not UTF-8, absurdly deep, or an absurdly long number
            raise self.unreadable() from None

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
    ) -> bytes:
        """The body of a successful answer. `SearchError` for every other."""
        response = await self._send(method, path, params=params, headers=headers, json=json)
        wait = self._wait(response)
        if response.status in (429, 503) and wait is not None and wait <= _SHORT_WAIT:
            await asyncio.sleep(wait)
            response = await self._send(method, path, params=params, headers=headers, json=json)
            wait = self._wait(response)
        if response.status != 200:
            raise self._refusal(response.status, wait)
        if response.truncated:
            raise SearchError(f"the answer of {self.name} is too long; ask with other words or another provider")
        return response.body

    def unreadable(self) -> SearchError:
        """The answer is not of the documented form."""
        return SearchError(f"{self.name} gave an answer that can't be read; use another provider")

    async def _send(self, method: str, path: str, **request: Any) -> Response:
        trouble = ""
        try:
            return await self.client.call_api(
                method, self.base.rstrip("/") + path, trusted=self.trusted, deadline=self.deadline, **request
            )
        except SourceError as error:
            trouble = self._without_key(str(error))
        # Outside of the handler, so that nothing keeps the first text, which may hold the key.
        raise SearchError(f"{self.name} can't be reached ({trouble})")

    def _without_key(self, message: str) -> str:
        for form in (self.key, quote(self.key, safe=""), quote_plus(self.key)):
            message = message.replace(form, "***") if form else message
        return message

    def _wait(self, response: Response) -> float | None:
        wait = retry_after(response.headers)
        if wait is None:
            wait = self.told_wait(response)
        return None if wait is None else min(max(wait, 0.0), _LONGEST_WAIT)

    def _refusal(self, status: int, wait: float | None) -> SearchError:
        if special := self.statuses.get(status):
            return SearchError(f"{self.name} {special[1]}", special[0], wait)
        match status:
            case 401 | 403 if self.key:
                return SearchError(
                    f"{self.name} does not accept the key in {self.variable} (HTTP {status}); use another provider",
                    "refused",
                )
            case 401 | 403:
                hint = f"set {self.variable}, or " if self.variable else ""
                return SearchError(
                    f"{self.name} refuses to answer (HTTP {status}); {hint}use another provider", "refused", wait
                )
            case 402:
                return SearchError(
                    f"the credit of {self.name} is used up (HTTP 402); use another provider", "refused", wait
                )
            case 429:
                how_long = f"for {wait:.0f} s " if wait else ""
                return SearchError(
                    f"{self.name} allows no more searches {how_long}(HTTP 429); use another provider "
                    "or read what was found",
                    "limited",
                    wait,
                )
            case 400 | 413 | 414 | 422:
                return SearchError(
                    f"{self.name} does not accept this query (HTTP {status}); use fewer and plainer words", "rejected"
                )
            case _ if status < 400:
                return SearchError(f"{self.name} is not at its address any more (HTTP {status}); use another provider")
            case _:
                return SearchError(f"{self.name} can't answer now (HTTP {status}); use another provider", wait=wait)
