"""`reason` asks, stops, nudges once, and hands over to the writer when the model fails."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from research_agent import prompts
from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from tests.support.scripted import MemoryJournal, ScriptedChatModel, Waits, call, library_tools

SEARCH = AIMessage("", tool_calls=[call("search_web", query="tide")])
READ = AIMessage("", tool_calls=[call("fetch_url", url="https://library.example/power.md")])


class Overloaded(Exception):
    status_code = 503


async def run(*script: Any, max_steps: int = 5, **more: Any) -> tuple[dict[str, Any], ScriptedChatModel, MemoryJournal]:
    model, journal = ScriptedChatModel(script=list(script)), MemoryJournal()
    context = ResearchContext(
        Limits(max_steps=max_steps, max_calls_per_minute=10**6), journal=journal, sleep=Waits(), **more
    )
    return await build_graph(model, library_tools()).ainvoke({"topic": "tide power"}, context=context), model, journal


def asked(model: ScriptedChatModel, number: int) -> list[str]:
    return [message.text for message in model.calls[number]["messages"]]


async def test_the_first_prompt_is_system_and_topic_with_the_tools_offered() -> None:
    _, model, _ = await run(SEARCH, READ, "DONE", "x")
    first = model.calls[0]
    assert [type(message) for message in first["messages"]] == [SystemMessage, HumanMessage]
    assert asked(model, 0) == [prompts.SYSTEM, prompts.task("tide power")]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search_web", "fetch_url"]


async def test_each_prompt_continues_the_one_before() -> None:
    _, model, _ = await run(SEARCH, READ, "DONE", "x")
    assert asked(model, 1)[:2] == asked(model, 0)
    assert asked(model, 2)[: len(asked(model, 1))] == asked(model, 1)


async def test_done_after_reading_ends_the_loop() -> None:
    state, _, _ = await run(SEARCH, READ, "DONE", "x")
    assert (state["stop_reason"], state["step_count"]) == ("done", 3)


async def test_a_model_that_stops_before_reading_is_asked_once_more() -> None:
    state, model, _ = await run("DONE", SEARCH, READ, "DONE", "x")
    assert asked(model, 1)[-1] == prompts.NUDGE
    assert state["outcome"] == "complete"


async def test_then_it_has_its_way() -> None:
    state, model, _ = await run("DONE")
    assert (state["outcome"], state["stop_reason"]) == ("no_evidence", "done")
    assert len(model.calls) == 2


async def test_a_failing_model_with_nothing_read_is_an_error_and_leaves_the_thread() -> None:
    with pytest.raises(ModelError) as raised:
        await run(SEARCH, Overloaded("busy"))
    assert raised.value.kind == "server"


async def test_a_failing_model_after_reading_ends_in_the_built_in_brief() -> None:
    state, _, journal = await run(SEARCH, READ, Overloaded("busy"))
    assert (state["outcome"], state["stop_reason"], state["writer"]) == ("partial", "model_failed", "extractive")
    assert "[1]" in state["final_brief"]
    assert {one.purpose for one in journal.model_calls} == {"reason", "write"}


async def test_old_turns_are_compacted_in_what_is_sent_and_kept_in_the_state() -> None:
    turns = [AIMessage("", tool_calls=[call("search_web", query=f"tide {n}")]) for n in range(30)]
    limits = Limits(max_steps=30, max_stagnant_turns=30)
    model = ScriptedChatModel(script=[SEARCH, READ, *turns])
    context = ResearchContext(limits, max_prompt_tokens=1500)
    graph = build_graph(model, library_tools())
    state = await graph.ainvoke({"topic": "tide power"}, {"recursion_limit": 200}, context=context)
    sent = next(one["messages"] for one in reversed(model.calls) if one.get("tools"))
    assert len(sent) < len(state["messages"]) / 2
    assert "<earlier>" in sent[1].text
    assert not any("<earlier>" in message.text for message in state["messages"])
