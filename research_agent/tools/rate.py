"""How often a tool may be called a minute, by all runs of this process together."""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable

_SECONDS = 60.0


class RateGate:
    """Lets at most so many calls of each name through in any minute; the rest waits in line."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        # Sorted, though runs may have different limits: who may come at once passes those who wait.
        self._places: defaultdict[str, deque[float]] = defaultdict(deque)

    def take(self, name: str, per_minute: int, at_most: float = float("inf")) -> float | None:
        """The time of the next free place for `name`, which is taken then; None if it is more than `at_most` seconds
        away."""
        now, places = self._clock(), self._places[name]
        while places and places[0] <= now - _SECONDS:
            places.popleft()
        # Places may be taken in the future: who asks then stands behind those who wait.
        place = max(now, places[-per_minute] + _SECONDS) if len(places) >= per_minute else now
        if place - now > at_most:
            return None
        insort(places, place)
        return place

    async def wait(
        self, name: str, per_minute: int, report: Callable[[float], None], at_most: float = float("inf")
    ) -> bool:
        """Return when a call of `name` may be made; `report` is told of a wait in seconds. False, at once, if it would
        be more than `at_most`."""
        place = self.take(name, per_minute, at_most)
        if place is None:
            return False
        if (seconds := place - self._clock()) > 0:
            report(seconds)
            try:
                await self._sleep(seconds)
            except asyncio.CancelledError:
                self._places[name].remove(place)  # who is stopped while waiting leaves the line
                raise
        return True


GATE = RateGate()
