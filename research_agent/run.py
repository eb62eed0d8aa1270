"""One research run: find the thread, hold its lease, decide new, resume or finished, stream, record the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from research_agent.errors import Interrupted, StorageError, UsageError
from research_agent.evidence.brief import Brief, Usage
from research_agent.limits import DEFAULT_MAX_STEPS, Limits
from research_agent.settings import Settings, load_settings
from research_agent.storage.database import Pool, open_database, translated
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import Run, clean_topic, find_run, finish_run, new_run, run_usage, start_run

# After a stop request: how long a step may go on, then how long its clean-up may take. Together under 2 s.
_GRACE_SECONDS = 1.2
_CLEANUP_SECONDS = 0.6


@dataclass(frozen=True, slots=True)
class Progress:
    """Something a watching person wants to know. `text` is one line."""

    kind: Literal["start", "waiting", "step", "problem", "note"]
    text: str
    step: int = 0
    node: str = ""
    sources: int = 0


Watcher = Callable[[Progress], None]


async def research(
    topic: str,
    *,
    corpus: Path | str | None = None,
    model: str | None = None,
    max_steps: int | None = None,
    fresh: bool = False,
    settings: Settings | None = None,
    on_progress: Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Brief:
    """Research `topic` and return its brief; continue an unfinished run, or return the stored brief of a finished one.

    Args:
        corpus: folder of documents to search.
        model: ``provider:name`` or ``extractive``; default from the environment.
        max_steps: model turns before the brief is written; default 10, or what the run was started with.
        fresh: start a new edition of the topic, and keep the old ones.
        settings: everything else; default from the environment. The arguments above win over it.
        on_progress: called with each event, on the event loop.
        stop: when set, the run stops at the next step boundary, at the latest after two seconds.

    Raises:
        UsageError: topic, corpus, model or a setting cannot be used.
        ThreadBusy: another process runs this topic.
        Interrupted: `stop` was set; the same call continues.
        ModelError, StorageError: the run could not go on; the same call continues where it was.
    """
    flags = {"corpus": corpus, "chosen_model": model, "max_steps": max_steps}
    chosen = load_settings(**{**(settings or load_settings()).model_dump(), **_given(flags)})
    job = _Job(clean_topic(topic), chosen, fresh, on_progress or (lambda progress: None))
    return await _until_stopped(job.run(), stop, job.drain)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


class _Job:
    """The parts of one call of `research` that belong together."""

    def __init__(self, topic: str, settings: Settings, fresh: bool, watch: Watcher) -> None:
        self.topic, self.settings, self.fresh, self.watch = topic, settings, fresh, watch
        self.drain_requested = False
        self._control: Any = None

    def drain(self) -> None:
        """Ask the graph to stop at the next step boundary."""
        self.drain_requested = True
        if self._control:
            self._control.request_drain()

    async def run(self) -> Brief:
        async with open_database(self.settings, lambda what: self.watch(Progress("waiting", what))) as pool:
            run = None if self.fresh else await find_run(pool, self.topic)
            if run and run.brief:
                self.watch(Progress("note", f"already finished as {run.thread_id}; --fresh starts a new edition"))
                return Brief.from_dict(run.brief)
            async with self._sources() as corpus:
                run = run or await new_run(pool, self.topic)
                async with hold_lease(pool, run.thread_id) as token:
                    return await self._run_held(pool, run, token, corpus)

    async def _run_held(self, pool: Pool, run: Run, token: int, corpus: Any) -> Brief:
        from research_agent.models.load import load_model

        model = load_model(self.settings)
        max_steps = self.settings.max_steps or run.max_steps or DEFAULT_MAX_STEPS
        started_at, stands = await start_run(pool, run, model=self.settings.model, max_steps=max_steps, token=token)
        if stands.brief:  # another process finished it while this one was waiting for the lease
            return Brief.from_dict(stands.brief)
        state = await self._stream(pool, run, token, model, corpus, max_steps)
        finished_at = datetime.now(UTC)
        brief = Brief.from_state(
            state,
            thread_id=run.thread_id,
            edition=run.edition,
            model=self.settings.model,
            started_at=started_at.astimezone(UTC).isoformat(timespec="seconds"),
            finished_at=finished_at.isoformat(timespec="seconds"),
            usage=Usage(**await run_usage(pool, run)),
        )
        await finish_run(
            pool, run, token=token, finished_at=finished_at, brief=brief.to_dict(), claims=state.get("claims", [])
        )
        return brief

    async def _stream(
        self, pool: Pool, run: Run, token: int, model: Any, corpus: Any, max_steps: int
    ) -> dict[str, Any]:
        """Run the graph from where the thread stands to its end; the final state."""
        from langgraph.errors import GraphDrained
        from langgraph.runtime import RunControl

        from research_agent.context import ResearchContext
        from research_agent.graph import build_graph
        from research_agent.storage.checkpoints import make_saver
        from research_agent.storage.journal import PostgresJournal
        from research_agent.tools.fetch_url import make_fetch_url
        from research_agent.tools.search_web import make_search_web

        graph = build_graph(model, [make_search_web(corpus), make_fetch_url(corpus)], make_saver(pool))
        journal = PostgresJournal(pool, run.thread_id, token)
        context = ResearchContext(
            limits=Limits(max_steps=max_steps),
            journal=journal,
            model_name=self.settings.model,
            model_timeout=self.settings.model_timeout,
        )
        config: Any = {
            "configurable": {"thread_id": run.thread_id},
            # Only a backstop: the step limit ends a run long before. It counts nodes, and each resume anew.
            "recursion_limit": 4 * max_steps + 20,
            "metadata": {"topic": run.topic, "lease_token": token},
        }
        with translated():
            stored = await graph.aget_state(config)
            if stored.values.get("outcome"):
                return dict(stored.values)
            await journal.load(stored.values.get("step_count", 0))
            start: Any = {"topic": run.topic, "max_steps": max_steps}
            self._announce(run, resumed=stored.created_at is not None, step=stored.values.get("step_count", 0))
            self._control = RunControl()
            if self.drain_requested:
                self._control.request_drain()
            try:
                async for part in graph.astream(
                    None if stored.created_at else start,  # the initial input would restart an existing thread
                    config,
                    context=context,
                    durability="sync",
                    stream_mode=["updates", "custom"],
                    control=self._control,
                    version="v2",
                ):
                    self._report(part)
            except GraphDrained:
                raise Interrupted("stopped at a step boundary; everything so far is stored") from None
            values = (await graph.aget_state(config)).values
        if not values.get("outcome"):
            raise StorageError(
                f"thread {run.thread_id} has no step left and no brief; its checkpoints were written by another "
                "version of this program: start a new edition with --fresh"
            )
        return dict(values)

    @asynccontextmanager
    async def _sources(self) -> AsyncIterator[Any]:
        if self.settings.corpus is None:
            raise UsageError("there is nothing to search: give a folder of documents with --corpus DIR")
        from research_agent.search.corpus import Corpus

        self.watch(Progress("waiting", f"the index of {self.settings.corpus}"))
        corpus = await Corpus.open(self.settings.corpus, self.settings.cache_dir)
        try:
            self.watch(Progress("note", f"{corpus.documents} documents in {self.settings.corpus}"))
            for skipped in corpus.skipped:
                self.watch(Progress("problem", f"skipped {skipped.path}: {skipped.reason}"))
            yield corpus
        finally:
            await corpus.close()

    def _announce(self, run: Run, *, resumed: bool, step: int) -> None:
        what = f"continuing {run.thread_id} after step {step}" if resumed else f"new thread {run.thread_id}"
        self.watch(Progress("start", f"{what}, model {self.settings.model}", step=step))
        self._step, self._sources_read = step, 0

    def _report(self, part: Any) -> None:
        if part["type"] == "custom":
            for kind, text in part["data"].items():
                self.watch(Progress(kind, text, self._step, "", self._sources_read))
            return
        for node, update in part["data"].items():
            if not isinstance(update, dict):
                continue
            self._step = update.get("step_count", self._step)
            self._sources_read += len(update.get("citations", []))
            self.watch(Progress("step", _describe(node, update), self._step, node, self._sources_read))


def _describe(node: str, update: dict[str, Any]) -> str:
    """What a node just did, in a few words."""
    match node:
        case "reason":
            calls = [call for message in update.get("messages", []) for call in getattr(message, "tool_calls", [])]
            asked = [call["args"].get("query") or call["args"].get("url") or call["name"] for call in calls]
            return "; ".join(" ".join(str(text).split())[:100] for text in asked) or "nothing more to look for"
        case "tools":
            failed = [message for message in update.get("messages", []) if message.status == "error"]
            return f"{len(update.get('messages', []))} calls" + (f", {len(failed)} failed" if failed else "")
        case "sanitize":
            stuck = update.get("stagnant_turns", 0)
            return (
                f"nothing new ({stuck} in a row)"
                if stuck
                else f"{len(update.get('citations', []))} sources gave something new"
            )
        case _:
            kept = [claim for claim in update.get("claims", []) if claim["verdict"] == "supported"]
            return f"{len(kept)} of {len(update.get('claims', []))} sentences stand on a passage"


async def _until_stopped(
    work: Coroutine[Any, Any, Brief], stop: asyncio.Event | None, drain: Callable[[], None]
) -> Brief:
    """The result of `work`; when `stop` is set, drain first, cancel what does not drain in time."""
    task = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future((stop or asyncio.Event()).wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            drain()
            await asyncio.wait({task}, timeout=_GRACE_SECONDS)
            task.cancel()
            await asyncio.wait({task}, timeout=_CLEANUP_SECONDS)
        if not task.done() or task.cancelled():
            raise Interrupted("stopped within a step; everything before it is stored")
        return task.result()
    finally:
        stopped.cancel()
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task}, timeout=_CLEANUP_SECONDS)
