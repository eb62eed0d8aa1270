"""One research run: find the thread, hold its lease, decide new, resume or finished, record the end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research_agent.brief.brief import Brief, Usage
from research_agent.errors import Interrupted, WaitingForPerson
from research_agent.limits import Limits
from research_agent.runs.events import Progress, Watcher
from research_agent.settings import Settings, load_settings
from research_agent.storage.database import Pool, open_database
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import (
    Run,
    Start,
    clean_topic,
    find_or_new_run,
    find_run,
    find_thread,
    finish_run,
    new_run,
    read_run,
    reopen_run,
    run_usage,
    set_waiting,
    start_run,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from research_agent.runs.driver import Ask, ThreadRunner
    from research_agent.runs.fork import Origin
    from research_agent.runs.sources import Sources

    Models = tuple[BaseChatModel, BaseChatModel | None, BaseChatModel | None]

# After a stop request: how long a step may go on, then how long its clean-up may take. Together under 2 s.
_GRACE_SECONDS = 1.2
_CLEANUP_SECONDS = 0.6


async def research(
    topic: str,
    *,
    corpus: Path | str | None = None,
    model: str | None = None,
    max_steps: int | None = None,
    fresh: bool = False,
    settings: Settings | None = None,
    answer: str | None = None,
    ask: Ask | None = None,
    on_progress: Watcher | None = None,
    stop: asyncio.Event | None = None,
    thread_id: str | None = None,
    origin: Origin | None = None,
) -> Brief:
    """Research `topic` and return its brief; continue an unfinished run, or return the stored brief of a finished one.

    A run that had ended on a limit goes on when that limit is higher now.

    Args:
        corpus: folder of documents to search.
        model: ``provider:name`` or ``extractive``; default from the environment.
        max_steps: model turns before the brief is written; default 10, or what the run was started with.
        fresh: start a new edition of the topic, and keep the old ones.
        settings: everything else; default from the environment. The arguments above win over it.
        answer: the reply to what the run is waiting for.
        ask: puts a question to a person; without it a run with a question is stored as waiting.
        on_progress: called with each event, on the event loop.
        stop: when set, the run stops at the next step boundary, at the latest after two seconds.
        thread_id: the edition of the topic to go on with; default the newest.
        origin: the run and step to go on from as a new edition, from `research_agent.runs.fork.find_origin`.

    Raises:
        UsageError: topic, corpus, model or a setting cannot be used.
        ThreadBusy: another process runs this topic.
        WaitingForPerson: the run has a question; the same call with `answer` continues.
        Interrupted: `stop` was set; the same call continues.
        ModelError, StorageError: the run could not go on; the same call continues where it was.
    """
    flags = {"corpus": corpus, "chosen_model": model, "max_steps": max_steps}
    given = {name: value for name, value in flags.items() if value is not None}
    chosen = load_settings(**{**(settings or load_settings()).model_dump(), **given})
    watch = on_progress or (lambda progress: None)
    job = _Job(clean_topic(topic), chosen, fresh, watch, answer, ask, thread_id, origin)
    return await _until_stopped(job.run(), stop, job.drain)


class _Job:
    """The parts of one call of `research` that belong together."""

    def __init__(
        self,
        topic: str,
        settings: Settings,
        fresh: bool,
        watch: Watcher,
        answer: str | None,
        ask: Ask | None,
        thread_id: str | None,
        origin: Origin | None,
    ) -> None:
        self.topic, self.settings, self.fresh, self.watch = topic, settings, fresh, watch
        self.answer, self.ask = answer, ask
        self.thread_id, self.origin = thread_id, origin
        self._drain_requested = False
        self._runner: ThreadRunner | None = None

    def drain(self) -> None:
        """Ask the graph to stop at the next step boundary."""
        self._drain_requested = True
        if self._runner:
            self._runner.control.request_drain()

    async def run(self) -> Brief:
        from research_agent.runs.sources import open_sources
        from research_agent.storage.pages import PageStore

        async with open_database(self.settings, lambda what: self.watch(Progress("waiting", what))) as pool:
            run = await self._find(pool)
            if run and run.brief and not self._may_go_on(run):
                steps = ", its checkpoints are pruned" if run.pruned else ""
                self.watch(
                    Progress("note", f"already finished as {run.thread_id}{steps}; --fresh starts a new edition")
                )
                return Brief.from_dict(run.brief)
            store = PageStore(pool, self.settings.cache_age)
            async with (
                open_sources(self.settings, self.watch, store) as sources,
                self._open_models() as models,
                self._hold(pool, run) as (run, token),
            ):
                return await self._run_held(pool, run, token, sources, models)

    async def _find(self, pool: Pool) -> Run | None:
        """The edition to go on with, or to print; one that could not reach any source is left alone."""
        if self.thread_id:
            return (await find_thread(pool, self.thread_id))[0]
        run = None if self.fresh or self.origin else await find_run(pool, self.topic)
        return None if run and run.outcome == "failed" else run

    @asynccontextmanager
    async def _hold(self, pool: Pool, run: Run | None) -> AsyncIterator[tuple[Run, int]]:
        """The edition that runs now, and the token of its lease."""
        if self.origin:
            from research_agent.runs.fork import new_fork

            async with new_fork(pool, self.origin, self.settings) as held:
                yield held
            return
        # Looked up again: opening took a while, and another process may have started the topic since.
        if run is None:
            run = await (new_run if self.fresh else find_or_new_run)(pool, self.topic)
        async with hold_lease(pool, run.thread_id) as token:
            yield run, token

    def _may_go_on(self, run: Run) -> bool:
        """Whether a finished run ended on a limit that is higher now. One without checkpoints cannot."""
        if run.pruned:
            return False
        before = Limits(**run.limits) if run.limits else Limits()
        return self.settings.limits(run.limits).allows_more_than(before, run.stop_reason)

    async def _run_held(self, pool: Pool, run: Run, token: int, sources: Sources, models: Models) -> Brief:
        from research_agent import tracing

        run = await read_run(pool, run)  # from here on nobody else changes it
        reopen = bool(run.brief) and self._may_go_on(run)
        if run.brief and not reopen:  # another process finished it while this one was waiting for the lease
            return Brief.from_dict(run.brief)
        limits = self.settings.limits(run.limits)
        options = self.settings.run_options()
        start = await start_run(pool, run, model=self.settings.model, limits=limits, token=token, options=options)
        if reopen:
            await reopen_run(pool, run, token=token)
        what = "continuing" if start.seconds or reopen else "new"
        shared = f", from {self.origin.run.thread_id} after step {self.origin.step}" if self.origin else ""
        self.watch(Progress("start", f"{what} thread {run.thread_id}{shared}, model {self.settings.model}"))
        self._runner = self._make_runner(pool, run, token, sources, models, limits, start)
        if self._drain_requested:
            self._runner.control.request_drain()
        try:
            with tracing.agent_span(run.thread_id):
                state = await self._runner.run(run.topic, reopen=reopen, answer=self.answer, ask=self.ask)
        except WaitingForPerson as waiting:
            await set_waiting(pool, run, waiting.questions, token=token)
            raise
        return await self._record(pool, run, token, start, state)

    @asynccontextmanager
    async def _open_models(self) -> AsyncIterator[Models]:
        """The model, and others for writing and judging if there are: of this event loop, closed at the end."""
        from research_agent.models.load import open_model, options_of

        options = options_of(self.settings)
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(open_model(self.settings.model, options))
            writer, judge = [
                await stack.enter_async_context(open_model(name, options)) if name else None
                for name in (self.settings.writer_model, self.settings.judge_model)
            ]
            yield model, writer, judge

    def _make_runner(
        self, pool: Pool, run: Run, token: int, sources: Sources, models: Models, limits: Limits, start: Start
    ) -> ThreadRunner:
        from research_agent.context import ResearchContext
        from research_agent.graph.graph import build_graph
        from research_agent.models.load import prompt_limit
        from research_agent.resilience import PROCESS_BREAKER
        from research_agent.runs.driver import ThreadRunner
        from research_agent.storage.checkpoints import make_saver
        from research_agent.storage.journal import PostgresJournal
        from research_agent.tools.ask_human import make_ask_human

        settings, (model, writer, judge) = self.settings, models
        context = ResearchContext(
            limits=limits,
            journal=PostgresJournal(pool, run.thread_id, token),
            model_name=settings.model,
            length=settings.length,
            writer_name=settings.writer_model or "",
            model_timeout=settings.model_timeout,
            deadline=time.monotonic() + max(0.0, limits.max_seconds - start.seconds),
            max_prompt_tokens=prompt_limit(model, settings.max_prompt_tokens),
            breaker=PROCESS_BREAKER,
            ceiling_price=settings.ceiling_price,
            approve=settings.approved_tools,
            check=settings.check,
            judge_name=settings.judge_model or "",
            person=not settings.no_input,
            seconds_before=start.seconds,
        )
        tools = sources.tools() if settings.no_input else [*sources.tools(), make_ask_human()]
        graph = build_graph(model, tools, make_saver(pool), writer=writer, judge=judge)
        return ThreadRunner(graph, run.thread_id, token, context, self.watch)

    async def _record(self, pool: Pool, run: Run, token: int, start: Start, state: dict[str, Any]) -> Brief:
        finished_at = datetime.now(UTC)
        brief = Brief.from_state(
            state,
            thread_id=run.thread_id,
            edition=run.edition,
            model=self.settings.model,
            started_at=start.began.astimezone(UTC).isoformat(timespec="seconds"),
            finished_at=finished_at.isoformat(timespec="seconds"),
            usage=Usage(**await run_usage(pool, run)),
        )
        claims = state.get("claims", [])
        used = brief.usage
        cost = f", ${used.cost_usd:.4f}" if used.cost_usd else ""
        text = f"{brief.outcome}: {used.model_calls} model calls, {used.tool_calls} tool calls{cost}"
        self.watch(Progress("note", text))
        await finish_run(pool, run, token=token, finished_at=finished_at, brief=brief.to_dict(), claims=claims)
        return brief


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
