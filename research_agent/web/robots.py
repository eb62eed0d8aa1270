"""What a site's robots.txt says to this program (RFC 9309)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from research_agent.web.errors import RobotsDenied

AGENT = "research-agent"
MAX_BYTES = 500 * 1024  # as the RFC asks for; the rest is not read
_DAY = 86400.0
_UNAVAILABLE_SECONDS = 600.0  # how long a server error stands for "stay away"
_MAX_SITES = 500

Fetch = Callable[[str], Awaitable[tuple[int, bytes]]]


@dataclass(slots=True)
class _Site:
    rules: Any  # Protego; None allows everything
    status: int
    expires: float


class Robots:
    """The rules of each site, fetched once a day with `fetch` (address → status and first bytes, redirects followed).

    A site without the file (4xx) allows everything, one that fails (5xx) nothing.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._fetching: dict[str, asyncio.Lock] = {}

    async def check(self, url: httpx.URL) -> float:
        """Seconds that the site wants between two requests, 0 if it does not say.

        Raises `RobotsDenied`, and what `fetch` raises when the site can't be reached.
        """
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        site = await self._site(origin)
        if site.status >= 500:
            raise RobotsDenied(f"{url.host}: its robots.txt fails ({site.status}), so it is left alone: try another")
        if site.rules is None:
            return 0.0
        if not site.rules.can_fetch(str(url), AGENT):
            raise RobotsDenied(f"the robots.txt of {url.host} asks programs not to read this page: use another source")
        return float(site.rules.crawl_delay(AGENT) or 0.0)

    async def _site(self, origin: str) -> _Site:
        async with self._fetching.setdefault(origin, asyncio.Lock()) as _:
            site = self._sites.get(origin)
            if site is None or site.expires < time.monotonic():
                site = self._sites[origin] = await self._read(origin)
                if len(self._sites) > _MAX_SITES:
                    self._fetching.pop(self._sites.popitem(last=False)[0], None)
            return site

    async def _read(self, origin: str) -> _Site:
        from protego import Protego

        status, body = await self._fetch(f"{origin}/robots.txt")
        if status >= 500:
            return _Site(None, status, time.monotonic() + _UNAVAILABLE_SECONDS)
        rules = Protego.parse(body.decode("utf-8", "replace").lstrip("\ufeff")) if 200 <= status < 300 else None
        return _Site(rules, status, time.monotonic() + _DAY)
