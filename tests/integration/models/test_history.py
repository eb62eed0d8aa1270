"""Whatever a history looks like, what is sent is legal: proved by the validator behind the real client."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from research_agent.models.history import make_legal
from tests.support.fake_gemini import SIGNATURE, FakeGemini, candidate
from tests.support.scripted import call, library_tools

_SIGNATURES = "__gemini_function_call_thought_signatures__"


def asks(*ids: str, text: str = "", **more: Any) -> AIMessage:
    """A turn of the model with one call for each id."""
    signed = {_SIGNATURES: {ids[0]: SIGNATURE}}
    return AIMessage(text, tool_calls=[call("search_web", i, query=i) for i in ids], additional_kwargs=signed, **more)


def found(call_id: str, text: str = "result") -> ToolMessage:
    return ToolMessage(f"{text} of {call_id}", tool_call_id=call_id, name="search_web")


CLEARED = AIMessage("text", additional_kwargs={"function_call": {"name": "x", "arguments": "{}"}})
INVALID = {"name": "x", "args": "{", "id": "i", "error": "", "type": "invalid_tool_call"}
S, H, DONE = SystemMessage("system"), HumanMessage("question"), AIMessage("DONE")
HISTORIES: dict[str, list[BaseMessage]] = {
    "legal": [S, H, asks("a"), found("a"), asks("b", "c"), found("b"), found("c")],
    "nothing": [],
    "only system": [S],
    "empty question": [S, HumanMessage("")],
    "dangling at the end": [S, H, asks("a")],
    "dangling before a question": [S, H, asks("a"), HumanMessage("write now")],
    "one of two answered": [S, H, asks("a", "b"), found("b")],
    "answers in another order": [S, H, asks("a", "b"), found("b"), found("a")],
    "answered twice": [S, H, asks("a"), found("a"), found("a", "again")],
    "begins with an answer": [S, found("z"), asks("a"), found("a"), H],
    "begins with the model": [asks("a"), found("a")],
    "two turns of the model": [S, H, AIMessage("thinking"), asks("a"), found("a")],
    "orphan": [S, H, asks("a"), found("a"), found("zz")],
    "system later": [S, H, asks("a"), found("a"), SystemMessage("more")],
    "system in the middle only": [H, SystemMessage("more"), asks("a"), found("a")],
    "question between": [S, H, asks("a"), HumanMessage("well?"), found("a")],
    "ends on the model": [S, H, DONE],
    "empty turn": [S, H, AIMessage(""), H],
    "cleared calls": [S, H, CLEARED, H],
    "invalid calls": [S, H, AIMessage("", invalid_tool_calls=[INVALID]), ToolMessage("no", tool_call_id="i")],
    "same id in two turns": [S, H, asks("a"), found("a", "first"), asks("a"), found("a", "second")],
    "same id in one turn": [S, H, asks("a", "a"), found("a")],
    "no id": [S, H, AIMessage("", tool_calls=[{**call("search_web"), "id": None}]), H],
    "empty result": [S, H, asks("a"), ToolMessage("", tool_call_id="a", name="search_web")],
}


async def sent(api: FakeGemini, model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    api.reset()
    api.brain = lambda body: candidate({"text": "ok"})
    await model.bind_tools(library_tools()).ainvoke(list(messages))
    assert api.illegal == []
    contents: list[dict[str, Any]] = api.requests[0]["contents"]
    return contents


@pytest.mark.parametrize("name", HISTORIES)
async def test_any_history_becomes_legal(name: str, api: FakeGemini, gemini: BaseChatModel) -> None:
    legal = make_legal(HISTORIES[name])
    await sent(api, gemini, legal)
    assert make_legal(legal) == legal


async def test_answers_stand_behind_their_calls_in_call_order(api: FakeGemini, gemini: BaseChatModel) -> None:
    contents = await sent(api, gemini, make_legal(HISTORIES["answers in another order"]))
    outputs = [part["functionResponse"]["response"]["output"] for part in contents[2]["parts"]]
    assert outputs == ["result of a", "result of b"]
    contents = await sent(api, gemini, make_legal(HISTORIES["same id in two turns"]))
    assert "first" in str(contents[2])
    assert "second" in str(contents[4])


def test_a_legal_history_is_passed_on_untouched() -> None:
    legal = HISTORIES["legal"]
    assert all(new is old for new, old in zip(make_legal(legal), legal, strict=True))


async def test_no_text_of_the_model_is_lost_when_calls_were_cleared(api: FakeGemini, gemini: BaseChatModel) -> None:
    contents = await sent(api, gemini, make_legal(HISTORIES["cleared calls"]))
    assert contents[1] == {"parts": [{"text": "text"}], "role": "model"}


_IDS = st.sampled_from(["a", "b", "c"])
_CALLING = st.lists(_IDS, min_size=1, max_size=3)
_MESSAGES = st.one_of(
    st.builds(HumanMessage, st.sampled_from(["", "question", " "])),
    st.builds(SystemMessage, st.sampled_from(["", "system"])),
    st.builds(lambda ids, text: asks(*ids, text=text), _CALLING, st.sampled_from(["", "text"])),
    st.builds(AIMessage, st.sampled_from(["", "text"])),
    st.builds(found, _IDS),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_MESSAGES, max_size=9))
def test_legal_for_every_provider(messages: list[BaseMessage]) -> None:
    legal = make_legal(messages)
    assert make_legal(legal) == legal
    kinds = [message.type for message in legal]
    assert "system" not in kinds[1:]
    rest = legal[kinds[0] == "system" :]
    assert rest[0].type == "human"
    assert rest[-1].type in ("human", "tool")
    open_calls: list[str | None] = []
    for before, message in zip([None, *rest], rest, strict=False):
        if isinstance(message, ToolMessage):
            assert open_calls.pop(0) == message.tool_call_id
        else:
            assert open_calls == []
        if isinstance(message, AIMessage):
            open_calls = [one["id"] for one in message.tool_calls]
            assert not (open_calls and isinstance(before, AIMessage))
    assert open_calls == []


async def test_random_histories_pass_the_real_converter(api: FakeGemini, gemini: BaseChatModel) -> None:
    import random

    choose = random.Random(5)
    pool = [message for history in HISTORIES.values() for message in history]
    for _ in range(60):
        await sent(api, gemini, make_legal(choose.choices(pool, k=choose.randint(0, 10))))


@pytest.mark.parametrize("name", HISTORIES)
def test_openai_gets_every_call_answered_too(name: str) -> None:
    openai = pytest.importorskip("langchain_openai.chat_models.base")
    wire = [openai._convert_message_to_dict(message) for message in make_legal(HISTORIES[name])]
    asked = [one["id"] for message in wire for one in message.get("tool_calls") or []]
    answered = [message["tool_call_id"] for message in wire if message["role"] == "tool"]
    assert asked == answered, json.dumps(wire, indent=1)
