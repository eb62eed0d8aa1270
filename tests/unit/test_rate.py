"""The gate lets a burst through, then makes the rest wait in line, each tool in its own."""

from __future__ import annotations

import asyncio
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.tools.rate import RateGate


class Clock:
    """Time that only passes when somebody sleeps, or when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> RateGate:
    return RateGate(clock, clock.sleep)


def waits(gate: RateGate, clock: Clock, count: int, name: str = "search", per_minute: int = 3) -> list[float | None]:
    places = [gate.take(name, per_minute) for _ in range(count)]
    return [place and place - clock.now for place in places]


def test_a_burst_passes_and_the_rest_stands_in_line(gate: RateGate, clock: Clock) -> None:
    assert waits(gate, clock, 8) == [0, 0, 0, 60, 60, 60, 120, 120]


def test_the_window_slides(gate: RateGate, clock: Clock) -> None:
    assert waits(gate, clock, 1) == [0]
    clock.now += 50
    assert waits(gate, clock, 3) == [0, 0, 10]
    clock.now += 60
    assert waits(gate, clock, 3) == [0, 0, 10]


def test_who_comes_later_stands_behind_those_who_wait(gate: RateGate, clock: Clock) -> None:
    waits(gate, clock, 5)
    clock.now += 30
    assert waits(gate, clock, 2) == [30, 90]


def test_each_tool_has_its_own_line(gate: RateGate, clock: Clock) -> None:
    assert waits(gate, clock, 4, "search") == [0, 0, 0, 60]
    assert waits(gate, clock, 4, "fetch") == [0, 0, 0, 60]


def test_runs_with_different_limits_share_one_line(gate: RateGate, clock: Clock) -> None:
    assert waits(gate, clock, 2, per_minute=1) == [0, 60]
    assert waits(gate, clock, 2, per_minute=10) == [0, 0]
    # The place at +60 is still the last one.
    assert waits(gate, clock, 2, per_minute=1) == [120, 180]


def test_a_wait_that_is_too_long_takes_no_place(gate: RateGate, clock: Clock) -> None:
    waits(gate, clock, 3)
    assert gate.take("search", 3, at_most=59) is None
    assert gate.take("search", 3, at_most=60) == clock.now + 60


async def test_waiting_is_reported_and_done(gate: RateGate, clock: Clock) -> None:
    told: list[float] = []
    assert [await gate.wait("search", 2, told.append) for _ in range(3)] == [True, True, True]
    assert told == clock.slept == [60]
    assert not await gate.wait("search", 1, told.append, at_most=5)
    assert told == [60]


async def test_who_is_stopped_while_waiting_leaves_the_line() -> None:
    clock = Clock()
    gate = RateGate(clock)

    async def stand() -> None:
        await gate.wait("search", 1, lambda seconds: None)

    await stand()
    waiting = asyncio.create_task(stand())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.take("search", 1) == clock.now + 60


@given(st.integers(1, 5), st.lists(st.floats(0, 40), max_size=40))
def test_never_more_than_the_limit_in_any_minute(per_minute: int, pauses: list[float]) -> None:
    clock = Clock()
    gate = RateGate(clock)
    places = []
    for pause in pauses:
        clock.now += pause
        place = gate.take("search", per_minute)
        assert place is not None
        places.append(place)
    assert places == sorted(places)
    for position, place in enumerate(places):
        assert bisect_right(places, place + 59.999) - position <= per_minute
