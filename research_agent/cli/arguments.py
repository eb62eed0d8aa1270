"""The words of the command line: which there are, and how a run's command is written out again."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from research_agent.cli.argument_types import amount, positive, seconds, text
from research_agent.cli.output import FORMS
from research_agent.errors import UsageError

DEFAULT_TOPIC = "Practical use cases of ReAct agents in 2026 and common failure modes"

_EPILOG = """\
The same command again continues an interrupted run, or prints the brief of a finished one. A run that ended on a limit
goes on when the limit is higher.

more commands:
  research-agent runs                   which runs there are: --status, --since, --text
  research-agent show THREAD            what a run came to: facts and brief
  research-agent trace THREAD           what it did, step by step; --follow while it runs
  research-agent resume THREAD          go on with an interrupted run by its id
  research-agent answer THREAD "TEXT"   answer a run that waits for a person, and go on with it
  research-agent fork THREAD --step N   go on from an earlier step as a new edition, with other options if given
  research-agent history THREAD         the checkpoints of a run
  research-agent export THREAD          everything that is stored of a run, as JSON
  research-agent delete THREAD          remove a run and all that belongs to it
  research-agent verify THREAD [--live] check a stored brief again, against stored pages and against the web
  research-agent sql "SELECT …"         read everything with SQL; nothing can be changed: see docs/sql.md
  research-agent db COMMAND             the database: url, psql, migrate, check, prune, vacuum
each says more with --help, and gives JSON with --json

exit codes:
   0  complete brief            4  no evidence found, no brief
   1  failure                   5  another process runs this topic
   2  usage                     6  the run waits for an answer
   3  partial brief            75  interrupted; the same command continues

environment (also from .env): DATABASE_URL, GEMINI_API_KEY or GOOGLE_API_KEY, RESEARCH_MODEL, GEMINI_MODEL,
RESEARCH_CORPUS, RESEARCH_MAX_STEPS, RESEARCH_DATA_DIR, …: see .env.example"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def make_parser() -> Parser:
    """The parser of a run's command. Arguments that are settings have the name of the setting."""
    parser = Parser(
        prog="research-agent",
        description="Research a topic. Prints a short brief; every sentence of it stands on a passage that was read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--topic", type=text, default=DEFAULT_TOPIC, help='what to research (default: "%(default)s")')
    add_settings(parser)
    parser.add_argument("--fresh", action="store_true", help="start a new edition of the topic; the old one is kept")
    parser.add_argument("--answer", metavar="TEXT", type=text, help="reply to what the run is waiting for")
    add_output(parser)
    return parser


def thread_parser(command: str, description: str) -> Parser:
    """The parser of a command about one run."""
    parser = Parser(prog=f"research-agent {command}", description=description)
    parser.add_argument("thread", metavar="THREAD", help="thread id of the run")
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Everything that says how a run is to be made, under the names of the settings; None where it is not given."""
    for flag, name, kind, metavar, meaning in _SETTINGS:
        parser.add_argument(flag, dest=name, type=kind, metavar=metavar, help=meaning)
    parser.add_argument("--no-input", action="store_true", default=None, help="never ask: decide, or refuse")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where a brief goes, and in which form."""
    parser.add_argument("--format", choices=FORMS, default="markdown", help="form of the brief (default: markdown)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--output", metavar="FILE", help="write the brief to FILE instead of stdout")
    parser.add_argument("--left-out", action="store_true", help="also what was drafted and left out, with the reasons")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as arguments; None where one was not."""
    return {name: getattr(arguments, name) for name in [*(setting[1] for setting in _SETTINGS), "no_input"]}


def with_options(topic: str, options: dict[str, Any], given: argparse.Namespace) -> argparse.Namespace:
    """The arguments of a run of `topic`: `given` over stored `options` over the defaults."""
    chosen = {name: value for name, value in vars(given).items() if value is not None}
    return argparse.Namespace(**vars(make_parser().parse_args(["--topic", topic])) | options | chosen)


def resume_command(arguments: argparse.Namespace) -> str:
    """The command that goes on with this run: all that was given, but no --fresh, which would start anew.

    For a fork that is not there yet it is the fork once more; once it is there, its topic stands for it.
    """
    words = ["research-agent", "--topic", arguments.topic]
    if thread := getattr(arguments, "thread", None):
        words = ["research-agent", "resume", thread]
    if origin := getattr(arguments, "origin", None):
        words = ["research-agent", "fork", origin.run.thread_id, "--step", str(origin.step)]
    for flag, name in (*((setting[0], setting[1]) for setting in _SETTINGS), ("--output", "output")):
        if (value := getattr(arguments, name)) is not None:
            words += [flag, str(value)]
    if arguments.format != "markdown":
        words += ["--format", arguments.format]
    switches = ("--no-input", "--json", "--left-out", "--quiet")
    return shlex.join([*words, *(flag for flag in switches if getattr(arguments, flag[2:].replace("-", "_")))])


# Flag, setting, form, placeholder, help. What is not here can be set in the environment.
_SETTINGS: tuple[tuple[str, str, Callable[[str], Any], str, str], ...] = (
    ("--corpus", "corpus", str, "DIR", "search this folder of .md, .txt, .html and .pdf files instead of the web"),
    ("--search", "search", str, "NAME[,NAME]", "where to search, several merged: see README.md"),
    ("--since", "since", str, "DAY", "only what was published since YYYY-MM-DD, where that is known"),
    ("--until", "until", str, "DAY", "only what was published until YYYY-MM-DD"),
    ("--cache-age", "cache_age", seconds, "SECONDS", "reuse pages fetched within this time (default: 86400)"),
    ("--length", "length", str, "LENGTH", "of the brief: short, standard or long (default: standard)"),
    ("--approve", "approve", str, "TOOL[,TOOL]", "ask before each call of these tools"),
    ("--model", "chosen_model", str, "PROVIDER:NAME", "chat model, or extractive (built in, needs no key)"),
    ("--writer-model", "writer_model", str, "PROVIDER:NAME", "another model for writing the brief"),
    ("--check", "check", str, "WHO", "judges each sentence: model or program (default: model, where one writes)"),
    ("--judge-model", "judge_model", str, "PROVIDER:NAME", "another model for judging the sentences"),
    ("--tool-calling", "tool_calling", str, "MODE", "auto, native, text or schema (default: auto)"),
    ("--max-steps", "max_steps", positive, "N", "model turns before the brief (default: 10)"),
    ("--max-usd", "max_usd", amount, "USD", "what all model calls may cost together (default: 0.50)"),
    ("--max-tokens", "max_tokens", positive, "N", "tokens of all model calls together (default: 500000)"),
    ("--max-seconds", "max_seconds", amount, "N", "running time, waiting for you not counted (default: 900)"),
    ("--max-tool-calls", "max_tool_calls", positive, "N", "searches and pages together (default: 80)"),
    ("--max-stagnant-turns", "max_stagnant_turns", positive, "N", "turns without new evidence (default: 3)"),
)
