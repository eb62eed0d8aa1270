"""The connection pool, and the schema: ours and the checkpointer's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from research_agent.errors import LeaseLost, StorageError
from research_agent.settings import Settings

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]

_SETUP_LOCK = 7_270_015_031  # any fixed number; one lock for all schema changes of this program
_CONNECT_SECONDS = 10
_FENCED = "RA001"  # errcode of research.check_lease()


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
    if settings.database_url:
        async with open_pool(settings.database_url.get_secret_value(), embedded=False) as pool:
            yield pool
        return
    from research_agent.storage.embedded import server_of

    server = server_of(settings)
    waiting("the embedded PostgreSQL")
    dsn = await asyncio.to_thread(server.ensure)
    try:
        async with open_pool(dsn, embedded=True) as pool:
            yield pool
    finally:
        server.release()


@asynccontextmanager
async def open_pool(dsn: str, *, embedded: bool) -> AsyncIterator[Pool]:
    """A small pool over `dsn` with the schema in place.

    Raises:
        StorageError: the database cannot be reached or used; the message says why and what to do.
    """
    with translated():
        await _ensure_schema(dsn)
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
            kwargs=_connection_options() | {"prepare_threshold": 0 if embedded else None},
        )
        await pool.open()
    try:
        yield pool
    finally:
        await pool.close(timeout=1)


async def fetch(pool: Pool, name: str, **values: Any) -> list[DictRow]:
    """Run the named query; its rows, or an empty list for a statement that gives none.

    Raises:
        LeaseLost: the statement was fenced off, because another process took the thread over.
        StorageError: any other failure of the database.
    """
    with translated():
        async with pool.connection() as connection:
            cursor = await connection.execute(queries()[name], values)
            return await cursor.fetchall() if cursor.description else []


@contextmanager
def translated() -> Iterator[None]:
    """Turn every driver error into one of ours, at this border only."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise _translate(error) from error


def _translate(error: Exception) -> StorageError:
    state = getattr(error, "sqlstate", None)
    if state == _FENCED:
        return LeaseLost("another process has taken this topic over; its work continues there")
    match error:
        case errors.DiskFull() | errors.OutOfMemory():
            return StorageError("the database's disk is full: free some space and run the same command again")
        case errors.ReadOnlySqlTransaction():
            return StorageError("the database is read-only: point DATABASE_URL at a primary that accepts writes")
        case errors.InsufficientPrivilege():
            return StorageError(
                "the database role lacks a privilege: let the owner run research-agent once to create the schema, "
                "then grant usage on schema research and select, insert, update on its tables"
            )
        case errors.QueryCanceled() | errors.LockNotAvailable():
            return StorageError("the database did not answer in time: look for long locks, then run the command again")
        case PoolTimeout() | psycopg.OperationalError():
            return StorageError(_unreachable(str(error)))
        case _:
            return StorageError(f"the database refused a statement ({type(error).__name__}): {_first_line(error)}")


def _unreachable(text: str) -> str:
    """Why a connection failed. libpq's words are matched, never repeated whole: they can hold parts of the URL."""
    lowered = text.lower()
    for sign, advice in (
        ("password authentication failed", "wrong user or password: correct DATABASE_URL"),
        ("no password supplied", "it asks for a password: add it to DATABASE_URL"),
        ("connection refused", "nothing listens there: start the server or correct DATABASE_URL"),
        ("timeout", f"no answer within {_CONNECT_SECONDS} s: check host, port and firewall in DATABASE_URL"),
        ("does not exist", "that database or role does not exist: create it or correct DATABASE_URL"),
        ("invalid port", "the port is no number from 1 to 65535: correct DATABASE_URL"),
        ("too many clients", "it has no free connection: try again later or raise max_connections"),
        ("too many connections", "it has no free connection: try again later or raise max_connections"),
        ("resolve host", "the host name is unknown: correct DATABASE_URL"),
        ("translate host name", "the host name is unknown: correct DATABASE_URL"),
        ("no space left", "its disk is full: free some space"),
        ("starting up", "it is still starting: try again in a moment"),
        ("shutting down", "it is shutting down: start it and run the same command again"),
        ("terminating connection", "it closed the connection: run the same command again"),
    ):
        if sign in lowered:
            return f"the database cannot be used: {advice}"
    return "the connection to the database failed: check DATABASE_URL and the server, then run the same command again"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200]


def _connection_options() -> dict[str, Any]:
    return {
        "autocommit": True,  # the checkpointer needs it: without, nothing it writes is ever committed
        "row_factory": dict_row,
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "research-agent",
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }


async def _ensure_schema(dsn: str) -> None:
    """Bring both schemas up to date; safe for many processes at once, cheap when there is nothing to do."""
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise StorageError(
            "DATABASE_URL is malformed: it must look like postgresql://user:password@host:5432/name"
        ) from None
    # libpq's connect_timeout ends at the handshake; a server that hangs later needs a deadline as well.
    try:
        async with asyncio.timeout(_CONNECT_SECONDS + 2):
            connection = await psycopg.AsyncConnection.connect(dsn, **_connection_options())
    except TimeoutError:
        raise StorageError(_unreachable("timeout")) from None
    async with connection:
        if await _is_current(connection):
            return
        # Polled, never awaited: CREATE INDEX CONCURRENTLY waits for every open statement, a waiting lock included.
        while not await _value(connection, "select pg_try_advisory_lock(%s)", _SETUP_LOCK):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        try:
            if not await _is_current(connection):
                await _migrate(connection)
        finally:
            await connection.execute("select pg_advisory_unlock(%s)", (_SETUP_LOCK,))


async def _is_current(connection: psycopg.AsyncConnection[DictRow]) -> bool:
    if await _value(connection, "select to_regclass('research.migrations') is null"):
        return False
    version = await _value(connection, "select coalesce(max(version), 0) from research.migrations")
    if version > len(_migrations()):
        raise StorageError(
            f"the database has schema version {version}, this program knows {len(_migrations())}: "
            "pip install -U research-agent, or use another database"
        )
    return bool(version == len(_migrations()))


async def _migrate(connection: psycopg.AsyncConnection[DictRow]) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

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


@cache
def _migrations() -> tuple[bytes, ...]:
    folder = resources.files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((folder / name).read_bytes() for name in names)


async def _value(connection: psycopg.AsyncConnection[DictRow], statement: str, *values: Any) -> Any:
    row = await (await connection.execute(statement.encode(), values or None)).fetchone()
    return next(iter(row.values())) if row else None
