"""What the views say is what the tables hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from psycopg.rows import DictRow

from research_agent.documents import Citation, Page
from research_agent.limits import Limits
from research_agent.storage.database import Pool, open_pool
from research_agent.storage.journal import ModelCall, PostgresJournal, ToolCall, Turn, message_to_json
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import finish_run, new_run, start_run

Connection = psycopg.Connection[Any]

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PAGE = Page("https://www.sea.example/tides", "Tides", "The moon causes the tide. The sun helps.", links=())
QUOTE = "The moon causes the tide."
HITS = [{"url": "https://other.example/", "title": "Other", "snippet": "…", "source": "brave"}]
HITS += [{"url": PAGE.url, "title": "All about tides", "snippet": "moon", "source": "brave"}]


def rows_of(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


# A run of three steps, written by the program's own journal


@pytest.fixture
async def tiny(empty_database: str) -> AsyncIterator[Pool]:
    async with open_pool(empty_database, embedded=True) as pool:
        run = await new_run(pool, "tides")
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="google_genai:gemini", limits=Limits(), token=token)
            await _first_steps(PostgresJournal(pool, run.thread_id, token))
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="google_genai:gemini", limits=Limits(), token=token)
            await _last_steps(PostgresJournal(pool, run.thread_id, token))
            claim = {
                "bullet": 1,
                "text": "The moon causes tides.",
                "sources": [1],
                "verdict": "supported",
                "part": "lead",
                "heading": "",
                "columns": [],
                "cells": [],
                "code": "",
                "detail": "",
                "basis": "stated",
                "judge": "google_genai:gemini",
            }
            claim |= {"score": 1.0, "quote": QUOTE, "quote_source": 1, "start": 0, "end": len(QUOTE), "others": []}
            lost = {**claim, "verdict": "not", "code": "unsaid", "basis": "", "quote": "", "quote_source": 0, "end": 0}
            brief = {"outcome": "complete", "stop_reason": "done"}
            await finish_run(pool, run, token=token, finished_at=NOW, brief=brief, claims=[claim, lost])
        yield pool


async def _first_steps(journal: PostgresJournal) -> None:
    failed = ModelCall(1, "reason", 1, "google_genai:gemini", NOW, 50, error="429", error_type="rate_limit")
    await journal.save_model_call(failed)
    await _think(
        journal, 1, 2, "I search twice.", ("a", "search_web", {"query": "tide"}), ("b", "search_web", {"query": "moon"})
    )
    await _act(journal, 1, "a", "search_web", {"query": "tide"}, {"hits": HITS}, milliseconds=30)
    await _act(journal, 1, "b", "search_web", {"query": "moon"}, {"hits": []}, milliseconds=70)
    await journal.save_turn(Turn(1, "I search twice.", 2, 0, 0, 1, ""))
    # Killed in step 2, between two calls.
    await _think(
        journal,
        2,
        1,
        "I read.",
        ("a", "fetch_url", {"url": PAGE.url}),
        ("c", "fetch_url", {"url": "https://x.example/"}),
    )


async def _last_steps(journal: PostgresJournal) -> None:
    await journal.load(2)
    citation = Citation(
        url=PAGE.url, also_at=[], title=PAGE.title, kind="page", content_hash=PAGE.content_hash, author="", site="",
        published="", language="", passages=[{"start": 0, "end": len(QUOTE), "text": QUOTE}],
    )  # fmt: skip
    found = {"hits": [{"url": PAGE.url}], "citation": citation}
    await _act(journal, 2, "a", "fetch_url", {"url": PAGE.url}, found, page=PAGE, milliseconds=200)
    await journal.save_turn(Turn(2, "I read.", 2, 1, 1, 0, "", seconds=2.5, citations=[(1, citation, "a")]))
    await _think(journal, 3, 1, "DONE")
    await journal.save_model_call(_answer(3, "write", 1, AIMessage("- The moon causes tides. [1]")))


async def _think(
    journal: PostgresJournal, step: int, attempt: int, text: str, *calls: tuple[str, str, dict[str, Any]]
) -> None:
    asked = [{"id": call_id, "name": name, "args": args, "type": "tool_call"} for call_id, name, args in calls]
    await journal.save_model_call(_answer(step, "reason", attempt, AIMessage(text, tool_calls=asked)))


def _answer(step: int, purpose: Any, attempt: int, message: AIMessage) -> ModelCall:
    started = NOW + timedelta(seconds=10 * step)
    used = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.01}
    return ModelCall(step, purpose, attempt, "google_genai:gemini", started, 500, message_to_json(message), **used)  # type: ignore[arg-type]


async def _act(
    journal: PostgresJournal,
    step: int,
    call_id: str,
    tool: str,
    args: dict[str, Any],
    artifact: dict[str, Any],
    *,
    milliseconds: int,
    page: Page | None = None,
) -> None:
    message = ToolMessage(f"seen by {call_id}", tool_call_id=call_id, name=tool, artifact=artifact)
    await journal.save_tool_call(ToolCall(step, args, message, NOW, milliseconds, page=page))


async def select(pool: Pool, query: str) -> list[tuple[Any, ...]]:
    async with pool.connection() as connection:
        rows: list[DictRow] = await (await connection.execute(query.encode())).fetchall()
    return [tuple(row.values()) for row in rows]


async def test_a_trace_reads_like_the_conversation(tiny: Pool) -> None:
    rows = await select(
        tiny,
        "select line, step, purpose, attempt, start, thought, tool_name, status, observation, new_sources, "
        "input_tokens from research.trace order by line",
    )
    assert rows == [
        (1, 1, "reason", 1, 1, None, None, "error", "429", 0, 0),
        (2, 1, "reason", 2, 1, "I search twice.", "search_web", "success", "seen by a", 0, 100),
        (3, 1, "reason", 2, 1, None, "search_web", "success", "seen by b", 0, None),
        (4, 2, "reason", 1, 1, "I read.", "fetch_url", "success", "seen by a", 1, 100),
        (5, 2, "reason", 1, 1, None, "fetch_url", "open", None, 0, None),
        (6, 3, "reason", 1, 2, "DONE", None, "success", None, 0, 100),
        (7, 3, "write", 1, 2, "- The moon causes tides. [1]", None, "success", None, 0, 100),
    ]


async def test_a_summary_of_the_tiny_run(tiny: Pool) -> None:
    rows = await select(
        tiny,
        "select status, outcome, provider_name, request_model, starts, steps, sources, sentences, dropped, "
        "model_calls, tool_calls, input_tokens, cost_usd::float8, seconds::float8 from research.run_summary",
    )
    assert rows == [("finished", "complete", "gcp.gemini", "gemini", 2, 2, 1, 1, 1, 5, 3, 400, 0.04, 2.5)]


async def test_the_origin_of_a_source_names_query_rank_and_result(tiny: Pool) -> None:
    rows = await select(
        tiny,
        "select number, domain, read_step, found_step, found_by, search_query, linked_from, rank, search_provider, "
        "result_title, result_snippet, sentences from research.source_origin",
    )
    assert rows == [
        (1, "sea.example", 2, 1, "search_web", "tide", None, 2, "brave", "All about tides", "moon", 1),
    ]


async def test_a_quote_holds_until_somebody_alters_the_page(tiny: Pool) -> None:
    query = "select position, verdict, quote_source, quote_holds from research.claim_support order by position"
    assert await select(tiny, query) == [(1, "supported", 1, True), (2, "not", None, None)]
    async with tiny.connection() as connection:
        await connection.execute(b"update research.pages set text = replace(text, 'moon', 'wind')")
    assert await select(tiny, query) == [(1, "supported", 1, False), (2, "not", None, None)]


async def test_tools_of_a_step_count_as_the_slowest_and_writing_by_itself(tiny: Pool) -> None:
    rows = await select(
        tiny,
        "select step, phase, latency_ms, model_latency_ms, tool_latency_ms, model_calls, tool_calls "
        "from research.slowest_steps",
    )
    assert rows == [
        (2, "research", 700, 500, 200, 1, 1),
        (1, "research", 620, 550, 70, 2, 2),
        (3, "research", 500, 500, 0, 1, 0),
        (3, "writing", 500, 500, 0, 1, 0),
    ]


async def test_failures_and_hosts_of_the_tiny_run(tiny: Pool) -> None:
    rows = await select(tiny, "select step, kind, name, attempt, domain, error_type, message from research.failures")
    assert rows == [(1, "model", "reason", 1, None, "rate_limit", "429")]
    rows = await select(
        tiny, "select domain, calls, fetched, failed, failures, cited, sentences from research.domain_stats"
    )
    assert rows == [("sea.example", 1, 1, 0, None, 1, 1)]


# Sums over many runs


def test_the_trace_counts_each_call_once(many_runs: Connection) -> None:
    (trace,) = rows_of(
        many_runs,
        "select sum(input_tokens), sum(output_tokens), sum(cost_usd), sum(model_latency_ms), count(model_latency_ms), "
        "sum(tool_latency_ms), count(tool_latency_ms), sum(new_sources), count(*) filter (where status = 'error') "
        "from research.trace",
    )
    (model,) = rows_of(
        many_runs,
        "select sum(input_tokens), sum(output_tokens), sum(cost_usd), sum(latency_ms), count(*) "
        "from research.model_calls",
    )
    (tool,) = rows_of(many_runs, "select sum(latency_ms), count(*) from research.tool_calls")
    (sources,) = rows_of(many_runs, "select count(*) from research.citations where read_thread_id = thread_id")
    (failed,) = rows_of(many_runs, "select count(*) from research.failures where kind <> 'run'")
    assert trace == (*model, *tool, *sources, *failed)


def test_lines_of_a_trace_are_numbered_without_gaps(many_runs: Connection) -> None:
    assert rows_of(
        many_runs,
        "select count(*) from (select thread_id from research.trace group by thread_id "
        "having max(line) <> count(*) or min(line) <> 1 or count(distinct line) <> count(*)) wrong",
    ) == [(0,)]


def test_the_summary_of_a_run_counts_what_the_tables_hold(many_runs: Connection) -> None:
    (summary,) = rows_of(
        many_runs,
        "select sum(starts), sum(sources), sum(sentences), sum(dropped), sum(model_calls), sum(tool_calls), "
        "sum(input_tokens), sum(cost_usd), sum(steps) from research.run_summary",
    )
    (tables,) = rows_of(
        many_runs,
        "select (select count(*) from research.starts), (select count(*) from research.citations), "
        "(select count(*) from research.claims where verdict = 'supported'), "
        "(select count(*) from research.claims where verdict <> 'supported'), "
        "(select count(*) from research.model_calls), (select count(*) from research.tool_calls), "
        "(select sum(input_tokens) from research.model_calls), (select sum(cost_usd) from research.model_calls), "
        "(select count(*) from research.steps)",
    )
    assert summary == tables


def test_a_run_stands_where_its_rows_say(many_runs: Connection) -> None:
    rows = rows_of(many_runs, "select distinct status, outcome from research.run_summary order by 1, 2")
    assert ("running", None) in rows
    assert ("waiting", None) in rows
    assert ("interrupted", None) in rows
    assert {outcome for status, outcome in rows if status == "finished"} == {
        "complete", "partial", "no_evidence", "failed",
    }  # fmt: skip


def test_statistics_add_up_to_the_tables(many_runs: Connection) -> None:
    (totals,) = rows_of(
        many_runs,
        "select (select sum(calls) from research.tool_stats) = (select count(*) from research.tool_calls), "
        "(select sum(calls) from research.model_stats) = (select count(*) from research.model_calls), "
        "(select sum(cost_usd) from research.spending) = (select sum(cost_usd) from research.model_calls), "
        "(select sum(calls) from research.spending) = (select count(*) from research.model_calls), "
        "(select sum(calls) from research.domain_stats) = "
        "  (select count(*) from research.tool_calls where domain is not null), "
        "(select sum(model_calls) from research.slowest_steps) = (select count(*) from research.model_calls), "
        "(select sum(tool_calls) from research.slowest_steps) = (select count(*) from research.tool_calls), "
        "(select count(*) from research.claim_support) = (select count(*) from research.claims), "
        "(select count(*) from research.source_origin) = (select count(*) from research.citations)",
    )
    assert all(totals), totals


def test_the_origin_of_a_source_is_the_result_that_offered_it_first(many_runs: Connection) -> None:
    rows = rows_of(
        many_runs,
        "select o.number, o.found_step, o.found_by, o.search_query, o.rank, o.result_title, o.sentences "
        "from research.source_origin o join research.runs r using (thread_id) "
        "where r.topic like '%Go programs%' and r.forked_from is null order by o.number",
    )
    assert rows == [
        (1, 1, "search_web", "Go program startup time", 1, "What a Go program does before main", 2),
        (2, 1, "search_web", "Go program startup time", 2, "Binary size and cold starts", 0),
        (3, 3, "search_web", "fast openings in Go", 1, "Fast openings in Go", 1),
    ]


def test_a_fork_says_where_its_origin_found_the_sources_that_both_share(many_runs: Connection) -> None:
    rows = rows_of(
        many_runs,
        "select o.number, o.found_step, o.search_query, o.read_thread_id = r.forked_from "
        "from research.source_origin o join research.runs r using (thread_id) "
        "where r.forked_from is not null order by 1",
    )
    assert rows == [
        (1, 1, "Go program startup time", True),
        (2, 1, "Go program startup time", True),
        (3, 3, "Go init functions cost inittrace", False),
    ]
