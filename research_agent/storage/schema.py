"""The schema: LangGraph's tables and ours, brought up to date by migrations that only go forward."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg.rows import DictRow

from research_agent.errors import StorageError
from research_agent.storage.connection import connect

_SETUP_LOCK = 7_270_015_031  # any fixed number; one lock for all schema changes of this program


async def ensure_schema(dsn: str, *, anew: bool = False) -> tuple[int, int]:
    """Bring both schemas up to date; safe for many processes at once, cheap when there is nothing to do.

    `anew` also does again what depends on the rights that we have by now. Returns our version before and after.

    Raises:
        StorageError: the database cannot be reached or set up, or its schema is newer than this program.
    """
    newest = len(_migrations())
    connection = await connect(dsn)
    async with connection:
        before = await _version(connection)
        if before == newest and not anew:
            return before, newest
        # Polled, never awaited: CREATE INDEX CONCURRENTLY waits for every open statement, a waiting lock included.
        while not await _value(connection, "select pg_try_advisory_lock(%s)", _SETUP_LOCK):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        try:
            if anew or await _version(connection) < newest:
                await _migrate(connection)
        finally:
            await connection.execute("select pg_advisory_unlock(%s)", (_SETUP_LOCK,))
    return before, newest


async def _version(connection: psycopg.AsyncConnection[DictRow]) -> int:
    """The version of our schema, 0 for none; refuses one that is newer than this program."""
    if await _value(connection, "select to_regclass('research.migrations') is null"):
        return 0
    version = int(await _value(connection, "select coalesce(max(version), 0) from research.migrations"))
    if version > len(_migrations()):
        raise StorageError(
            f"the database has schema version {version}, this program knows {len(_migrations())}: "
            "pip install -U research-agent, or use another database"
        )
    return version


async def _migrate(connection: psycopg.AsyncConnection[DictRow]) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    from research_agent.storage.statements import set_up_reader

    # Where they are already. A search path begins with "$user", and where the role is called like our schema, the
    # saver would make a second, empty set of its tables in there, before the one that has the checkpoints.
    home = await _value(
        connection,
        "select relnamespace::regnamespace::text from pg_class where oid = to_regclass('checkpoint_migrations')",
    )
    if home:
        await _value(connection, "select set_config('search_path', %s, false)", home)
    await AsyncPostgresSaver(connection).setup()
    await connection.execute("reset search_path")
    broken = await _value(
        connection,
        "select string_agg(c.relname, ', ') from pg_index i join pg_class c on c.oid = i.indexrelid "
        "where c.relname like 'checkpoint%%' and not i.indisvalid",
    )
    if broken:
        raise StorageError(
            f"an interrupted set-up left unusable indexes: drop index {broken}; then run the command again"
        )
    await connection.execute("create schema if not exists research")
    await connection.execute(
        "create table if not exists research.migrations "
        "(version integer primary key, applied_at timestamptz not null default now())"
    )
    done = await _value(connection, "select coalesce(max(version), 0) from research.migrations")
    for version, script in enumerate(_migrations(), start=1):
        if version > done:
            async with connection.transaction():
                await connection.execute(script)
                await connection.execute("insert into research.migrations (version) values (%s)", (version,))
    await set_up_reader(connection)


@cache
def _migrations() -> tuple[bytes, ...]:
    folder = resources.files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((folder / name).read_bytes() for name in names)


async def _value(connection: psycopg.AsyncConnection[DictRow], statement: str, *values: Any) -> Any:
    row = await (await connection.execute(statement.encode(), values or None)).fetchone()
    return next(iter(row.values())) if row else None
