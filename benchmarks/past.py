"""Seconds to read, fork, export, prune and delete a run of many steps, and to prune many runs.

"stock" is the same history by LangGraph's own saver, which replays the thread from its start for each checkpoint.

    python benchmarks/past.py [--steps 10 50 100 200] [--runs 1000] [--stock-up-to 100]
"""

from __future__ import annotations

import argparse
import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from _data import table
from _server import private_server
from psycopg.conninfo import make_conninfo
from storage import run_ours

from research_agent.runs.fork import find_origin, new_fork
from research_agent.runs.history import Past, still_graph
from research_agent.settings import load_settings
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.database import Pool, open_pool
from research_agent.storage.record import write_record
from research_agent.storage.retention import delete_thread, prune
from research_agent.storage.runs import find_thread
from research_agent.storage.server import cluster

TABLES = ("research.leases", "research.runs", "checkpoints", "checkpoint_blobs", "checkpoint_writes")


async def seconds(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def one_run(pool: Pool, steps: int, *, stock: bool) -> list[str]:
    thread_id = await run_ours(pool, steps)
    run, _, _ = await find_thread(pool, thread_id)
    file = io.StringIO()

    async def stock_history() -> None:
        config: Any = {"configurable": {"thread_id": thread_id}}
        async for _ in still_graph(make_saver(pool)).aget_state_history(config):
            pass

    async def fork() -> None:
        origin = await find_origin(pool, thread_id, steps)
        async with new_fork(pool, origin, load_settings()):
            pass

    times = [
        f"{await seconds(Past(pool, run).moments):.2f}",
        f"{await seconds(stock_history):.2f}" if stock else "-",
        f"{await seconds(fork):.2f}",
        f"{await seconds(lambda: write_record(pool, thread_id, file)):.2f}",
        f"{await seconds(lambda: delete_thread(pool, thread_id)):.2f}",
    ]
    return [*times, f"{len(file.getvalue()) / 1e6:.1f}"]


async def many_runs(pool: Pool, number: int) -> tuple[float, int, int]:
    """Seconds, rows and bytes of pruning so many copies of a run of ten steps."""
    thread_id = await run_ours(pool, 10)
    async with pool.connection() as connection, connection.transaction():
        await connection.execute(b"set local session_replication_role = replica")  # copies need no triggers
        for name in TABLES:
            columns = await (
                await connection.execute(
                    b"select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as list "
                    b"from information_schema.columns where table_schema || '.' || table_name = %s "
                    b"and column_name not in ('thread_id', 'base_thread_id', 'finished_at')",
                    (name if "." in name else f"public.{name}",),
                )
            ).fetchone()
            extra = ", base_thread_id, finished_at" if name == "research.runs" else ""
            values = ", 'copy-' || n, now() - interval '9 days'" if extra else ""
            assert columns
            rest = columns["list"]
            await connection.execute(
                f"insert into {name} (thread_id{extra}, {rest}) select 'copy-' || n{values}, {rest} "
                f"from {name}, generate_series(1, {number}) n where thread_id = '{thread_id}'".encode()
            )
    began = time.perf_counter()
    pruned = await prune(pool, timedelta(days=1))
    assert pruned.runs == number
    return time.perf_counter() - began, pruned.rows, pruned.bytes


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--stock-up-to", type=int, default=100)
    options = parser.parse_args()
    with private_server() as (folder, dsn):
        async with open_pool(dsn, embedded=True) as pool:
            await one_run(pool, 3, stock=True)  # imports and caches
            rows = [[n, *await one_run(pool, n, stock=n <= options.stock_up_to)] for n in options.steps]
        header = ["steps", "history s", "stock s", "fork s", "export s", "delete s", "MB exported"]
        table(header, rows)
        superuser = make_conninfo(dsn, user="postgres", password=cluster.password(folder / "pg", "postgres"))
        async with open_pool(superuser, embedded=True) as pool:
            took, removed, size = await many_runs(pool, options.runs)
    print(f"\n{options.runs} runs of 10 steps pruned in {took:.1f} s: {removed} rows, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    asyncio.run(main())
