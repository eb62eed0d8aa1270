"""Every limit, at every moment it can be hit: the run ends in a brief or in an honest word that there is none, and
has used at most the limit and one call more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from research_agent import build_graph
from research_agent.context import ResearchContext
from research_agent.errors import StorageError
from research_agent.limits import Limits
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.database import open_pool
from research_agent.storage.journal import PostgresJournal, ToolCall
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import new_run, start_run
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web
from tests.support.library import Library
from tests.support.models import ScriptedModel, fetches, says, searches
from tests.support.recorded import RecordedJournal, check_ended, check_history, check_sent

PAGES = {
    f"https://site.example/{name}": f"The tide at {name} harbour is {height} metres high."
    for name, height in zip(("north", "south", "east", "west"), range(4, 8), strict=True)
}
BRIEF = "- The tide at north harbour is 4 metres high. [1]"
# The writer adds a sentence that nothing supports, so that there is something to repair.
DRAFT = f"{BRIEF}\n- Galileo Galilei invented the tide in 1633. [1]"
CONFIG: Any = {"configurable": {"thread_id": "t"}}

SMALL, LIMIT = 100, 100_000  # tokens of a call, and of a run; a call that hits the limit is as large as the run may be
USD = 1e-6  # a token; see `ceiling_price`
SECONDS = 900.0

# The calls of an undisturbed run, and the moments at which one of them uses up a limit.
SCRIPT = [searches("tide"), fetches(*PAGES), says("DONE"), says(DRAFT), says(BRIEF)]
MOMENTS = {
    "before the first call": 0,
    "after search": 1,
    "with pending calls": 2,
    "before writing": 3,
    "in finalize": 4,
}


@dataclass
class Clock:
    """Time that passes as the model pleases."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class World:
    """A run whose model call number `big` uses up the limit in question."""

    big: int = 0
    clock: Clock = field(default_factory=Clock)
    tokens: bool = True
    takes: bool = False
    model: ScriptedModel = field(init=False)
    library: Library = field(default_factory=lambda: Library(PAGES))

    def __post_init__(self) -> None:
        self.use(SCRIPT)

    def use(self, script: list[AIMessage]) -> None:
        self.model = ScriptedModel(
            answers=[self._priced(number, answer) for number, answer in enumerate(script, start=1)]
        )

    def _priced(self, number: int, answer: AIMessage) -> Callable[[list[BaseMessage]], AIMessage]:
        def play(messages: list[BaseMessage]) -> AIMessage:
            size = LIMIT if self.tokens and number == self.big else SMALL
            self.clock.now += SECONDS if self.takes and number == self.big else 1.0
            usage = {"input_tokens": size - 10, "output_tokens": 10, "total_tokens": size}
            return answer.model_copy(update={"usage_metadata": usage})

        return play

    def graph(self, saver: Any = None) -> Any:
        return build_graph(self.model, [make_search_web(self.library), make_fetch_url(self.library)], saver)

    def context(self, journal: Any, **limits: Any) -> ResearchContext:
        return ResearchContext(
            Limits(
                **{"max_calls_per_minute": 10**6, "max_tokens": 10**9, "max_usd": 10**6, "max_seconds": 10**6, **limits}
            ),
            journal,
            model_name="test:priced",
            ceiling_price=(1.0, 1.0),
            began=self.clock.now,
        )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr("research_agent.context.time", SimpleNamespace(monotonic=world.clock.monotonic))
    return world


def check(world: World, state: dict[str, Any], journal: Any, context: ResearchContext) -> None:
    limits, spending = context.limits, journal.spending
    check_ended(state)
    check_history(state["messages"])
    for sent in world.model.seen:
        check_sent(sent)
    assert state["step_count"] <= limits.max_steps
    assert spending.tokens <= limits.max_tokens + spending.largest_tokens
    assert spending.usd <= limits.max_usd + spending.largest_usd
    assert spending.tool_calls.total() <= limits.max_tool_calls
    assert context.seconds <= limits.max_seconds + SECONDS


# What is bought: tokens, money, time. The limit in each, and what makes a call use it up.
BOUGHT: dict[str, dict[str, Any]] = {
    "max_tokens": {"max_tokens": LIMIT},
    "max_usd": {"max_usd": LIMIT * USD},
    "max_seconds": {"max_seconds": SECONDS},
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("limit", BOUGHT)
async def test_what_is_bought_is_used_up(world: World, limit: str, moment: str) -> None:
    world.big, world.takes = MOMENTS[moment], limit == "max_seconds"
    world.tokens = not world.takes
    journal = RecordedJournal()
    context = world.context(journal, **BOUGHT[limit])
    if not world.big:
        journal.spending.add_model_call(LIMIT, LIMIT * USD)
        world.clock.now += SECONDS
    state = await world.graph().ainvoke({"topic": "tide"}, context=context)
    check(world, state, journal, context)
    calls_made = len(world.model.seen)
    match moment:
        case "before the first call" | "after search":
            assert (state["outcome"], state["stop_reason"]) == ("no_evidence", limit)
            assert calls_made <= 1
        case "with pending calls":
            assert state["stop_reason"] == limit
            # What costs no money is still read; what takes time is not.
            assert len(state["citations"]) == (0 if world.takes else 4)
            assert (state["outcome"], calls_made) == ("no_evidence" if world.takes else "partial", 2)
        case "before writing":
            assert (state["outcome"], state["writer"], calls_made) == ("complete", "extractive", 3)
        case "in finalize":
            assert (state["outcome"], state["writer"], calls_made) == ("complete", "test:priced", 4)
            assert "Galileo" not in state["final_brief"]


AGAIN = [searches("tide")] * 20
OTHER = [searches(f"tide {number}") for number in range(20)]


@dataclass(frozen=True)
class Case:
    """What is counted: limits, what the model does, and how the run must end."""

    limits: dict[str, int]
    script: list[AIMessage]
    stop: str
    outcome: str
    steps: int


WRITE = [says(DRAFT), says(BRIEF)]
COUNTED = {
    ("max_steps", "before the first call"): Case({"max_steps": 1}, SCRIPT, "max_steps", "no_evidence", 1),
    ("max_steps", "after search"): Case({"max_steps": 1}, OTHER, "max_steps", "no_evidence", 1),
    ("max_steps", "with pending calls"): Case({"max_steps": 2}, [*SCRIPT[:2], *WRITE], "max_steps", "partial", 2),
    ("max_steps", "in finalize"): Case({"max_steps": 3}, SCRIPT, "done", "complete", 3),
    ("max_steps", "nothing said"): Case({"max_steps": 1}, [says("It is the moon.")], "done", "no_evidence", 1),
    ("stagnant", "before the first call"): Case({"max_stagnant_turns": 1}, OTHER, "stagnant", "no_evidence", 1),
    ("stagnant", "after search"): Case({"max_stagnant_turns": 2}, OTHER, "stagnant", "no_evidence", 2),
    ("stagnant", "with pending calls"): Case(
        {"max_stagnant_turns": 2},
        [*SCRIPT[:2], fetches(*PAGES), fetches(*list(PAGES)[:3]), *WRITE],
        "stagnant",
        "partial",
        4,
    ),
    ("repeating", "before the first call"): Case({"max_identical_calls": 1}, AGAIN, "repeating", "no_evidence", 1),
    ("repeating", "after search"): Case({"max_identical_calls": 3}, AGAIN, "repeating", "no_evidence", 3),
    ("repeating", "with pending calls"): Case(
        {"max_identical_calls": 2}, [*SCRIPT[:2], fetches(*PAGES), *WRITE], "repeating", "partial", 3
    ),
    ("max_tool_calls", "after search"): Case({"max_tool_calls": 1}, SCRIPT, "max_tool_calls", "no_evidence", 1),
    ("max_tool_calls", "with pending calls"): Case(
        {"max_tool_calls": 3}, [*SCRIPT[:2], *WRITE], "max_tool_calls", "partial", 2
    ),
    ("max_tool_calls", "in finalize"): Case(
        {"max_tool_calls": 5}, [*SCRIPT[:2], *WRITE], "max_tool_calls", "partial", 2
    ),
    ("max_calls_per_tool", "after search"): Case({"max_calls_per_tool": 1}, OTHER, "stagnant", "no_evidence", 3),
    ("max_calls_per_tool", "with pending calls"): Case({"max_calls_per_tool": 2}, SCRIPT, "done", "complete", 3),
}


@pytest.mark.parametrize(("limit", "moment"), COUNTED)
async def test_what_is_counted_is_used_up(world: World, limit: str, moment: str) -> None:
    case, journal = COUNTED[limit, moment], RecordedJournal()
    world.use(case.script)
    context = world.context(journal, **case.limits)
    state = await world.graph().ainvoke({"topic": "tide"}, context=context)
    check(world, state, journal, context)
    assert (state["stop_reason"], state["outcome"], state["step_count"]) == (case.stop, case.outcome, case.steps)
    assert max(journal.spending.tool_calls.values(), default=0) <= context.limits.max_calls_per_tool
    assert len(world.model.seen) <= case.steps + 2


async def test_tool_calls_of_earlier_starts_are_used_up_before_the_first_call(world: World) -> None:
    journal = RecordedJournal()
    journal.spending.tool_calls["search_web"] = 7
    context = world.context(journal, max_tool_calls=7)
    state = await world.graph().ainvoke({"topic": "tide"}, context=context)
    check(world, state, journal, context)
    assert (state["stop_reason"], state["outcome"]) == ("max_tool_calls", "no_evidence")
    assert len(world.model.seen) == 1
    assert journal.tool_calls == []


async def test_a_model_that_only_talks_gets_no_second_call_over_the_limit(world: World) -> None:
    world.use([says("It is the moon.")])
    world.big = 1
    journal = RecordedJournal()
    context = world.context(journal, max_tokens=LIMIT // 2)
    state = await world.graph().ainvoke({"topic": "tide"}, context=context)
    check(world, state, journal, context)
    assert (state["stop_reason"], state["outcome"]) == ("max_tokens", "no_evidence")


@pytest.mark.parametrize("used", [0.0, 0.3], ids=["in the first call", "before the first call"])
async def test_time_that_is_up_before_anything_was_read_ends_in_no_evidence(used: float) -> None:
    class Hangs(ScriptedModel):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            self.seen.append(messages)
            await asyncio.sleep(60)

    model, library = Hangs(answers=[]), Library(PAGES)
    context = ResearchContext(
        Limits(max_seconds=0.3), RecordedJournal(), deadline=time.monotonic() + 0.3 - used, seconds_before=used
    )
    graph = build_graph(model, [make_search_web(library), make_fetch_url(library)])
    state = await asyncio.wait_for(graph.ainvoke({"topic": "tide"}, context=context), 10)
    check_ended(state)
    assert (state["stop_reason"], state["outcome"]) == ("max_seconds", "no_evidence")


class Dies(RecordedJournal):
    """Its process dies when tool call number `at` was carried out, before that is recorded."""

    at = 3

    async def save_tool_call(self, call: ToolCall) -> None:
        if len(self.tool_calls) + 1 == self.at:
            raise StorageError("killed")
        await super().save_tool_call(call)


RESUMED: dict[str, tuple[dict[str, Any], str, str]] = {
    **{name: (limits, name, "partial") for name, limits in BOUGHT.items()},
    "max_tool_calls": ({"max_tool_calls": 4}, "max_tool_calls", "partial"),
    "max_calls_per_tool": ({"max_calls_per_tool": 2}, "done", "complete"),
    "max_steps": ({"max_steps": 2}, "max_steps", "partial"),
    "repeating": ({"max_identical_calls": 1}, "repeating", "no_evidence"),
    "stagnant": ({"max_stagnant_turns": 1}, "stagnant", "no_evidence"),
}


@pytest.mark.parametrize("limit", RESUMED)
async def test_after_a_resume_what_was_used_before_counts(world: World, limit: str) -> None:
    """Killed among the parallel fetches; the call that asked for them had used up what may be bought."""
    limits, stop, outcome = RESUMED[limit]
    world.big = 2 if limit in BOUGHT else 0
    early = outcome == "no_evidence"  # these stop in the first turn: killed there
    saver, journal = InMemorySaver(), Dies()
    journal.at = 1 if early else 3
    if not early and limit not in BOUGHT:
        world.use([*SCRIPT[:2], *WRITE] if stop != "done" else SCRIPT)
    with pytest.raises(StorageError):
        await world.graph(saver).ainvoke({"topic": "tide"}, CONFIG, context=world.context(journal, **limits))
    again = RecordedJournal(journal)
    context = world.context(again, **limits)
    if limit == "max_seconds":  # the time of the first start; the rest was read before it was up
        world.clock.now += SECONDS
    state = await world.graph(saver).ainvoke(None, CONFIG, context=context)
    check(world, state, again, context)
    assert (state["stop_reason"], state["outcome"]) == (stop, outcome)
    assert len({(made.step, made.message.tool_call_id) for made in again.tool_calls}) == len(again.tool_calls)


async def test_a_run_that_is_killed_again_and_again_spends_its_limit_once(world: World) -> None:
    world.use([searches("tide"), *[fetches(url) for url in PAGES], *[searches(f"tide {n}") for n in range(50)]])
    saver, journal = InMemorySaver(), RecordedJournal()
    starts = 0
    while True:
        starts += 1
        journal = Dies(journal)
        journal.at = len(journal.tool_calls) + 2  # each start gets one more call done
        context = world.context(journal, max_tokens=12 * SMALL, max_stagnant_turns=50, max_steps=50)
        try:
            state = await world.graph(saver).ainvoke(
                {"topic": "tide"} if starts == 1 else None, CONFIG, context=context
            )
            break
        except StorageError:
            assert starts < 40
    assert starts > 4
    assert state["stop_reason"] == "max_tokens"
    check(world, state, journal, context)
    assert len({(call.step, call.purpose, call.attempt) for call in journal.model_calls}) == len(journal.model_calls)


@pytest.mark.parametrize("limit", ["max_tokens", "max_usd", "max_tool_calls"])
async def test_spending_is_summed_from_postgresql(world: World, empty_database: str, limit: str) -> None:
    limits, stop, outcome = RESUMED[limit]
    world.big = 2 if limit in BOUGHT else 0
    if not world.big:
        world.use([*SCRIPT[:2], *WRITE])

    class DiesOnce(PostgresJournal):
        async def save_tool_call(self, call: ToolCall) -> None:
            if self.spending.tool_calls.total() > 4:  # all four fetches were begun
                raise StorageError("killed")
            await super().save_tool_call(call)

    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_pool(empty_database, embedded=True))
        run = await new_run(pool, "tide")
        token = await stack.enter_async_context(hold_lease(pool, run.thread_id))
        await start_run(pool, run, model="m", limits=Limits(), token=token)
        saver = make_saver(pool)
        config: Any = {"configurable": {"thread_id": run.thread_id}, "metadata": {"lease_token": token}}
        dying = DiesOnce(pool, run.thread_id, token)
        with pytest.raises(StorageError):
            await world.graph(saver).ainvoke({"topic": "tide"}, config, context=world.context(dying, max_steps=5))
        journal = PostgresJournal(pool, run.thread_id, token)
        await journal.load(2)
        assert journal.spending.tokens == dying.spending.tokens
        assert journal.spending.usd == pytest.approx(dying.spending.usd)
        assert journal.spending.tool_calls == {"search_web": 1}
        context = world.context(journal, **limits)
        state = await world.graph(saver).ainvoke(None, config, context=context)
    check(world, state, journal, context)
    assert (state["stop_reason"], state["outcome"]) == (stop, outcome)


@pytest.mark.parametrize(
    ("reason", "limits", "more"),
    [
        ("max_steps", {"max_steps": 2}, {"max_steps": 9}),
        ("max_tokens", {"max_tokens": 4 * SMALL}, {"max_tokens": 100 * SMALL}),
        ("max_tool_calls", {"max_tool_calls": 2}, {"max_tool_calls": 50}),
    ],
)
async def test_a_raised_limit_lets_the_run_go_on_with_what_it_had(
    world: World, reason: str, limits: dict[str, int], more: dict[str, int]
) -> None:
    first, second, *_ = PAGES
    world.use([searches("tide"), fetches(first), says(BRIEF), fetches(second), says("DONE"), says(BRIEF)])
    saver, journal = InMemorySaver(), RecordedJournal()
    graph = world.graph(saver)
    context = world.context(journal, **limits)
    state = await graph.ainvoke({"topic": "tide"}, CONFIG, context=context)
    assert state["stop_reason"] == reason
    check(world, state, journal, context)
    raised = world.context(RecordedJournal(journal), **more)
    assert raised.limits.allows_more_than(context.limits, reason)
    reopened = {"stop_reason": "", "outcome": "", "final_brief": "", "claims": [], "stagnant_turns": 0}
    await graph.aupdate_state(CONFIG, reopened, as_node="sanitize")
    state = await graph.ainvoke(None, CONFIG, context=raised)
    check(world, state, raised.journal, raised)
    assert [citation["url"] for citation in state["citations"]] == [first, second]
    assert (state["outcome"], state["stop_reason"]) == ("complete", "done")
