"""The breaker of a provider, on a clock that the test moves."""

from __future__ import annotations

import asyncio

import pytest

from research_agent.documents import SearchHit
from research_agent.errors import SourceError
from research_agent.search.base import SearchError
from research_agent.search.breaker import REST_FAILED, REST_LIMITED, REST_REFUSED, Breaker
from tests.support.fake_search import Scripted, hits

GOOD = hits("a", "https://a.example/")
FAILED = SourceError("no answer")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A breaker around a scripted provider."""

    def __init__(self, *answers: list[SearchHit] | SourceError, delay: float = 0.0) -> None:
        self.clock = Clock()
        self.inner = Scripted("brave", *answers, delay=delay)
        self.breaker = Breaker(self.inner, self.clock)

    async def ask(self) -> str:
        try:
            await self.breaker.search("q", 5)
        except SourceError as error:
            return str(error)
        return "ok"


async def test_three_failures_in_a_row_open_it_and_a_good_probe_closes_it() -> None:
    bench = Bench(FAILED, FAILED, FAILED, GOOD)
    assert [await bench.ask() for _ in range(3)] == ["no answer"] * 3
    assert (await bench.ask()).startswith(f"brave is resting for {REST_FAILED:.0f} s: use another provider")
    assert bench.inner.asked == 3
    bench.clock.now += REST_FAILED
    assert [await bench.ask() for _ in range(2)] == ["ok", "ok"]


async def test_a_success_in_between_starts_the_count_anew() -> None:
    bench = Bench(FAILED, FAILED, GOOD, FAILED, FAILED, GOOD)
    assert [await bench.ask() for _ in range(6)] == ["no answer", "no answer", "ok"] * 2


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (SearchError("x", "limited"), REST_LIMITED),
        (SearchError("x", "limited", 7.2), 8),
        (SearchError("x", "limited", 0.0), 1),
        (SearchError("x", "refused"), REST_REFUSED),
        (SearchError("x", "refused", 90.0), 90),
    ],
)
async def test_a_limit_or_refusal_opens_it_at_once(error: SearchError, seconds: float) -> None:
    bench = Bench(error, GOOD)
    await bench.ask()
    assert f"resting for {seconds:.0f} s" in await bench.ask()
    bench.clock.now += seconds
    assert await bench.ask() == "ok"


async def test_a_rejected_query_is_no_failure() -> None:
    bench = Bench(SearchError("fewer words", "rejected"))
    assert [await bench.ask() for _ in range(5)] == ["fewer words"] * 5


async def test_each_failed_probe_doubles_the_rest() -> None:
    bench = Bench(FAILED)
    for _ in range(3):
        await bench.ask()
    rests = []
    for _ in range(8):
        rest = 0
        while rest < 2000 and "resting" in await bench.ask():
            bench.clock.now += 10
            rest += 10
        rests.append(rest)
    assert rests == [30, 30, 60, 120, 240, 480, 900, 900]


async def test_only_one_probe_goes_through() -> None:
    bench = Bench(SearchError("x", "limited", 5.0), GOOD, delay=0.02)
    await bench.ask()
    bench.clock.now += 5
    answers = await asyncio.gather(*(bench.ask() for _ in range(3)))
    assert answers[0] == "ok"
    assert all("until it has answered again" in answer for answer in answers[1:])
    assert bench.inner.asked == 2


async def test_a_cancelled_probe_leaves_room_for_the_next() -> None:
    bench = Bench(SearchError("x", "limited", 5.0), GOOD, delay=0.05)
    await bench.ask()
    bench.clock.now += 5
    probe = asyncio.create_task(bench.ask())
    await asyncio.sleep(0.01)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert await bench.ask() == "ok"


async def test_an_answer_that_was_under_way_does_not_end_the_rest() -> None:
    bench = Bench(GOOD, SearchError("x", "limited", 50.0), GOOD)
    slow = Scripted("brave", GOOD, delay=0.03)
    bench.breaker._provider = slow
    under_way = asyncio.create_task(bench.ask())
    await asyncio.sleep(0.01)
    bench.breaker._provider = Scripted("brave", SearchError("x", "limited", 50.0))
    await bench.ask()
    assert await under_way == "ok"
    assert "resting for 50 s" in await bench.ask()
