"""What a run brings to its nodes beside the state: nothing of it is stored in a checkpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph.runtime import Runtime

from research_agent.limits import Limits, Standing
from research_agent.resilience import ModelBreaker
from research_agent.storage.journal import Journal, NoJournal


@dataclass(frozen=True, slots=True)
class ResearchContext:
    """LangGraph's runtime context. The defaults let a graph run without our storage."""

    limits: Limits = field(default_factory=Limits)
    journal: Journal = field(default_factory=NoJournal)
    model_name: str = "model"  # as in the journal: provider:name
    length: Literal["short", "standard", "long"] = "standard"  # of the brief
    check: Literal["model", "program"] = "model"  # who judges the sentences that a model wrote
    writer_name: str = ""  # where another model writes the brief
    judge_name: str = ""  # where another one judges it
    model_timeout: float = 120.0  # seconds for one attempt
    deadline: float | None = None  # time.monotonic() when the run's time is up: no call waits beyond it
    max_prompt_tokens: int | None = 32_000  # estimated; above it older turns are compacted before they are sent
    ceiling_price: tuple[float, float] | None = None  # USD a million tokens in and out where no price is known
    breaker: ModelBreaker = field(default_factory=ModelBreaker)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # waits between attempts; tests put none here
    approve: frozenset[str] = frozenset()  # tools whose calls a person must approve
    person: bool = True  # False: nobody can be asked, and what needs approval is refused
    seconds_before: float = 0.0  # running time of earlier starts
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Running time of all starts of the run so far."""
        return self.seconds_before + time.monotonic() - self.began

    @property
    def seconds_to_read(self) -> float:
        """Running time that is left before the brief must be written."""
        return self.limits.seconds_to_read - self.seconds

    def standing(self, state: Mapping[str, Any], identical_turns: int = 0) -> Standing:
        """Where the run stands after the turn that `state` ends with."""
        return Standing(
            steps=state.get("step_count", 0),
            stagnant_turns=state.get("stagnant_turns", 0),
            identical_turns=identical_turns,
            seconds=self.seconds,
            spending=self.journal.spending,
        )


def context_of(state: Mapping[str, Any], runtime: Runtime[ResearchContext]) -> ResearchContext:
    """The context of a run; for a graph that was invoked without one, defaults and the state's own step limit."""
    return runtime.context or ResearchContext(Limits(max_steps=state.get("max_steps", Limits().max_steps)))
