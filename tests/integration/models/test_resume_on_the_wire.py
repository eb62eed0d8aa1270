"""A run that was stopped in any request goes on with the very bytes that Gemini sent: thought signatures included."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from research_agent.context import ResearchContext
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from research_agent.models.load import open_model
from research_agent.runs.app import research
from research_agent.settings import Settings
from tests.integration.models.conftest import GEMINI, KEY, gemini_options
from tests.support.documents import TOPIC
from tests.support.fake_gemini import Answer, Body, FakeGemini, Reply, researcher
from tests.support.scripted import MemoryJournal, library_tools


def signature(number: int) -> str:
    """Base64 that has both of the characters in which its two alphabets differ."""
    return base64.b64encode(b"\xfb\xff\xbf" + hashlib.sha256(str(number).encode()).digest()).decode()


class Signing:
    """The researcher, with a signature of its own in each answer, as text or on the first call."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.hang_at = -1
        self.reached = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._number = -1

    def __call__(self, body: Body) -> Answer:
        self._number += 1
        if self._number == self.hang_at:
            self._loop.call_soon_threadsafe(self.reached.set)
            return Reply({}, delay=0.3, drop=True)
        answer = researcher(body)
        assert isinstance(answer, dict)
        if body.get("tools"):
            part = answer["candidates"][0]["content"]["parts"][0]
            part["thoughtSignature"] = signature(len(self.given))
            self.given.append(part["thoughtSignature"])
        return answer


def sent_signatures(body: Body) -> Iterator[bytes]:
    for content in body["contents"]:
        for part in content["parts"]:
            if "thoughtSignature" in part:
                yield base64.urlsafe_b64decode(part["thoughtSignature"])


def check_signatures(api: FakeGemini, given: list[str]) -> None:
    """Each request carries the first signatures that were given, byte for byte, and nothing else."""
    expected = [base64.b64decode(text) for text in given]
    for body in api.requests:
        if body.get("tools"):
            sent = list(sent_signatures(body))
            assert sent == expected[: len(sent)]
    longest = max(len(list(sent_signatures(body))) for body in api.requests)
    assert longest == len(given) - 1, "the last answer is not sent again; all others are"


@pytest.mark.parametrize("stopped_at", [1, 2, 3])
async def test_through_postgres_and_the_journal(
    stopped_at: int, api: FakeGemini, empty_database: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", api.url)
    settings = Settings(
        database_url=SecretStr(empty_database), google_api_key=SecretStr(KEY), cache_dir=corpus.parent / "cache"
    )
    api.brain = brain = Signing()
    brain.hang_at = stopped_at
    first = asyncio.create_task(research(TOPIC, corpus=corpus, model=GEMINI, settings=settings))
    await asyncio.wait_for(brain.reached.wait(), 60)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    before = len(api.requests)
    brief = await research(TOPIC, corpus=corpus, model=GEMINI, settings=settings)
    assert brief.outcome == "complete"
    assert brief.writer == GEMINI
    assert api.illegal == []
    assert len(api.requests) == 6, "what was answered before is not asked again"
    assert api.requests[before] == api.requests[before - 1], "the stopped request is sent again as it was"
    check_signatures(api, brain.given)


async def test_through_a_checkpoint_in_memory_with_a_new_graph_and_model(api: FakeGemini) -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    api.brain = brain = Signing()
    for start in ({"topic": "tide power"}, None, None):
        async with open_model(GEMINI, gemini_options(api)) as model:
            graph = build_graph(model, library_tools(), saver)
            context = ResearchContext(
                Limits(max_steps=5, max_calls_per_minute=10**6), journal=MemoryJournal(), model_name=GEMINI
            )
            await graph.ainvoke(start, config, context=context, interrupt_after=["sanitize"])
    assert (await graph.aget_state(config)).values["outcome"] == "complete"
    assert api.illegal == []
    check_signatures(api, brain.given)


async def test_streaming_the_messages_of_a_run_keeps_signatures_too(api: FakeGemini, gemini: BaseChatModel) -> None:
    api.brain = brain = Signing()
    graph = build_graph(gemini, library_tools())
    async for _ in graph.astream({"topic": "tide power"}, stream_mode="messages"):
        pass
    assert any("streamGenerateContent" in path for path in api.paths)
    assert api.illegal == []
    check_signatures(api, brain.given)


def test_one_model_for_each_event_loop(api: FakeGemini) -> None:
    async def once() -> str:
        async with open_model(GEMINI, gemini_options(api)) as model:
            graph = build_graph(model, library_tools())
            return str((await graph.ainvoke({"topic": "tide power"}))["outcome"])

    assert [asyncio.run(once()) for _ in range(3)] == ["complete"] * 3
