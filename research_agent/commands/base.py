"""What every command begins with: the settings of this folder, and an event loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
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
