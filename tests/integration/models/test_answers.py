"""Every shape of answer is put in its class, through the real client, in one piece and as a stream."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from research_agent.models import answers
from research_agent.models.failures import read_failure
from tests.integration.models.conftest import shared_file, shared_shapes
from tests.support.fake_gemini import FakeGemini, candidate
from tests.support.gemini_shapes import OWN, SHARED_CLASSES
from tests.support.scripted import library_tools

TOOLS = frozenset({"search_web", "fetch_url"})


async def classes(api: FakeGemini, model: BaseChatModel, body: dict[str, Any]) -> list[str]:
    """The class of `body` in one piece, and as a stream."""
    bound, found = model.bind_tools(library_tools()), []
    for streamed in (False, True):
        api.reset()
        api.push(body)
        try:
            if streamed:
                whole: Any = None
                async for chunk in bound.astream("hello"):
                    whole = chunk if whole is None else whole + chunk
                answer: Any = AIMessage(**whole.model_dump(exclude={"type", "tool_call_chunks", "chunk_position"}))
            else:
                answer = await bound.ainvoke("hello")
        except Exception as error:
            assert read_failure(error).kind in ("bad_response", "server")
            found.append("error")
            continue
        found.append(answers.classify(answers.tidy(answer, "reason-1", TOOLS), TOOLS))
    return found


async def test_own_shapes(api: FakeGemini, gemini: BaseChatModel) -> None:
    found = {name: await classes(api, gemini, body) for name, (_, body) in OWN.items()}
    expected = {name: [kind, kind] for name, (kind, _) in OWN.items()}
    expected["error with status 200"] = ["incomplete", "error"]  # the client raises in a stream only
    assert found == expected


async def test_all_46_measured_shapes(api: FakeGemini, gemini: BaseChatModel) -> None:
    shared_file("fixtures/gemini_shapes.json")
    shapes = shared_shapes()
    assert len(shapes) == 46
    found = {name: await classes(api, gemini, body) for name, body in shapes.items()}
    assert found == {name: [SHARED_CLASSES.get(name, "text")] * 2 for name in shapes}


async def test_a_stream_that_was_cut_is_incomplete(api: FakeGemini, gemini: BaseChatModel) -> None:
    from tests.support.fake_gemini import Reply

    api.push(Reply(chunks=[candidate({"text": "Half"}, finish=None), candidate({"text": " more"})], cut_after=1))
    whole: AIMessageChunk | None = None
    async for chunk in gemini.astream("hello"):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    assert whole.text == "Half"
    assert answers.classify(whole, ()) == "incomplete"


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"finish_reason": "stop"}, "text"),
        ({"finish_reason": "length"}, "truncated"),
        ({"finish_reason": "content_filter"}, "refused"),
        ({"stop_reason": "end_turn"}, "text"),
        ({"stop_reason": "max_tokens"}, "truncated"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"done_reason": "length"}, "truncated"),
        ({"model_provider": "openai"}, "incomplete"),
        ({}, "text"),  # a model that never says why it stops
    ],
)
def test_finish_reasons_of_other_providers(metadata: dict[str, Any], kind: str) -> None:
    assert answers.classify(AIMessage("Hello.", response_metadata=metadata), ()) == kind


def test_calls_without_tools_are_bad_unless_there_is_text() -> None:
    call = {"name": "search_web", "args": {}, "id": "1", "type": "tool_call"}
    assert answers.classify(AIMessage("", tool_calls=[call]), ()) == "bad_call"
    assert answers.classify(AIMessage("- A brief. [1]", tool_calls=[call]), ()) == "text"


def test_calls_with_unreadable_arguments_are_bad() -> None:
    broken = {"name": "search_web", "args": '{"query": ', "id": "1", "error": "", "type": "invalid_tool_call"}
    assert answers.classify(AIMessage("", invalid_tool_calls=[broken]), TOOLS) == "bad_call"


def test_tidy_gives_each_call_an_id_of_its_own_and_keeps_the_rest() -> None:
    calls = [{"name": "search_web", "args": {}, "id": x, "type": "tool_call"} for x in ("a", "a", None)]
    answer = AIMessage("", tool_calls=calls, additional_kwargs={"kept": 1}, id="provider-1")
    tidied = answers.tidy(answer, "reason-7", TOOLS)
    assert [call["id"] for call in tidied.tool_calls] == ["a", "reason-7.1", "reason-7.2"]
    assert tidied.id == "reason-7"
    assert tidied.additional_kwargs == {"kept": 1}


def test_a_call_without_a_name_does_not_spoil_its_neighbours() -> None:
    calls = [{"name": x, "args": {}, "id": x, "type": "tool_call"} for x in ("search_web", "", "look up!")]
    tidied = answers.tidy(AIMessage("", tool_calls=calls), "reason-1", TOOLS)
    assert [call["name"] for call in tidied.tool_calls] == ["search_web", "unnamed", "unnamed"]
    assert answers.classify(tidied, TOOLS) == "unknown_tool"
    alone = answers.tidy(AIMessage("", tool_calls=calls[1:]), "reason-1", TOOLS)
    assert answers.classify(alone, TOOLS) == "bad_call"


@pytest.mark.parametrize("kind", ["bad_call", "truncated", "refused", "prompt_blocked", "empty", "incomplete"])
def test_each_problem_has_one_line_for_the_user_and_advice_for_the_model(kind: Any) -> None:
    answer = AIMessage("", response_metadata={"finish_reason": "STOP", "prompt_feedback": {"block_reason": "SAFETY"}})
    assert "\n" not in answers.describe(answer, kind)
    assert answers.advice(answer, kind, TOOLS)
