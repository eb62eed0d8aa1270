"""A database of any earlier version becomes one of the newest, with its rows; a newer one is left alone."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
import pytest

from research_agent.errors import StorageError
from research_agent.limits import Limits
from research_agent.storage import schema
from research_agent.storage.database import open_pool
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import find_run, start_run
from research_agent.tracing import _PROVIDERS, semantic_names
from tests.conftest import temporary_database
from tests.integration.storage.conftest import make_schema as migrate
from tests.support.catalog import tables, views
from tests.support.places import REPOSITORY

OLD_ROWS = Path(__file__).with_name("old_journal.sql").read_text(encoding="utf-8")
OPEN = """
import asyncio, sys
from research_agent.storage.database import open_pool

async def main():
    async with open_pool(sys.argv[1], embedded=True):
        pass

asyncio.run(main())
"""


def scripts() -> list[str]:
    folder = resources.files("research_agent.storage") / "migrations"
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))


@pytest.fixture
def old_database(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database that the first version made and filled."""
    with monkeypatch.context() as patched:
        first = schema._migrations()[:1]
        patched.setattr(schema, "_migrations", lambda: first)
        migrate(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(OLD_ROWS.encode())
    return empty_database


def select(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [int(name.partition("_")[0]) for name in scripts()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(re.fullmatch(r"\d{4}_[a-z_]+\.sql", name) for name in scripts())


def test_each_version_is_applied_once(empty_database: str) -> None:
    query = "select version, applied_at from research.migrations order by version"
    migrate(empty_database)
    first = select(empty_database, query)
    migrate(empty_database)
    assert [version for version, _ in first] == list(range(1, len(scripts()) + 1))
    assert select(empty_database, query) == first


def test_a_newer_database_is_refused_and_left_alone(empty_database: str) -> None:
    migrate(empty_database)
    newer = len(scripts()) + 1
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("insert into research.migrations (version) values (%s)", (newer,))
    with pytest.raises(StorageError, match=rf"schema version {newer}, this program knows {newer - 1}: pip install -U"):
        migrate(empty_database)
    assert select(empty_database, "select count(*) from research.migrations") == [(newer,)]


@pytest.mark.parametrize("before", ["empty_database", "old_database"])
def test_several_processes_migrate_at_once(before: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(before)
    command = [sys.executable, "-c", OPEN, url]
    processes = [subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    expected = [(version,) for version in range(1, len(scripts()) + 1)]
    assert select(url, "select version from research.migrations order by 1") == expected


def test_the_checkpoints_stay_the_ones_that_are_there(old_database: str) -> None:
    # The role is called like our schema, which comes first in its search path.
    find = "select oid, relnamespace::regnamespace::text from pg_class where relname = 'checkpoints'"
    before = select(old_database, find)
    assert [schema for _, schema in before] == ["public"]
    migrate(old_database)
    assert select(old_database, find) == before
    assert select(old_database, "select 'checkpoints'::regclass::oid") == [(before[0][0],)]


def test_an_old_run_is_summed_up_under_the_new_names(old_database: str) -> None:
    migrate(old_database)
    assert select(
        old_database,
        "select topic, status, outcome, provider_name, request_model, starts, steps, sources, sentences, dropped, "
        "model_calls, tool_calls, input_tokens, output_tokens, cost_usd::float8, seconds::float8, forked_from "
        "from research.run_summary order by topic",
    ) == [
        ("How do tides work?", "finished", "complete", "gcp.gemini", "gemini-2.5-flash", 2, 3, 1, 1, 1, 5, 4, 6000, 115,
         0.0022, 13.0, None),
        ("What do limpets eat?", "interrupted", None, "mistral_ai", "small:tuned", 2, 0, 0, 0, 0, 0, 0, 0, 0,
         0.0, 0.0, None),
    ]  # fmt: skip


def test_an_old_run_can_be_read_as_a_conversation(old_database: str) -> None:
    migrate(old_database)
    assert select(
        old_database,
        "select line, step, purpose, attempt, thought, tool_name, status, left(observation, 12), new_sources "
        "from research.trace where thread_id = 'research-old' order by line",
    ) == [
        (1, 1, "reason", 1, None, None, "error", "too many req", 0),
        (2, 1, "reason", 2, "I search.", "search_web", "success", "Results …", 0),
        (3, 2, "reason", 1, None, "fetch_url", "success", "Tides …", 1),
        (4, 2, "reason", 1, None, "fetch_url", "error", "blocked.exam", 0),
        (5, 2, "reason", 1, None, "fetch_url", "error", "no such page", 0),
        (6, 3, "reason", 1, "DONE", None, "success", None, 0),
        (7, 3, "write", 1, "- The moon. [1]", None, "success", None, 0),
    ]


def test_what_led_to_an_old_source_is_found_in_the_old_results(old_database: str) -> None:
    migrate(old_database)
    assert select(
        old_database,
        "select number, domain, read_step, found_step, found_by, search_query, rank, search_provider, result_title, "
        "read_thread_id, sentences from research.source_origin",
    ) == [(1, "sea.example", 2, 1, "search_web", "tides", 2, "brave", "All about tides", "research-old", 1)]
    assert select(
        old_database,
        "select tool_call_id, lead_step, lead_call_id, lead_rank, content_hash, error_type, domain "
        "from research.tool_calls where step = 2 order by 1",
    ) == [
        ("f", 1, "q", 2, "aaaa", None, "sea.example"),
        ("g", 1, "q", 1, None, "unknown", "blocked.example"),
        ("h", None, None, None, None, "unknown", "sea.example"),
    ]


def test_old_sentences_and_model_calls_keep_what_they_said(old_database: str) -> None:
    migrate(old_database)
    assert select(
        old_database, "select position, verdict, quote_source, quote_holds from research.claim_support order by 1"
    ) == [(1, "supported", 1, True), (2, "not", None, None)]
    assert select(
        old_database,
        "select step, attempt, provider_name, request_model, response_model, error_type, cache_read_input_tokens, "
        "reasoning_output_tokens from research.model_calls order by step, purpose, attempt",
    ) == [
        (1, 1, "gcp.gemini", "gemini-2.5-flash", None, "unknown", 0, 0),
        (1, 2, "gcp.gemini", "gemini-2.5-flash", "gemini-2.5-flash-001", None, 10, 5),
        (2, 1, "gcp.gemini", "gemini-2.5-flash", None, None, 0, 0),
        (3, 1, "gcp.gemini", "gemini-2.5-flash", None, None, 0, 0),
        (3, 1, "extractive", "extractive", None, None, 0, 0),
    ]


async def test_an_old_run_that_was_killed_goes_on(old_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_pool(old_database, embedded=True) as pool:
        monkeypatch.setattr("research_agent.storage.runs.topic_to_thread_id", lambda topic, digits=10: "research-cut")
        run = await find_run(pool, "What do limpets eat?")
        assert run
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="openai:gpt-5-mini", limits=Limits(), token=token)
    query = "select starts, request_model from research.run_summary where thread_id = 'research-cut'"
    assert select(old_database, query) == [(3, "gpt-5-mini")]


def test_old_model_names_become_what_new_runs_are_given(old_database: str) -> None:
    models = [f"{provider}:m:1" for provider in [*_PROVIDERS, "openai", "ollama"]] + ["extractive"]
    with psycopg.connect(old_database, autocommit=True) as connection:
        connection.execute("alter table research.model_calls disable trigger fence")
        for attempt, model in enumerate(models, start=1):
            connection.execute(
                "insert into research.model_calls (thread_id, step, purpose, attempt, model, error, started_at, "
                "latency_ms, lease_token) values ('research-cut', 1, 'reason', %s, %s, 'x', now(), 1, 1)",
                (attempt, model),
            )
        connection.execute("alter table research.model_calls enable trigger fence")
    migrate(old_database)
    query = "select provider_name, request_model from research.model_calls where thread_id = 'research-cut' order by "
    assert select(old_database, query + "attempt") == [semantic_names(model) for model in models]


def test_a_migrated_database_has_the_schema_of_a_new_one(old_database: str, server: str) -> None:
    migrate(old_database)
    with temporary_database(server) as new:
        migrate(new)
        with psycopg.connect(old_database) as one, psycopg.connect(new) as other:
            assert tables(one) + views(one) == tables(other) + views(other)
