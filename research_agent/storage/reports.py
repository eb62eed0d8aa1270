"""What is asked of past runs: lists, summaries, traces."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from research_agent.storage.database import Pool, fetch
from research_agent.storage.lease import holder_is_dead
from research_agent.storage.runs import no_such_run

_KILLED_AT_ONCE = 50  # runs whose lease is still good, though their holder is gone


async def list_runs(
    pool: Pool, *, status: str | None = None, since: datetime | None = None, text: str | None = None, limit: int = 20
) -> list[dict[str, Any]]:
    """Rows of ``research.run_summary``, the newest first.

    Args:
        status: a status (running, …) or an outcome (partial, …).
        since: only what began then or later.
        text: what stands in the topic or in a kept sentence, in any case.
    """
    # Only here it is known that a holder on this machine was killed: the view has to wait until its lease expires.
    alike = ["running", "interrupted"]
    states = None if status is None else alike if status in alike else [status]
    more = _KILLED_AT_ONCE if states == alike else 0
    rows = await fetch(pool, "list_runs", states=states, since=since, text=text, limit=limit + more)
    runs = [_as_it_is(row) for row in rows]
    return [run for run in runs if states != alike or run["status"] == status][:limit]


async def summarise_run(pool: Pool, thread_id: str) -> dict[str, Any]:
    """The row of ``research.run_summary``.

    Raises:
        UsageError: there is no such run.
    """
    rows = await fetch(pool, "summarise_run", thread_id=thread_id)
    if not rows:
        raise no_such_run(thread_id)
    return _as_it_is(rows[0])


def _as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    """A run whose holder was killed on this machine a moment ago is interrupted, though its lease is still good."""
    holder = {name: row.pop(name) for name in ("place", "pid", "pid_started")}
    if row["status"] == "running" and holder_is_dead(holder):
        row["status"] = "interrupted"
    return row


async def list_starts(pool: Pool, thread_id: str) -> list[dict[str, Any]]:
    """Rows of ``research.starts``: when the run was taken up, by whom, with which model and limits."""
    return await fetch(pool, "list_starts", thread_id=thread_id)


async def list_trace(pool: Pool, thread_id: str, *, line: int = 1) -> list[dict[str, Any]]:
    """Rows of ``research.trace`` from `line` on."""
    return await fetch(pool, "list_trace", thread_id=thread_id, line=line)
