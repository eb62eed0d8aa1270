"""``research-agent sql``: one statement that reads, and its rows as text."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from research_agent.cli.arguments import Parser
from research_agent.cli.commands.base import on_database
from research_agent.errors import UsageError

if TYPE_CHECKING:
    from research_agent.cli.table import Form

_MAX_ROWS = 1_000_000
_MAX_SECONDS = 600
_MAX_BYTES = 16_000_000  # of a statement on stdin: /dev/zero has no end
_READABLE = 12  # terminal columns under which a table's column says nothing


def main(words: Sequence[str]) -> int:
    """Print what the statement among `words` gives; the exit code.

    Raises:
        UsageError: the words cannot be used, or the statement was refused, failed or took too long.
        StorageError: the database cannot be reached, or has no role that may only read.
    """
    arguments = _make_parser().parse_args(words)
    from research_agent.cli.table import render_rows
    from research_agent.storage.statements import read

    statement = _statement(arguments.statement)
    result = on_database(
        lambda pool: read(str(pool.conninfo), statement, limit=arguments.limit, seconds=arguments.timeout)
    )
    form: Form = "json" if arguments.json else arguments.format
    on_terminal = sys.stdout.isatty()
    text = render_rows(result.columns, result.rows, form, width=_width(len(result.columns)) if on_terminal else None)
    if form == "csv" and on_terminal:
        from research_agent.text import clean

        text = clean(text)  # exact for programs; what a terminal would obey is nothing a person can read
    sys.stdout.write(text)
    if result.more:
        sys.stderr.write(f"there are more rows: these are the first {arguments.limit:,}; --limit N gives more\n")
    return 0


def _make_parser() -> Parser:
    parser = Parser(
        prog="research-agent sql",
        description="Run one SQL statement that reads the journal of all runs, and print its rows. It runs as a role "
        "that can change nothing. docs/sql.md shows what there is to read.",
    )
    parser.add_argument("statement", metavar="SQL", help='such as "SELECT * FROM run_summary"; - reads it from stdin')
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="(default: table)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--limit", type=_rows, default=1000, metavar="N", help="rows at most (default: 1000)")
    parser.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="stop it then (default: 30, at most 600)"
    )
    return parser


def _statement(argument: str) -> str:
    given = sys.stdin.buffer.read(_MAX_BYTES + 1) if argument == "-" else os.fsencode(argument)
    if len(given) > _MAX_BYTES:
        raise UsageError(f"the statement has more than {_MAX_BYTES // 1_000_000} MB: make it shorter")
    try:
        return given.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the statement is not UTF-8: save or type it as such") from None


def _width(columns: int) -> int:
    return max(shutil.get_terminal_size().columns, columns * _READABLE)


def _rows(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= _MAX_ROWS:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text[:40]}" is not a whole number from 1 to a million')


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) <= _MAX_SECONDS:
            return number
    raise argparse.ArgumentTypeError(f'"{text[:40]}" is not a number of seconds up to {_MAX_SECONDS}')
