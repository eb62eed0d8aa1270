"""Which thread a topic belongs to, and the row that says how its run stands."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from research_agent.errors import StorageError, UsageError
from research_agent.limits import Limits
from research_agent.storage.database import Pool, fetch
from research_agent.text import clean, one_line
from research_agent.tracing import semantic_names

MAX_TOPIC_CHARS = 2000
_DIGEST_LENGTHS = (10, 16, 24, 40)  # hex digits; 40 bits collide, so longer digests stand behind


@dataclass(frozen=True, slots=True)
class Run:
    """One edition of a topic. `outcome` is "" and `brief` is None until it is finished."""

    thread_id: str
    base_thread_id: str
    edition: int
    topic: str
    limits: dict[str, Any] | None = None  # those of its last start
    outcome: str = ""
    stop_reason: str = ""
    brief: dict[str, Any] | None = None
    pruned: bool = False  # its checkpoints were removed: it can be read, but not continued


def clean_topic(topic: str) -> str:
    """`topic` in the form that is stored and compared: NFC, clean characters, white space folded.

    Raises:
        UsageError: nothing is left of it, or it is longer than `MAX_TOPIC_CHARS`.
    """
    folded = re.sub(r"\s+", " ", clean(topic)).strip()
    if not folded:
        raise UsageError('the topic is empty: say what to research, for example --topic "How do ReAct agents fail?"')
    if len(folded) > MAX_TOPIC_CHARS:
        raise UsageError(
            f"the topic has {len(folded):,} characters, the limit is {MAX_TOPIC_CHARS:,}: "
            "shorten it, and put background into a document of the corpus"
        )
    return folded


def topic_to_thread_id(topic: str, digits: int = 10) -> str:
    """``research-`` and the first `digits` hex digits of SHA-1 over the cleaned topic."""
    return "research-" + hashlib.sha1(clean_topic(topic).encode(), usedforsecurity=False).hexdigest()[:digits]


async def find_run(pool: Pool, topic: str) -> Run | None:
    """The newest edition of `topic`, or None if it was never started. `topic` must be cleaned."""
    for run in await _candidates(pool, topic):
        if run.topic == topic:
            return run
    return None


async def new_run(pool: Pool, topic: str) -> Run:
    """A run for the first or the next edition of `topic`; nothing is written yet."""
    return _next_edition(await _candidates(pool, topic), topic)


async def find_or_new_run(pool: Pool, topic: str) -> Run:
    """The newest edition of `topic`, or a new one where there is none or it failed.

    By one look: of two, the second could find what another process began meanwhile, and make a second edition of it.
    """
    runs = await _candidates(pool, topic)
    begun = (run for run in runs if run.topic == topic and run.outcome != "failed")
    return next(begun, None) or _next_edition(runs, topic)


def _next_edition(runs: list[Run], topic: str) -> Run:
    taken = {run.base_thread_id for run in runs}
    for run in runs:
        if run.topic == topic:
            edition = run.edition + 1
            return Run(f"{run.base_thread_id}.{edition}", run.base_thread_id, edition, topic)
    for digits in _DIGEST_LENGTHS:
        if (thread_id := topic_to_thread_id(topic, digits)) not in taken:
            return Run(thread_id, thread_id, 1, topic)
    raise StorageError("every thread id of this topic belongs to another topic: reword the topic")


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a run: when the run began, and how long it had been running before this start."""

    began: datetime
    seconds: float


async def start_run(
    pool: Pool, run: Run, *, model: str, limits: Limits, token: int, options: dict[str, Any] | None = None
) -> Start:
    """Write the row, or count another start of it."""
    provider, name = semantic_names(model)
    rows = await fetch(
        pool,
        "start_run",
        thread_id=run.thread_id,
        base_thread_id=run.base_thread_id,
        edition=run.edition,
        topic=run.topic,
        provider_name=provider,
        request_model=name,
        limits=Jsonb(asdict(limits)),
        options=Jsonb(options or {}),
        token=token,
    )
    if not rows:
        raise StorageError("another topic took the same thread id a moment ago: run the same command again")
    (row,) = rows
    return Start(row["created_at"], row["seconds"])


async def read_run(pool: Pool, run: Run) -> Run:
    """`run` as it stands now; itself if nothing of it is stored yet."""
    rows = await fetch(pool, "find_thread", thread_id=run.thread_id)
    return _run_of(rows[0]) if rows and rows[0]["topic"] == run.topic else run


async def find_thread(pool: Pool, thread_id: str) -> tuple[Run, dict[str, Any], list[str]]:
    """The run of `thread_id`, the options of its last start, and the questions it waits for.

    Raises:
        UsageError: there is no such thread.
    """
    rows = await fetch(pool, "find_thread", thread_id=thread_id)
    if not rows:
        raise no_such_run(thread_id)
    return _run_of(rows[0]), rows[0]["options"], rows[0]["waiting_for"] or []


def _run_of(row: dict[str, Any]) -> Run:
    return Run(**{each.name: row[each.name] for each in fields(Run)} | {"outcome": row["outcome"] or ""})


def no_such_run(thread_id: str) -> UsageError:
    """The error of every command that is given the id of no run."""
    return UsageError(f"there is no run {one_line(thread_id)[:80]}: research-agent runs lists them")


async def set_waiting(pool: Pool, run: Run, questions: list[str] | None, *, token: int) -> None:
    """Record what the run waits for; None when it waits no longer."""
    await fetch(
        pool, "set_waiting", thread_id=run.thread_id, questions=Jsonb(questions) if questions else None, token=token
    )


async def reopen_run(pool: Pool, run: Run, *, token: int) -> None:
    """Let a finished run go on; its brief is kept beside."""
    await fetch(pool, "reopen_run", thread_id=run.thread_id, token=token)


async def finish_run(
    pool: Pool, run: Run, *, token: int, finished_at: datetime, brief: dict[str, Any], claims: list[Any]
) -> None:
    """Record the end: outcome, stop reason, brief and claims."""
    await fetch(
        pool,
        "finish_run",
        thread_id=run.thread_id,
        token=token,
        finished_at=finished_at,
        outcome=brief["outcome"],
        stop_reason=brief["stop_reason"],
        brief=Jsonb(brief),
        claims=Jsonb([{"position": position, **claim} for position, claim in enumerate(claims, start=1)]),
    )


async def run_usage(pool: Pool, run: Run) -> dict[str, Any]:
    """Calls, tokens and USD of all starts of `run` together, from the journal."""
    (row,) = await fetch(pool, "usage", thread_id=run.thread_id)
    return dict(row)


async def _candidates(pool: Pool, topic: str) -> list[Run]:
    ids = [topic_to_thread_id(topic, digits) for digits in _DIGEST_LENGTHS]
    rows = await fetch(pool, "find_runs", candidates=ids)
    return [_run_of(row) for row in rows]
