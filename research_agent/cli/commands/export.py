"""``research-agent export``: everything that is stored of a run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast

from research_agent.cli.arguments import thread_parser
from research_agent.cli.commands.base import on_database, say
from research_agent.cli.output import check_writable, whole_file


def main(words: Sequence[str]) -> int:
    """Write a run out, whole or not at all."""
    parser = thread_parser(
        "export",
        "Everything that is stored of a run, as one JSON document: its briefs, steps, calls, sources with "
        "their pages, and claims.",
    )
    parser.add_argument("--output", metavar="FILE", help="write it to FILE instead of stdout")
    parser.add_argument("--json", action="store_true", help="as JSON, which it always is")
    arguments = parser.parse_args(words)
    from research_agent.storage.record import write_record

    if arguments.output:
        target = Path(arguments.output)
        check_writable(target)
        with whole_file(target) as file:
            on_database(lambda pool: write_record(pool, arguments.thread, file))
        say(f"run written to {target}")
        return 0
    # Not straight to stdout: half a document looks like a whole one to who does not parse it.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        on_database(lambda pool: write_record(pool, arguments.thread, cast(TextIO, spool)))
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout)
    return 0
