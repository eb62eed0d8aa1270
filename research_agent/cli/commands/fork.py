"""``research-agent fork``: go on from an earlier step of a run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from research_agent.cli.argument_types import positive
from research_agent.cli.arguments import Parser, add_output, add_settings, thread_parser, with_options
from research_agent.cli.commands.base import on_database
from research_agent.cli.commands.run import run


def main(words: Sequence[str]) -> int:
    """Fork a run and go on with it, as ``--topic`` would."""
    arguments = _make_parser().parse_args(words)
    return run(_origin(arguments))


def _make_parser() -> Parser:
    parser = thread_parser(
        "fork",
        "Go on from an earlier step of a run as a new edition of its topic. Options that are not given are "
        "those of that run. research-agent history THREAD shows its steps.",
    )
    parser.add_argument("--step", metavar="N", type=positive, required=True, help="the last step that is shared")
    add_settings(parser)
    add_output(parser)
    return parser


def _origin(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments of the run that is wanted, with its origin."""
    from research_agent.runs.fork import find_origin

    origin = on_database(lambda pool: find_origin(pool, arguments.thread, arguments.step))
    del arguments.thread  # it names the origin, not the run that is made
    return with_options(origin.run.topic, origin.options, argparse.Namespace(**vars(arguments), origin=origin))
