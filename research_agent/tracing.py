"""OpenTelemetry spans by the GenAI semantic conventions; nothing at all where the package is not installed.

`setup` starts an exporter when the usual variables ask for one (OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT).
A program that set a tracer provider of its own keeps it. Prompts and answers are never recorded: they are in the
journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Attributes = Mapping[str, Any]
SetAttributes = Callable[[Attributes], None]

# As the conventions spell providers, where LangChain spells them otherwise.
_PROVIDERS = {
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}

_WANTED = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def semantic_names(model: str) -> tuple[str, str]:
    """``gen_ai.provider.name`` and ``gen_ai.request.model`` of a model given as ``provider:name``."""
    provider, _, name = model.partition(":")
    return _PROVIDERS.get(provider, provider), name or provider


def setup() -> Callable[[], None]:
    """Export spans if the environment asks for it and the SDK is installed; call the result at the end to flush."""
    wanted = [os.environ[name] for name in _WANTED if os.environ.get(name)]
    if not wanted or os.environ.get("OTEL_TRACES_EXPORTER") == "none" or os.environ.get("OTEL_SDK_DISABLED") == "true":
        return lambda: None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
    except ImportError:
        return lambda: None
    exporter: SpanExporter
    if os.environ.get("OTEL_TRACES_EXPORTER") == "console":
        import sys

        exporter = ConsoleSpanExporter(out=sys.stderr)
    else:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError:
            return lambda: None
        exporter = OTLPSpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider.shutdown


@contextmanager
def model_span(model: str, purpose: str, step: int) -> Iterator[SetAttributes]:
    """One attempt of a model call: ``chat {model}``. `model` is ``provider:name``."""
    provider, name = semantic_names(model)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": name,
        "research.purpose": purpose,
        "research.step": step,
    }
    with _span(f"chat {name}", "CLIENT", attributes) as set_attributes:
        yield set_attributes


@contextmanager
def tool_span(tool: str, call_id: str) -> Iterator[SetAttributes]:
    """One tool call: ``execute_tool {tool}``."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
    }
    with _span(f"execute_tool {tool}", "INTERNAL", attributes) as set_attributes:
        yield set_attributes


@contextmanager
def agent_span(thread_id: str) -> Iterator[SetAttributes]:
    """One run: ``invoke_agent research``."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "research",
        "gen_ai.conversation.id": thread_id,
    }
    with _span("invoke_agent research", "INTERNAL", attributes) as set_attributes:
        yield set_attributes


@contextmanager
def _span(name: str, kind: str, attributes: Attributes) -> Iterator[SetAttributes]:
    try:
        from opentelemetry import trace
    except ImportError:
        yield lambda more: None
        return
    tracer = trace.get_tracer("research_agent")
    # Errors are set by `error.type` alone: an exception's text and traceback may hold what a page or a server said.
    with tracer.start_as_current_span(
        name,
        kind=trace.SpanKind[kind],
        attributes=dict(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def set_attributes(more: Attributes) -> None:
            span.set_attributes({key: value for key, value in more.items() if value is not None})
            if "error.type" in more:
                span.set_status(trace.StatusCode.ERROR, str(more["error.type"]))

        yield set_attributes
