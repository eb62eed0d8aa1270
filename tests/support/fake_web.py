"""A small web on loopback: real HTTP and HTTPS servers with ordinary pages and every way a server can misbehave.

    async with FakeWeb() as web:
        web.article("/tides", "The moon pulls the sea. …", title="Tides")
        client = GuardedClient(allow_hosts=web.allow)
        await client.get_page(web.url("/tides"))

`web.url("/403")` and the other paths of `tests.support.faults` answer as their names say. For programs in other
processes ``with running_web() as web:`` serves from a thread; they need ``RESEARCH_ALLOW_HOSTS=",".join(web.allow)``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import html
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """What a server was asked. `path` has the query; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float  # time.monotonic()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers. An iterator as `body` is sent chunk by chunk, for ever if it is endless."""

    body: bytes | AsyncIterator[bytes] = b""
    media_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds before the first byte


Reply = Answer | bytes  # bytes go to the wire as they are
Handler = Callable[[Request], Reply | Awaitable[Reply]]


class FakeWeb:
    """Servers on 127.0.0.1 (`url`), with TLS (`secure_url`), and one that nobody may talk to (`private_url`)."""

    def __init__(self, *, faults: bool = True, latency: float = 0.0) -> None:
        self.requests: list[Request] = []
        self.private_connections = 0
        self.under_way = self.most_under_way = 0
        self._latency = latency
        self._routes: dict[str, Reply | Handler] = {"/robots.txt": Answer(b"", status=404)}
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._ports: dict[str, int] = {}
        self._authority: Any = None
        if faults:
            from tests.support.faults import add_faults

            add_faults(self)

    # --- what a test says ---

    def route(self, path: str, reply: Reply | Handler) -> None:
        """Answer `path` (without query) so, from now on."""
        self._routes[path] = reply

    def reply_at(self, path: str) -> Answer:
        """What `path` answers to a plain GET."""
        found = self._routes[path]
        reply = found(Request("GET", path, {}, b"", 0.0)) if callable(found) else found
        assert isinstance(reply, Answer)
        return reply

    def article(
        self, path: str, text: str, *, title: str = "A page", links: tuple[str, ...] = (), lang: str = "en"
    ) -> str:
        """An ordinary article at `path`, one paragraph for each blank-line block of `text`; its address."""
        self.route(path, Answer(article_html(text, title=title, links=links, lang=lang).encode()))
        return self.url(path)

    # --- what a test asks ---

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of `path`. With a `host`, `resolver` must be given to the client."""
        return f"http://{host}:{self._ports['http']}{path}"

    def secure_url(self, path: str = "/", host: str = "localhost") -> str:
        """The same over TLS. The certificate is for localhost and signed by `authority`."""
        return f"https://{host}:{self._ports['https']}{path}"

    def port(self, kind: str) -> int:
        """The port of a server: http, https, private, no_tls (plain bytes where TLS is expected)."""
        return self._ports[kind]

    @property
    def private_url(self) -> str:
        """A server on a port that is not allowed; `private_connections` counts who tried."""
        return f"http://127.0.0.1:{self._ports['private']}/"

    @property
    def allow(self) -> list[str]:
        """Entries for ``allow_hosts``: all servers but the private one."""
        kinds = [kind for kind in self._ports if kind != "private"]
        return [f"{host}:{self._ports[kind]}" for kind in kinds for host in ("127.0.0.1", "localhost")]

    @property
    def trust(self) -> ssl.SSLContext:
        """A client context that trusts `secure_url`."""
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context

    async def resolver(self, host: str, port: int) -> list[str]:
        """A name server for which every host is this one."""
        return ["127.0.0.1"]

    def asked(self, path: str) -> list[Request]:
        """The requests for `path`, whatever their query."""
        return [request for request in self.requests if request.path.partition("?")[0] == path]

    # --- how it works ---

    async def __aenter__(self) -> FakeWeb:
        await self._listen("http", self._serve)
        await self._listen("https", self._serve, self._certificate())
        await self._listen("private", self._private)
        await self._listen("no_tls", self._no_tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _certificate(self) -> ssl.SSLContext:
        self._authority = _authority()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("localhost", "site.test").configure_cert(context)
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context

    async def _listen(
        self,
        kind: str,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        context: ssl.SSLContext | None = None,
    ) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                await serve(reader, writer)
            except (OSError, EOFError, asyncio.CancelledError):
                pass
            finally:
                self._connections.discard(task)
                with contextlib.suppress(OSError, RuntimeError):
                    writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
        self._servers.append(server)
        self._ports[kind] = server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await _read_request(reader):
            self.requests.append(request)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                await asyncio.sleep(self._latency)
                if not await _send(writer, await self._reply(request)):
                    return
            finally:
                self.under_way -= 1

    async def _reply(self, request: Request) -> Reply:
        found = self._routes.get(request.path.partition("?")[0], Answer(b"<h1>Not found</h1>", status=404))
        if not callable(found):
            return found
        reply = found(request)
        return await reply if isinstance(reply, Awaitable) else reply

    async def _private(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.private_connections += 1
        await _send(writer, Answer(b"a secret of the private network"))

    async def _no_tls(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"220 this is no TLS\r\n")
        await writer.drain()


def article_html(text: str, *, title: str = "A page", links: tuple[str, ...] = (), lang: str = "en") -> str:
    """A page as sites have them: menu, article, footer."""
    paragraphs = "\n".join(f"<p>{html.escape(block.strip())}</p>" for block in text.split("\n\n") if block.strip())
    further = "".join(f'<li><a href="{html.escape(link)}">{html.escape(link)}</a></li>' for link in links)
    return f"""<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head><body>
<nav><a href="/">Home</a> <a href="/about">About</a></nav>
<main><article><h1>{html.escape(title)}</h1>
{paragraphs}
<ul>{further}</ul></article></main>
<footer>Imprint and privacy</footer></body></html>"""


@contextmanager
def running_web(**options: Any) -> Iterator[FakeWeb]:
    """A `FakeWeb` in a thread, for tests whose program runs in another process or blocks."""
    web = FakeWeb(**options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(web.__aenter__(), loop).result(30)
        yield web
    finally:
        asyncio.run_coroutine_threadsafe(web.__aexit__(None, None, None), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@functools.cache
def _authority() -> Any:
    import trustme

    return trustme.CA()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (EOFError, OSError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body, time.monotonic())


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Whether the connection can go on."""
    if isinstance(reply, bytes):
        writer.write(reply)
        await writer.drain()
        return False
    await asyncio.sleep(reply.delay)
    headers = dict(reply.headers)
    if reply.media_type is not None:
        headers.setdefault("Content-Type", reply.media_type)
    whole = isinstance(reply.body, bytes)
    if isinstance(reply.body, bytes):
        headers.setdefault("Content-Length", str(len(reply.body)))
    else:
        headers["Transfer-Encoding"] = "chunked"
    reason = HTTPStatus(reply.status).phrase if reply.status in HTTPStatus._value2member_map_ else "Odd"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {reason}\r\n{head}\r\n".encode("latin-1"))
    if isinstance(reply.body, bytes):
        writer.write(reply.body)
    else:
        async for chunk in reply.body:
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return whole
