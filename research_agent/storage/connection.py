"""One connection to PostgreSQL, and every error of the driver as one of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import PoolTimeout

from research_agent.errors import LeaseLost, StorageError

CONNECT_SECONDS = 10
_FENCED = "RA001"  # errcode of research.check_lease()


async def connect(dsn: str) -> psycopg.AsyncConnection[DictRow]:
    """A connection outside of any pool, in autocommit mode; use it within ``translated()``.

    Raises:
        StorageError: `dsn` is malformed, or nobody answers.
    """
    parse_dsn(dsn)
    # libpq's connect_timeout ends at the handshake; a server that hangs later needs a deadline as well.
    try:
        async with asyncio.timeout(CONNECT_SECONDS + 2):
            return await psycopg.AsyncConnection.connect(dsn, **connection_options())
    except TimeoutError:
        raise StorageError(_unreachable("timeout")) from None


def parse_dsn(dsn: str) -> dict[str, Any]:
    """The connection parameters of `dsn`.

    Raises:
        StorageError: it is malformed; the message repeats nothing of it.
    """
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        raise StorageError(
            "DATABASE_URL is malformed: it must look like postgresql://user:password@host:5432/name"
        ) from None


def connection_options() -> dict[str, Any]:
    """Options of every connection of this program."""
    return {
        "autocommit": True,  # the checkpointer needs it: without, nothing it writes is ever committed
        "row_factory": dict_row,
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "research-agent",
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }


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
                "then grant usage on schema research and select, insert, update, delete on its tables and LangGraph's"
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
        ("timeout", f"no answer within {CONNECT_SECONDS} s: check host, port and firewall in DATABASE_URL"),
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
