"""``research-agent history``: the checkpoints of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from research_agent.cli.arguments import thread_parser
from research_agent.cli.commands.base import local_time, on_database, print_json

if TYPE_CHECKING:
    from research_agent.runs.history import Moment
    from research_agent.storage.database import Pool

_HEADER = ("superstep", "step", "node", "next", "sources", "when", "checkpoint")
# Where no node ran: the input, and what a fork begins with or a raised limit let go on.
_WRITTEN = {"input": "(input)", "update": "(set)"}


def main(words: Sequence[str]) -> int:
    """Print the checkpoints of a run."""
    parser = thread_parser(
        "history",
        "The checkpoints of a run, the oldest first: which node ran, what came next, how many sources "
        "there were. A run can be forked after each step that sanitize ended.",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    arguments = parser.parse_args(words)
    moments = on_database(lambda pool: _read(pool, arguments.thread))
    if arguments.json:
        print_json([asdict(moment) for moment in moments])
    else:
        from research_agent.cli.table import render_rows

        sys.stdout.write(render_rows(_HEADER, [_row(moment) for moment in moments], "table"))
    return 0


async def _read(pool: Pool, thread_id: str) -> list[Moment]:
    from research_agent.runs.history import Past
    from research_agent.storage.runs import find_thread

    run, _, _ = await find_thread(pool, thread_id)
    return await Past(pool, run).moments()


def _row(moment: Moment) -> list[Any]:
    return [
        moment.number,
        moment.step,
        moment.node or _WRITTEN.get(moment.source, moment.source),
        ", ".join(moment.next) or "-",
        moment.sources,
        local_time(datetime.fromisoformat(moment.at)),
        moment.checkpoint_id,
    ]
