"""A journal of many runs, made once for all tests of a module that only read it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from research_agent.storage.database import open_pool
from tests.conftest import temporary_database
from tests.support.seed import seed


def make_schema(url: str) -> None:
    """Bring the database of `url` to the newest version."""

    async def work() -> None:
        async with open_pool(url, embedded=True):
            pass

    asyncio.run(work())


@pytest.fixture(scope="module")
def many_runs(server: str) -> Iterator[psycopg.Connection[Any]]:
    with temporary_database(server) as url:
        make_schema(url)
        seed(url, runs=150, now=datetime.now(UTC))
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection
