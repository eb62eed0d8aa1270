"""Whether the database is as it must be."""

from __future__ import annotations

from typing import Any

from research_agent.storage.database import Pool, fetch


async def check_database(pool: Pool) -> dict[str, Any]:
    """``{"server": {…}, "tables": [{name, rows, dead, bytes}], "problems": [{what, found}], "good": bool}``.

    Raises:
        StorageError: the database failed.
    """
    (server,) = await fetch(pool, "describe_server")
    tables = await fetch(pool, "table_sizes")
    problems = await fetch(pool, "check_database")
    return {
        "server": server,
        "tables": tables,
        "problems": problems,
        "good": not any(each["found"] for each in problems),
    }
