"""``research-agent db``: the database itself, and what is kept in it for how long."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from research_agent.cli.argument_types import duration
from research_agent.cli.arguments import Parser
from research_agent.cli.commands.base import count, on_database, print_json, run_async, say, settings_here

if TYPE_CHECKING:
    from research_agent.settings import Settings
    from research_agent.storage.database import Pool

_FOUND_PROBLEMS = 3


def main(words: Sequence[str]) -> int:
    """One of the commands below."""
    if words and words[0] == "psql":  # its arguments are psql's
        from research_agent.storage.psql import run_psql

        return run_psql(_with_schema(), words[1:])
    arguments = _make_parser().parse_args(words)
    code: int = arguments.command(arguments)
    return code


def _make_parser() -> Parser:
    parser = Parser(prog="research-agent db", description="The database of all runs.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    shared = Parser(add_help=False)
    shared.add_argument("--json", action="store_true", help="the result as JSON")

    def add(name: str, command: Any, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[shared], help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(command=command)
        return sub

    add("url", _url, "print the address of the database for other programs; it holds no password")
    commands.add_parser("psql", add_help=False, help="open PostgreSQL's own shell on it; what follows goes to psql")
    add("migrate", _migrate, "bring the schema up to date, as each run does; set up the role research_reader")
    add("check", _check, "look for what must never be: lost passages, altered pages, unusable indexes")
    prune = add("prune", _prune, "remove checkpoints of runs that finished long ago; what can be read is kept")
    prune.add_argument("--older-than", type=duration, required=True, metavar="AGE", help="such as 30d, 12h or 4w")
    prune.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    vacuum = add("vacuum", _vacuum, "let the database reuse the space of removed rows")
    vacuum.add_argument("--full", action="store_true", help="give it back to the disk: locks the tables meanwhile")
    return parser


def _url(arguments: argparse.Namespace) -> int:
    from research_agent.storage.psql import address

    url, command = address(_with_schema())
    if arguments.json:
        print_json({"url": url, "psql": command})
    else:
        sys.stdout.write(f"{url}\n")
        say(command)
    return 0


def _with_schema() -> Settings:
    """The settings; the embedded database, which may be new, has its schema then."""
    from research_agent.storage.database import migrate

    settings = settings_here()
    if not settings.database_url:
        run_async(migrate(settings))
    return settings


def _migrate(arguments: argparse.Namespace) -> int:
    from research_agent.storage.database import migrate

    before, after = run_async(migrate(settings_here(), anew=True))
    if arguments.json:
        print_json({"before": before, "after": after})
    elif before == after:
        sys.stdout.write(f"the schema is at version {after} already\n")
    else:
        sys.stdout.write(f"the schema is at version {after}, it was at {before}\n")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from research_agent.storage.checks import check_database

    report = on_database(check_database)
    if arguments.json:
        print_json(report)
    else:
        from research_agent.cli.table import render_rows

        server = report["server"]
        where = f"PostgreSQL {server['version']}, database {server['database']}, role {server['role']}"
        sys.stdout.write(f"{where}, {_megabytes(server['bytes'])}\nschema version {server['schema_version']}\n\n")
        rows = [[each["name"], each["rows"], each["dead"], _megabytes(each["bytes"])] for each in report["tables"]]
        sys.stdout.write(render_rows(["table", "rows", "dead", "size"], rows, "table") + "\n")
        for problem in report["problems"]:
            sys.stdout.write(f"{problem['found']:>8}  {problem['what']}\n")
        sys.stdout.write("\nfound nothing wrong\n" if report["good"] else "\nsomething is wrong: see above\n")
    return 0 if report["good"] else _FOUND_PROBLEMS


def _prune(arguments: argparse.Namespace) -> int:
    from research_agent.storage.retention import prune

    pruned = on_database(lambda pool: prune(pool, arguments.older_than, dry_run=arguments.dry_run))
    if arguments.json:
        print_json({**asdict(pruned), "dry_run": arguments.dry_run})
        return 0
    would = "would remove" if arguments.dry_run else "removed"
    runs = f"the checkpoints of {count(pruned.runs, 'run')} ({_megabytes(pruned.bytes)})"
    sys.stdout.write(f"{would} {runs} and {count(pruned.pages, 'page')}\n")
    if pruned.rows and not arguments.dry_run:
        say("PostgreSQL will use the space again; research-agent db vacuum --full gives it back to the disk")
    return 0


def _vacuum(arguments: argparse.Namespace) -> int:
    from research_agent.storage.database import fetch
    from research_agent.storage.retention import vacuum

    async def work(pool: Pool) -> list[int]:
        (before,) = await fetch(pool, "describe_server")
        await vacuum(pool, full=arguments.full)
        (after,) = await fetch(pool, "describe_server")
        return [int(each["bytes"]) for each in (before, after)]

    before, after = on_database(work)
    if arguments.json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        sys.stdout.write(f"{_megabytes(before)} before, {_megabytes(after)} now\n")
    return 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
