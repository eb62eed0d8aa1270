"""The whole record of a run as one JSON document.

PostgreSQL writes the rows: numbers stay exact, keys have the order of the columns, times are ISO 8601 in UTC. They are
read in one transaction, so a run that goes on meanwhile is seen as it was at one moment, and through a cursor, so that
no more than a few pages are in memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TextIO

import psycopg
from psycopg.rows import DictRow

from research_agent.storage.connection import translated
from research_agent.storage.database import Pool, fetch_on, queries
from research_agent.storage.runs import no_such_run

RECORD_VERSION = 1
_ROWS_AT_ONCE = 20
_ONE = ("summary", "run")
_MANY = ("starts", "steps", "model_calls", "tool_calls", "citations", "claims", "pages")


async def write_record(pool: Pool, thread_id: str, file: TextIO) -> None:
    """Write everything that is stored of `thread_id` to `file`: a key for each table, `summary` and `run` as objects.

    Checkpoints are not in it: they are LangGraph's, and hold nothing for people that the journal has not.

    Raises:
        UsageError: there is no such run.
    """
    with translated():
        async with pool.connection() as connection, connection.transaction():
            await fetch_on(connection, "in_one_moment")
            await fetch_on(connection, "in_utc")
            file.write(f'{{\n"record_version": {RECORD_VERSION}')
            for part in _ONE:
                rows = await fetch_on(connection, f"export_{part}", thread_id=thread_id)
                if not rows:
                    raise no_such_run(thread_id)
                file.write(f',\n"{part}": {rows[0]["row"]}')
            for part in _MANY:
                file.write(f',\n"{part}": [')
                comma = ""
                async for row in _rows(connection, part, thread_id):
                    file.write(f"{comma}\n{row}")
                    comma = ","
                file.write("\n]" if comma else "]")
            file.write("\n}\n")


async def _rows(connection: psycopg.AsyncConnection[DictRow], part: str, thread_id: str) -> AsyncIterator[str]:
    """The rows of one part as JSON, each in one line."""
    async with connection.cursor(name=f"export_{part}") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        await cursor.execute(queries()[f"export_{part}"], {"thread_id": thread_id})
        async for row in cursor:
            yield row["row"]
