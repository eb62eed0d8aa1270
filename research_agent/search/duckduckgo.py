"""DuckDuckGo without a key, through the library ``ddgs``, which reads the pages made for people.

It runs in a process of its own, one for each search: its threads could not be stopped and would hold up the
end of the program, and it parses foreign HTML with native code. A process costs 0.1 s and can be killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from research_agent.documents import SearchHit
from research_agent.search.answers import choose, dig, make_hit, objects, short_query, text
from research_agent.search.base import SearchError, Setup
from research_agent.search.dates import recency, span

DEADLINE = 15.0  # seconds for one search, the start of the process included
_CHILD = ("-P", "-m", "research_agent.search.ddgs_child")
_MAX_ANSWER = 1_000_000  # bytes
# What the child may know: where to find things, and the proxy; no key.
_ENVIRONMENT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "DDGS_PROXY",
)


class DuckDuckGo:
    """Searches the web through DuckDuckGo; when that does not answer, through the other engines of ``ddgs``.

    Args:
        deadline: seconds after which a search is given up and its process killed.
        child: arguments of Python that start the process.
    """

    name = "duckduckgo"

    def __init__(self, deadline: float = DEADLINE, child: Sequence[str] = _CHILD) -> None:
        self._deadline = deadline
        self._child = child

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """As in `SearchProvider`; results bear no date, so the engine's own filter decides."""
        request = {
            "query": short_query(query),
            "limit": limit,
            "days": "..".join(span(since, until)) if since or until else "",
            "recency": recency(since)[:1],
            "deadline": self._deadline,
        }
        answer = await self._ask(json.dumps(request).encode())
        match text(dig(answer, "trouble")):
            case "limited":
                raise SearchError(
                    "DuckDuckGo does not answer automatic searches from this address now; use another provider "
                    "for a while",
                    "limited",
                )
            case "missing":
                raise SearchError("the library ddgs is not installed: pip install ddgs, or use another provider")
            case "failed":
                # Its text holds addresses, and a proxy's may hold a password: only the kind of error is told.
                kind = re.match(r"\w+Error\b", text(dig(answer, "why")))
                raise SearchError(
                    f"DuckDuckGo can't be reached ({kind[0] if kind else 'no answer'}); check the network, "
                    "or use another provider"
                )
        if not isinstance(dig(answer, "hits"), list):
            raise SearchError("DuckDuckGo gave an answer that can't be read; use another provider")
        return choose(map(self._hit, objects(answer, "hits")), limit)

    def _hit(self, item: dict[str, Any]) -> SearchHit | None:
        return make_hit(self.name, item.get("href"), text(item.get("title")), text(item.get("body")))

    async def _ask(self, request: bytes) -> Any:
        process = None
        try:
            async with asyncio.timeout(self._deadline):
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *self._child,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=_environment(),
                )
                return json.loads(await _talk(process, request))
        except TimeoutError:
            raise SearchError(f"DuckDuckGo did not answer within {self._deadline:g} s; use another provider") from None
        except (OSError, ValueError, RecursionError):
            raise SearchError("the process that asks DuckDuckGo broke down; use another provider") from None
        finally:
            if process is not None:
                await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill `process`, if it still runs, and wait until it is gone."""
    assert process.stdout is not None  # noqa: S101 - for the type checker
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    # asyncio's `wait` waits for the end of the pipe too, which nobody sees while reading is paused.
    while await process.stdout.read(65536):
        pass
    await process.wait()


async def _talk(process: asyncio.subprocess.Process, request: bytes) -> bytes:
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - for the type checker
    with contextlib.suppress(ConnectionError):  # it died; what it wrote before says more
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()
    answer = b""
    while part := await process.stdout.read(65536):
        answer += part
        if len(answer) > _MAX_ANSWER:
            raise ValueError("answer too long")
    return answer


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def make(setup: Setup) -> DuckDuckGo:
    """DuckDuckGo; there is nothing to configure."""
    return DuckDuckGo()
