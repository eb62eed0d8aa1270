"""``provider:name`` becomes a model for this event loop, or one clear line; nothing is sent that it does not take."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic import SecretStr

from research_agent.errors import UsageError
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.models.load import ModelOptions, build_model, load_model, open_model, prompt_limit
from research_agent.models.text.react import TextReactModel
from research_agent.settings import load_settings
from tests.integration.models.conftest import GEMINI, KEY, gemini_options
from tests.support.fake_gemini import FakeGemini, candidate
from tests.support.fake_openai import FakeOpenAI, completion


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gemini-3.5-flash-lite", "is not of the form provider:name"),
        ("openai:", "is not of the form"),
        (":x", "is not of the form"),
        ("nobody:x", 'there is no model provider "nobody"'),
        ("google_genai:gemini-3.5-flash-lite", "set GEMINI_API_KEY"),
        ("cohere:command", "pip install langchain-cohere"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        build_model(name, ModelOptions())
    assert "\n" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    with pytest.raises(UsageError, match=r"pip install 'research-agent\[openai\]'"):
        build_model("openai:gpt-4o", ModelOptions())


def test_no_key_is_shown_when_a_model_cannot_be_built() -> None:
    options = ModelOptions(google_api_key=SecretStr(KEY), temperature=99.0)
    with pytest.raises(UsageError) as raised:
        build_model("google_genai:gemini-2.5-flash", options)
    assert KEY not in str(raised.value)
    assert KEY not in repr(options)


def test_the_default_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load_model(load_settings()), ExtractiveChatModel)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    assert getattr(load_model(load_settings()), "model", None) == "gemini-3.5-flash-lite"


@pytest.mark.parametrize(
    ("name", "thinking", "temperature", "sent"),
    [
        ("gemini-3.5-flash-lite", "minimal", 0.2, {"thinkingConfig": {"thinking_level": "MINIMAL"}}),
        ("gemini-3.8-flash", "minimal", 0.2, {"thinkingConfig": {"thinking_level": "LOW"}}),
        ("gemini-3.8-flash", "high", None, {"thinkingConfig": {"thinking_level": "HIGH"}}),
        ("gemini-3.5-flash", None, 0.2, {"temperature": 0.2}),
        ("gemini-2.5-flash", "low", 0.2, {"temperature": 0.2, "thinkingConfig": {"thinking_budget": 1024}}),
        ("gemini-2.5-flash", "minimal", None, {"thinkingConfig": {"thinking_budget": 0}}),
        ("gemini-flash-latest", None, 0.2, {}),
    ],
)
async def test_gemini_gets_only_what_it_takes(
    name: str, thinking: Any, temperature: Any, sent: dict[str, Any], api: FakeGemini
) -> None:
    api.push(candidate({"text": "ok"}))
    options = gemini_options(api, thinking=thinking, temperature=temperature)
    async with open_model(f"google_genai:{name}", options) as model:
        await model.ainvoke("hello")
    config = {key: value for key, value in api.requests[0]["generationConfig"].items() if key != "candidateCount"}
    thought = config.pop("thinkingConfig", None)
    assert ("thinkingConfig" in sent) == (thought is not None)
    if thought:
        (level,) = thought.values()
        (expected,) = sent.pop("thinkingConfig").values()
        assert str(level).upper() == str(expected)
    assert config == sent


@pytest.mark.parametrize(
    ("name", "thinking", "sent"),
    [("gpt-4o", None, {"temperature": 0.2}), ("gpt-5-mini", "low", {"reasoning_effort": "low"}), ("o3", None, {})],
)
def test_openai_gets_only_what_it_takes(name: str, thinking: Any, sent: dict[str, Any], monkeypatch: Any) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model: Any = build_model(f"openai:{name}", ModelOptions(temperature=0.2, thinking=thinking))
    assert {key: getattr(model, key) for key in ("temperature", "reasoning_effort") if getattr(model, key)} == sent
    assert model.max_retries == 0


@pytest.mark.parametrize(
    ("mode", "base_url", "wrapped"),
    [("auto", None, False), ("auto", "http://127.0.0.1:9/v1", True), ("native", "http://127.0.0.1:9/v1", False),
     ("text", None, True), ("schema", "http://127.0.0.1:9/v1", True)],
)  # fmt: skip
def test_the_text_wrapper_stands_where_native_calls_are_not_to_be_trusted(
    mode: Any, base_url: str | None, wrapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = build_model("openai:x", ModelOptions(base_url=base_url, tool_calling=mode))
    assert isinstance(model, TextReactModel) == wrapped


def test_gemini_and_anthropic_need_no_wrapper(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(build_model(GEMINI, ModelOptions(google_api_key=SecretStr(KEY))), TextReactModel)
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert not isinstance(build_model("anthropic:claude-sonnet-4-5", ModelOptions()), TextReactModel)


def test_the_prompt_fits_into_the_models_context(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompt_limit(build_model(GEMINI, ModelOptions(google_api_key=SecretStr(KEY))), 32_000) == 32_000
    assert prompt_limit(ExtractiveChatModel(), 32_000) == 32_000
    pytest.importorskip("langchain_ollama")
    small = build_model("ollama:qwen3", ModelOptions(base_url="http://127.0.0.1:9"))
    assert prompt_limit(small, 32_000) == int(16_384 * 0.7)


def test_ollama_is_wrapped_and_closed() -> None:
    pytest.importorskip("langchain_ollama")

    async def use() -> str:
        async with open_model("ollama:qwen3", ModelOptions(base_url="http://127.0.0.1:9")) as model:
            return type(model).__name__

    assert asyncio.run(use()) == "TextReactModel"


def test_an_openai_compatible_server_without_a_key_over_several_event_loops() -> None:
    pytest.importorskip("langchain_openai")

    async def ask(local: FakeOpenAI) -> str:
        options = ModelOptions(timeout=10.0, base_url=f"{local.url}/v1", tool_calling="native")
        async with open_model("openai:small", options) as model:
            await model.ainvoke("hello")
            return str((await model.ainvoke("hello")).text)

    with FakeOpenAI() as local:
        local.brain = lambda body: completion("Hi.")
        assert [asyncio.run(ask(local)) for _ in range(3)] == ["Hi."] * 3
        assert local.paths[0] == "/v1/chat/completions"


def test_anthropic_over_several_event_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    answer = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 9, "output_tokens": 3},
    }  # fmt: skip

    async def ask(local: FakeOpenAI) -> str:
        async with open_model("anthropic:claude-x", ModelOptions(timeout=10.0, base_url=local.url)) as model:
            return str((await model.ainvoke("hello")).text)

    with FakeOpenAI() as local:
        from tests.support.fake_gemini import Reply

        local.brain = lambda body: Reply(answer)
        assert [asyncio.run(ask(local)) for _ in range(3)] == ["Hi."] * 3


def test_the_vertex_variable_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    model: Any = build_model(GEMINI, ModelOptions(google_api_key=SecretStr(KEY)))
    assert not model.client.vertexai


def test_loading_our_modules_does_not_load_the_clients() -> None:
    code = (
        "import sys, research_agent.models.load, research_agent.models.call, research_agent.models.text.react;"
        "heavy = {'langchain_google_genai', 'google.genai', 'langchain.chat_models', 'genai_prices', 'json_repair',"
        " 'langchain_openai'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
