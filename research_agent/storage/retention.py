"""How long things are kept: a run is deleted with all that is its own, old checkpoints and unused pages are pruned.

A page belongs to every run that read it. Its row is locked before it is judged: a run that is about to refer to a page
holds a lock on it (`save_tool_call`), so either the page is left alone, or that run finds it gone and stores it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import DictRow

from research_agent.storage.connection import translated
from research_agent.storage.database import Pool, fetch, fetch_on
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import no_such_run

_RUNS_AT_ONCE = 100
_PAGES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Remains:
    """What there is of a thread. `topic` is "" where it has no run; `outcome` is "" before the end."""

    topic: str
    outcome: str
    sentences: int
    checkpoints: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was removed: whether there was a run, and how many checkpoints and pages."""

    run: bool
    checkpoints: int
    pages: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed: the checkpoints of so many runs, in so many rows with about so many bytes, and pages."""

    runs: int
    rows: int
    bytes: int
    pages: int


async def find_remains(pool: Pool, thread_id: str) -> Remains:
    """What `delete_thread` would remove.

    Raises:
        UsageError: there is nothing of such a thread.
    """
    (row,) = await fetch(pool, "find_remains", thread_id=thread_id)
    if row["topic"] is None and not row["checkpoints"] and not row["leftovers"]:
        raise no_such_run(thread_id)
    return Remains(row["topic"] or "", row["outcome"] or "", row["sentences"], row["checkpoints"])


async def delete_thread(pool: Pool, thread_id: str) -> Deleted:
    """Remove the run `thread_id` in one transaction: journal, checkpoints, and pages that no other run refers to.

    Its lease row stays, so that no process that ran it before can ever write again.

    Raises:
        UsageError: there is nothing of such a thread.
        ThreadBusy: it is running.
    """
    await find_remains(pool, thread_id)
    async with hold_lease(pool, thread_id) as token:
        with translated():
            async with pool.connection() as connection, connection.transaction():
                hashes = await _hashes(connection, "pages_of_run", thread_id=thread_id)
                run = await fetch_on(connection, "delete_run", thread_id=thread_id)
                (removed,) = await fetch_on(connection, "delete_checkpoints", thread_id=thread_id)
                await fetch_on(connection, "one_deletion_at_a_time")
                pages = await _remove_pages(connection, await _hashes(connection, "lock_pages", hashes=hashes))
                await fetch_on(connection, "check_lease", thread_id=thread_id, token=token)
    return Deleted(bool(run), removed["checkpoints"], pages)


async def prune(pool: Pool, older_than: timedelta, *, dry_run: bool = False) -> Pruned:
    """Remove what can be done without: checkpoints of runs that finished before then, and pages nothing refers to.

    What can be read stays: runs, steps, calls, sources and the pages they cite, claims, briefs. Such a run is marked;
    it can no longer be continued or forked. Runs that are not finished, or are being taken up, are left alone, as is
    everything in LangGraph's tables that is of no run. It goes in batches, each of them whole or not at all.

    Args:
        older_than: age of the end of a run, and of the last time that an address gave a page.
        dry_run: only count.
    """
    before = datetime.now(UTC) - older_than
    if dry_run:
        (counted,) = await fetch(pool, "count_prunable", before=before)
        (unused,) = await fetch(pool, "count_unused_pages", before=before)
        return Pruned(**counted, **unused)
    runs = rows = size = 0
    while True:
        (removed,) = await fetch(pool, "prune_runs", before=before, batch=_RUNS_AT_ONCE)
        if not removed["runs"]:
            break
        runs, rows, size = runs + removed["runs"], rows + removed["rows"], size + removed["bytes"]
    return Pruned(runs, rows, size, await _prune_pages(pool, before))


async def vacuum(pool: Pool, *, full: bool = False) -> None:
    """Make the space of removed rows usable again; `full` gives it back to the disk, and locks each table meanwhile.

    Tables that belong to another role are left out by PostgreSQL.
    """
    await fetch(pool, "vacuum_full" if full else "vacuum")


async def _prune_pages(pool: Pool, before: datetime) -> int:
    pages, after = 0, ""
    with translated():
        while True:
            async with pool.connection() as connection, connection.transaction():
                locked = await _hashes(
                    connection, "lock_unused_pages", before=before, after=after, batch=_PAGES_AT_ONCE
                )
                if not locked:
                    return pages
                pages += await _remove_pages(connection, locked)
                after = locked[-1]


async def _remove_pages(connection: psycopg.AsyncConnection[DictRow], locked: list[str]) -> int:
    """Remove those of `locked` that nothing refers to; how many."""
    unused = await _hashes(connection, "judge_pages", hashes=locked)
    await fetch_on(connection, "delete_addresses", hashes=unused)
    return len(await _hashes(connection, "delete_pages", hashes=unused))


async def _hashes(connection: psycopg.AsyncConnection[DictRow], name: str, **values: Any) -> list[str]:
    return [row["content_hash"] for row in await fetch_on(connection, name, **values)]
