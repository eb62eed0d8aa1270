"""The command line: arguments in, text out. No logic of research lives here; heavy packages come late."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from research_agent.arguments import (
    given_settings,
    make_answer_parser,
    make_parser,
    make_verify_parser,
    resume_command,
)
from research_agent.commands.base import run_async, settings_here
from research_agent.errors import Interrupted, ResearchError, UsageError, WaitingForPerson

if TYPE_CHECKING:
    from research_agent.console import LiveConsole, PlainConsole
    from research_agent.evidence.brief import Brief

OUTCOME_CODES = {"complete": 0, "partial": 3, "no_evidence": 4, "failed": 1}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    _prepare_streams()
    _stop_early_too()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in _COMMANDS:
            code = _COMMANDS[words[0]](words[1:])
        else:
            code = _run(make_parser().parse_args(words))
        sys.stdout.flush()
    except ResearchError as error:
        _say(f"research-agent: {error}")
        code = error.exit_code
    except KeyboardInterrupt:  # before or while the run was being set up: nothing has been lost
        _say("research-agent: stopped before it began; the same command starts it")
        code = Interrupted.exit_code
    except BrokenPipeError:  # the reader of a pipe left; the brief is stored
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        _say(
            f"research-agent: the output cannot be written ({error.strerror}); a brief is stored: run the command again"
        )
        code = 1
    except Exception as error:
        code = _unexpected(error)
    _leave(code)


def _psql(words: Sequence[str]) -> int:
    from research_agent.storage.psql import run_psql

    return run_psql(settings_here(), words)


def _verify(words: Sequence[str]) -> int:
    from research_agent.verify import verify

    arguments = make_verify_parser().parse_args(words)
    corpus = Path(arguments.corpus) if arguments.corpus else None
    findings = run_async(verify(arguments.thread, settings_here(), live=arguments.live, corpus=corpus))
    for finding in findings:
        sys.stdout.write(f"{finding.state:<11}  {finding.what}{f': {finding.detail}' if finding.detail else ''}\n")
    good = sum(finding.state == "ok" for finding in findings)
    sys.stdout.write(f"{good} of {len(findings)} hold\n")
    return 0 if good == len(findings) else 3


def _answer(words: Sequence[str]) -> int:
    from research_agent.storage.database import open_database
    from research_agent.storage.runs import find_thread

    arguments = make_answer_parser().parse_args(words)

    async def look_up() -> argparse.Namespace:
        async with open_database(settings_here()) as pool:
            run, options, questions = await find_thread(pool, arguments.thread)
        if not questions:
            raise UsageError(f"{arguments.thread} does not wait for an answer")
        return argparse.Namespace(**vars(make_parser().parse_args(["--topic", run.topic])) | options | vars(arguments))

    return _run(run_async(look_up()))


def _fork(words: Sequence[str]) -> int:
    from research_agent.commands.fork import look_up

    return _run(run_async(look_up(words)))


def _history(words: Sequence[str]) -> int:
    from research_agent.commands.history import history

    return history(words)


def _delete(words: Sequence[str]) -> int:
    from research_agent.commands.delete import delete

    return delete(words)


def _export(words: Sequence[str]) -> int:
    from research_agent.commands.export import export

    return export(words)


_COMMANDS = {
    "psql": _psql,
    "verify": _verify,
    "answer": _answer,
    "fork": _fork,
    "history": _history,
    "delete": _delete,
    "export": _export,
}


def _run(arguments: argparse.Namespace) -> int:
    from research_agent import output

    target = Path(arguments.output) if arguments.output else None
    if target:
        output.check_writable(target)
    try:
        brief = run_async(_research(arguments))
    except Interrupted:
        _say(f"to continue: {resume_command(arguments)}")
        raise
    except WaitingForPerson as waiting:
        _say(f'to answer: research-agent answer {waiting.thread_id} "…"')
        raise
    text = output.render(brief, "json" if arguments.json else arguments.format)
    if target:
        output.write(target, text)
        _say(f"brief written to {target}")
    else:
        sys.stdout.write(text)
    return OUTCOME_CODES[brief.outcome]


async def _research(arguments: argparse.Namespace) -> Brief:
    from research_agent import tracing
    from research_agent.run import research
    from research_agent.settings import EXTRACTIVE

    settings = settings_here(**given_settings(arguments))
    if settings.model == EXTRACTIVE and not settings.chosen_model and not arguments.quiet:
        _say("no model key found: using the built-in extractive model. For a language model: export GEMINI_API_KEY=…")
    flush_traces = tracing.setup()
    stop = asyncio.Event()
    _stop_on_signals(stop, arguments)
    try:
        with _console(quiet=arguments.quiet) as console:
            return await research(
                arguments.topic,
                fresh=arguments.fresh,
                settings=settings,
                answer=arguments.answer,
                ask=console.ask if sys.stdin and sys.stdin.isatty() and sys.stderr.isatty() else None,
                on_progress=None if arguments.quiet else console.watch,
                stop=stop,
                thread_id=getattr(arguments, "thread", None),
                origin=getattr(arguments, "origin", None),
            )
    finally:
        flush_traces()


def _stop_on_signals(stop: asyncio.Event, arguments: argparse.Namespace) -> None:
    """First signal: stop at the next step boundary. Second: at once; what is stored stays stored."""

    def on_signal(number: int) -> None:
        if stop.is_set():
            _say(f"\nstopped at once\nto continue: {resume_command(arguments)}")
            os._exit(Interrupted.exit_code)
        _say("\nstopping at the next step boundary; once more to stop at once")
        stop.set()

    for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        with contextlib.suppress(NotImplementedError):  # Windows loops have no signal handlers
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number)


def _console(*, quiet: bool) -> PlainConsole | LiveConsole:
    from research_agent.console import LiveConsole, PlainConsole

    return LiveConsole() if sys.stderr.isatty() and not quiet else PlainConsole()


def _stop_early_too() -> None:
    """SIGTERM and a closed terminal as Ctrl-C, also before the loop takes signals over."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, interrupt)


def _prepare_streams() -> None:
    """Briefs are in every script, and a C locale or a closed stream must not turn one into a traceback."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]


def _unexpected(error: Exception) -> int:
    """A fault of ours: one line, and the traceback only for those who ask for it."""
    if os.environ.get("RESEARCH_DEBUG"):
        raise error
    _say(
        f"research-agent: unexpected {type(error).__name__}; everything up to the last step is stored. "
        "Run the same command again; RESEARCH_DEBUG=1 shows the traceback for a bug report"
    )
    return 1


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads that a stopped run left behind (an `initdb`, say)."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
