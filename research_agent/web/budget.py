"""Time that is counted only while something is being done, not while a turn is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from research_agent.web.errors import TimedOut


class Budget:
    """`seconds` for all the `spend` blocks of one job together."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.left = seconds

    @asynccontextmanager
    async def spend(self, host: str) -> AsyncIterator[None]:
        """Count the time of the block. Raises `TimedOut` when there is none left."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self.left)):
                yield
        except TimeoutError:
            raise TimedOut(f"{host[:80]} took longer than {self._seconds:g} s: try another source") from None
        finally:
            self.left -= time.monotonic() - began
