"""One runner per thread: a row lease with a fencing token.

Every statement is a single autocommit one, so it works behind transaction poolers, where session advisory
locks do not; the token (checked by triggers on checkpoints and journal) stops a paused holder that wakes up
after another took over. Method: Kleppmann, "How to do distributed locking" (2016).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from research_agent.errors import LeaseLost, StorageError, ThreadBusy
from research_agent.storage.database import Pool, fetch

TTL_SECONDS = 30.0
_MARGIN = 1 / 15  # of the time to live: the holder stops so much before the database would give the thread away


@asynccontextmanager
async def hold_lease(pool: Pool, thread_id: str, *, ttl: float = TTL_SECONDS) -> AsyncIterator[int]:
    """Hold `thread_id` while the body runs; yields the fencing token.

    The body is cancelled, and `LeaseLost` raised, when the lease was taken over or could not be renewed in time.

    Raises:
        ThreadBusy: somebody else holds it; the message says who and since when.
    """
    asked = time.monotonic()  # before the statement is sent: our deadline is never later than the database's
    token = await _acquire(pool, thread_id, ttl)
    body = asyncio.current_task()
    assert body is not None  # noqa: S101 - an async context manager is entered by a task
    lost = False

    async def keep() -> None:
        nonlocal lost
        await _renew_until_lost(pool, thread_id, token, ttl, asked)
        lost = True
        body.cancel()

    keeper = asyncio.create_task(keep())
    try:
        yield token
    except asyncio.CancelledError:
        if lost:
            body.uncancel()
            raise LeaseLost(
                "the lease on this topic was lost (taken over, or the database was away too long): "
                "run the same command again to continue"
            ) from None
        raise
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
        # A release that does not get through is no harm: the lease expires.
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(0.5):
                await fetch(pool, "release_lease", thread_id=thread_id, token=token)


async def _acquire(pool: Pool, thread_id: str, ttl: float) -> int:
    me: dict[str, Any] = {
        "holder": f"{socket.gethostname()} process {os.getpid()}",
        "place": _place(),
        "pid": os.getpid(),
        "pid_started": psutil.Process().create_time(),
    }
    dead_token = None
    for _ in range(2):
        rows = await fetch(pool, "acquire_lease", thread_id=thread_id, ttl=ttl, dead_token=dead_token, **me)
        if rows:
            return int(rows[0]["token"])
        (row,) = await fetch(pool, "show_lease", thread_id=thread_id)
        if dead_token is not None or not holder_is_dead(row):
            break
        # Killed a moment ago on this machine: waiting for the lease to expire would only annoy.
        dead_token = row["token"]
    raise ThreadBusy(
        f"this topic is being run by {row['holder']} since {row['acquired_at']:%Y-%m-%d %H:%M:%S %Z}: "
        "wait for it, or stop it and run the same command again"
    )


async def _renew_until_lost(pool: Pool, thread_id: str, token: int, ttl: float, asked: float) -> None:
    """Return when the lease is lost; a database that is away for a while is waited for."""
    while True:
        await asyncio.sleep(ttl / 3)
        sent = time.monotonic()
        left = asked + ttl * (1 - _MARGIN) - sent
        if left <= 0:
            return
        try:
            async with asyncio.timeout(left):
                if not await fetch(pool, "renew_lease", thread_id=thread_id, token=token, ttl=ttl):
                    return
            asked = sent
        except (StorageError, TimeoutError):
            continue


def holder_is_dead(row: dict[str, Any]) -> bool:
    """Whether the holder in `row` (place, pid, pid_started) ran on this very machine and is gone.

    Elsewhere nobody can know: the lease must expire.
    """
    if not row["place"] or row["place"] != _place():
        return False
    try:
        holder = psutil.Process(row["pid"])
        return bool(holder.status() == psutil.STATUS_ZOMBIE or abs(holder.create_time() - row["pid_started"]) > 1)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


@cache
def _place() -> str:
    """The machine's boot and the process table (containers have their own) in which a pid means something."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - not a path but a name
    except OSError:
        return f"{socket.gethostname()} {psutil.boot_time():.0f}"
