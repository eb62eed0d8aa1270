"""What was recorded is found again, exactly; what must not be recorded is not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from research_agent.documents import Page
from research_agent.errors import LeaseLost
from research_agent.limits import Limits
from research_agent.storage.database import Pool, open_pool
from research_agent.storage.journal import (
    ModelCall,
    PostgresJournal,
    Purpose,
    ToolCall,
    Turn,
    message_from_json,
    message_to_json,
)
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import new_run, start_run

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SIGNATURE = "EjQKMgEMOdbHO0Gd+c9Mxk4ELwPGbpCIvD/=="


@asynccontextmanager
async def open_journal(url: str) -> AsyncIterator[tuple[Pool, PostgresJournal]]:
    async with open_pool(url, embedded=True) as pool:
        run = await new_run(pool, "topic")
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="m", limits=Limits(), token=token)
            yield pool, PostgresJournal(pool, run.thread_id, token)


def test_an_answer_survives_the_journal_byte_for_byte() -> None:
    answer = AIMessage(
        [{"type": "text", "text": "β", "extras": {"signature": SIGNATURE}}],
        id="reason-1",
        tool_calls=[{"name": "search_web", "args": {"query": "x"}, "id": "c1", "type": "tool_call"}],
        additional_kwargs={"__gemini_function_call_thought_signatures__": {"c1": SIGNATURE}},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"finish_reason": "STOP"},
    )
    assert message_from_json(json.loads(json.dumps(message_to_json(answer)))) == answer


def test_what_postgresql_refuses_is_cleaned_before_it_is_stored() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    answer = AIMessage("a\x00b\ud800", response_metadata={"score": float("nan"), "reason": Odd()})
    stored = message_from_json(message_to_json(answer))
    assert stored.text == "ab"
    assert stored.response_metadata == {"score": None, "reason": "odd"}


async def test_finished_calls_are_found_after_a_restart(empty_database: str) -> None:
    async with open_journal(empty_database) as (pool, journal):
        answer = AIMessage("hello", id="reason-2")
        failed = ModelCall(2, "reason", 1, "m", NOW, 5, error="503", error_type="server")
        good = ModelCall(2, "reason", 2, "m", NOW, 5, response=message_to_json(answer))
        for call in (failed, good, ModelCall(3, "reason", 1, "m", NOW, 5, error="429", error_type="rate_limit")):
            await journal.save_model_call(call)
        observation = ToolMessage("seen", tool_call_id="c1", name="fetch_url", artifact={"hits": []}, status="error")
        page = Page("https://x.example", "X", "text", published="2026")
        for step in (2, 3):
            await journal.save_tool_call(ToolCall(step, {"url": "a\x00"}, observation, NOW, 7, "unreadable", page))

        later = PostgresJournal(pool, journal._key["thread_id"], journal._key["token"])
        await later.load(2)
        assert await later.find_model_call(2, "reason") == (answer, 2)
        assert await later.find_model_call(3, "reason") == (None, 1)
        assert await later.find_model_call(3, "write") == (None, 0)
        assert await later.find_tool_call(2, "c1", "fetch_url") == observation
        assert await later.find_tool_call(4, "c1", "fetch_url") is None
        async with pool.connection() as connection:
            row: Any = await (
                await connection.execute(b"select count(*) as n, min(text) as t from research.pages")
            ).fetchone()
        assert row == {"n": 1, "t": "text"}


async def test_a_runner_without_the_lease_cannot_write(empty_database: str) -> None:
    async with open_journal(empty_database) as (pool, journal):
        async with pool.connection() as connection:
            await connection.execute(b"update research.leases set token = token + 1")
        with pytest.raises(LeaseLost):
            await journal.save_turn(Turn(1, "", 0, 0, 0, 0, ""))
        with pytest.raises(LeaseLost):
            await journal.save_model_call(ModelCall(1, "reason", 1, "m", NOW, 5, error="x", error_type="server"))


@pytest.mark.parametrize("purpose", ["reason", "write", "repair", "judge"])
async def test_each_purpose_of_a_call_is_stored(purpose: Purpose, empty_database: str) -> None:
    async with open_journal(empty_database) as (pool, journal):
        answer = message_to_json(AIMessage("yes"))
        await journal.save_model_call(ModelCall(2, purpose, 1, "m", NOW, 5, response=answer))
        again = PostgresJournal(pool, journal._key["thread_id"], 1)
        await again.load(2)
        found, attempts = await again.find_model_call(2, purpose)
    assert found is not None
    assert (found.text, attempts) == ("yes", 1)


async def test_what_postgresql_cannot_hold_is_taken_out_wherever_it_stands(empty_database: str) -> None:
    bad = "a\x00b\ud800"
    async with open_journal(empty_database) as (pool, journal):
        call = ModelCall(
            1, "reason", 1, f"x:{bad}", NOW, 5, error=bad, error_type=bad, response_model=bad, finish_reasons=[bad]
        )
        await journal.save_model_call(call)
        message = ToolMessage("x", tool_call_id=bad, name=bad, artifact={"hits": [{"url": bad, "score": float("nan")}]})
        await journal.save_tool_call(ToolCall(1, {bad: bad}, message, NOW, 7, None, Page(bad, bad, "ab")))
        await journal.save_turn(Turn(1, bad, 1, 0, 0, 0, bad))
        async with pool.connection() as connection:
            rows = await (
                await connection.execute(
                    b"select request_model, error, response_model, finish_reasons, tool_name, tool_call_arguments, "
                    b"artifact, thought from research.model_calls, research.tool_calls, research.steps"
                )
            ).fetchall()
    (row,) = rows
    hits = {"hits": [{"url": "ab", "score": None}]}
    assert list(row.values()) == ["ab", "ab", "ab", ["ab"], "ab", {"ab": "ab"}, hits, "ab"]
