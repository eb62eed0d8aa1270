"""The command line, watched: ``python -m tests.support.driver`` runs `research_agent.cli.main` and writes to a log when
each model call, search, fetch and checkpoint starts and ends. ``TEST_PAUSE_AT="fetch:2"`` halts it inside the second
fetch (``put:3`` right after the third checkpoint), so that a test can kill it exactly there.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from typing import Any

from research_agent.cli.main import main
from research_agent.graph.writing import BuiltInWriter
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.runs import app as run
from research_agent.search.corpus.provider import Corpus
from research_agent.storage.checkpoints import AsyncPostgresSaver
from research_agent.storage.journal import PostgresJournal, ToolCall

_PAUSE_AT = os.environ.get("TEST_PAUSE_AT", "")
_counts: Counter[str] = Counter()
_lock = threading.Lock()
_FOR_EVER = 600


def write(kind: str, what: str) -> None:
    with _lock, open(os.environ["TEST_EVENTS"], "a", encoding="utf-8") as log:  # noqa: PTH123
        log.write(f"{kind} {what}\n")


def enter(kind: str, what: str) -> bool:
    """Count and log the start; True when this is where to halt."""
    with _lock:
        _counts[kind] += 1
        here = f"{kind}:{_counts[kind]}" == _PAUSE_AT
    write("start", f"{kind} {what}")
    if here:
        write("pause", _PAUSE_AT)
    return here


def watch_model() -> None:
    generate = ExtractiveChatModel._generate

    def watched(self: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
        what = f"{len(messages)} messages"
        if enter("model", what):
            time.sleep(_FOR_EVER)
        result = generate(self, messages, *args, **kwargs)
        write("end", f"model {what}")
        return result

    ExtractiveChatModel._generate = watched  # type: ignore[method-assign]


def watch_async(owner: Any, name: str, kind: str, *, after: bool = False) -> None:
    original = getattr(owner, name)

    async def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        what = str(args[0])[:200] if kind in ("search", "fetch") else ""
        if not after and enter(kind, what):
            await asyncio.sleep(_FOR_EVER)
        result = await original(self, *args, **kwargs)
        if after and enter(kind, what):
            await asyncio.sleep(_FOR_EVER)
        write("end", f"{kind} {what}")
        return result

    setattr(owner, name, watched)


def watch_journal() -> None:
    save = PostgresJournal.save_tool_call

    async def watched(self: Any, call: ToolCall) -> None:
        await save(self, call)
        kind = "search" if call.message.name == "search_web" else "fetch"
        write("recorded", f"{kind} {call.args.get('query') or call.args['url']}")

    PostgresJournal.save_tool_call = watched  # type: ignore[method-assign]


if __name__ == "__main__":
    watch_model()
    watch_journal()
    watch_async(BuiltInWriter, "write", "model")  # the built-in model's writing is no model call, but a step like one
    watch_async(Corpus, "search", "search")
    watch_async(Corpus, "read", "fetch")
    watch_async(AsyncPostgresSaver, "aput", "put", after=True)
    watch_async(AsyncPostgresSaver, "aput", "before-put")
    watch_async(run, "start_run", "begin")
    watch_async(run, "finish_run", "finish")
    main()
