"""What a run may use, what it has used, and the pure functions that compare the two."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields

from research_agent.errors import UsageError

# Stop reasons. "" means: still running.
DONE = "done"  # the model asked for nothing more
STAGNANT = "stagnant"
REPEATING = "repeating"
MODEL_FAILED = "model_failed"
SOURCES_FAILED = "sources_failed"  # every single search and page: the network, most likely

STOP_REASONS = {
    DONE: "the model had what it needed",
    "max_steps": "the step limit was reached",
    STAGNANT: "several turns in a row brought no new evidence",
    REPEATING: "the model made the same calls again and again",
    "max_seconds": "the time limit was reached",
    "max_tokens": "the token limit was reached",
    "max_usd": "the spending limit was reached",
    "max_tool_calls": "the limit of tool calls was reached",
    SOURCES_FAILED: "nothing could be searched or read, every attempt failed",
    MODEL_FAILED: "the model could not be reached or did not answer usably",
}
# The limit whose raising lets a run go on that ended for this reason.
_RAISED_BY = {STAGNANT: "max_stagnant_turns", REPEATING: "max_identical_calls"}


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one run. The defaults suit a flash-class model and a brief in five minutes.

    Attributes:
        max_steps: model turns that may ask for tools; the brief is written on top of them.
        max_stagnant_turns: turns in a row without new evidence before the run is called stuck.
        max_identical_calls: turns in a row with the very same calls.
        max_seconds: running time of all starts together; waiting for a person or for a resume does not count.
        max_tokens: tokens of all model calls, prompt and answer, together.
        max_usd: what all model calls may cost together.
        max_tool_calls: tool calls in the run.
        max_calls_per_tool: calls of any one tool in the run.
        max_calls_per_minute: calls of any one tool a minute, by all runs of this process together; more have to wait.
        max_seconds_per_tool: wall time of one tool call.
    """

    max_steps: int = 10
    max_stagnant_turns: int = 3
    max_identical_calls: int = 3
    max_seconds: float = 900.0
    max_tokens: int = 500_000
    max_usd: float = 0.50
    max_tool_calls: int = 80
    max_calls_per_tool: int = 60
    max_calls_per_minute: int = 120
    max_seconds_per_tool: float = 60.0

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not value > 0 or value == float("inf"):
                raise UsageError(f"{limit.name} must be a number above 0, not {value}")

    @property
    def seconds_to_read(self) -> float:
        """The running time after which nothing new is begun: the rest is for the brief."""
        return self.max_seconds - min(60.0, self.max_seconds / 5)

    def allows_more_than(self, other: Limits, stop_reason: str) -> bool:
        """Whether a run that `other` ended with `stop_reason` may go on under these."""
        name = _RAISED_BY.get(stop_reason, stop_reason)
        mine, theirs = asdict(self), asdict(other)
        return name in mine and mine[name] > theirs[name]


@dataclass(slots=True)
class Spending:
    """What the calls of a run have used so far, those of earlier starts included."""

    tokens: int = 0
    usd: float = 0.0
    largest_tokens: int = 0  # of one model call
    largest_usd: float = 0.0
    tool_calls: Counter[str] = field(default_factory=Counter)

    def add_model_call(self, tokens: int, usd: float) -> None:
        """Count one attempt of a model call."""
        self.tokens += tokens
        self.usd += usd
        self.largest_tokens = max(self.largest_tokens, tokens)
        self.largest_usd = max(self.largest_usd, usd)

    def admit(self, tool: str, limits: Limits) -> str:
        """Count one call of `tool`, or name the limit that forbids it."""
        if self.tool_calls.total() >= limits.max_tool_calls:
            return f"{limits.max_tool_calls} tool calls in a run"
        if self.tool_calls[tool] >= limits.max_calls_per_tool:
            return f"{limits.max_calls_per_tool} calls of {tool} in a run"
        self.tool_calls[tool] += 1
        return ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run stands after a turn."""

    steps: int
    stagnant_turns: int
    identical_turns: int
    seconds: float
    spending: Spending


def stop_reason(run: Standing, limits: Limits) -> str:
    """The name of the first limit that is reached, or "".

    Of time, tokens and money a reserve is kept back, so that the brief can still be written: one writing and one
    repairing call as large as the largest so far, and a fifth of the time (at most a minute).
    """
    spent = run.spending
    reached = {
        "max_steps": run.steps >= limits.max_steps,
        REPEATING: run.identical_turns >= limits.max_identical_calls,
        STAGNANT: run.stagnant_turns >= limits.max_stagnant_turns,
        "max_seconds": run.seconds >= limits.seconds_to_read,
        "max_tokens": spent.tokens + 2 * spent.largest_tokens >= limits.max_tokens,
        "max_usd": spent.usd + 2 * spent.largest_usd >= limits.max_usd,
        "max_tool_calls": spent.tool_calls.total() >= limits.max_tool_calls,
    }
    return next((name for name, yes in reached.items() if yes), "")


def may_call_model(spending: Spending, seconds: float, limits: Limits) -> bool:
    """Whether there is anything left for one more model call."""
    return spending.tokens < limits.max_tokens and spending.usd < limits.max_usd and seconds < limits.max_seconds


def steps_left(run: Standing, limits: Limits) -> int:
    """How many more turns the limits allow, judged by what a turn has used so far."""
    spent = run.spending
    left = [float(limits.max_steps - run.steps)]
    for used, largest, limit in (
        (spent.tokens, spent.largest_tokens, limits.max_tokens),
        (spent.usd, spent.largest_usd, limits.max_usd),
    ):
        if largest:
            left.append((limit - used - 2 * largest) / largest)
    if run.steps and run.seconds > 1:
        left.append((limits.seconds_to_read - run.seconds) / (run.seconds / run.steps))
    if run.steps and (calls := spent.tool_calls.total()):
        left.append((limits.max_tool_calls - calls) / (calls / run.steps))
    return max(0, int(min(left)))
