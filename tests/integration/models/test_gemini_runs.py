"""Whole research runs in which Gemini misbehaves, once, twice or for ever, in each kind of call.

Whatever happens: the run ends in a brief or in one clear error, and every request obeys the rules of turns.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from tests.integration.models.conftest import GEMINI, shared_file, shared_shapes
from tests.integration.models.test_failures import GEMINI_ERRORS
from tests.support.fake_gemini import Answer, Body, FakeGemini, researcher
from tests.support.gemini_shapes import OWN
from tests.support.scripted import MemoryJournal, Waits, library_tools

# An undisturbed run: search, read two pages, DONE, write.
FIRST, SECOND, LAST, WRITE = range(4)
FOR_EVER = 99
TOPIC = "How is the tide used for power?"


async def run(api: FakeGemini, graph: Any, answer: Answer, at: int, times: int) -> tuple[dict[str, Any], MemoryJournal]:
    """A run in which the requests from number `at` on get `answer`, `times` times."""

    def brain(body: Body) -> Answer:
        number = len(api.requests) - 1
        return answer if at <= number < at + times else researcher(body)

    api.reset()
    api.brain = brain
    journal = MemoryJournal()
    context = ResearchContext(
        Limits(max_steps=5, max_calls_per_minute=10**6), journal=journal, model_name=GEMINI, sleep=Waits()
    )
    async with asyncio.timeout(20):
        try:
            state = await graph.ainvoke({"topic": TOPIC}, context=context)
        except ModelError as error:
            assert "\n" not in str(error)
            assert error.kind != "unknown"
            state = {"outcome": "error", "kind": error.kind}
    assert api.illegal == []
    assert len(journal.model_calls) == len(api.requests), "an attempt is missing in the journal"
    return state, journal


def check(name: str, at: int, times: int, state: dict[str, Any]) -> None:
    """What must hold of every ending."""
    where = f"{name} at request {at}, {times} times: {state.get('outcome')}, {state.get('stop_reason')}"
    if at >= LAST:  # pages were read: there is a brief, whoever writes it
        assert state["outcome"] in ("complete", "partial"), where
        assert state["final_brief"].count("[1]") >= 1, where
    elif state["outcome"] != "error":
        assert state["final_brief"], where


@pytest.mark.parametrize("times", [1, 2, FOR_EVER])
async def test_runs_with_each_shape(times: int, api: FakeGemini, gemini: BaseChatModel) -> None:
    graph = build_graph(gemini, library_tools())
    for name, (_, body) in OWN.items():
        for at in (FIRST, LAST, WRITE):
            state, _ = await run(api, graph, body, at, times)
            check(name, at, times, state)


@pytest.mark.parametrize("times", [1, 2, FOR_EVER])
async def test_runs_with_each_of_the_46_measured_shapes(times: int, api: FakeGemini, gemini: BaseChatModel) -> None:
    shared_file("fixtures/gemini_shapes.json")
    graph = build_graph(gemini, library_tools())
    for name, body in shared_shapes().items():
        for at in (FIRST, LAST, WRITE):
            state, _ = await run(api, graph, body, at, times)
            check(name, at, times, state)


@pytest.mark.parametrize("times", [1, 2, FOR_EVER])
async def test_runs_with_each_error(times: int, api: FakeGemini, gemini: BaseChatModel) -> None:
    graph = build_graph(gemini, library_tools())
    passing = ("rate_limit", "server", "timeout", "connection", "bad_response")
    for name, (reply, kind, _) in GEMINI_ERRORS.items():
        for at in (FIRST, LAST, WRITE):
            state, journal = await run(api, graph, reply, at, times)
            check(name, at, times, state)
            if kind in passing and times <= 2:
                assert (state["outcome"], state["writer"]) == ("complete", GEMINI), name
            if kind in ("auth", "quota", "model_not_found"):
                assert len([call for call in journal.model_calls if call.error]) <= 2, f"{name} was retried"
                if at == FIRST:
                    assert state == {"outcome": "error", "kind": kind}


@pytest.mark.parametrize(
    "name", ["cut off", "safety", "empty", "malformed call", "no candidates", "arguments as text", "no name"]
)
async def test_one_bad_answer_costs_one_more_request_and_nothing_else(
    name: str, api: FakeGemini, gemini: BaseChatModel
) -> None:
    graph = build_graph(gemini, library_tools())
    _, body = OWN[name]
    for at in (FIRST, SECOND, LAST, WRITE):
        state, journal = await run(api, graph, body, at, times=1)
        assert (state["outcome"], state["writer"]) == ("complete", GEMINI)
        assert len(api.requests) == 6
        assert [call.error is not None for call in journal.model_calls] == [number == at for number in range(6)]


async def test_a_blocked_prompt_is_sent_again_without_what_pages_said(api: FakeGemini, gemini: BaseChatModel) -> None:
    graph = build_graph(gemini, library_tools())
    state, _ = await run(api, graph, OWN["blocked"][1], LAST, times=1)
    assert state["outcome"] == "complete"
    retried = api.requests[LAST + 1]["contents"]
    assert len(retried) == 1
    assert "tide mill" not in str(retried).lower()
    assert "Evidence so far" in str(retried)


async def test_an_answer_with_text_and_an_unknown_tool_gets_an_observation(
    api: FakeGemini, gemini: BaseChatModel
) -> None:
    graph = build_graph(gemini, library_tools())
    state, _ = await run(api, graph, OWN["unknown tool"][1], FIRST, times=1)
    assert state["outcome"] == "complete"
    observed = api.requests[1]["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"]
    assert "There is no tool 'open_browser'" in observed
