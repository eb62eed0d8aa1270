"""What a run may use, and the pure function that says which limit is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from research_agent.errors import UsageError

# Stop reasons. "" means: still running.
DONE = "done"  # the model asked for nothing more
MAX_STEPS = "max_steps"
STAGNANT = "stagnant"
MODEL_FAILED = "model_failed"

STOP_REASONS = {
    DONE: "the model had what it needed",
    MAX_STEPS: "the step limit was reached",
    STAGNANT: "several turns in a row brought no new evidence",
    MODEL_FAILED: "the model could not be reached or did not answer usably",
}


DEFAULT_MAX_STEPS = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one run.

    Attributes:
        max_steps: model turns that may ask for tools; the brief is written on top of them.
        max_stagnant_turns: turns in a row without new evidence before the run is called stuck.
        max_seconds_per_tool: wall time of one tool call in seconds.
    """

    max_steps: int = DEFAULT_MAX_STEPS
    max_stagnant_turns: int = 3
    max_seconds_per_tool: float = 60.0

    def __post_init__(self) -> None:
        if self.max_steps < 1 or self.max_stagnant_turns < 1:
            raise UsageError("a limit must be at least 1")


def stop_reason(state: Mapping[str, Any], limits: Limits) -> str:
    """The name of the first limit that `state` has reached, or ""."""
    if state.get("step_count", 0) >= limits.max_steps:
        return MAX_STEPS
    if state.get("stagnant_turns", 0) >= limits.max_stagnant_turns:
        return STAGNANT
    return ""
