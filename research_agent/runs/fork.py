"""Go on from an earlier step of a run as a run of its own.

A fork is a new edition of the topic that begins with the state, and with the ledger, of another one after some step.
The calls of the shared steps stay where they were made: they were paid once. All that a fork begins with is written in
one transaction, so there is a whole fork or none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from psycopg.types.json import Jsonb

from research_agent.documents import Citation
from research_agent.errors import StorageError, ThreadBusy
from research_agent.graph.state import GOING_ON
from research_agent.limits import Limits
from research_agent.runs.history import Past, still_graph
from research_agent.settings import Settings
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.connection import translated
from research_agent.storage.database import Pool, fetch_on
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import Run, find_thread, new_run, no_such_run
from research_agent.tracing import semantic_names

_TRIES = 20
_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fork begins: `run` after its turn `step`, with the state of then and the options of its last start."""

    run: Run
    step: int
    state: dict[str, Any]
    options: dict[str, Any]


async def find_origin(pool: Pool, thread_id: str, step: int) -> Origin:
    """The run `thread_id` as it was after `step`. It is only read, so it may be running.

    Raises:
        UsageError: there is no such run, it has no such step, or its checkpoints are pruned.
    """
    run, options, _ = await find_thread(pool, thread_id)
    return Origin(run, step, await Past(pool, run).state_after(step), options)


@asynccontextmanager
async def new_fork(pool: Pool, origin: Origin, settings: Settings) -> AsyncIterator[tuple[Run, int]]:
    """A new edition of the topic that goes on from `origin`, held under a lease: the run and its fencing token.

    Raises:
        UsageError: the origin was deleted meanwhile.
        ThreadBusy: another process keeps starting editions of the topic.
    """
    async with AsyncExitStack() as stack:
        yield await _begin(pool, origin, settings, stack)


async def _begin(pool: Pool, origin: Origin, settings: Settings, stack: AsyncExitStack) -> tuple[Run, int]:
    """Several forks of one topic may begin at once: who finds an edition taken takes the next one."""
    limits = settings.limits(origin.run.limits)
    for left in reversed(range(_TRIES)):
        run = replace(await new_run(pool, origin.run.topic), limits=asdict(limits))
        try:
            token = await stack.enter_async_context(hold_lease(pool, run.thread_id))
        except ThreadBusy:  # it is being started, and has no row yet
            if not left:
                raise
            await asyncio.sleep(_WAIT_SECONDS)
            continue
        if await _store(pool, run, token, origin, settings, limits):
            return run, token
        await stack.aclose()
    raise ThreadBusy("other processes keep starting editions of this topic: run the same command again")


async def _store(pool: Pool, run: Run, token: int, origin: Origin, settings: Settings, limits: Limits) -> bool:
    """Write row, ledger and checkpoint, all or nothing; False when the edition is taken."""
    provider, name = semantic_names(settings.model)
    key = {"thread_id": run.thread_id, "origin": origin.run.thread_id, "token": token}
    row = {
        "base_thread_id": run.base_thread_id,
        "edition": run.edition,
        "topic": run.topic,
        "provider_name": provider,
        "request_model": name,
        "limits": Jsonb(asdict(limits)),
        "options": Jsonb(settings.run_options()),
        "step": origin.step,
    }
    ledger: list[Citation] = origin.state.get("citations", [])
    with translated():
        async with pool.connection() as connection, connection.transaction():
            if not await fetch_on(connection, "keep_run", thread_id=origin.run.thread_id):
                raise no_such_run(origin.run.thread_id)
            if not await fetch_on(connection, "fork_run", **key, **row):
                return False
            copied = await fetch_on(connection, "fork_citations", **key, citations=Jsonb(_spans(ledger)))
            if len(copied) != len(ledger):
                raise StorageError(
                    f"the ledger of {origin.run.thread_id} lacks sources of step {origin.step}: fork after another step"
                )
            config: Any = {"configurable": {"thread_id": run.thread_id}, "metadata": {"lease_token": token}}
            graph = still_graph(make_saver(connection))
            await graph.aupdate_state(config, _state(origin, limits), as_node="sanitize")
    return True


def _spans(ledger: list[Citation]) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "content_hash": entry["content_hash"],
            "passages": [{"start": passage["start"], "end": passage["end"]} for passage in entry["passages"]],
        }
        for number, entry in enumerate(ledger, start=1)
    ]


def _state(origin: Origin, limits: Limits) -> dict[str, Any]:
    """The state that the fork begins with. Where its step limit is reached already, only the brief is written."""
    shared = {name: origin.state.get(name, []) for name in ("messages", "citations", "seen_urls")}
    step_limit = "max_steps" if origin.step >= limits.max_steps else ""
    return {
        **GOING_ON,
        **shared,
        "topic": origin.run.topic,
        "step_count": origin.step,
        "max_steps": limits.max_steps,
        "stop_reason": step_limit,
    }
