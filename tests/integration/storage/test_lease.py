"""One runner per thread."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from research_agent.errors import LeaseLost, ThreadBusy
from research_agent.storage.database import open_pool
from research_agent.storage.lease import hold_lease


async def test_a_held_thread_is_refused_with_who_and_since_when(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool, hold_lease(pool, "t"):
        with pytest.raises(ThreadBusy, match=rf"{socket.gethostname()} process {os.getpid()} since 20\d\d-"):
            async with hold_lease(pool, "t"):
                pass


async def test_a_released_thread_can_be_taken_at_once_with_a_higher_token(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        async with hold_lease(pool, "t") as first:
            pass
        async with hold_lease(pool, "t") as second:
            assert second == first + 1


async def test_of_many_contenders_one_wins(empty_database: str) -> None:
    async def contend() -> bool:
        try:
            async with hold_lease(pool, "t"):
                await asyncio.sleep(0.3)
            return True
        except ThreadBusy:
            return False

    async with open_pool(empty_database, embedded=True) as pool:
        assert sum(await asyncio.gather(*(contend() for _ in range(20)))) == 1


async def test_a_lease_is_renewed_while_it_is_held(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool, hold_lease(pool, "t", ttl=2.3):
        await asyncio.sleep(2.5)
        with pytest.raises(ThreadBusy):
            async with hold_lease(pool, "t"):
                pass


async def test_the_body_is_cancelled_when_the_lease_is_taken_over(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        with pytest.raises(LeaseLost, match="run the same command again"):
            async with hold_lease(pool, "t", ttl=2.3):
                async with pool.connection() as connection:
                    await connection.execute(b"update research.leases set token = token + 1")
                await asyncio.sleep(10)


async def test_a_cancelled_body_releases_the_thread(empty_database: str) -> None:
    held = asyncio.Event()

    async def hold() -> None:
        async with hold_lease(pool, "t"):
            held.set()
            await asyncio.sleep(60)

    async with open_pool(empty_database, embedded=True) as pool:
        task = asyncio.create_task(hold())
        await held.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with hold_lease(pool, "t"):
            pass
