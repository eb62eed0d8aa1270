"""A breaker around a provider: one that does not answer is left alone for a while, and says so at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from research_agent.documents import SearchHit
from research_agent.errors import SourceError
from research_agent.search.base import SearchError, SearchProvider

MAX_FAILURES = 3  # in a row
REST_FAILED = 30.0  # seconds after that many failures, twice as long each time it goes on
REST_LIMITED = 60.0  # seconds after "too many searches" when the provider did not say how long
REST_REFUSED = 3600.0  # seconds after a key or address was refused: for the rest of a usual run
_LONGEST = 900.0  # seconds to which the rest after failures grows


class Breaker:
    """`provider`, asked only while it answers.

    Closed: each search goes through. Open: each is answered at once by a `SearchError`. When the rest is over
    one search goes through as a probe; it closes the breaker or opens it again.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, provider: SearchProvider, clock: Callable[[], float] = time.monotonic) -> None:
        self._provider = provider
        self._clock = clock
        self._failures = 0
        self._rest = REST_FAILED
        self._rests_until = -math.inf
        self._open = False
        self._probing = False

    @property
    def name(self) -> str:
        """Name of the provider inside."""
        return self._provider.name

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; `SearchError` at once while the provider rests."""
        probe = self._admit()
        try:
            hits = await self._provider.search(query, limit, since=since, until=until)
        except SourceError as error:
            self._failed(error, probe)
            raise
        else:
            self._answered(probe)
            return hits
        finally:
            if probe:  # also when the task was cancelled
                self._probing = False

    def _admit(self) -> bool:
        """Whether this search is the probe. `SearchError` when it may not go through."""
        if not self._open:
            return False
        seconds = self._rests_until - self._clock()
        if seconds > 0 or self._probing:
            how_long = f"for {math.ceil(seconds)} s" if seconds > 0 else "until it has answered again"
            raise SearchError(f"{self.name} is resting {how_long}: use another provider, or read what was found")
        self._probing = True
        return True

    def _answered(self, probe: bool) -> None:
        # A search that was under way when the breaker opened does not close it.
        if probe or not self._open:
            self._open, self._failures, self._rest = False, 0, REST_FAILED

    def _failed(self, error: SourceError, probe: bool) -> None:
        trouble = error.trouble if isinstance(error, SearchError) else "failed"
        told = error.wait if isinstance(error, SearchError) else None
        match trouble:
            case "rejected":  # it is there and answers, only not this query
                self._answered(probe)
            case "limited":
                self._open_for(REST_LIMITED if told is None else told)
            case "refused":
                self._open_for(REST_REFUSED if told is None else told)
            case _:
                self._failures += 1
                if probe or self._failures >= MAX_FAILURES:
                    self._open_for(max(self._rest, told or 0.0))
                    if probe:
                        self._rest = min(2 * self._rest, _LONGEST)

    def _open_for(self, seconds: float) -> None:
        self._open, self._failures = True, 0
        self._rests_until = max(self._rests_until, self._clock() + max(seconds, 1.0))
