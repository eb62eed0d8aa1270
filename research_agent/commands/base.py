"""What every command begins with: the settings of this folder, and an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from research_agent.settings import Settings

T = TypeVar("T")


def settings_here(**given: Any) -> Settings:
    """The settings of the environment and of ``.env`` in this folder, with `given` on top."""
    from dotenv import load_dotenv

    from research_agent.settings import load_settings

    load_dotenv(Path.cwd() / ".env")
    return load_settings(**given)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work` in an event loop of its own."""
    # psycopg cannot use Windows' default loop.
    factory = asyncio.SelectorEventLoop if sys.platform == "win32" else None
    return asyncio.Runner(loop_factory=factory).run(work)


def local_time(moment: datetime) -> str:
    """`moment` for people: in this machine's time zone, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def count(number: int, noun: str) -> str:
    """``1 page``, ``2,000 pages``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(line: str) -> None:
    """A line on stderr, if anybody listens there."""
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
