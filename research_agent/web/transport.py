"""One request over a guarded connection: raw bytes in bounded pieces, and our errors instead of httpx's."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpcore
import httpx

from research_agent.web.addresses import CONNECT_SECONDS, AddressPolicy, GuardedBackend
from research_agent.web.errors import TimedOut, Unreachable
from research_agent.web.names import Resolver

_IDLE_SECONDS = 5.0  # servers close idle connections soon; using one that is closed costs a retry
_SILENCE_SECONDS = 15.0


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Connections that `policy` allows. No proxy, no ``.netrc``, no cookies, no redirects of its own; HTTP/1.1."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        connections: int,
        resolver: Resolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        context = ssl_context or httpx.create_ssl_context()
        super().__init__(verify=context, trust_env=False)
        # httpx has no argument for the network backend; this one attribute is all that is touched of its inside.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=2 * connections,
            max_keepalive_connections=connections,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=GuardedBackend(policy, resolver=resolver),
        )

    @asynccontextmanager
    async def send(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        """The answer with its body still on the wire (`raw_bytes` reads it); closed at the end of the block."""
        host = request.url.host
        # Between two bytes; the caller's deadline is for the whole.
        request.extensions["timeout"] = {
            "connect": CONNECT_SECONDS,
            "read": _SILENCE_SECONDS,
            "write": _SILENCE_SECONDS,
            "pool": _SILENCE_SECONDS,
        }
        with _translated(host):
            response = await self.handle_async_request(request)
        response.request = request
        try:
            yield response
        finally:
            await response.aclose()


async def raw_bytes(response: httpx.Response, host: str) -> AsyncIterator[bytes]:
    """The body as it comes from the wire, compressed or not."""
    with _translated(host):
        async for chunk in response.aiter_raw():
            yield chunk


@contextmanager
def _translated(host: str) -> Iterator[None]:
    host = host[:80]
    try:
        yield
    except httpx.TimeoutException:
        raise TimedOut(f"{host} did not answer in time: try another source") from None
    except httpx.TransportError as error:
        cause = _tls_error(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise Unreachable(f"the certificate of {host} is not valid: use another source") from None
        if cause is not None:
            raise Unreachable(f"{host} does not speak proper TLS: use another source") from None
        if isinstance(error, httpx.ConnectError):
            raise Unreachable(f"{host} does not accept connections: try another source", passing=True) from None
        raise Unreachable(f"{host} broke off in the middle of its answer: try another source", passing=True) from None


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None
