"""How often a tool may be called a minute, by all runs of this process together."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable

_SECONDS = 60.0


class RateGate:
    """Lets at most so many calls of each name through in any minute; the rest waits in line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._passed: defaultdict[str, deque[float]] = defaultdict(deque)

    def delay(self, name: str, per_minute: int) -> float:
        """Take the next free place for `name`; the seconds until it comes."""
        now, passed = self._clock(), self._passed[name]
        while passed and passed[0] <= now - _SECONDS:
            passed.popleft()
        # Places may be taken in the future: who asks then stands behind those who wait.
        start = max(now, passed[-per_minute] + _SECONDS) if len(passed) >= per_minute else now
        passed.append(start)
        return start - now

    async def wait(self, name: str, per_minute: int, report: Callable[[float], None]) -> None:
        """Return when a call of `name` may be made; `report` is told of a wait in seconds."""
        if (seconds := self.delay(name, per_minute)) > 0:
            report(seconds)
            await asyncio.sleep(seconds)


GATE = RateGate()
