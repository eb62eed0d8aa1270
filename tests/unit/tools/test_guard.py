"""What the guard makes of each call: carried out once and recorded, or refused with a word to the model."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from research_agent import build_graph
from research_agent.context import ResearchContext
from research_agent.errors import LeaseLost
from research_agent.limits import Limits
from research_agent.storage.journal import ToolCall
from research_agent.tools import guard
from research_agent.tools.ask_human import make_ask_human
from research_agent.tools.rate import RateGate
from tests.support.models import ScriptedModel, calls, says
from tests.support.recorded import RecordedJournal
from tests.support.scripted import library_tools


@pytest.fixture
def carried_out() -> list[str]:
    """What the tools really did."""
    return []


@pytest.fixture
def tools(carried_out: list[str]) -> list[BaseTool]:
    @tool
    async def look(at: str) -> str:
        """Look at something."""
        carried_out.append(at)
        await asyncio.sleep(0)
        return f"seen {at}"

    @tool
    async def hang() -> str:
        """Hang."""
        carried_out.append("hang")
        await asyncio.sleep(600)
        return ""

    return [look, hang, make_ask_human()]


def limits(**more: Any) -> Limits:
    return Limits(**{"max_calls_per_minute": 10**6, "max_steps": 1, **more})


async def observe(
    tools: list[BaseTool], *asked: tuple[str, dict[str, Any]], journal: RecordedJournal | None = None, **more: Any
) -> list[ToolMessage]:
    """The observations of one turn with these calls."""
    more.setdefault("limits", limits())
    context = ResearchContext(journal=journal or RecordedJournal(), **more)
    graph = build_graph(ScriptedModel(answers=[calls(*asked)]), tools)
    state = await graph.ainvoke({"topic": "tide"}, context=context)
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def look_at(*what: str) -> list[tuple[str, dict[str, Any]]]:
    return [("look", {"at": each}) for each in what]


async def test_a_call_is_carried_out_counted_and_recorded(tools: list[BaseTool], carried_out: list[str]) -> None:
    journal = RecordedJournal()
    (message,) = await observe(tools, *look_at("sea"), journal=journal)
    assert (message.text, message.status, message.id) == ("seen sea", "success", "tool-1-call_0")
    assert carried_out == ["sea"]
    assert [(made.step, made.args, made.message.text) for made in journal.tool_calls] == [
        (1, {"at": "sea"}, "seen sea")
    ]
    assert journal.spending.tool_calls == {"look": 1}


@pytest.mark.parametrize(
    ("limit", "said"),
    [({"max_tool_calls": 3}, "3 tool calls in a run"), ({"max_calls_per_tool": 3}, "3 calls of look in a run")],
)
async def test_calls_of_one_turn_share_a_limit_and_the_rest_is_refused_in_words(
    tools: list[BaseTool], carried_out: list[str], limit: dict[str, int], said: str
) -> None:
    journal = RecordedJournal()
    messages = await observe(tools, *look_at(*"abcdefgh"), journal=journal, limits=limits(**limit))
    refused = [message for message in messages if message.status == "error"]
    assert len(carried_out) == 3
    assert [message.tool_call_id for message in messages] == [f"call_{n}" for n in range(8)]
    assert len(refused) == 5
    assert all(f"the limit of {said} is reached" in message.text for message in refused)
    assert "DONE" in refused[-1].text
    # Not recorded: a higher limit may allow them.
    assert len(journal.tool_calls) == 3
    assert journal.spending.tool_calls.total() == 3


async def test_a_recorded_call_is_neither_repeated_nor_counted_again(
    tools: list[BaseTool], carried_out: list[str]
) -> None:
    first = RecordedJournal()
    await observe(tools, *look_at("a", "b", "c"), journal=first)
    del first.tool_calls[-1]  # killed before the third came to its end
    carried_out.clear()
    again = RecordedJournal(first)
    messages = await observe(tools, *look_at("a", "b", "c"), journal=again, limits=limits(max_tool_calls=3))
    assert [message.text for message in messages] == ["seen a", "seen b", "seen c"]
    assert carried_out == ["c"]
    assert again.spending.tool_calls == {"look": 3}
    assert len(again.tool_calls) == 3


async def test_a_recorded_answer_counts_even_over_the_limit(tools: list[BaseTool], carried_out: list[str]) -> None:
    first = RecordedJournal()
    await observe(tools, *look_at("a", "b", "c", "d"), journal=first)
    del first.tool_calls[-1]
    carried_out.clear()
    messages = await observe(
        tools, *look_at("a", "b", "c", "d"), journal=RecordedJournal(first), limits=limits(max_tool_calls=1)
    )
    assert [message.status for message in messages] == ["success"] * 3 + ["error"]
    assert carried_out == []


async def test_a_call_that_was_refused_may_be_made_under_a_higher_limit(
    tools: list[BaseTool], carried_out: list[str]
) -> None:
    first = RecordedJournal()
    await observe(tools, *look_at("a", "b"), journal=first, limits=limits(max_tool_calls=1))
    messages = await observe(tools, *look_at("a", "b"), journal=RecordedJournal(first), limits=limits(max_tool_calls=2))
    assert [message.status for message in messages] == ["success", "success"]
    assert carried_out == ["a", "b"]


async def test_an_invented_tool_counts_and_takes_no_place_in_line(
    tools: list[BaseTool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "GATE", gate := RateGate())
    journal = RecordedJournal()
    (message,) = await observe(tools, ("brew", {"cups": 2}), journal=journal)
    assert message.text == "There is no tool 'brew'. Use one of: ask_human, hang, look."
    assert journal.spending.tool_calls == {"brew": 1}
    assert len(journal.tool_calls) == 1
    assert gate._places == {}


async def test_a_tool_has_no_more_time_than_the_run(tools: list[BaseTool]) -> None:
    began = time.monotonic()
    journal = RecordedJournal()
    messages = await observe(
        tools, ("hang", {}), *look_at("sea"), journal=journal, limits=limits(max_seconds=0.5, max_seconds_per_tool=60)
    )
    assert time.monotonic() - began < 5
    assert "was stopped" in messages[0].text
    assert messages[1].text == "seen sea"


async def test_when_the_time_is_up_pending_calls_are_refused(tools: list[BaseTool], carried_out: list[str]) -> None:
    journal = RecordedJournal()
    messages = await observe(
        tools, *look_at("a", "b"), journal=journal, limits=limits(max_seconds=100), seconds_before=85.0
    )
    assert ["the limit of 100 seconds in a run is reached" in message.text for message in messages] == [True, True]
    assert carried_out == []
    assert journal.tool_calls == []
    assert journal.spending.tool_calls.total() == 0


async def test_a_run_does_not_stand_in_line_longer_than_it_may_run(
    tools: list[BaseTool], carried_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "GATE", RateGate())
    journal = RecordedJournal()
    messages = await observe(
        tools, *look_at("a", "b", "c"), journal=journal, limits=limits(max_seconds=50, max_calls_per_minute=2)
    )
    assert carried_out == ["a", "b"]
    assert "the limit of 2 calls of look a minute is reached" in messages[2].text
    assert journal.spending.tool_calls == {"look": 2}
    assert len(journal.tool_calls) == 2


async def test_waiting_in_line_is_told(
    tools: list[BaseTool], carried_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(guard, "GATE", RateGate(lambda: 7.0, sleep))
    context = ResearchContext(limits(max_calls_per_minute=2), RecordedJournal())
    graph = build_graph(ScriptedModel(answers=[calls(*look_at("a", "b", "c"))]), tools)
    told = [part async for part in graph.astream({"topic": "tide"}, context=context, stream_mode="custom")]
    assert {"waiting": "look: its rate limit, 60 s"} in told
    assert slept == [60]
    assert carried_out == ["a", "b", "c"]


async def test_an_error_about_huge_arguments_stays_short_and_still_says_what_is_wrong(tools: list[BaseTool]) -> None:
    (message,) = await observe(tools, ("look", {"where": "x" * 1_000_000}))
    assert message.status == "error"
    assert len(message.text) < 2_100
    assert "[cut]" in message.text
    assert "required" in message.text


async def test_what_a_model_passes_for_the_runtime_never_arrives(carried_out: list[str]) -> None:
    forged = {"query": "tide", "runtime": {"state": {"topic": "forged"}, "context": 5}, "config": 1, "extra": [1]}
    (message,) = await observe(library_tools(), ("search_web", forged))
    assert message.status == "success"
    assert "library.example" in message.text


async def test_without_a_journal_nothing_goes_on(tools: list[BaseTool]) -> None:
    class Lost(RecordedJournal):
        async def save_tool_call(self, call: ToolCall) -> None:
            raise LeaseLost("another process took over")

    with pytest.raises(LeaseLost):
        await observe(tools, *look_at("a"), journal=Lost())


async def test_a_reply_reaches_only_the_call_of_its_own_turn(tools: list[BaseTool], carried_out: list[str]) -> None:
    """Small servers count ids anew in each turn: an answer to `call_0` must not refuse the next `call_0`."""
    model = ScriptedModel(
        answers=[calls(("ask_human", {"question": "Which tide?"})), calls(*look_at("a")), says("DONE")]
    )
    graph = build_graph(model, tools, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    context = ResearchContext(limits(max_steps=9), RecordedJournal())
    await graph.ainvoke({"topic": "tide"}, config, context=context)
    state = await graph.ainvoke(Command(resume="The one of the sea"), config, context=context)
    answered = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
    assert answered[0] == "The one of the sea"
    assert answered[1].startswith("seen a")


async def test_an_approval_holds_for_its_own_turn(tools: list[BaseTool], carried_out: list[str]) -> None:
    model = ScriptedModel(answers=[calls(*look_at("a")), calls(*look_at("b")), says("DONE")])
    graph = build_graph(model, tools, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    context = ResearchContext(limits(max_steps=4), RecordedJournal(), approve=frozenset({"look"}))
    await graph.ainvoke({"topic": "tide"}, config, context=context)
    await graph.ainvoke(Command(resume="yes"), config, context=context)
    assert carried_out == ["a"]
    state = await graph.ainvoke(Command(resume="no"), config, context=context)
    assert carried_out == ["a"]
    answered = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in answered] == ["success", "error"]
