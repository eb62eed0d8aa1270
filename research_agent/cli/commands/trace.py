"""``research-agent trace``: what a run did, as the conversation that it was; with ``--follow`` while it goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from research_agent.cli.arguments import thread_parser
from research_agent.cli.commands.base import on_database, print_json, say

if TYPE_CHECKING:
    from research_agent.storage.database import Pool

_SHOWN_LINES = 5  # of a text, without --full
_WIDTH = 110  # terminal columns
_POLL_SECONDS = 0.5


def main(words: Sequence[str]) -> int:
    """Print the trace of a run."""
    parser = thread_parser("trace", "Show what a run did, step by step.")
    parser.add_argument("--follow", action="store_true", help="go on until the run stops")
    parser.add_argument("--full", action="store_true", help="observations and drafts whole")
    parser.add_argument("--json", action="store_true", help="rows as JSON, one a line with --follow")
    arguments = parser.parse_args(words)
    try:
        on_database(
            lambda pool: _trace(
                pool, arguments.thread, follow=arguments.follow, full=arguments.full, as_json=arguments.json
            )
        )
    except KeyboardInterrupt:
        if not arguments.follow:
            raise
    return 0


async def _trace(pool: Pool, thread_id: str, *, follow: bool, full: bool, as_json: bool) -> None:
    from research_agent.cli.table import to_json
    from research_agent.storage.reports import list_trace, summarise_run
    from research_agent.text import one_line

    run = await summarise_run(pool, thread_id)
    if as_json and not follow:
        print_json(await list_trace(pool, thread_id))
        return
    if not as_json:
        sys.stdout.write(f"{one_line(run['topic'])}\n")
        if run["forked_from"]:
            sys.stdout.write(f"goes on from {run['forked_from']} after step {run['forked_at_step']}\n")
    async for row in _rows(pool, thread_id, follow):
        sys.stdout.write((to_json(row, indented=False) if as_json else "\n".join(_lines(row, full=full))) + "\n")
        sys.stdout.flush()
    run = await summarise_run(pool, thread_id)
    state = f"{run['outcome']} ({run['stop_reason']})" if run["outcome"] else run["status"]
    if not as_json:
        sys.stdout.write(f"\n{state}\n")
    if run["status"] == "running":
        say(f"it goes on: research-agent trace {thread_id} --follow")


async def _rows(pool: Pool, thread_id: str, follow: bool) -> AsyncIterator[dict[str, Any]]:
    """What there is; to `follow`, each row once it has ended, until nobody runs the thread any more."""
    from research_agent.storage.reports import list_trace, summarise_run

    line = 1
    while True:
        # First the state, then the rows: what was written before the end is never missed.
        running = follow and (await summarise_run(pool, thread_id))["status"] == "running"
        for row in await list_trace(pool, thread_id, line=line):
            if running and row["status"] == "open":
                break
            yield row
            line = row["line"] + 1
        if not running:
            return
        await asyncio.sleep(_POLL_SECONDS)


def _lines(row: dict[str, Any], *, full: bool) -> Iterator[str]:
    """One row as a person reads a conversation: thought, call, observation."""
    from research_agent.text import one_line

    if row["model_latency_ms"] is not None:
        yield f"\n{_heading(row)}"
    if row["thought"]:
        yield from _block("  ", row["thought"], full)
    if row["tool_name"]:
        yield f"  → {one_line(row['tool_name'])} {one_line(_arguments(row['tool_call_arguments']))}"
    if row["status"] == "open":
        yield "  ← no end is recorded"
    elif row["observation"]:
        sign = "✗" if row["status"] == "error" else "←"
        yield from _block(f"  {sign} ", row["observation"], full)
    if row["tool_name"] and row["tool_latency_ms"] is not None:
        news = f", {row['new_sources']} new source" if row["new_sources"] else ""
        yield f"    ({row['tool_latency_ms']:,} ms{news})"


def _heading(row: dict[str, Any]) -> str:
    tokens = row["input_tokens"] + row["output_tokens"]
    what = [f"step {row['step']}"]
    if row["purpose"] != "reason":
        what.append(row["purpose"])
    if row["attempt"] > 1:
        what.append(f"attempt {row['attempt']}")
    if (row["start"] or 1) > 1:
        what.append(f"start {row['start']}")
    used = [f"{row['model_latency_ms']:,} ms"]
    if tokens:
        used.append(f"{tokens:,} tokens")
    if row["cost_usd"]:
        used.append(f"${row['cost_usd']:.4f}")
    return f"{' · '.join(what)}  ({', '.join(used)})"


def _arguments(arguments: Any) -> str:
    """The value alone where there is but one."""
    values = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(arguments, ensure_ascii=False)


def _block(mark: str, said: str, full: bool) -> Iterator[str]:
    """Text under a mark; its first lines, cut to the width, unless all of it is wanted."""
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.text import Text

    from research_agent.text import clean

    lines = [line for line in clean(said).split("\n") if line.strip()]
    width = _WIDTH - len(mark)
    lead = mark
    for line in lines if full else lines[:_SHOWN_LINES]:
        line = " ".join(line.split())
        if not full and cell_len(line) > width:
            line = set_cell_size(line, width - 2).rstrip() + " …"
        for piece in Text(line).wrap(Console(width=width), width) if full else [line]:
            yield f"{lead}{piece}".rstrip()
            lead = " " * len(mark)
    if not full and (more := len(lines) - _SHOWN_LINES) > 0:
        yield f"{lead}… {more} more line{'' if more == 1 else 's'}"
