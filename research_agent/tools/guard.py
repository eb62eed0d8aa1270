"""What wraps every tool call: journal, time limit, and an observation instead of an exception."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from research_agent import prompts, tracing
from research_agent.context import ResearchContext
from research_agent.documents import Page
from research_agent.errors import SourceError, StorageError
from research_agent.storage.journal import ToolCall
from research_agent.text import clean, clean_json
from research_agent.tools.ask_human import observation_of
from research_agent.tools.rate import GATE

MAX_OBSERVATION_CHARS = 12_000
_MAX_ERROR_CHARS = 2_000  # it repeats the arguments, however long, before it says what is wrong with them
_log = logging.getLogger(__name__)

Execute = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[None]]]


async def guard_tool_call(request: ToolCallRequest, execute: Execute) -> ToolMessage:
    """The observation of one tool call: the recorded one if this call came to an end before, else a new one.

    Never raises for a tool's failure. What does pass are storage errors (without a journal nothing may go on)
    and LangGraph's own signals.
    """
    context: ResearchContext = request.runtime.context or ResearchContext()
    call, step = request.tool_call, request.state.get("step_count", 0)
    call_id = call["id"] or ""
    message = await context.journal.find_tool_call(step, call_id, call["name"])
    if message is None and (limit := await _forbidden_by(request, context)):
        # Not recorded: nothing was called, and under a higher limit it may be.
        message = _failure(request, prompts.LIMIT_REACHED.format(limit=limit))
    if message is None:
        started_at, began = datetime.now(UTC), time.perf_counter()
        seen, error_type = await _observe(request, execute, context)
        message, page = _bounded(seen)
        latency_ms = round((time.perf_counter() - began) * 1000)
        await context.journal.save_tool_call(
            ToolCall(step, dict(call["args"]), message, started_at, latency_ms, error_type, page)
        )
    # The same id when the step runs again: sanitize replaces the message by it.
    return message.model_copy(update={"id": f"tool-{step}-{call_id}"})


async def _forbidden_by(request: ToolCallRequest, context: ResearchContext) -> str:
    """The limit that forbids this call, or "" once it is counted and its turn has come."""
    name, limits, spending = request.tool_call["name"], context.limits, context.journal.spending
    if context.seconds_to_read <= 0:
        return f"{limits.max_seconds:.0f} seconds in a run"
    if limit := spending.admit(name, limits):
        return limit

    def report(seconds: float) -> None:
        request.runtime.stream_writer({"waiting": f"{name}: its rate limit, {seconds:.0f} s"})

    # A name that the model made up calls nothing.
    if request.tool and not await GATE.wait(name, limits.max_calls_per_minute, report, context.seconds_to_read):
        spending.tool_calls[name] -= 1
        return f"{limits.max_calls_per_minute} calls of {name} a minute"
    return ""


async def _observe(
    request: ToolCallRequest, execute: Execute, context: ResearchContext
) -> tuple[ToolMessage, str | None]:
    """What the call gave, and the kind of failure in a word if it failed."""
    if (reply := _reply(request, context)) is not None and (answer := observation_of(request.tool_call, reply)):
        return answer, "refused_by_person" if answer.status == "error" else None
    name = request.tool_call["name"]
    seconds = max(0.0, min(context.limits.max_seconds_per_tool, context.seconds_to_read))
    if request.tool is None:
        known = ", ".join(sorted(tool.name for tool in request.runtime.tools))
        return _failure(request, prompts.UNKNOWN_TOOL.format(name=name, tools=known)), "unknown_tool"
    try:
        with tracing.tool_span(name, request.tool_call["id"] or ""):
            async with asyncio.timeout(seconds):
                result = await execute(request)
    except TimeoutError:
        return _failure(request, prompts.TOOL_TIMEOUT.format(name=name, seconds=seconds)), "timeout"
    except SourceError as error:
        return _failure(request, str(error)), error.error_type
    except (GraphBubbleUp, StorageError):
        raise
    except Exception as error:
        _log.warning("tool %s failed: %s", name, type(error).__name__)
        kind = type(error).__name__
        return _failure(request, prompts.TOOL_FAILED.format(name=name, error=kind)), kind
    if isinstance(result, ToolMessage):
        # ToolNode itself answers arguments that do not fit.
        return result, "invalid_arguments" if result.status == "error" else None
    return _failure(request, prompts.TOOL_FAILED.format(name=name, error="it tried to change the run")), "command"


def _reply(request: ToolCallRequest, context: ResearchContext) -> str | None:
    """What a person said to this call; "" if it needs one and nobody did; None if it needs none."""
    replies = request.state.get("replies") or {}
    if request.tool_call["id"] in replies:
        return str(replies[request.tool_call["id"]])
    return "" if request.tool_call["name"] in context.approve else None


def _failure(request: ToolCallRequest, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status="error")


def _bounded(message: ToolMessage) -> tuple[ToolMessage, Page | None]:
    """The observation, small and clean whatever a tool returns (it is sent to the model in each later turn), and
    the page that came with it: its whole text goes into the journal, not into the state."""
    text = clean(message.text)
    if message.status == "error" and len(text) > _MAX_ERROR_CHARS:
        text = f"{text[: _MAX_ERROR_CHARS // 2]}\n[cut]\n{text[-_MAX_ERROR_CHARS // 2 :]}"
    elif len(text) > MAX_OBSERVATION_CHARS:
        text = text[:MAX_OBSERVATION_CHARS] + "\n[cut]"
    artifact, page = message.artifact, None
    if isinstance(artifact, dict) and isinstance(artifact.get("page"), Page):
        page = artifact["page"]
        artifact = {key: value for key, value in artifact.items() if key != "page"}
    return message.model_copy(update={"content": text, "artifact": clean_json(artifact)}), page
