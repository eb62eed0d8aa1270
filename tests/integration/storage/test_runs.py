"""Topics and the threads they belong to."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest

from research_agent.errors import StorageError, UsageError
from research_agent.limits import Limits
from research_agent.storage import runs
from research_agent.storage.database import fetch, open_pool
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import clean_topic, find_or_new_run, find_run, new_run, start_run, topic_to_thread_id


def test_thread_id_is_made_from_the_topic() -> None:
    expected = "research-" + hashlib.sha1(b"tide power").hexdigest()[:10]
    assert topic_to_thread_id("tide power") == expected
    assert topic_to_thread_id("  tide\n\tpower ") == expected


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\x00b", "ab"),
        ("a\ud800b", "ab"),
        ("Cafe\u0301", "Café"),
        ("one\r\ntwo", "one two"),
        ("\u202eevil\u202c", "evil"),
        ("می‌خواهم", "می‌خواهم"),
        ("المد والجزر", "المد والجزر"),
        ("x" * 2000, "x" * 2000),
    ],
)
def test_topics_are_cleaned(given: str, kept: str) -> None:
    assert clean_topic(given) == kept


@pytest.mark.parametrize("topic", ["", " ", "\x00", "\u200b", "x" * 2001])
def test_topics_that_cannot_be_used_are_refused(topic: str) -> None:
    with pytest.raises(UsageError):
        clean_topic(topic)


async def test_two_topics_with_one_id_get_two_threads(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = topic_to_thread_id

    def colliding(topic: str, digits: int = 10) -> str:
        return "research-0000000000" if digits == 10 else digest(topic, digits)

    monkeypatch.setattr(runs, "topic_to_thread_id", colliding)
    async with open_pool(empty_database, embedded=True) as pool:
        first = await new_run(pool, "first")
        async with hold_lease(pool, first.thread_id) as token:
            await start_run(pool, first, model="m", limits=Limits(), token=token)
        assert await find_run(pool, "second") is None
        second = await new_run(pool, "second")
        assert second.thread_id == digest("second", 16) != first.thread_id
        async with hold_lease(pool, second.thread_id) as token:
            await start_run(pool, second, model="m", limits=Limits(), token=token)
        found = await find_run(pool, "second")
        assert found
        assert found.thread_id == second.thread_id
        found = await find_run(pool, "first")
        assert found
        assert found.thread_id == first.thread_id


async def test_a_topic_that_lost_the_race_for_an_id_does_not_take_the_others_run(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        run = await new_run(pool, "first")
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="m", limits=Limits(), token=token)
            intruder = runs.Run(run.thread_id, run.base_thread_id, 1, "second")
            with pytest.raises(StorageError, match="same thread id"):
                await start_run(pool, intruder, model="m", limits=Limits(), token=token)


async def test_starts_are_counted_and_the_first_start_keeps_its_time(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        run = await new_run(pool, "topic")
        times = []
        for _ in range(3):
            async with hold_lease(pool, run.thread_id) as token:
                start = await start_run(pool, run, model="m", limits=Limits(), token=token)
                times.append(start.began)
        assert len(set(times)) == 1
        assert abs((datetime.now(UTC) - times[0]).total_seconds()) < 60
        async with pool.connection() as connection:
            row = await (await connection.execute(b"select starts, status from research.run_summary")).fetchone()
        assert row == {"starts": 3, "status": "interrupted"}
        assert await fetch(pool, "usage", thread_id=run.thread_id) == [
            {"model_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "tool_calls": 0}
        ]


async def test_what_another_process_began_meanwhile_is_found_and_gets_no_second_edition(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        run = await find_or_new_run(pool, "topic")
        assert (run.thread_id, run.edition) == (topic_to_thread_id("topic"), 1)
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="m", limits=Limits(), token=token)
        assert (await find_or_new_run(pool, "topic")).thread_id == run.thread_id
        async with pool.connection() as connection:
            await connection.execute(b"update research.runs set outcome = 'failed'")
        assert (await find_or_new_run(pool, "topic")).edition == 2
