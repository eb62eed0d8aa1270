"""``research-agent history``: the checkpoints of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from research_agent.arguments import Parser
from research_agent.commands.base import run_async, settings_here

if TYPE_CHECKING:
    from research_agent.past import Moment

_HEADER = ("superstep", "step", "node", "next", "sources", "when (UTC)", "checkpoint")
# Where no node ran: the input, and what a fork begins with or a raised limit let go on.
_WRITTEN = {"input": "(input)", "update": "(set)"}


def make_history_parser() -> Parser:
    """The parser."""
    parser = Parser(
        prog="research-agent history",
        description="The checkpoints of a run, the oldest first: which node ran, what came next, how many sources "
        "there were. A run can be forked after each step that sanitize ended.",
    )
    parser.add_argument("thread", metavar="THREAD", help="thread id of the run")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def history(words: Sequence[str]) -> int:
    """Print the checkpoints of a run; the exit code.

    Raises:
        UsageError: there is no such run, or its checkpoints are pruned.
    """
    arguments = make_history_parser().parse_args(words)
    moments = run_async(_read(arguments.thread))
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(moment) for moment in moments], indent=2) + "\n")
        return 0
    rows = [_HEADER, *(_row(moment) for moment in moments)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    return 0


async def _read(thread_id: str) -> list[Moment]:
    from research_agent.past import Past
    from research_agent.storage.database import open_database
    from research_agent.storage.runs import find_thread

    async with open_database(settings_here()) as pool:
        run, _, _ = await find_thread(pool, thread_id)
        return await Past(pool, run).moments()


def _row(moment: Moment) -> tuple[str, ...]:
    return (
        str(moment.number),
        str(moment.step),
        moment.node or _WRITTEN.get(moment.source, moment.source),
        ", ".join(moment.next) or "-",
        str(moment.sources),
        moment.at[:19].replace("T", " "),
        moment.checkpoint_id,
    )
