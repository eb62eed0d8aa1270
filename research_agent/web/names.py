"""Names to addresses, without ever keeping the program waiting at its end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable

Resolver = Callable[[str, int], Awaitable[list[str]]]


async def system_resolver(host: str, port: int) -> list[str]:
    """All addresses that the operating system knows for `host`. Raises `OSError` or `UnicodeError` for none.

    The operating system can take half a minute and can't be interrupted, and asyncio's own threads are waited for
    when the loop ends. Hence a thread that nobody waits for.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def deliver(found: list[str], error: Exception | None) -> None:
        if answer.done():
            return
        if error:
            answer.set_exception(error)
        else:
            answer.set_result(found)

    def ask() -> None:
        found: list[str] = []
        error: Exception | None = None
        try:
            found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as failure:
            error = failure
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
            loop.call_soon_threadsafe(deliver, found, error)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    return await answer
