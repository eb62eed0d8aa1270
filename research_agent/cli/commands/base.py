"""What the commands have in common: settings of this folder, event loop, database, and how they say things."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from research_agent.settings import Settings
    from research_agent.storage.database import Pool

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


def on_database(work: Callable[[Pool], Awaitable[T]]) -> T:
    """What `work` gives on the database of the runs, in an event loop of its own."""

    async def opened() -> T:
        from research_agent.storage.database import open_database

        async with open_database(settings_here()) as pool:
            return await work(pool)

    return run_async(opened())


def print_json(value: Any) -> None:
    """`value` on stdout as indented JSON."""
    from research_agent.cli.table import to_json

    sys.stdout.write(to_json(value) + "\n")


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
