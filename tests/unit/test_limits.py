"""Each limit stops a run at its value and not before; what is left is known in advance."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.errors import UsageError
from research_agent.limits import (
    DONE,
    MODEL_FAILED,
    REPEATING,
    SOURCES_FAILED,
    STAGNANT,
    STOP_REASONS,
    Limits,
    Spending,
    Standing,
    may_call_model,
    steps_left,
    stop_reason,
)

LIMITS = Limits(
    max_steps=10,
    max_stagnant_turns=3,
    max_identical_calls=3,
    max_seconds=1000.0,
    max_tokens=10_000,
    max_usd=1.0,
    max_tool_calls=40,
)
NAMES = [limit.name for limit in fields(Limits)]


def spent(tokens: int = 0, usd: float = 0.0, calls: int = 0, largest: int = 0, dearest: float = 0.0) -> Spending:
    return Spending(tokens, usd, largest, dearest, Counter(search_web=calls))


def standing(**at: Any) -> Standing:
    start: dict[str, Any] = {"steps": 1, "stagnant_turns": 0, "identical_turns": 1, "seconds": 1.0, "spending": spent()}
    return Standing(**{**start, **at})


@pytest.mark.parametrize(
    ("reason", "below", "reached"),
    [
        ("max_steps", {"steps": 9}, {"steps": 10}),
        (REPEATING, {"identical_turns": 2}, {"identical_turns": 3}),
        (STAGNANT, {"stagnant_turns": 2}, {"stagnant_turns": 3}),
        ("max_seconds", {"seconds": 939.9}, {"seconds": 940.0}),
        ("max_tokens", {"spending": spent(tokens=7999, largest=1000)}, {"spending": spent(tokens=8000, largest=1000)}),
        ("max_usd", {"spending": spent(usd=0.74, dearest=0.125)}, {"spending": spent(usd=0.75, dearest=0.125)}),
        ("max_tool_calls", {"spending": spent(calls=39)}, {"spending": spent(calls=40)}),
    ],
)
def test_a_limit_stops_at_its_value_and_not_before(reason: str, below: dict[str, Any], reached: dict[str, Any]) -> None:
    assert stop_reason(standing(**below), LIMITS) == ""
    assert stop_reason(standing(**reached), LIMITS) == reason
    assert reason in STOP_REASONS


def test_the_time_kept_for_the_brief_is_a_fifth_of_little_and_a_minute_of_much() -> None:
    assert Limits(max_seconds=10).seconds_to_read == 8
    assert Limits(max_seconds=900).seconds_to_read == 840
    assert stop_reason(standing(seconds=8.0), Limits(max_seconds=10)) == "max_seconds"


@pytest.mark.parametrize("over", [{"tokens": 10_000}, {"usd": 1.0}, {"seconds": 1000.0}])
def test_no_model_is_called_when_a_limit_is_used_up(over: dict[str, Any]) -> None:
    def may(tokens: int = 9_999, usd: float = 0.999, seconds: float = 999.0) -> bool:
        return may_call_model(spent(tokens, usd), seconds, LIMITS)

    assert may()
    assert not may(**over)


@pytest.mark.parametrize(
    ("left", "at"),
    [
        (9, {}),
        (1, {"steps": 9}),
        (0, {"steps": 12}),
        (2, {"spending": spent(tokens=6_000, largest=1_000)}),
        (0, {"spending": spent(tokens=20_000, largest=1_000)}),
        (3, {"spending": spent(usd=0.375, dearest=0.125)}),
        (4, {"steps": 1, "seconds": 188.0}),
        (1, {"steps": 2, "seconds": 500.0}),
        (2, {"steps": 2, "spending": spent(calls=20)}),
        (1, {"steps": 3, "spending": spent(calls=30)}),
    ],
)
def test_the_turns_that_are_left_are_those_of_the_scarcest_limit(left: int, at: dict[str, Any]) -> None:
    assert steps_left(standing(**at), LIMITS) == left


def test_a_run_that_has_time_is_not_told_that_it_has_none() -> None:
    """The reserve of a long run is a minute, in the warning as in the stop."""
    late = standing(steps=8, seconds=760.0)
    assert stop_reason(late, Limits(max_steps=20)) == ""
    assert steps_left(standing(steps=8, seconds=600.0), Limits(max_steps=20)) == 3


def test_the_first_call_over_a_limit_of_tool_calls_is_refused_by_name() -> None:
    limits = replace(LIMITS, max_tool_calls=3, max_calls_per_tool=2)
    spending = Spending()
    assert [spending.admit(tool, limits) for tool in ("a", "a", "a", "b", "b")] == [
        "",
        "",
        "2 calls of a in a run",
        "",
        "3 tool calls in a run",
    ]
    assert spending.tool_calls == Counter(a=2, b=1)


def test_spending_adds_up_and_knows_its_largest_call() -> None:
    spending = Spending()
    for tokens, usd in ((10, 0.5), (30, 0.25), (20, 0.125)):
        spending.add_model_call(tokens, usd)
    assert (spending.tokens, spending.usd, spending.largest_tokens, spending.largest_usd) == (60, 0.875, 30, 0.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), float("-inf")])
def test_a_limit_must_be_a_number_above_0(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a number above 0"):
        Limits(**{name: value})


RAISED_BY = {
    "max_steps": "max_steps",
    STAGNANT: "max_stagnant_turns",
    REPEATING: "max_identical_calls",
    "max_seconds": "max_seconds",
    "max_tokens": "max_tokens",
    "max_usd": "max_usd",
    "max_tool_calls": "max_tool_calls",
}


@pytest.mark.parametrize("reason", [*STOP_REASONS, "", "no such reason"])
def test_only_raising_the_limit_that_stopped_it_lets_a_run_go_on(reason: str) -> None:
    for name in NAMES:
        value = getattr(LIMITS, name)
        more, less = replace(LIMITS, **{name: value * 2}), replace(LIMITS, **{name: value / 2})
        assert more.allows_more_than(LIMITS, reason) == (RAISED_BY.get(reason) == name)
        assert not less.allows_more_than(LIMITS, reason)
    assert not LIMITS.allows_more_than(LIMITS, reason)


def test_a_run_that_was_done_or_that_failed_has_no_limit_to_raise() -> None:
    assert {DONE, MODEL_FAILED, SOURCES_FAILED} == set(STOP_REASONS) - set(RAISED_BY)


_COUNTS = st.integers(1, 60)
_LIMITS = st.builds(
    Limits,
    max_steps=_COUNTS,
    max_stagnant_turns=_COUNTS,
    max_identical_calls=_COUNTS,
    max_seconds=st.floats(1, 5000),
    max_tokens=st.integers(1, 10**6),
    max_usd=st.floats(1e-6, 10),
    max_tool_calls=_COUNTS,
    max_calls_per_tool=_COUNTS,
)
# What a turn may use: tokens, USD, seconds, tools called.
_TURNS = st.lists(
    st.tuples(
        st.integers(0, 50_000), st.floats(0, 0.2), st.floats(0, 300), st.lists(st.sampled_from("abc"), max_size=6)
    ),
    min_size=1,
    max_size=70,
)


@given(_LIMITS, _TURNS)
def test_whatever_turns_use_a_run_spends_at_most_a_limit_plus_one_call(limits: Limits, turns: list[Any]) -> None:
    spending, seconds, tokens_before, usd_before = Spending(), 0.0, 0, 0.0
    for step, (tokens, usd, took, tools) in enumerate(turns, start=1):
        tokens_before, usd_before = spending.tokens, spending.usd
        spending.add_model_call(tokens, usd)
        for tool in tools:
            spending.admit(tool, limits)
        seconds += took
        run = Standing(step, 0, 0, seconds, spending)
        assert steps_left(run, limits) <= limits.max_steps - step
        if stop_reason(run, limits):
            break
    assert step <= limits.max_steps
    assert tokens_before < limits.max_tokens
    assert usd_before < limits.max_usd
    assert spending.tool_calls.total() <= limits.max_tool_calls
    assert max(spending.tool_calls.values(), default=0) <= limits.max_calls_per_tool


@given(_LIMITS, _TURNS)
def test_a_run_that_may_go_on_has_left_a_write_and_a_repair(limits: Limits, turns: list[Any]) -> None:
    spending = Spending()
    for step, (tokens, usd, _, _) in enumerate(turns, start=1):
        spending.add_model_call(tokens, usd)
        if stop_reason(Standing(step, 0, 0, 0.0, spending), limits):
            return
        assert spending.tokens + 2 * spending.largest_tokens < limits.max_tokens
        assert spending.usd + 2 * spending.largest_usd < limits.max_usd


@given(_LIMITS, st.integers(1, 5_000), st.floats(1.5, 60), st.integers(1, 5))
def test_after_the_last_turn_that_was_announced_comes_the_stop(
    limits: Limits, tokens: int, took: float, tools: int
) -> None:
    """Equal turns: what `steps_left` promises is kept, and at 1 or 0 at most one more fits whole."""
    limits = replace(limits, max_calls_per_tool=60)
    spending = Spending()
    promised = None
    for step in range(1, limits.max_steps + 1):
        spending.add_model_call(tokens, 0.0)
        for _ in range(tools):
            spending.admit("a", limits)
        run = Standing(step, 0, 0, step * took, spending)
        if stop_reason(run, limits):
            assert promised is None or promised <= 1
            return
        left = steps_left(run, limits)
        assert promised is None or abs(promised - 1 - left) <= 1
        promised = left


@given(_LIMITS, _LIMITS, st.sampled_from(list(STOP_REASONS)))
def test_two_limits_never_both_allow_more(one: Limits, other: Limits, reason: str) -> None:
    assert not (one.allows_more_than(other, reason) and other.allows_more_than(one, reason))
