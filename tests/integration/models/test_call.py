"""One call of a model: how often it is tried, how long it waits, what is recorded, and when it gives up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from research_agent import prompts
from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.models.call import MAX_REPAIRS, MAX_RETRIES, CallSite, call_model
from tests.integration.models.conftest import GEMINI
from tests.integration.models.test_failures import DAILY, GEMINI_ERRORS
from tests.support.fake_gemini import FakeGemini, Reply, candidate, error, retry_info
from tests.support.gemini_shapes import OWN
from tests.support.scripted import MemoryJournal, ScriptedChatModel, Waits, call

SITE = CallSite(1, "reason", frozenset({"search_web"}))
OK = candidate({"text": "Hello."})
BUSY = error(503, "UNAVAILABLE", "Overloaded.")


class Desk:
    """Everything that a call needs, with nothing that waits."""

    def __init__(self, **more: Any) -> None:
        self.journal, self.waits = MemoryJournal(), Waits()
        self.events: list[Any] = []
        self.context = ResearchContext(journal=self.journal, model_name=GEMINI, sleep=self.waits, **more)

    async def call(self, model: Any, *messages: Any, site: CallSite = SITE) -> AIMessage:
        return await call_model(model, messages or [HumanMessage("hello")], site, self.context, self.events.append)

    @property
    def errors(self) -> list[str | None]:
        return [one.error for one in self.journal.model_calls]


async def test_the_answer_is_recorded_with_tokens_and_cost(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(candidate({"text": "Hello."}, usageMetadata={
        "promptTokenCount": 1000, "cachedContentTokenCount": 400, "candidatesTokenCount": 20, "thoughtsTokenCount": 80,
        "totalTokenCount": 1100,
    }))  # fmt: skip
    answer = await desk.call(gemini)
    (row,) = desk.journal.model_calls
    assert (answer.text, answer.id) == ("Hello.", "reason-1")
    assert (row.input_tokens, row.cache_read_input_tokens, row.output_tokens, row.reasoning_output_tokens) == (
        1000,
        400,
        100,
        80,
    )
    assert row.cost_usd == pytest.approx((600 * 0.30 + 400 * 0.03 + 100 * 2.50) / 1e6)
    assert row.response is not None
    assert row.response["data"]["response_metadata"]["model_name"] == "gemini-3.5-flash-lite"


async def test_a_recorded_answer_is_not_paid_for_again(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(BUSY, OK)
    first = await desk.call(gemini)
    assert await desk.call(gemini) == first
    assert len(api.requests) == 2


async def test_attempts_are_counted_on_where_a_stopped_process_left_off(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.brain = lambda body: BUSY
    for _ in range(2):
        with pytest.raises(ModelError):
            await desk.call(gemini)
    assert [one.attempt for one in desk.journal.model_calls] == list(range(1, 2 * (MAX_RETRIES + 1) + 1))


async def test_waits_grow_and_are_not_all_the_same(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.brain = lambda body: BUSY
    with pytest.raises(ModelError, match="Overloaded") as raised:
        await desk.call(gemini)
    assert raised.value.kind == "server"
    assert len(desk.waits.seconds) == MAX_RETRIES
    for wait, least in zip(desk.waits.seconds, (1, 2, 4), strict=True):
        assert least <= wait <= least * 1.3
    assert desk.waits.seconds != [1, 2, 4]


async def test_the_servers_own_delay_is_kept(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(error(429, "RESOURCE_EXHAUSTED", "Slow down.", details=retry_info("22.5s")), OK)
    await desk.call(gemini)
    (wait,) = desk.waits.seconds
    assert 22.5 <= wait <= 22.5 * 1.3
    assert any("in 2" in event["waiting"] for event in desk.events)


async def test_nothing_waits_beyond_the_runs_time_limit(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk(deadline=time.monotonic() + 20)
    api.push(error(429, "RESOURCE_EXHAUSTED", "Slow down.", details=retry_info("60s")), OK)
    with pytest.raises(ModelError) as raised:
        await desk.call(gemini)
    assert raised.value.kind == "rate_limit"
    assert desk.waits.seconds == []
    assert len(api.requests) == 1


async def test_nobody_waits_for_an_hour(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(error(429, "RESOURCE_EXHAUSTED", "Slow down.", details=retry_info("3600s")), OK)
    with pytest.raises(ModelError):
        await desk.call(gemini)
    assert desk.waits.seconds == []


@pytest.mark.parametrize("name", ["429, daily", "429, none", "400, key", "401", "403", "404", "400, place"])
async def test_what_will_not_pass_is_not_tried_again(name: str, api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    reply, kind, _ = GEMINI_ERRORS[name]
    api.brain = lambda body: reply
    with pytest.raises(ModelError) as raised:
        await desk.call(gemini)
    assert raised.value.kind == kind
    assert len(api.requests) == len(desk.journal.model_calls) == 1
    assert desk.waits.seconds == []


async def test_the_kinds_of_limit_read_differently(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(error(429, "RESOURCE_EXHAUSTED", "Quota.", details=DAILY))
    with pytest.raises(ModelError, match=r"used up.*tomorrow"):
        await desk.call(gemini)


async def test_a_slow_answer_is_given_up_and_asked_for_again(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk(model_timeout=0.1)
    api.push(Reply(OK, delay=0.5), OK)
    assert (await desk.call(gemini)).text == "Hello."
    assert desk.errors == ["no answer in time", None]


async def test_a_slow_answer_ends_with_the_runs_time(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk(deadline=time.monotonic() + 0.1)
    api.push(Reply(OK, delay=0.5), OK)
    began = time.monotonic()
    with pytest.raises(ModelError) as raised:
        await desk.call(gemini)
    assert raised.value.kind == "timeout"
    assert time.monotonic() - began < 0.4


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("malformed call", "could not be read"),
        ("cut off", "much shorter"),
        ("recitation", "in your own words"),
        ("empty", "was empty"),
    ],
)
async def test_a_bad_answer_is_asked_for_again_with_advice(
    name: str, advice: str, api: FakeGemini, gemini: BaseChatModel
) -> None:
    desk = Desk()
    api.push(OWN[name][1], OK)
    assert (await desk.call(gemini)).text == "Hello."
    assert advice in str(api.requests[1]["contents"][-1])
    assert desk.waits.seconds == [0.0]
    api.reset()
    api.brain = lambda body: OWN[name][1]
    with pytest.raises(ModelError) as raised:
        await desk.call(gemini, site=CallSite(2, "reason", SITE.tools))
    assert raised.value.kind == OWN[name][0]
    assert len(api.requests) == MAX_REPAIRS + 1


async def test_the_advice_is_not_left_in_the_history(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(OWN["empty"][1], OK)
    history = [HumanMessage("hello")]
    await desk.call(gemini, *history)
    assert [message.text for message in history] == ["hello"]


def read_history(chars: int = 400) -> list[Any]:
    text = prompts.render_page("Page", "https://e.org/1", [{"start": 0, "end": 1, "text": "SECRET " * (chars // 7)}], 1)
    asked = AIMessage("", tool_calls=[call("fetch_url", url="https://e.org/1")])
    return [SystemMessage("s"), HumanMessage("Topic: t"), asked, ToolMessage(text, tool_call_id="c1", name="fetch_url")]


@pytest.mark.parametrize("name", ["400, long", "400, place", "413"])
async def test_a_prompt_that_is_refused_is_sent_once_more_without_pages(
    name: str, api: FakeGemini, gemini: BaseChatModel
) -> None:
    desk = Desk()
    reply = GEMINI_ERRORS[name][0]
    signed = read_history()
    signed[2].additional_kwargs = {"__gemini_function_call_thought_signatures__": {"c1": "c2ln"}}
    api.push(reply, OK)
    assert (await desk.call(gemini, *signed)).text == "Hello."
    assert "SECRET" in str(api.requests[0])
    assert "SECRET" not in str(api.requests[1])
    api.reset()
    api.brain = lambda body: reply
    with pytest.raises(ModelError):
        await desk.call(gemini, *signed, site=CallSite(2, "reason", SITE.tools))
    assert len(api.requests) == 2


async def test_an_auth_error_after_a_bad_answer_ends_the_call(api: FakeGemini, gemini: BaseChatModel) -> None:
    desk = Desk()
    api.push(OWN["empty"][1], GEMINI_ERRORS["401"][0], OK)
    with pytest.raises(ModelError) as raised:
        await desk.call(gemini)
    assert raised.value.kind == "auth"


async def test_a_model_that_raises_something_odd_is_a_model_error() -> None:
    with pytest.raises(ModelError) as raised:
        await Desk().call(ScriptedChatModel(script=[RuntimeError("boom")]))
    assert raised.value.kind == "unknown"
    assert raised.value.__context__ is None


async def test_the_writers_model_can_be_another_one() -> None:
    desk = Desk()
    await desk.call(ScriptedChatModel(script=["- text [1]"]), site=CallSite(1, "write", model_name="openai:gpt-4o"))
    assert desk.journal.model_calls[0].model == "openai:gpt-4o"


async def test_default_waiting_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    assert ResearchContext().sleep is asyncio.sleep
