"""docs/sql.md: what its queries give, and what the database says of itself, written into the page by program.

``make docs`` rewrites the page; a test fails when it is not what this module would write. The prose and the queries
are written by hand. After each query stands its output on a made-up journal, and between ``<!-- tables -->`` and
``<!-- /tables -->`` (the same for views and names) stands what the catalog and its comments say.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from research_agent.storage.database import open_pool
from research_agent.storage.server.embedded import EmbeddedServer
from tests.support import catalog
from tests.support.places import REPOSITORY
from tests.support.seed import seed

PAGE = REPOSITORY / "docs" / "sql.md"
RUNS = 60  # of the made-up journal

_MAX_ROWS = 12
_MAX_CELL = 64
_MAX_WIDTH = 150  # of a table: the widest columns are cut until it fits
_NARROWEST = 12
_NUMBERS = {20, 21, 23, 26, 700, 701, 1700}  # oids of the types that psql sets to the right
_QUERY = re.compile(r"```sql\n(?P<query>.+?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
_GENERATED = re.compile(r"(?P<begin><!-- (?P<what>\w+) -->\n).*?(?P<end><!-- /(?P=what) -->)", re.DOTALL)


def questions(page: str) -> list[tuple[str, str]]:
    """Each query of `page` with the heading that it stands under."""
    found, heading = [], ""
    for match in re.finditer(r"^#+ (?P<heading>[^\n]+)$|```sql\n(?P<query>.+?)```", page, re.MULTILINE | re.DOTALL):
        heading = match["heading"] or heading
        if match["query"]:
            found.append((heading, match["query"]))
    return found


def fill(dsn: str, now: datetime) -> None:
    """Make the schema and the journal that the outputs are from."""

    async def make_schema() -> None:
        async with open_pool(dsn, embedded=True):
            pass

    asyncio.run(make_schema())
    seed(dsn, runs=RUNS, now=now)


def render(page: str, dsn: str) -> str:
    """`page` with everything that is generated written anew from the database of `dsn`."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set timezone to 'UTC'")
        page = _QUERY.sub(lambda match: _with_output(connection, match["query"]), page)
        return _GENERATED.sub(lambda match: match["begin"] + _section(connection, match["what"]) + match["end"], page)


def _with_output(connection: psycopg.Connection, query: str) -> str:
    cursor = connection.execute(query.encode())
    result = cursor.pgresult
    assert result
    names = [column.name for column in cursor.description or ()]
    right = [result.ftype(column) in _NUMBERS for column in range(result.nfields)]
    # The server's own text of each value: what psql shows.
    rows = [
        [" ".join((result.get_value(row, column) or b"").decode().split()) for column in range(result.nfields)]
        for row in range(min(result.ntuples, _MAX_ROWS))
    ]
    return f"```sql\n{query}```\n\n```text\n{_table(names, right, rows, result.ntuples)}\n```\n"


def _table(names: Sequence[str], right: Sequence[bool], rows: Sequence[Sequence[str]], count: int) -> str:
    """As psql writes it, but with long cells and long results cut."""
    widths = [min(_MAX_CELL, max(map(len, cells))) for cells in zip(names, *rows, strict=True)]
    while sum(widths) + 3 * len(widths) > _MAX_WIDTH and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1

    def cell(text: str, column: int) -> str:
        text = text if len(text) <= widths[column] else text[: widths[column] - 1].rstrip() + "…"
        return text.rjust(widths[column]) if right[column] else text.ljust(widths[column])

    lines = [" " + " | ".join(_centred(name, width) for name, width in zip(names, widths, strict=True))]
    lines.append("-+-".join("-" * width for width in widths).join("--"))
    lines += [" " + " | ".join(cell(text, column) for column, text in enumerate(row)) for row in rows]
    lines.append(f"({count} row{'s' * (count != 1)})" if count <= _MAX_ROWS else f"… {count} rows")
    return "\n".join(line.rstrip() for line in lines)


def _centred(name: str, width: int) -> str:
    return (" " * ((width - len(name)) // 2) + name).ljust(width)


def _section(connection: psycopg.Connection, what: str) -> str:
    sections = {"names": catalog.names, "tables": catalog.tables, "views": catalog.views}
    return sections[what](connection)


def main() -> None:
    """Write the page anew, with a server that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ra-docs-", dir="/tmp"))  # short, for the socket
    folder.chmod(0o711)
    server = EmbeddedServer(folder / "pg", linger=0.1)
    try:
        dsn = server.ensure()
        fill(dsn, datetime.now(UTC))
        before = PAGE.read_text(encoding="utf-8")
        after = render(before, dsn)
    finally:
        server.release()
        while any(folder.rglob("postmaster.pid")):
            time.sleep(0.05)  # until then the server still writes into it
        shutil.rmtree(folder, ignore_errors=True)
    PAGE.write_text(after, encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(REPOSITORY)}: {'unchanged' if after == before else 'written anew'}\n")


if __name__ == "__main__":
    main()
