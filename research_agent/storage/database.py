"""The database of a run: a small pool over a schema that is up to date, and the named queries."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from research_agent.settings import Settings
from research_agent.storage.connection import connection_options, translated
from research_agent.storage.schema import ensure_schema

# It reports each failed connection; what a user should know is said once, by `translated`.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@cache
def queries() -> dict[str, bytes]:
    """The named queries of ``queries.sql``."""
    text = (resources.files(__package__) / "queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().encode() for name, body in zip(parts[::2], parts[1::2], strict=True)}


@asynccontextmanager
async def open_database(settings: Settings, waiting: Callable[[str], None] = lambda what: None) -> AsyncIterator[Pool]:
    """The pool of ``DATABASE_URL``, or of the embedded server, which is started when it does not run.

    Raises:
        StorageError: the database cannot be reached, started or used; the message says why and what to do.
    """
    async with _open_server(settings, waiting) as (dsn, embedded), open_pool(dsn, embedded=embedded) as pool:
        yield pool


@asynccontextmanager
async def _open_server(settings: Settings, waiting: Callable[[str], None]) -> AsyncIterator[tuple[str, bool]]:
    """The DSN, and whether it is the embedded server's, which is up as long as the body runs."""
    if settings.database_url:
        yield settings.database_url.get_secret_value(), False
        return
    from research_agent.storage.server.embedded import server_of

    server = server_of(settings)
    waiting("the embedded PostgreSQL")
    try:
        yield await asyncio.to_thread(server.ensure), True
    finally:
        server.release()


async def migrate(settings: Settings, *, anew: bool = False) -> tuple[int, int]:
    """Bring the schema up to date, as each run does; its version before and after. For `anew` see `ensure_schema`.

    Raises:
        StorageError: as `open_database`.
    """
    async with _open_server(settings, lambda what: None) as (dsn, _):
        with translated():
            return await ensure_schema(dsn, anew=anew)


@asynccontextmanager
async def open_pool(dsn: str, *, embedded: bool) -> AsyncIterator[Pool]:
    """A small pool over `dsn` with the schema in place.

    Raises:
        StorageError: the database cannot be reached or used; the message says why and what to do.
    """
    with translated():
        await ensure_schema(dsn)
        pool: Pool = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=4,
            open=False,
            timeout=15,
            max_idle=300,
            # A connection that died while a model was thinking is replaced, not handed out.
            check=AsyncConnectionPool.check_connection,
            # Named prepared statements break behind transaction poolers, so only our own server gets them.
            kwargs=connection_options() | {"prepare_threshold": 0 if embedded else None},
        )
        await pool.open()
    try:
        yield pool
    finally:
        await pool.close(timeout=1)


async def fetch(pool: Pool, name: str, **values: Any) -> list[DictRow]:
    """Run the named query; its rows, or an empty list for a statement that gives none.

    What PostgreSQL cannot hold (NUL, lone surrogates, NaN in JSON) is taken out of `values` here, wherever it is from.

    Raises:
        LeaseLost: the statement was fenced off, because another process took the thread over.
        StorageError: any other failure of the database.
    """
    with translated():
        async with pool.connection() as connection:
            return await fetch_on(connection, name, **values)


async def fetch_on(connection: psycopg.AsyncConnection[DictRow], name: str, **values: Any) -> list[DictRow]:
    """`fetch` on a connection, as part of its transaction; the driver's errors are the caller's to translate."""
    cursor = await connection.execute(queries()[name], {key: _storable(each) for key, each in values.items()})
    return await cursor.fetchall() if cursor.description else []


def _storable(value: Any) -> Any:
    match value:
        case str():
            return _UNSTORABLE.sub("", value)
        case Jsonb():
            return Jsonb(_storable(value.obj))
        case float() if not math.isfinite(value):
            return None
        case list() | tuple():
            return [_storable(item) for item in value]
        case dict():
            return {_storable(key): _storable(item) for key, item in value.items()}
        case _:
            return value
