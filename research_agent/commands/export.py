"""``research-agent export``: everything that is stored of a run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast

from research_agent.arguments import Parser
from research_agent.commands.base import run_async, say, settings_here
from research_agent.output import check_writable, whole_file


def main(words: Sequence[str]) -> int:
    """Write a run out, whole or not at all."""
    parser = Parser(
        prog="research-agent export",
        description="Everything that is stored of a run, as one JSON document: its briefs, steps, calls, sources with "
        "their pages, and claims.",
    )
    parser.add_argument("thread", metavar="THREAD", help="thread id of the run")
    parser.add_argument("--output", metavar="FILE", help="write it to FILE instead of stdout")
    parser.add_argument("--json", action="store_true", help="as JSON, which it always is")
    arguments = parser.parse_args(words)
    if arguments.output:
        target = Path(arguments.output)
        check_writable(target)
        with whole_file(target) as file:
            run_async(_write(arguments.thread, file))
        say(f"run written to {target}")
        return 0
    # Not straight to stdout: half a document looks like a whole one to who does not parse it.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        run_async(_write(arguments.thread, cast(TextIO, spool)))
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout)
    return 0


async def _write(thread_id: str, file: TextIO) -> None:
    from research_agent.export.record import write_record
    from research_agent.storage.database import open_database

    async with open_database(settings_here()) as pool:
        await write_record(pool, thread_id, file)
