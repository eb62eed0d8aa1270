"""How hard the web is used: how many requests at once, how close together, and whom to leave alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from research_agent.web.errors import HostResting

_MAX_SPACING = 5.0  # seconds; a robots.txt may ask for hours
_MAX_HOSTS = 2000  # remembered


@dataclass(slots=True)
class _Host:
    slots: asyncio.Semaphore
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_start: float = 0.0
    spacing: float = 0.0
    failures: int = 0
    rests_until: float = 0.0


class Politeness:
    """Slots for requests: `total` at once, `per_host` at once to one host, `spacing` seconds between two starts there.

    After `max_failures` failures in a row a host rests for `rest` seconds: whoever asks is told at once.
    """

    def __init__(
        self, *, total: int = 10, per_host: int = 2, spacing: float = 0.3, max_failures: int = 3, rest: float = 60.0
    ) -> None:
        self._total = asyncio.Semaphore(total)
        self._per_host = per_host
        self._spacing = spacing
        self._max_failures = max_failures
        self._rest = rest
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def slot(self, name: str, *, spaced: bool = True) -> AsyncIterator[None]:
        """Wait for a turn at this host. Raises `HostResting` for a host that is left alone.

        Without `spaced` the request neither waits for the distance to the last one nor counts for the next.
        """
        self.check(name)
        host = self._host(name)
        async with host.slots:
            # The place in the overall count is taken last, so that nobody holds one while waiting for a host.
            async with host.starting:
                if spaced:
                    await asyncio.sleep(max(0.0, host.next_start - time.monotonic()))
                self.check(name)
                await self._total.acquire()
                if spaced:
                    host.next_start = time.monotonic() + host.spacing
            try:
                yield
            finally:
                self._total.release()

    def check(self, name: str) -> None:
        """Raise `HostResting` while this host is left alone."""
        host = self._hosts.get(name)
        seconds = host.rests_until - time.monotonic() if host else 0.0
        if seconds > 0:
            raise HostResting(f"{name} is resting for {seconds:.0f} s after failures: use another host")

    def succeeded(self, name: str) -> None:
        """The host answered as hosts do, be it with 404."""
        self._host(name).failures = 0

    def failed(self, name: str, rest: float | None = None) -> None:
        """The host did not answer, or refused. With `rest` (seconds) it asked to be left alone that long."""
        host = self._host(name)
        host.failures += 1
        if rest is not None or host.failures >= self._max_failures:
            host.rests_until = time.monotonic() + (self._rest if rest is None else rest)
            host.failures = 0

    def slow_down(self, name: str, spacing: float) -> None:
        """Use at least this many seconds between two starts, as the host's robots.txt asks."""
        host = self._host(name)
        host.spacing = max(host.spacing, min(spacing, _MAX_SPACING))

    def _host(self, name: str) -> _Host:
        if name not in self._hosts:
            if len(self._hosts) >= _MAX_HOSTS:
                idle = [key for key, host in self._hosts.items() if not host.starting.locked() and not host.failures]
                for key in idle[: _MAX_HOSTS // 2]:
                    if self._hosts[key].rests_until < time.monotonic():
                        del self._hosts[key]
            self._hosts[name] = _Host(asyncio.Semaphore(self._per_host), spacing=self._spacing)
        return self._hosts[name]
