"""Runs in this process, and what the database holds of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from research_agent import research
from research_agent.brief.brief import Brief
from research_agent.settings import Settings, load_settings
from tests.support.documents import TOPIC

# What may differ between a run and a fork of it to which nothing else happened.
OWN = ("thread_id", "edition", "started_at", "finished_at", "usage")


def settings_for(url: str, corpus: Path, **more: Any) -> Settings:
    """Settings of a run over `corpus` with the built-in model."""
    return load_settings(database_url=url, corpus=corpus, cache_dir=corpus.parent / "cache", **more)


async def run_topic(url: str, corpus: Path, topic: str = TOPIC, **more: Any) -> Brief:
    """Research `topic` in this process."""
    return await research(topic, settings=settings_for(url, corpus, **more))


def query(url: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows that `statement` gives."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def ledger(url: str, thread_id: str) -> list[dict[str, Any]]:
    """The sources of a run, without who read them."""
    statement = (
        "select number, url, title, kind, content_hash, first_step, tool_call_id, passages "
        "from research.citations where thread_id = %s order by number"
    )
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(statement, (thread_id,)).fetchall()


def without_own(brief: dict[str, Any]) -> dict[str, Any]:
    """A brief without `OWN`."""
    return {key: value for key, value in brief.items() if key not in OWN}


def tables_with(url: str, thread_id: str) -> dict[str, int]:
    """Tables of the whole database that have rows in which `thread_id` stands, and how many."""
    found = {}
    for (table,) in query(
        url,
        "select format('%I.%I', table_schema, table_name) from information_schema.tables "
        "where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')",
    ):
        # Bounded on the right: the id of a later edition begins with it.
        [(count,)] = query(
            url, f"select count(*) from {table} t where t::text ~ %s", rf"{re.escape(thread_id)}(?!\.\d)"
        )
        if count:
            found[table] = count
    return found
