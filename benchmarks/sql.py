"""Milliseconds of every query of docs/sql.md, and of every view, over a journal of 1,000 runs and 50,000 calls.

The target is 200 ms each. A view is asked for as the page says: by run, by week, or as a whole where it is meant so.

    python benchmarks/sql.py [--runs 1000] [--repeat 7]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from _data import table
from _server import private_server

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from research_agent.storage.database import open_pool
from tests.support.plans import read_whole
from tests.support.seed import seed
from tests.support.sql_page import PAGE, questions

TARGET_MS = 200.0
_LATEST = "(select thread_id from research.runs where outcome = 'complete' order by created_at desc limit 1)"
_WEEK = "now() - interval '7 days'"
VIEWS = {
    "run_summary": "select * from research.run_summary order by started_at desc",
    "run_summary of a run": f"select * from research.run_summary where thread_id = {_LATEST}",
    "trace of a run": f"select * from research.trace where thread_id = {_LATEST} order by line",
    "trace of some runs, by a join": "select t.* from research.runs r join research.trace t using (thread_id) "
    "where r.topic like '%telemedicine in Chile%'",
    "claim_support of a run": f"select * from research.claim_support where thread_id = {_LATEST} order by position",
    "source_origin of a run": f"select * from research.source_origin where thread_id = {_LATEST} order by number",
    "source_origin of last week": "select o.* from research.runs r join research.source_origin o using (thread_id) "
    f"where r.created_at > {_WEEK}",
    "failures of a run": f"select * from research.failures where thread_id = {_LATEST}",
    "failures of last week": f"select * from research.failures where failed_at > {_WEEK} order by failed_at",
    "slowest_steps of a run": f"select * from research.slowest_steps where thread_id = {_LATEST}",
    "slowest_steps, the first ten": "select * from research.slowest_steps limit 10",
    "spending of last week": "select * from research.spending where day > current_date - 7 order by day",
    "spending": "select * from research.spending order by day",
    "tool_stats": "select * from research.tool_stats",
    "model_stats": "select * from research.model_stats",
    "domain_stats": "select * from research.domain_stats order by failed desc",
    "domain_stats of a host": "select * from research.domain_stats where domain = 'stat-office.example'",
}


async def make_schema(dsn: str) -> None:
    async with open_pool(dsn, embedded=True):
        pass


def measure(connection: psycopg.Connection, query: str, repeat: int) -> tuple[list[float], int]:
    """Milliseconds of each of `repeat` executions with all rows fetched, and how many rows there are."""
    times, rows = [], 0
    for _ in range(repeat):
        began = time.perf_counter()
        rows = len(connection.execute(query.encode()).fetchall())
        times.append((time.perf_counter() - began) * 1000)
    return times, rows


def count(connection: psycopg.Connection, name: str) -> int:
    row = connection.execute(f"select count(*) from research.{name}".encode()).fetchone()
    return int(row[0]) if row else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    asked = questions(PAGE.read_text(encoding="utf-8")) + list(VIEWS.items())
    rows, slow = [], []
    with private_server() as (_, dsn):
        asyncio.run(make_schema(dsn))
        began = time.perf_counter()
        seed(dsn, runs=options.runs, now=datetime.now(UTC))
        seconds = time.perf_counter() - began
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            calls = count(connection, "model_calls") + count(connection, "tool_calls")
            print(f"{count(connection, 'runs'):,} runs, {calls:,} calls, seeded in {seconds:.0f} s\n")
            for title, query in asked:
                times, found = measure(connection, query, options.repeat)
                whole = ", ".join(sorted(read_whole(connection, query))) or "-"
                rows.append([title[:60], f"{statistics.median(times):.1f}", f"{max(times):.1f}", found, whole])
                slow += [title] * (max(times) > TARGET_MS)
    table(["query", "median ms", "max ms", "rows", "reads whole"], rows)
    print(f"\n{len(rows) - len(slow)} of {len(rows)} within {TARGET_MS:.0f} ms" + (f"; not: {slow}" if slow else ""))


if __name__ == "__main__":
    main()
