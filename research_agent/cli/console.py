"""Progress for a person who watches: a live line on a terminal, plain lines anywhere else. All on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from research_agent.text import one_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from research_agent.runs.events import Progress


class PlainConsole(AbstractContextManager["PlainConsole"]):
    """One line for each event, with the seconds since the start."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None: ...

    async def ask(self, question: str) -> str:
        """Put `question` to the person and return the line that is typed."""
        return await _ask(question, self._stream)

    def watch(self, progress: Progress) -> None:
        """Print one event."""
        with contextlib.suppress(OSError, ValueError):  # nobody reads stderr any more: the run goes on
            print(f"{time.monotonic() - self._began:6.1f}s  {_line(progress)}", file=self._stream, flush=True)


class LiveConsole(AbstractContextManager["LiveConsole"]):
    """Finished steps as lines, and under them what is being waited for, for how long."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._waiting = ""
        self._since = time.monotonic()
        self._sources, self._usd = 0, 0.0
        self._console = Console(stderr=True, highlight=False)
        self._live: Live = Live(
            console=self._console, get_renderable=self._status, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> LiveConsole:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    async def ask(self, question: str) -> str:
        """Put `question` to the person and return the line that is typed."""
        self._live.stop()
        try:
            return await _ask(question, sys.stderr)
        finally:
            self._live.start()

    def watch(self, progress: Progress) -> None:
        """Show one event."""
        from rich.text import Text

        self._sources = max(self._sources, progress.sources)
        self._usd = max(self._usd, progress.usd)
        if progress.kind == "waiting":
            self._waiting, self._since = one_line(progress.text), time.monotonic()
        else:
            style = {"problem": "yellow", "start": "bold", "note": "dim"}.get(progress.kind, "")
            # A Text, never markup: topics, titles and addresses come from outside.
            self._console.print(Text(_line(progress), style=style), overflow="ellipsis", no_wrap=True)

    def _status(self) -> Text:
        from rich.text import Text

        if not self._waiting:
            return Text("")
        waited = time.monotonic() - self._since
        status = f"  … {self._waiting}  {waited:.0f} s  ({_so_far(self._sources, self._usd)} so far)"
        return Text(status, style="cyan", overflow="ellipsis", no_wrap=True)


async def _ask(question: str, stream: TextIO) -> str:
    print(f"\n? {one_line(question)}\n> ", end="", file=stream, flush=True)
    return str(await asyncio.to_thread(sys.stdin.readline)).strip()


def _line(progress: Progress) -> str:
    text = one_line(progress.text)
    match progress.kind:
        case "step":
            return f"step {progress.step:<2} {progress.node:<8}  {text}  [{_so_far(progress.sources, progress.usd)}]"
        case "waiting":
            return f"waiting for {text}"
        case "problem":
            return f"! {text}"
        case _:
            return text


def _so_far(sources: int, usd: float) -> str:
    return f"{sources} source{'' if sources == 1 else 's'}{f', ${usd:.4f}' if usd else ''}"
