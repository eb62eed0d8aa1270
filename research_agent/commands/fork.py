"""``research-agent fork``: the words of it, and the run that they make."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from research_agent.arguments import Parser, add_output, add_settings, given_settings, make_parser, positive
from research_agent.commands.base import settings_here


def make_fork_parser() -> Parser:
    """The parser: where to begin, and all options of a run."""
    parser = Parser(
        prog="research-agent fork",
        description="Go on from an earlier step of a run as a new edition of its topic. Options that are not given are "
        "those of that run. research-agent history THREAD shows its steps.",
    )
    parser.add_argument("thread", metavar="THREAD", help="thread id of the run to begin from")
    parser.add_argument("--step", metavar="N", type=positive, required=True, help="the last step that is shared")
    add_settings(parser)
    add_output(parser)
    return parser


async def look_up(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of the run that `words` ask for, with its origin.

    Raises:
        UsageError: the words are wrong, or there is no such run or step.
    """
    from research_agent.fork import find_origin
    from research_agent.storage.database import open_database

    arguments = make_fork_parser().parse_args(words)
    async with open_database(settings_here()) as pool:
        origin = await find_origin(pool, arguments.thread, arguments.step)
    given = {name: value for name, value in given_settings(arguments).items() if value is not None}
    output = {name: getattr(arguments, name) for name in ("format", "json", "output", "quiet")}
    defaults = vars(make_parser().parse_args(["--topic", origin.run.topic]))
    return argparse.Namespace(**defaults | origin.options | given | output, origin=origin)
