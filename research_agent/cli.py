"""The command line: arguments in, text out. No logic of research lives here; heavy packages come late."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from research_agent.arguments import given_settings, make_parser, resume_command
from research_agent.errors import Interrupted, ResearchError, UsageError

if TYPE_CHECKING:
    from research_agent.evidence.brief import Brief
    from research_agent.progress import Watcher

OUTCOME_CODES = {"complete": 0, "partial": 3, "no_evidence": 4, "failed": 1}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    _speak_utf8()
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = argparse.Namespace()
    try:
        if words[:1] == ["psql"]:
            code = _psql(words[1:])
        else:
            arguments = make_parser().parse_args(words)
            code = _run(arguments)
        sys.stdout.flush()
    except ResearchError as error:
        _say(f"research-agent: {error}")
        if isinstance(error, Interrupted):
            _say(f"to continue: {resume_command(arguments)}")
        code = error.exit_code
    except BrokenPipeError:  # the reader of a pipe left; the brief is stored
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        code = _unexpected(error)
    _leave(code)


def _psql(words: Sequence[str]) -> int:
    from research_agent.settings import load_settings
    from research_agent.storage.psql import run_psql

    _load_dotenv()
    return run_psql(load_settings(), words)


def _run(arguments: argparse.Namespace) -> int:
    output = Path(arguments.output) if arguments.output else None
    if output:
        _check_writable(output)
    brief = asyncio.Runner(loop_factory=_loop_factory()).run(_research(arguments))
    text = _render(brief, as_json=arguments.json)
    if output:
        _write(output, text)
    else:
        sys.stdout.write(text)
    return OUTCOME_CODES[brief.outcome]


async def _research(arguments: argparse.Namespace) -> Brief:
    from research_agent import tracing
    from research_agent.run import research
    from research_agent.settings import EXTRACTIVE, load_settings

    _load_dotenv()
    settings = load_settings(**given_settings(arguments))
    if settings.model == EXTRACTIVE and not settings.chosen_model and not arguments.quiet:
        _say("no model key found: using the built-in extractive model. For a language model: export GEMINI_API_KEY=…")
    flush_traces = tracing.setup()
    stop = asyncio.Event()
    _stop_on_signals(stop, arguments)
    try:
        with _console(quiet=arguments.quiet) as watch:
            return await research(
                arguments.topic, fresh=arguments.fresh, settings=settings, on_progress=watch, stop=stop
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

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows loops have no signal handlers
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number)


@contextlib.contextmanager
def _console(*, quiet: bool) -> Iterator[Watcher | None]:
    from research_agent.console import LiveConsole, PlainConsole

    if quiet:
        yield None
        return
    with LiveConsole() if sys.stderr.isatty() else PlainConsole() as console:
        yield console.watch


def _render(brief: Brief, *, as_json: bool) -> str:
    if as_json:
        from research_agent.export.json import to_json

        return to_json(brief)
    from research_agent.export.markdown import to_markdown

    return to_markdown(brief)


def _check_writable(output: Path) -> None:
    """Before the run: an hour's work must not end at a folder that does not exist."""
    folder = output.parent
    if output.is_dir():
        raise UsageError(f"--output {output} is a folder: name a file in it")
    if not folder.is_dir():
        raise UsageError(f"--output {output}: the folder {folder} does not exist, create it first")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise UsageError(f"--output {output} cannot be written: choose another place")


def _write(output: Path, text: str) -> None:
    """Whole or not at all. If it fails, the brief goes to stdout: it is never lost."""
    try:
        if output.exists() and not output.is_file():  # /dev/stderr, a pipe
            output.write_text(text, encoding="utf-8")
        else:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=output.parent, delete=False) as part:
                part.write(text)
            mode = output.stat().st_mode & 0o777 if output.exists() else 0o666 & ~_umask()
            Path(part.name).chmod(mode)
            Path(part.name).replace(output)
    except OSError as error:
        sys.stdout.write(text)
        raise ResearchError(
            f"--output {output} cannot be written ({error.strerror}); the brief went to stdout and is stored"
        ) from None
    _say(f"brief written to {output}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _load_dotenv() -> None:
    from dotenv import load_dotenv

    load_dotenv(Path.cwd() / ".env")


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    # psycopg cannot use Windows' default loop.
    return asyncio.SelectorEventLoop if sys.platform == "win32" else None


def _speak_utf8() -> None:
    """Briefs are in every script; a C locale must not turn one into a traceback."""
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
