"""What a run brings to its nodes beside the state: nothing of it is stored in a checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph.runtime import Runtime

from research_agent.limits import DEFAULT_MAX_STEPS, Limits
from research_agent.state import ResearchState
from research_agent.storage.journal import Journal, NoJournal


@dataclass(frozen=True, slots=True)
class ResearchContext:
    """LangGraph's runtime context. The defaults let a graph run without our storage."""

    limits: Limits = field(default_factory=Limits)
    journal: Journal = field(default_factory=NoJournal)
    model_name: str = "model"  # as in the journal: provider:name
    model_timeout: float = 120.0  # seconds for one attempt
    deadline: float | None = None  # time.monotonic() when the run's time is up: no call waits beyond it
    max_prompt_tokens: int | None = 32_000  # estimated; above it older turns are compacted before they are sent
    ceiling_price: tuple[float, float] | None = None  # USD a million tokens in and out where no price is known
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # waits between attempts; tests put none here


def context_of(state: Mapping[str, Any], runtime: Runtime[ResearchContext]) -> ResearchContext:
    """The context of a run; for a graph that was invoked without one, defaults and the state's own step limit."""
    return runtime.context or ResearchContext(Limits(max_steps=state.get("max_steps", DEFAULT_MAX_STEPS)))


class Node(Protocol):
    """A node of the graph: from the state to what it adds or changes."""

    def __call__(self, state: ResearchState, runtime: Runtime[ResearchContext]) -> Awaitable[dict[str, Any]]: ...
