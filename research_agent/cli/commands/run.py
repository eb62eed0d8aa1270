"""``research-agent --topic``: research a topic. ``resume`` and ``answer``: go on with a run that is there."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from research_agent.cli.argument_types import text
from research_agent.cli.arguments import (
    add_output,
    add_settings,
    given_settings,
    resume_command,
    thread_parser,
    with_options,
)
from research_agent.cli.commands.base import on_database, run_async, say, settings_here
from research_agent.errors import Interrupted, UsageError, WaitingForPerson

if TYPE_CHECKING:
    from research_agent.brief.brief import Brief
    from research_agent.cli.console import LiveConsole, PlainConsole
    from research_agent.runs.events import Progress

OUTCOME_CODES = {"complete": 0, "partial": 3, "no_evidence": 4, "failed": 1}


def run(arguments: argparse.Namespace) -> int:
    """Research the topic of `arguments` and write the brief where it belongs; the exit code is the outcome's."""
    from research_agent.cli import output

    target = Path(arguments.output) if arguments.output else None
    if target:
        output.check_writable(target)
    try:
        brief = run_async(_research(arguments))
    except Interrupted:
        say(f"to continue: {resume_command(arguments)}")
        raise
    except WaitingForPerson as waiting:
        say(f'to answer: research-agent answer {waiting.thread_id} "…"')
        raise
    rendered = output.render(brief, "json" if arguments.json else arguments.format, left_out=arguments.left_out)
    if target:
        output.write(target, rendered)
        say(f"brief written to {target}")
    else:
        sys.stdout.write(rendered)
    return OUTCOME_CODES[brief.outcome]


def resume(words: Sequence[str]) -> int:
    """``research-agent resume``: go on with a run by its thread id, or print its brief."""
    parser = thread_parser(
        "resume",
        "Go on with an interrupted run; print the brief of a finished one, or go on with it if its limit "
        "is higher now. Options that are not given are those of its last start.",
    )
    add_settings(parser)
    add_output(parser)
    return run(_stored(parser.parse_args(words)))


def answer(words: Sequence[str]) -> int:
    """``research-agent answer``: answer a run that waits for a person, and go on with it."""
    parser = thread_parser("answer", "Answer a run that waits for a person, and go on with it.")
    parser.add_argument("answer", metavar="TEXT", type=text, help="the reply; yes approves a call")
    add_output(parser)
    return run(_stored(parser.parse_args(words), waiting=True))


def _stored(arguments: argparse.Namespace, *, waiting: bool = False) -> argparse.Namespace:
    """The arguments of a run's last start, with those that were given over them.

    Raises:
        UsageError: there is no such run, or it is not `waiting` as it should.
    """
    from research_agent.storage.runs import find_thread

    stored, options, questions = on_database(lambda pool: find_thread(pool, arguments.thread))
    if waiting and not questions:
        raise UsageError(f"{arguments.thread} does not wait for an answer")
    return with_options(stored.topic, options, arguments)


async def _research(arguments: argparse.Namespace) -> Brief:
    from research_agent import tracing
    from research_agent.runs.app import research
    from research_agent.settings import EXTRACTIVE

    settings = settings_here(**given_settings(arguments))
    if settings.model == EXTRACTIVE and not settings.chosen_model and not arguments.quiet:
        say("no model key found: using the built-in extractive model. For a language model: export GEMINI_API_KEY=…")
    flush_traces = tracing.setup()
    stop = asyncio.Event()
    _stop_on_signals(stop, arguments)
    origin = getattr(arguments, "origin", None)
    try:
        with _console(quiet=arguments.quiet) as console:

            def watch(progress: Progress) -> None:
                if progress.kind == "start":
                    arguments.origin = None  # see `resume_command`
                if not arguments.quiet:
                    console.watch(progress)

            return await research(
                arguments.topic,
                fresh=arguments.fresh,
                settings=settings,
                answer=arguments.answer,
                ask=console.ask if sys.stdin and sys.stdin.isatty() and sys.stderr.isatty() else None,
                on_progress=watch,
                stop=stop,
                thread_id=getattr(arguments, "thread", None),
                origin=origin,
            )
    finally:
        flush_traces()


def _stop_on_signals(stop: asyncio.Event, arguments: argparse.Namespace) -> None:
    """First signal: stop at the next step boundary. Second: at once; what is stored stays stored."""

    def on_signal(number: int) -> None:
        if stop.is_set():
            say(f"\nstopped at once\nto continue: {resume_command(arguments)}")
            os._exit(Interrupted.exit_code)
        say("\nstopping at the next step boundary; once more to stop at once")
        stop.set()

    for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        with contextlib.suppress(NotImplementedError):  # Windows loops have no signal handlers
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number)


def _console(*, quiet: bool) -> PlainConsole | LiveConsole:
    from research_agent.cli.console import LiveConsole, PlainConsole

    return LiveConsole() if sys.stderr.isatty() and not quiet else PlainConsole()
