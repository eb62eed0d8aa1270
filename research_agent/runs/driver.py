"""Drive the graph of one thread from where it stands to its end."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from research_agent.context import ResearchContext
from research_agent.errors import Interrupted, StorageError, WaitingForPerson
from research_agent.graph.graph import ResearchGraph
from research_agent.graph.state import GOING_ON
from research_agent.runs.events import Progress, Watcher, describe_update
from research_agent.storage.connection import translated
from research_agent.tools.ask_human import from_payload

Ask = Callable[[str], Awaitable[str]]
"""Puts one question to a person and returns the reply."""


class ThreadRunner:
    """The thread `thread_id` of `graph`, and who watches it. `token` is the lease's: checkpoints carry it."""

    def __init__(
        self, graph: ResearchGraph, thread_id: str, token: int, context: ResearchContext, watch: Watcher
    ) -> None:
        self._graph, self._context, self._watch = graph, context, watch
        self._config: Any = {
            "configurable": {"thread_id": thread_id},
            # Only a backstop: the step limit ends a run long before. It counts nodes, and each resume anew.
            "recursion_limit": 5 * context.limits.max_steps + 20,
            "metadata": {"lease_token": token},
        }
        self.control = RunControl()
        self._step = self._sources = 0

    async def run(
        self, topic: str, *, reopen: bool, answer: str | None = None, ask: Ask | None = None
    ) -> dict[str, Any]:
        """The final state. `reopen` lets a thread go on that had ended on a limit.

        `answer` is for what the thread is waiting for already, `ask` for what it asks from now on.

        Raises:
            WaitingForPerson: it has a question, and there is nobody to ask.
            Interrupted: it was asked to stop, and did at a step boundary.
        """
        with translated():
            stored = await self._graph.aget_state(self._config)
            if stored.values.get("outcome") and reopen:
                await self._reopen()
            elif stored.values.get("outcome"):
                return dict(stored.values)
            self._step = stored.values.get("step_count", 0)
            self._sources = len(stored.values.get("citations", []))
            await self._context.journal.load(self._step)
            # On a thread that exists the initial input would discard what is pending: it goes on with None.
            start: Any = None
            if stored.created_at is None:
                start = {"topic": topic, "max_steps": self._context.limits.max_steps}
            while True:
                if stored.interrupts:
                    start = Command(resume=answer if answer is not None else await self._put(stored, ask))
                    answer = None
                await self._stream(start)
                stored = await self._graph.aget_state(self._config)
                if not stored.interrupts:
                    break
            values = stored.values
        if not values.get("outcome"):
            raise StorageError(
                "the thread has no step left and no brief; its checkpoints were written by another version of this "
                "program: start a new edition with --fresh"
            )
        return dict(values)

    async def _put(self, stored: StateSnapshot, ask: Ask | None) -> dict[str, str]:
        """The replies to what the thread asks. While a person thinks no time counts."""
        questions = [question for pending in stored.interrupts for question in from_payload(pending.value)]
        if ask is None:
            raise WaitingForPerson(self._config["configurable"]["thread_id"], [each.text for each in questions])
        used = self._context.seconds
        replies = {question.call_id: await ask(question.text) for question in questions}
        now = time.monotonic()
        left = max(0.0, self._context.limits.max_seconds - used)
        self._context = replace(self._context, seconds_before=used, began=now, deadline=now + left)
        return replies

    async def _reopen(self) -> None:
        """As if `sanitize` had found no limit reached: the next node is `reason`."""
        await self._graph.aupdate_state(self._config, GOING_ON, as_node="sanitize")

    async def _stream(self, start: Any) -> None:
        try:
            async for part in self._graph.astream(
                start,
                self._config,
                context=self._context,
                durability="sync",
                stream_mode=["updates", "custom"],
                control=self.control,
                version="v2",
            ):
                self._report(part)
        except GraphDrained:
            raise Interrupted("stopped at a step boundary; everything so far is stored") from None

    def _report(self, part: Mapping[str, Any]) -> None:
        if part["type"] == "custom":
            for kind, text in part["data"].items():
                self._watch(Progress(kind, text, self._step, "", self._sources, self._context.journal.spending.usd))
            return
        for node, update in part["data"].items():
            if isinstance(update, dict):
                self._step = update.get("step_count", self._step)
                self._sources += len(update.get("citations", []))
                usd = self._context.journal.spending.usd
                self._watch(Progress("step", describe_update(node, update), self._step, node, self._sources, usd))
                for message in update.get("messages", []) if node == "tools" else []:
                    if message.status == "error":
                        self._watch(Progress("problem", message.text.split("\n", 1)[0], self._step))
