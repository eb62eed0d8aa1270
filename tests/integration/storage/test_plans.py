"""Views and conditions that people use read no large table from end to end."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.plans import indexes_used, read_whole

Connection = psycopg.Connection[Any]

A_RUN = "(select thread_id from research.runs where topic ilike '%heat pumps%' order by created_at desc limit 1)"
BY_RUN = ("run_summary", "trace", "claim_support", "source_origin", "failures", "slowest_steps")


@pytest.mark.parametrize("view", BY_RUN)
def test_a_view_asked_for_one_run_reads_no_large_table_whole(view: str, many_runs: Connection) -> None:
    assert read_whole(many_runs, f"select * from research.{view} where thread_id = {A_RUN}") == set()
    row = many_runs.execute(f"select {A_RUN}".encode()).fetchone()
    assert row
    assert read_whole(many_runs, f"select * from research.{view} where thread_id = '{row[0]}'") == set()


@pytest.mark.parametrize("view", ["run_summary", "trace", "claim_support", "source_origin"])
def test_a_view_joined_to_some_runs_reads_no_large_table_whole(view: str, many_runs: Connection) -> None:
    query = (
        f"select v.* from research.runs r join research.{view} v using (thread_id) where r.topic like '%heat pumps%'"
    )
    assert read_whole(many_runs, query) == set()


@pytest.mark.parametrize(
    "query",
    [
        f"select * from research.trace where thread_id = {A_RUN}",
        "select t.* from research.runs r join research.trace t using (thread_id) where r.topic like '%heat pumps%'",
        f"select * from research.trace where thread_id in ({A_RUN}, 'research-0000000000')",
    ],
)
def test_a_condition_on_the_run_gets_through_the_numbering_of_the_trace(query: str, many_runs: Connection) -> None:
    assert {"model_calls_pkey", "tool_calls_pkey"} <= indexes_used(many_runs, query)
    assert read_whole(many_runs, query) == set()


@pytest.mark.parametrize(
    ("index", "query"),
    [
        ("model_calls_day", "select * from research.spending where day = current_date - 3"),
        (
            "model_calls_day",
            "select count(*) from research.model_calls where (started_at at time zone 'UTC')::date = current_date - 3",
        ),
        ("model_calls_started_at_idx", "select * from research.failures where failed_at > now() - interval '2 days'"),
        ("tool_calls_started_at_idx", "select * from research.failures where failed_at > now() - interval '2 days'"),
        ("tool_calls_domain_idx", "select * from research.tool_calls where domain = 'boardgames.example'"),
        ("citations_domain_idx", "select * from research.citations where domain = 'boardgames.example'"),
        ("tool_calls_domain_idx", "select * from research.domain_stats where domain = 'boardgames.example'"),
        ("citations_domain_idx", "select * from research.domain_stats where domain = 'boardgames.example'"),
        ("citations_content_hash_idx", "select * from research.citations where content_hash = 'x'"),
        ("tool_calls_content_hash_idx", "select * from research.tool_calls where content_hash = 'x'"),
        ("page_addresses_content_hash_idx", "select * from research.page_addresses where content_hash = 'x'"),
        ("runs_created_at_idx", "select * from research.runs order by created_at desc limit 5"),
    ],
)
def test_days_hosts_pages_and_failures_are_found_by_index(index: str, query: str, many_runs: Connection) -> None:
    assert index in indexes_used(many_runs, query)
    assert read_whole(many_runs, query) == set()
