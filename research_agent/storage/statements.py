"""Statements of users, run so that they can read the journal and do nothing else.

Four walls stand one behind the other, since each has a hole: the rights of the role ``research_reader``, who may
only select; a read-only transaction; a rollback at its end, and the end of the connection; a statement timeout.

A statement is parsed and run inside of ``research.read_only()``, a SECURITY DEFINER function of that role, and nowhere
else. After ``SET ROLE`` a function called in the middle of a SELECT could take the role back, and not even parsing
is harmless: the CHECK of a domain runs for a literal in the text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import pq
from psycopg.rows import DictRow

from research_agent.errors import StorageError, UsageError
from research_agent.storage.connection import connect, translated
from research_agent.storage.database import queries
from research_agent.text import one_line

_TRIES = 5
_LOCK_SECONDS = 5.0  # nothing here holds a lock for long but a migration
_GRACE_SECONDS = 5.0  # what the server has to stop a statement by itself
_MESSAGE_CHARACTERS = 500
_EXACT_DIGITS = 18
# A failure with one of these is none of the statement's: connection, server, disk.
_FOREIGN_STATES = ("08", "57P", "58", "53100", "53300")

_Connection = psycopg.AsyncConnection[DictRow]


@dataclass(frozen=True)
class Rows:
    """What a statement gave: JSON's types, with `Decimal` for numbers that others would round.

    ``more`` says that there were more rows than were asked for.
    """

    columns: list[str]
    rows: list[list[Any]]
    more: bool


async def set_up_reader(connection: _Connection) -> None:
    """Make the role ``research_reader`` and its function, and let it see the journal, as far as our rights allow.

    Never fails for want of a right: runs don't need the reader, and `read` says what is missing. May be called
    again at any time; a role that an administrator has made since is put to use. Call it under the set-up lock.
    """
    for step in ("create_reader", "join_reader", "grant_reader", "make_read_only"):
        for tried in range(_TRIES):  # roles belong to the whole server, where another database can be at it as well
            try:
                async with connection.transaction():
                    await connection.execute(queries()[step])
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
                break
            except psycopg.Error:
                await asyncio.sleep(0.05 * tried)
                continue
            break


async def read(dsn: str, statement: str, *, limit: int = 1000, seconds: float = 30.0) -> Rows:
    """Run one statement that only reads; at most `limit` rows of it, for at most `seconds`.

    Names without a schema are looked up in ``research``. The connection is its own and is closed at the end,
    with all that the statement left in it.

    Raises:
        UsageError: PostgreSQL refused the statement, or it failed or took too long; the message has the reason.
        StorageError: the database cannot be reached, or has no reader; the message says what to do.
    """
    if not statement.strip():
        raise UsageError('there is no statement: give one, such as "select * from run_summary"')
    if "\0" in statement:
        raise UsageError("the statement holds a NUL character: remove it")
    try:
        statement.encode()
    except UnicodeEncodeError:
        raise UsageError("the statement is no valid Unicode text: remove its lone surrogates") from None
    with translated():
        connection = await connect(dsn)
        try:
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                return await _read(connection, statement, limit, seconds)
        except TimeoutError:
            raise _too_slow(seconds) from None
        finally:
            await connection.close()


async def _read(connection: _Connection, statement: str, limit: int, seconds: float) -> Rows:
    connection.prepare_threshold = None
    await connection.set_read_only(True)
    async with connection.transaction(force_rollback=True):
        limits = {"statement": _milliseconds(seconds), "lock": _milliseconds(_LOCK_SECONDS)}
        await connection.execute(queries()["limit_reader"], limits)
        await _check_reader(connection)
        try:
            async with connection.transaction(force_rollback=True):
                with _refusals(statement, seconds):
                    # One statement on the wire: its timer cannot be switched off from within.
                    values = {"statement": statement, "limit": limit}
                    cursor = await connection.execute(queries()["read_rows"], values)
                lines = _values(cursor.pgresult)
        finally:
            with contextlib.suppress(psycopg.Error):
                await connection.execute(queries()["unlock_all"])
    return _rows(lines, limit)


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"  # 0 would be no limit


async def _check_reader(connection: _Connection) -> None:
    """Refuse to run anything unless the reader is there and is no more than a reader."""
    [state] = await (await connection.execute(queries()["reader_state"])).fetchall()
    if state["is_mighty"]:
        raise StorageError(
            "the role research_reader may do more than read: an administrator takes its attributes and memberships "
            "away (alter role research_reader nosuperuser nocreaterole nocreatedb noreplication nobypassrls; revoke …)"
        )
    if state["has_function"]:
        return
    missing = [] if state["exists"] else ["create role research_reader;"]
    if not state["is_member"]:
        missing.append(f"grant research_reader to {state['login']};")
    if missing:
        raise StorageError(
            f"the database has no role that may only read: let an administrator run {' '.join(missing)} "
            "and then run research-agent db migrate"
        )
    raise StorageError("the database is not set up for reading: let its owner run research-agent db migrate")


def _values(result: pq.abc.PGresult | None) -> list[bytes]:
    """The bytes themselves: a statement can change the client's encoding and would confuse the driver."""
    return [result.get_value(i, 0) or b"" for i in range(result.ntuples)] if result else []


@contextmanager
def _refusals(statement: str, seconds: float) -> Iterator[None]:
    """PostgreSQL's refusal of a statement as an error of ours, in its own words."""
    began = time.monotonic()
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        in_time = time.monotonic() - began < seconds * 0.9  # then somebody else cancelled it
        raise (_refused(error, statement) if in_time else _too_slow(seconds)) from error
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(_FOREIGN_STATES):
            raise
        raise _refused(error, statement) from error


def _refused(error: psycopg.Error, statement: str) -> UsageError:
    about = error.diag
    place = f" at character {about.internal_position}" if about.internal_query == statement else ""
    hint = f"; {about.message_hint}" if about.message_hint else ""
    said = one_line(f"{about.message_primary}{place}{hint}")[:_MESSAGE_CHARACTERS]
    if isinstance(error, psycopg.errors.InvalidCursorDefinition):
        return UsageError(
            f"only one statement that reads is run: SELECT, WITH, VALUES, TABLE, SHOW or EXPLAIN (PostgreSQL: {said})"
        )
    return UsageError(f"the statement failed: {said}")


def _too_slow(seconds: float) -> UsageError:
    return UsageError(f"the statement was stopped after {seconds:g} s: make it cheaper, or allow more with --timeout")


class _Pairs(list[tuple[str, Any]]):
    """A JSON object whose names may repeat, as the columns of a SELECT may."""


def _rows(lines: list[bytes], limit: int) -> Rows:
    try:
        found = [_parse(line) for line in lines]
        if not isinstance(found[0], _Pairs):
            return Rows(found[0], [], more=False)
        rows = [[_plain(value) for _, value in pairs] for pairs in found[:limit]]
        return Rows([name for name, _ in found[0]], rows, more=len(found) > limit)
    except RecursionError:
        raise UsageError("a value of the result is nested too deeply: select a part of it") from None


def _parse(line: bytes) -> Any:
    # The bytes themselves, since a database in SQL_ASCII can hold any.
    text = line.decode(errors="replace")
    return json.loads(text, object_pairs_hook=_Pairs, parse_float=_number, parse_int=_number)


def _plain(value: Any) -> Any:
    match value:
        case _Pairs():
            return {name: _plain(item) for name, item in value}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _number(digits: str) -> int | Decimal | str:
    if len(digits) <= _EXACT_DIGITS and digits.lstrip("-").isdigit():
        return int(digits)
    try:
        return Decimal(digits)
    except ArithmeticError:  # an exponent beyond all reason
        return digits
