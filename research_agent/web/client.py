"""The only way out: guarded, bounded, polite HTTP.

Pages and search APIs both go through `GuardedClient`. Where a request may go is decided in `addresses`, how often in
`politeness`, what is read of an answer in `response`; here is what one fetch is made of: robots, redirects, retries.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Any

import httpx

from research_agent.web.addresses import AddressPolicy, next_hop
from research_agent.web.budget import Budget
from research_agent.web.errors import HttpStatus, RateLimited, TimedOut, TooManyRedirects, Unreachable
from research_agent.web.names import Resolver
from research_agent.web.politeness import Politeness
from research_agent.web.response import Response, SizeLimits, read_any, read_page, retry_wait, status_error
from research_agent.web.robots import AGENT, Robots
from research_agent.web.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from research_agent.web.transport import GuardedTransport

__all__ = ["GuardedClient", "Response"]

MAX_REDIRECTS = 5
ROBOTS_SECONDS = 8.0
_ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, application/json;q=0.8, */*;q=0.5"
_FAILURES = frozenset({401, 403, 429, *range(500, 600)})  # statuses with which a host refuses or fails


class GuardedClient:
    """HTTP to public addresses. Every failure is a `SourceError` with a line for the model.

    Args:
        allow_hosts: ``host`` or ``host:port`` that may be private or use another port.
        contact: an address or URL for the User-Agent, where a site's owner can complain.
        respect_robots: ask robots.txt before a page is read.
        deadline: seconds for one page, redirects and retries included, waiting for a turn not.
        max_bytes: of a page after decompression; the rest is cut off.
        max_pdf_bytes: of a PDF, which can't be read when it is cut.
        concurrency, per_host: requests at once, overall and to one host.
        spacing: seconds between two page requests to one host.
        rest: seconds that a host is left alone after three failures in a row.
        resolver: names to addresses; the system's by default. For tests.
        ssl_context: trusted certificates; certifi's or ``SSL_CERT_FILE`` by default.
    """

    def __init__(
        self,
        *,
        allow_hosts: Collection[str] = (),
        contact: str = "",
        respect_robots: bool = True,
        deadline: float = 20.0,
        max_bytes: int = 3_000_000,
        max_pdf_bytes: int = 20_000_000,
        concurrency: int = 10,
        per_host: int = 2,
        spacing: float = 0.3,
        rest: float = 60.0,
        resolver: Resolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        context = ssl_context or httpx.create_ssl_context()
        self._policy = AddressPolicy(allow_hosts)
        self._open_policy = AddressPolicy(everything=True)
        self._transport, self._open_transport = (
            GuardedTransport(policy, connections=concurrency, resolver=resolver, ssl_context=context)
            for policy in (self._policy, self._open_policy)
        )
        self._sizes = SizeLimits(max_bytes, max_pdf_bytes)
        self._deadline = deadline
        self._polite = Politeness(total=concurrency, per_host=per_host, spacing=spacing, rest=rest)
        # A provider has its own pace and breaker, and must not wait behind pages.
        self._api_slots = Politeness(total=concurrency, per_host=per_host, spacing=0.0, max_failures=10**9)
        self._robots = Robots(self._fetch_robots) if respect_robots else None
        self._user_agent = f"{AGENT}/{_version()} ({contact or 'reads single pages for one person'})"

    async def get_page(self, url: str) -> Response:
        """The page at `url`, redirects followed: each hop is checked as the first address was.

        Raises:
            AddressRefused: not on the public web. RobotsDenied: robots.txt says no. HostResting: failed before.
            Unreachable, TimedOut, TooManyRedirects: no answer. HttpStatus, RateLimited: an error for an answer.
            WrongType: no text in it.
        """
        budget = Budget(self._deadline)
        cookies = httpx.Cookies()  # for this page only: some sites redirect until their cookie comes back
        current = url.strip()
        for _ in range(MAX_REDIRECTS + 1):
            target = self._policy.check_url(current)
            if self._robots:
                self._polite.check(_site(target))
                self._polite.slow_down(_site(target), await self._robots.check(target))
            answer = await self._get_with_retry(current, target, cookies, budget)
            if isinstance(answer, Response):
                return answer
            current = answer
        raise TooManyRedirects(f"{target.host[:80]} redirects without end: use another source")

    async def call_api(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        trusted: bool = False,
        deadline: float = 10.0,
    ) -> Response:
        """The answer of a search API, whatever its status: providers read their own errors.

        No robots, no retry; redirects of a GET are followed on the same host only. `trusted` is for an address that
        the user configured: it may be private. Its `url` in the answer is the one given, without `params`.

        Raises: `AddressRefused`, `Unreachable`, `TimedOut`, `TooManyRedirects`.
        """
        policy, transport = (self._open_policy, self._open_transport) if trusted else (self._policy, self._transport)
        target = policy.check_url(url)
        if params:
            target = target.copy_merge_params(dict(params))
        sent = httpx.Headers(self._headers())
        sent.update(headers or {})
        budget = Budget(deadline)
        for _ in range(MAX_REDIRECTS + 1):
            request = httpx.Request(method, target, headers=sent, json=json)
            async with self._api_slots.slot(_site(target)), budget.spend(target.host), transport.send(request) as got:
                following = _same_host(target, got) if method.upper() == "GET" else None
                if following is None:
                    return await read_any(got, url, self._sizes.page)
            target = policy.check_url(str(following))
        raise TooManyRedirects(f"{target.host[:80]} redirects without end: check its base URL")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()
        await self._open_transport.aclose()

    async def __aenter__(self) -> GuardedClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _get_with_retry(
        self, current: str, target: httpx.URL, cookies: httpx.Cookies, budget: Budget
    ) -> Response | str:
        try:
            return await self._get(current, target, cookies, budget)
        except (Unreachable, HttpStatus) as error:
            wait = retry_wait(error)
            if wait is None or wait >= budget.left:
                raise
        async with budget.spend(target.host):
            await asyncio.sleep(wait)
        return await self._get(current, target, cookies, budget)

    async def _get(self, current: str, target: httpx.URL, cookies: httpx.Cookies, budget: Budget) -> Response | str:
        """The page, or the address that it redirects to."""
        request = httpx.Request("GET", target, headers=self._headers(), cookies=cookies)
        async with self._turn(target, budget), self._transport.send(request) as got:
            cookies.extract_cookies(got)
            if got.has_redirect_location:
                return next_hop(current, got.headers["location"])
            if not 200 <= got.status_code < 300:
                raise status_error(target.host[:80], got)
            return await read_page(got, current, self._sizes)

    @asynccontextmanager
    async def _turn(self, target: httpx.URL, budget: Budget, *, spaced: bool = True) -> AsyncIterator[None]:
        """A turn at this host within the time left; the breaker learns how it went."""
        site = _site(target)
        try:
            async with self._polite.slot(site, spaced=spaced), budget.spend(target.host):
                yield
        except RateLimited as error:
            long = error.retry_after is not None and retry_wait(error) is None
            self._polite.failed(site, error.retry_after if long else None)
            raise
        except HttpStatus as error:
            (self._polite.failed if error.status in _FAILURES else self._polite.succeeded)(site)
            raise
        except (Unreachable, TimedOut):
            self._polite.failed(site)
            raise
        else:
            self._polite.succeeded(site)

    async def _fetch_robots(self, url: str) -> tuple[int, bytes]:
        budget = Budget(min(ROBOTS_SECONDS, self._deadline))
        for _ in range(MAX_REDIRECTS + 1):
            target = self._policy.check_url(url)
            request = httpx.Request("GET", target, headers=self._headers())
            async with self._turn(target, budget, spaced=False), self._transport.send(request) as got:
                if not got.has_redirect_location:
                    answer = await read_any(got, url, MAX_ROBOTS_BYTES)
                    return answer.status, answer.body
                url = next_hop(url, got.headers["location"])
        return 404, b""  # as the RFC says for a file behind too many redirects

    def _headers(self) -> dict[str, str]:
        # Only what the standard library can inflate bit by bit.
        return {"User-Agent": self._user_agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate"}


def _site(url: httpx.URL) -> str:
    """The host, with its port where that is unusual: what politeness is counted by."""
    return url.netloc.decode("ascii")[:300]


def _same_host(url: httpx.URL, answer: httpx.Response) -> httpx.URL | None:
    """Where a redirect leads if the host stays the same and the connection gets no less safe."""
    if not answer.has_redirect_location:
        return None
    try:
        following = url.join(answer.headers["location"].strip())
    except (httpx.InvalidURL, ValueError):
        return None
    upgrade = (url.scheme, following.scheme, following.port) == ("http", "https", None)
    same = following.host == url.host and (upgrade or (url.scheme, url.port) == (following.scheme, following.port))
    return following if same else None


def _version() -> str:
    try:
        return version("research-agent")
    except PackageNotFoundError:
        return "0"
