"""``research-agent runs``: which runs there are. ``research-agent show``: what one of them came to."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from research_agent.cli.argument_types import moment, positive, text
from research_agent.cli.arguments import Parser, thread_parser
from research_agent.cli.commands.base import count, local_time, on_database, print_json, say
from research_agent.cli.output import FORMS, render

if TYPE_CHECKING:
    from research_agent.storage.database import Pool

_COLUMNS = ("thread", "status", "began", "seconds", "steps", "sources", "sentences", "usd", "topic")
_NARROW = ("thread", "status", "began", "topic")
_WIDE_ENOUGH = 110  # terminal columns
_STATES = ("running", "waiting", "interrupted", "finished", "complete", "partial", "no_evidence", "failed")


def list_runs(words: Sequence[str]) -> int:
    """The runs that match, the newest first."""
    parser = Parser(prog="research-agent runs", description="List runs, the newest first.")
    parser.add_argument("--status", choices=_STATES, metavar="STATUS", help=f"one of {', '.join(_STATES)}")
    parser.add_argument("--since", type=moment, metavar="WHEN", help="begun since then: 2026-11-30, 12h, 7d, 4w")
    parser.add_argument("--text", type=text, help="in the topic, or in a sentence of the brief")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="at most so many (default: 20)")
    parser.add_argument("--json", action="store_true", help="everything that is known of each, as JSON")
    arguments = parser.parse_args(words)
    from research_agent.storage import reports

    chosen = {name: getattr(arguments, name) for name in ("status", "since", "text", "limit")}
    rows = on_database(lambda pool: reports.list_runs(pool, **chosen))
    if arguments.json:
        print_json(rows)
        return 0
    if not rows:
        say("no run matches")
        return 0
    from research_agent.cli.table import render_rows

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    columns = _NARROW if width and width < _WIDE_ENOUGH else _COLUMNS
    cells = [[_cells(row)[name] for name in columns] for row in rows]
    sys.stdout.write(render_rows(columns, cells, "table", width=width, whole=["thread", "status"]))
    return 0


def _cells(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "thread": run["thread_id"],
        "status": run["outcome"] or run["status"],
        "began": local_time(run["started_at"]),
        "seconds": round(run["seconds"], 1),
        "steps": run["steps"],
        "sources": run["sources"],
        "sentences": run["sentences"],
        "usd": round(run["cost_usd"], 4),
        "topic": run["topic"],
    }


def show(words: Sequence[str]) -> int:
    """One run: the facts, and its brief."""
    parser = thread_parser("show", "Show what a run came to: facts and brief.")
    parser.add_argument("--format", choices=FORMS, help="the brief alone, in this form")
    parser.add_argument("--json", action="store_true", help="facts and brief as JSON")
    arguments = parser.parse_args(words)
    found = on_database(lambda pool: _look_up(pool, arguments.thread))
    summary, brief = found["summary"], found["brief"]
    if arguments.json:
        print_json(found)
        return 0
    if not arguments.format:
        sys.stdout.write("\n".join(_facts(summary, found["waiting_for"])) + "\n")
    if brief:
        from research_agent.brief.brief import Brief

        rendered = render(Brief.from_dict(brief), arguments.format or "markdown", left_out=not arguments.format)
        sys.stdout.write(rendered if arguments.format else f"\n{rendered}")
    elif arguments.format:
        from research_agent.errors import UsageError

        raise UsageError(f"{arguments.thread} has no brief yet: run its topic to the end first")
    return 0


async def _look_up(pool: Pool, thread_id: str) -> dict[str, Any]:
    from research_agent.storage.reports import list_starts, summarise_run
    from research_agent.storage.runs import find_thread

    summary = await summarise_run(pool, thread_id)
    starts = await list_starts(pool, thread_id)
    run, _, questions = await find_thread(pool, thread_id)
    return {"summary": summary, "starts": starts, "waiting_for": questions, "brief": run.brief}


def _facts(run: dict[str, Any], questions: Sequence[str]) -> list[str]:
    from research_agent.text import one_line

    model = [run["provider_name"], run["request_model"]]
    ended = f" to {local_time(run['ended_at'])}" if run["ended_at"] else ""
    starts = f" in {run['starts']} starts" if run["starts"] > 1 else ""
    state = f"{run['status']}, {run['outcome']} ({run['stop_reason']})" if run["outcome"] else run["status"]
    facts = [
        ("topic", run["topic"]),
        ("state", state),
        ("time", f"{local_time(run['started_at'])}{ended}, running {run['seconds']} s{starts}"),
        ("model", " ".join(dict.fromkeys(model))),
        ("used", f"{count(run['model_calls'], 'model call')}, {count(run['tool_calls'], 'tool call')}, {_cost(run)}"),
        ("found", f"{count(run['sources'], 'source')} in {count(run['steps'], 'step')}; {_sentences(run)}"),
    ]
    if run["forked_from"]:
        facts.append(("fork", f"of {run['forked_from']} after step {run['forked_at_step']}"))
    if run["pruned_at"]:
        facts.append(("pruned", f"{local_time(run['pruned_at'])}: it can be read, but not continued"))
    facts += [("asks", question) for question in questions]
    if questions:
        facts.append(("go on", f'research-agent answer {run["thread_id"]} "…"'))
    elif run["status"] == "interrupted":
        facts.append(("go on", f"research-agent resume {run['thread_id']}"))
    return [f"{run['thread_id']}", *(f"  {name:<7} {one_line(value)}" for name, value in facts)]


def _cost(run: dict[str, Any]) -> str:
    return f"{count(run['input_tokens'] + run['output_tokens'], 'token')}, ${run['cost_usd']:.4f}"


def _sentences(run: dict[str, Any]) -> str:
    return f"{count(run['sentences'], 'sentence')} kept, {run['dropped']} dropped"
