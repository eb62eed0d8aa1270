"""The command line: arguments in, text out. No logic of research lives here; heavy packages come late."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from research_agent.cli.arguments import make_parser
from research_agent.cli.commands.base import say
from research_agent.errors import Interrupted, ResearchError

# Name → module and function, which takes the words after the name and gives the exit code. Imported when called.
_COMMANDS = {
    "resume": "run:resume",
    "answer": "run:answer",
    "verify": "verify:main",
    "runs": "runs:list_runs",
    "show": "runs:show",
    "trace": "trace:main",
    "history": "history:main",
    "fork": "fork:main",
    "export": "export:main",
    "delete": "delete:main",
    "sql": "sql:main",
    "db": "database:main",
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    _prepare_streams()
    _stop_early_too()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in _COMMANDS:
            module, _, name = _COMMANDS[words[0]].partition(":")
            code = getattr(import_module(f"research_agent.cli.commands.{module}"), name)(words[1:])
        else:
            from research_agent.cli.commands.run import run

            code = run(make_parser().parse_args(words))
        sys.stdout.flush()
    except ResearchError as error:
        say(f"research-agent: {error}")
        code = error.exit_code
    except KeyboardInterrupt:  # before or while the run was being set up: nothing has been lost
        say("research-agent: stopped; nothing is lost, the same command starts it again")
        code = Interrupted.exit_code
    except BrokenPipeError:  # the reader of a pipe left; the brief is stored
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        say(f"research-agent: the output cannot be written ({error.strerror}); all is stored: run the command again")
        code = 1
    except Exception as error:
        code = _unexpected(error)
    _leave(code)


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
    say(
        f"research-agent: unexpected {type(error).__name__}; everything up to the last step is stored. "
        "Run the same command again; RESEARCH_DEBUG=1 shows the traceback for a bug report"
    )
    return 1


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads that a stopped run left behind (an `initdb`, say)."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
