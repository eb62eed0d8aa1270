"""What is asked of past runs: lists, summaries, traces."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from research_agent.errors import UsageError
from research_agent.storage.database import Pool, fetch

_WHOLE = 2**31 - 1


async def list_runs(
    pool: Pool, *, status: str | None = None, since: datetime | None = None, text: str | None = None, limit: int = 20
) -> list[dict[str, Any]]:
    """Rows of ``research.run_summary``, the newest first.

    Args:
        status: a status (running, …) or an outcome (partial, …).
        since: only what began then or later.
        text: what stands in the topic or in a kept sentence, in any case.
    """
    return await fetch(pool, "list_runs", status=status, since=since, text=text, limit=limit)


async def summarise_run(pool: Pool, thread_id: str) -> dict[str, Any]:
    """The row of ``research.run_summary``.

    Raises:
        UsageError: there is no such run.
    """
    rows = await fetch(pool, "summarise_run", thread_id=thread_id)
    if not rows:
        raise UsageError(f"there is no run {thread_id}: research-agent runs lists them")
    return rows[0]


async def list_starts(pool: Pool, thread_id: str) -> list[dict[str, Any]]:
    """Rows of ``research.starts``: when the run was taken up, by whom, with which model and limits."""
    return await fetch(pool, "list_starts", thread_id=thread_id)


async def list_trace(
    pool: Pool, thread_id: str, *, line: int = 1, characters: int | None = None
) -> list[dict[str, Any]]:
    """Rows of ``research.trace`` from `line` on; `characters` bounds each observation."""
    shown = _WHOLE if characters is None else characters
    return await fetch(pool, "list_trace", thread_id=thread_id, line=line, characters=shown)
