"""Turns, distance and rest, without a network."""

from __future__ import annotations

import asyncio
import time

import pytest

from research_agent.web.budget import Budget
from research_agent.web.errors import HostResting, TimedOut
from research_agent.web.politeness import Politeness


async def test_waiting_for_one_host_keeps_nobody_else_waiting() -> None:
    polite = Politeness(total=2, per_host=1, spacing=5.0)
    async with polite.slot("a"):
        pass
    late = asyncio.create_task(_use(polite, "a"))
    await asyncio.sleep(0)
    async with asyncio.timeout(1), polite.slot("b"), polite.slot("c"):
        pass
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late


async def test_a_host_rests_after_failures_in_a_row_only() -> None:
    polite = Politeness(max_failures=3, rest=60)
    for _ in range(5):
        polite.failed("a")
        polite.failed("a")
        polite.succeeded("a")
    polite.check("a")
    for _ in range(3):
        polite.failed("a")
    with pytest.raises(HostResting, match="60 s"):
        async with polite.slot("a"):
            pass
    polite.check("b")


async def test_those_who_wait_are_told_when_the_host_begins_to_rest() -> None:
    polite = Politeness(per_host=1, spacing=0.05)
    async with polite.slot("a"):
        waiting = asyncio.create_task(_use(polite, "a"))
        await asyncio.sleep(0)
        polite.failed("a", rest=60)
    with pytest.raises(HostResting):
        await waiting


async def test_a_site_may_ask_for_more_distance_but_not_for_hours() -> None:
    polite = Politeness(spacing=0.0)
    polite.slow_down("a", 0.2)
    began = time.monotonic()
    await _use(polite, "a")
    await _use(polite, "a")
    assert time.monotonic() - began >= 0.19
    polite.slow_down("b", 86400)
    assert polite._host("b").spacing == 5.0


async def test_the_number_of_remembered_hosts_is_bounded() -> None:
    polite = Politeness()
    for n in range(5000):
        polite.succeeded(f"h{n}")
    assert len(polite._hosts) <= 2000


async def test_a_budget_counts_the_time_of_all_its_blocks() -> None:
    budget = Budget(0.15)
    for _ in range(2):
        async with budget.spend("host"):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)  # not counted
    with pytest.raises(TimedOut, match="host took longer"):
        async with budget.spend("host"):
            await asyncio.sleep(1)
    with pytest.raises(TimedOut):
        async with budget.spend("host"):
            await asyncio.sleep(0)


async def _use(polite: Politeness, host: str) -> None:
    async with polite.slot(host):
        await asyncio.sleep(0)
