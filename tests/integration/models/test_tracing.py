"""Spans follow the GenAI semantic conventions, hold no content and no key, and cost nothing where OTel is absent."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from research_agent import tracing
from research_agent.context import ResearchContext
from research_agent.models.call import CallSite, call_model
from tests.integration.models.conftest import GEMINI, KEY
from tests.support.fake_gemini import FakeGemini, candidate, error
from tests.support.scripted import Waits

pytest.importorskip("opentelemetry.sdk")
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    return exporter


async def test_each_attempt_is_a_chat_span(api: FakeGemini, gemini: BaseChatModel, spans: InMemorySpanExporter) -> None:
    usage = {"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
    api.push(error(503, "UNAVAILABLE", "Overloaded."), candidate({"text": "A secret answer."}, usageMetadata=usage))
    context = ResearchContext(model_name=GEMINI, sleep=Waits())
    await call_model(gemini, [HumanMessage("A secret question")], CallSite(3, "reason"), context, lambda event: None)
    failed, good = spans.get_finished_spans()
    assert failed.name == good.name == "chat gemini-3.5-flash-lite"
    assert good.kind == trace.SpanKind.CLIENT
    assert good.attributes is not None
    assert dict(good.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3.5-flash-lite",
        "gen_ai.response.model": "gemini-3.5-flash-lite",
        "gen_ai.response.finish_reasons": ("STOP",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "research.purpose": "reason",
        "research.step": 3,
    }
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "server"
    assert failed.status.status_code == trace.StatusCode.ERROR
    written = good.to_json() + failed.to_json()
    assert "secret" not in written
    assert KEY not in written


def test_tool_and_agent_spans_nest(spans: InMemorySpanExporter) -> None:
    with tracing.agent_span("research-1"), tracing.tool_span("search_web", "c1") as set_attributes:
        set_attributes({"error.type": "timeout", "left.out": None})
    tool, agent = spans.get_finished_spans()
    assert (tool.name, agent.name) == ("execute_tool search_web", "invoke_agent research")
    assert tool.parent is not None
    assert agent.context is not None
    assert tool.parent.span_id == agent.context.span_id
    assert tool.attributes is not None
    assert tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert "left.out" not in tool.attributes


def test_an_exception_leaves_no_text_in_a_span(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), tracing.tool_span("search_web", "c1"):
        raise ValueError("secret")
    (span,) = spans.get_finished_spans()
    assert "secret" not in span.to_json()


def test_the_usual_variables_switch_an_exporter_on() -> None:
    code = (
        "from research_agent import tracing\nend = tracing.setup()\n"
        "with tracing.model_span('openai:gpt-4o', 'reason', 1): pass\nend()"
    )

    def written(**environment: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        return done.stderr

    assert '"name": "chat gpt-4o"' in written(OTEL_TRACES_EXPORTER="console")
    assert written() == ""
    assert written(OTEL_TRACES_EXPORTER="none", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") == ""
    assert written(OTEL_TRACES_EXPORTER="console", OTEL_SDK_DISABLED="true") == ""


def test_without_the_package_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    tracing.setup()()
    with tracing.model_span("model", "reason", 1) as set_attributes:
        set_attributes({"error.type": "x"})


async def test_langsmith_gets_runs_by_its_usual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.tracers.langchain import LangChainTracer, wait_for_all_tracers
    from langsmith import utils

    from research_agent.graph.graph import build_graph
    from research_agent.models.extractive import ExtractiveChatModel
    from tests.support.scripted import library_tools

    seen: list[str] = []
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    utils.get_env_var.cache_clear()
    monkeypatch.setattr(LangChainTracer, "_persist_run_single", lambda self, run: seen.append(run.name))
    monkeypatch.setattr(LangChainTracer, "_update_run_single", lambda self, run: None)
    state: Any = await build_graph(ExtractiveChatModel(), library_tools()).ainvoke({"topic": "tide power"})
    wait_for_all_tracers()
    monkeypatch.undo()
    utils.get_env_var.cache_clear()
    assert state["outcome"] == "complete"
    assert {"reason", "ExtractiveChatModel", "search_web", "fetch_url", "sanitize", "finalize"} <= set(seen)
