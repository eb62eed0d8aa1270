"""A search service on loopback that answers as it was told, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from research_agent.documents import SearchHit
from research_agent.errors import SourceError
from research_agent.web.client import GuardedClient


@dataclass(frozen=True)
class Asked:
    """One request. `params` of the query string, or of a form; header names in lower case."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Told:
    """One answer; `delay` in seconds before it is sent."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class FakeSearch:
    """Use with ``async with``. Answers in the order of `tell`; the last one is repeated."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: deque[Told] = deque()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def base(self) -> str:
        return f"http://{self.host}"

    def client(self) -> GuardedClient:
        """A real client that may go here."""
        # Without certificates, which take longer to load than a test takes.
        return GuardedClient(allow_hosts=(self.host,), ssl_context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def tell(self, body: Any = b"", status: int = 200, *, delay: float = 0.0, **headers: str) -> None:
        """Queue an answer. `body` that is not bytes is sent as JSON, `retry_after` becomes ``retry-after``."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._answers.append(Told(raw, status, named, delay))

    async def __aenter__(self) -> FakeSearch:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await _read(reader))
            told = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
            await asyncio.sleep(told.delay)
            headers = {"content-type": "application/json", "connection": "close", **told.headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(
                f"HTTP/1.1 {told.status} As Told\r\ncontent-length: {len(told.body)}\r\n{head}\r\n".encode() + told.body
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    form = body.decode() if "form" in headers.get("content-type", "") else parts.query
    return Asked(method, parts.path, dict(parse_qsl(form, keep_blank_values=True)), headers, body)


class Scripted:
    """A provider in memory that gives what it holds, an error included, after `delay` seconds."""

    def __init__(self, name: str, *answers: list[SearchHit] | SourceError, delay: float = 0.0) -> None:
        self.name = name
        self.asked = 0
        self._answers = deque(answers)
        self._delay = delay

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        self.asked += 1
        await asyncio.sleep(self._delay)
        answer = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, SourceError):
            raise answer
        return answer[:limit]


def hits(source: str, *urls: str) -> list[SearchHit]:
    """A hit for each of `urls`."""
    return [SearchHit(url, f"title of {url}", f"snippet of {url}", "", source) for url in urls]
