"""Several reading processes, and names that are looked up beside the loop."""

from __future__ import annotations

import asyncio

import pytest

from research_agent.errors import SourceError
from research_agent.web.names import system_resolver
from research_agent.web.pool import ExtractionPool
from tests.integration.web.test_worker import FLOOD


async def test_a_heavy_page_does_not_keep_the_others_waiting() -> None:
    pool = ExtractionPool(2, deadline=2.0)
    try:
        for _ in range(2):  # both processes are up
            await asyncio.gather(*(_read(pool, "warm") for _ in range(2)))
        heavy = asyncio.create_task(pool.extract(FLOOD, url="https://example.org/", media_type="text/html"))
        await asyncio.sleep(0)
        assert [await _read(pool, f"text {n}") for n in range(10)] == [f"text {n}" for n in range(10)]
        assert not heavy.done()
        with pytest.raises(SourceError, match="longer than 2 s"):
            await heavy
        assert await asyncio.gather(*(_read(pool, str(n)) for n in range(3))) == ["0", "1", "2"]
    finally:
        await pool.close()


async def test_one_document_at_a_time_needs_one_process() -> None:
    pool = ExtractionPool(2)
    for n in range(3):
        await _read(pool, str(n))
    assert sum(worker._process is not None for worker in pool._workers) == 1
    await pool.close()


async def test_names_are_resolved_and_failures_told() -> None:
    assert {"127.0.0.1", "::1"} & set(await system_resolver("localhost", 80))
    with pytest.raises((OSError, UnicodeError)):
        await system_resolver("a" * 70 + ".example", 80)


async def _read(pool: ExtractionPool, text: str) -> str:
    return (await pool.extract(text.encode(), url="https://example.org/x", media_type="text/plain")).text
