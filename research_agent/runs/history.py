"""What a thread went through: its checkpoints, and its state as it was after a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from research_agent.errors import UsageError
from research_agent.graph.graph import ResearchGraph, build_graph
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.storage.checkpoints import make_history_saver
from research_agent.storage.connection import translated
from research_agent.storage.database import Pool
from research_agent.storage.runs import Run


@dataclass(frozen=True, slots=True)
class Moment:
    """One checkpoint.

    Attributes:
        number: of LangGraph's superstep: -1 is the input, 0 the state before the first node.
        step: turns of the loop so far.
        source: ``input``, ``loop`` (a node ran), or ``update`` (a fork began here, or a higher limit let it go on).
        node: what ran since the checkpoint before; "" unless `source` is ``loop``.
        next: what runs from here; nothing at the end.
        sources: entries of the ledger.
        at: when it was written, ISO 8601 in UTC.
    """

    number: int
    step: int
    source: str
    node: str
    next: list[str]
    sources: int
    at: str
    checkpoint_id: str


class Past:
    """The past of one run, read once. Nothing of it is changed, so a run that is running can be read, too."""

    def __init__(self, pool: Pool, run: Run) -> None:
        """Raises `UsageError` when its checkpoints were removed."""
        if run.pruned:
            raise UsageError(
                f"the checkpoints of {run.thread_id} are pruned: it can be read (research-agent trace), but not gone "
                "back to; --fresh on its topic starts anew"
            )
        self._thread_id = run.thread_id
        self._graph = still_graph(make_history_saver(pool))

    async def moments(self) -> list[Moment]:
        """All checkpoints, the oldest first. None if the run was stopped before its first."""
        with translated():
            history = [snapshot async for snapshot in self._graph.aget_state_history(self._config())]
        nexts = {_id(snapshot.config): snapshot.next for snapshot in history}
        return [_moment(snapshot, nexts) for snapshot in reversed(history)]

    async def state_after(self, step: int) -> dict[str, Any]:
        """The state right after `sanitize` of turn `step`, where another run can go on.

        Raises:
            UsageError: there is no such step, or nothing was digested in it; the message names those that there are.
        """
        ends = {each.step: each.checkpoint_id for each in await self.moments() if _ends_a_turn(each)}
        if step not in ends:
            there = f"it can be forked after {_ranges(sorted(ends))}" if ends else "no step of it is finished yet"
            raise UsageError(
                f"{self._thread_id} has no finished step {step}: {there}; --fresh on its topic starts anew"
            )
        with translated():
            snapshot = await self._graph.aget_state(self._config(checkpoint_id=ends[step]))
        return dict(snapshot.values)

    def _config(self, **more: str) -> Any:
        return {"configurable": {"thread_id": self._thread_id, **more}}


def still_graph(saver: BaseCheckpointSaver[Any]) -> ResearchGraph:
    """The graph for reading and writing states: it is never run, so it needs neither a model nor sources."""
    return build_graph(ExtractiveChatModel(), [], saver)


def _ends_a_turn(moment: Moment) -> bool:
    """Whether `sanitize` wrote it, or what stands for it: the beginning of a fork, or a run let go on."""
    return moment.source == "update" or moment.node == "sanitize"


def _moment(snapshot: StateSnapshot, nexts: dict[str, tuple[str, ...]]) -> Moment:
    metadata, values = snapshot.metadata or {}, snapshot.values
    source = str(metadata.get("source", ""))
    before = nexts.get(_id(snapshot.parent_config), ()) if source == "loop" else ()
    return Moment(
        number=int(metadata.get("step", -1)),
        step=values.get("step_count", 0),
        source=source,
        node=", ".join(before),
        next=list(snapshot.next),
        sources=len(values.get("citations", [])),
        at=str(snapshot.created_at),
        checkpoint_id=_id(snapshot.config),
    )


def _id(config: Any) -> str:
    return str(config["configurable"]["checkpoint_id"]) if config else ""


def _ranges(numbers: list[int]) -> str:
    """``steps 1 to 3 and 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    texts = [" to ".join(map(str, part)) for part in parts]
    return f"step{'s' if len(numbers) > 1 else ''} {' and '.join(filter(None, [', '.join(texts[:-1]), texts[-1]]))}"
