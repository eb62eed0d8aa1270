"""Models without native tool calling work in the graph like any other, through the real OpenAI client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from research_agent.context import ResearchContext
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from research_agent.models.load import ModelOptions, open_model
from research_agent.models.text.react import STOP, TextReactModel, call_schema, transcript
from tests.support.fake_gemini import Reply
from tests.support.fake_openai import FakeOpenAI, completion, shown, small_researcher, tool_call
from tests.support.scripted import MemoryJournal, ScriptedChatModel, Waits, call, library_tools

pytest.importorskip("langchain_openai")
SMALL = "openai:small"
QUESTION = [SystemMessage("You research."), HumanMessage("Topic: tide power")]


@pytest.fixture
def local() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        fake.brain = small_researcher  # type: ignore[assignment]
        yield fake


def options(local: FakeOpenAI, mode: Any) -> ModelOptions:
    return ModelOptions(timeout=10.0, base_url=f"{local.url}/v1", tool_calling=mode)


@pytest.fixture
async def text_model(local: FakeOpenAI) -> AsyncIterator[BaseChatModel]:
    async with open_model(SMALL, options(local, "text")) as model:
        yield model


async def run(model: BaseChatModel, max_steps: int = 6) -> tuple[dict[str, Any], MemoryJournal]:
    journal = MemoryJournal()
    context = ResearchContext(
        Limits(max_steps=max_steps, max_calls_per_minute=10**6), journal=journal, model_name=SMALL, sleep=Waits()
    )
    return await build_graph(model, library_tools()).ainvoke({"topic": "tide power"}, context=context), journal


async def test_a_run_in_text(local: FakeOpenAI, text_model: BaseChatModel) -> None:
    state, journal = await run(text_model)
    assert (state["outcome"], state["writer"]) == ("complete", SMALL)
    assert [m.tool_calls[0]["name"] for m in state["messages"] if getattr(m, "tool_calls", None)] == [
        "search_web",
        "fetch_url",
    ]
    assert [one.input_tokens for one in journal.model_calls] == [100] * 5
    first, last = local.requests[0], local.requests[2]
    assert "tools" not in first
    assert first["stop"] == list(STOP)
    assert "Question: Topic: tide power" in shown(first)
    assert 'Action Input: {"query": "oldest tide mill Europe"}' in shown(first), "the example uses the real tools"
    assert "Observation: Results for" in shown(last)
    assert [message["role"] for message in last["messages"]] == ["system", "user"]
    assert "stop" not in local.requests[3], "the writer is not stopped"


async def test_a_prompt_only_grows_at_its_end(local: FakeOpenAI, text_model: BaseChatModel) -> None:
    await run(text_model)
    first, second, third = (shown(body) for body in local.requests[:3])
    assert second.startswith(first)
    assert third.startswith(second)


async def test_auto_takes_native_calls(local: FakeOpenAI) -> None:
    local.push(tool_call("search_web", '{"query": "tides"}'), completion_of_done())
    async with open_model(SMALL, options(local, "auto")) as model:
        bound = model.bind_tools(library_tools())
        answer = await bound.ainvoke(QUESTION)
        assert answer.tool_calls[0]["args"] == {"query": "tides"}
        result = ToolMessage("found", tool_call_id=answer.tool_calls[0]["id"], name="search_web")
        assert (await bound.ainvoke([*QUESTION, answer, result])).text == "DONE"
    assert all("tools" in body for body in local.requests)


def completion_of_done() -> Any:
    return completion("DONE")


async def test_auto_recovers_a_call_from_text_and_goes_on_in_text(local: FakeOpenAI) -> None:
    written = '```json\n{"name": "search_web", "arguments": {"query": "tides"}}\n```'
    local.push(completion(written))
    async with open_model(SMALL, options(local, "auto")) as model:
        state, _ = await run(model)
    assert state["outcome"] == "complete"
    assert ["tools" in body for body in local.requests] == [True, False, False, False, False]


async def test_auto_goes_on_in_text_after_prose(local: FakeOpenAI) -> None:
    local.push(completion("I would love to help you with tides!"))
    async with open_model(SMALL, options(local, "auto")) as model:
        state, _ = await run(model)
    assert state["outcome"] == "complete"
    assert ["tools" in body for body in local.requests] == [True, False, False, False, False, False]


@pytest.mark.parametrize(
    "said", ["registry.ollama.ai/library/x does not support tools", "tools param requires --jinja flag"]
)
async def test_auto_goes_on_in_text_where_the_server_knows_no_tools(said: str, local: FakeOpenAI) -> None:
    local.push(Reply({"error": {"message": said, "type": "invalid_request_error"}}, status=400))
    async with open_model(SMALL, options(local, "auto")) as model:
        state, journal = await run(model)
    assert state["outcome"] == "complete"
    assert [one.error for one in journal.model_calls] == [None] * 5
    assert ["tools" in body for body in local.requests] == [True, False, False, False, False, False]


async def test_schema_mode_asks_the_server_to_enforce_a_call(local: FakeOpenAI) -> None:
    local.push(
        completion('{"tool": "search_web", "arguments": {"query": "tides"}}'), completion('{"final_answer": "DONE"}')
    )
    async with open_model(SMALL, options(local, "schema")) as model:
        bound = model.bind_tools(library_tools())
        answer = await bound.ainvoke(QUESTION)
        assert answer.tool_calls[0]["args"] == {"query": "tides"}
        assert (await bound.ainvoke(QUESTION)).text == "DONE"
    schema = local.requests[0]["response_format"]["json_schema"]["schema"]
    names = [choice["properties"].get("tool", {}).get("const") for choice in schema["oneOf"]]
    assert names == ["search_web", "fetch_url", None]
    json.dumps(call_schema([]))


async def test_an_unreadable_answer_is_asked_for_again_with_a_hint(
    local: FakeOpenAI, text_model: BaseChatModel
) -> None:
    local.push(completion("Let me think about tides."), completion("Action:"))
    state, journal = await run(text_model)
    assert state["outcome"] == "complete"
    assert 'Write "Action:" with the name of one tool (search_web, fetch_url)' in shown(local.requests[1])
    assert [bool(one.error) for one in journal.model_calls] == [True, True, False, False, False, False, False]


async def test_a_model_that_only_talks_gets_no_brief(local: FakeOpenAI, text_model: BaseChatModel) -> None:
    local.brain = lambda body: completion("Tides are nice.")
    state, _ = await run(text_model)
    assert (state["stop_reason"], state["outcome"]) == ("model_failed", "no_evidence")
    assert len(local.requests) == 3


async def test_an_unknown_tool_gets_an_observation(local: FakeOpenAI, text_model: BaseChatModel) -> None:
    local.push(completion("Action: Login\nAction Input: me"))
    state, _ = await run(text_model)
    assert state["outcome"] == "complete"
    assert "There is no tool 'Login'. Use one of: fetch_url, search_web." in shown(local.requests[1])


async def test_a_cut_off_list_of_calls_loses_only_its_last(local: FakeOpenAI) -> None:
    one = '{"name": "search_web", "arguments": {"query": "%s"}}'
    local.push(completion("\n".join([one % "a", one % "b", '{"name": "fetch_url", "arguments": {"url": "https://e.o'])))
    local.script[0]["choices"][0]["finish_reason"] = "length"  # type: ignore[index]
    async with open_model(SMALL, options(local, "auto")) as model:
        answer = await model.bind_tools(library_tools()).ainvoke(QUESTION)
    assert [c["args"] for c in answer.tool_calls] == [{"query": "a"}, {"query": "b"}]
    assert answer.response_metadata["finish_reason"] == "tool_calls"


async def test_without_tools_or_with_choice_none_the_model_just_writes(local: FakeOpenAI, text_model: Any) -> None:
    local.brain = lambda body: completion("Action: search_web[x]")
    assert (await text_model.ainvoke(QUESTION)).text == "Action: search_web[x]"
    bound = text_model.bind_tools(library_tools(), tool_choice="none")
    assert not (await bound.ainvoke(QUESTION)).tool_calls


def test_sync_calls_work_too() -> None:
    inner = ScriptedChatModel(script=["Action: search_web[tides]"])
    answer = TextReactModel(inner=inner, mode="text").bind_tools(library_tools()).invoke(QUESTION)
    assert answer.tool_calls[0]["args"] == {"query": "tides"}


def test_a_transcript_shows_calls_results_and_notes() -> None:
    history: list[BaseMessage] = [
        *QUESTION,
        AIMessage("Look.", tool_calls=[call("search_web", "a", query="x"), call("search_web", "b", query="y")]),
        ToolMessage("found y", tool_call_id="b"),
        ToolMessage("found x", tool_call_id="a"),
        HumanMessage("Go on."),
    ]
    system, question = transcript(history, "Tools: …")
    assert system.text == "You research.\n\nTools: …"
    assert question.text.splitlines() == [
        "Question: Topic: tide power",
        "Thought: Look.",
        "Action: search_web",
        'Action Input: {"query": "x"}',
        "Observation: found x",
        "Action: search_web",
        'Action Input: {"query": "y"}',
        "Observation: found y",
        "Note: Go on.",
    ]
