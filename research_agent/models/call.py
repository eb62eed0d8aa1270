"""The one way to call a model: journal, time limit, retry, cost."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.models.prices import cost_usd
from research_agent.storage.journal import ModelCall, Purpose, message_from_json, message_to_json

MAX_ATTEMPTS = 3
_FIRST_WAIT_SECONDS = 1.0
_log = logging.getLogger(__name__)
# What providers' keys look like, wherever an error text repeats one.
_SECRET = re.compile(r"\b(?:AIza[\w-]{10,}|sk-[\w-]{10,}|Bearer\s+\S+|(?<=key=)[^\s&\"']+)")


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where in a run a call belongs: its key in the journal."""

    step: int
    purpose: Purpose


async def call_model(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    site: CallSite,
    context: ResearchContext,
    report: Callable[[Any], None],
) -> AIMessage:
    """The model's answer to `messages`: the recorded one if this call came to an end before.

    Raises:
        ModelError: every attempt failed. The reason is in the message and in the journal.
    """
    answer, tried = await context.journal.find_model_call(site.step, site.purpose)
    if answer:
        return answer
    report({"waiting": f"{context.model_name} ({'writing' if site.purpose != 'reason' else 'thinking'})"})
    for attempt in range(tried + 1, tried + MAX_ATTEMPTS + 1):
        call, error = await _attempt(model, messages, site, attempt, context)
        await context.journal.save_model_call(call)
        if call.response:
            return message_from_json(call.response)
        if not _may_retry(error) or attempt == tried + MAX_ATTEMPTS:
            raise ModelError(f"{context.model_name} did not answer: {call.error}")
        wait = _FIRST_WAIT_SECONDS * 2 ** (attempt - tried - 1) * random.uniform(1, 1.5)  # noqa: S311 - jitter
        report({"waiting": f"{context.model_name}, again in {wait:.0f} s ({call.error})"})
        await asyncio.sleep(wait)
    raise AssertionError("unreachable")


async def _attempt(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    site: CallSite,
    attempt: int,
    context: ResearchContext,
) -> tuple[ModelCall, Exception | None]:
    started_at, began = datetime.now(UTC), time.perf_counter()

    def finished(**result: Any) -> ModelCall:
        latency_ms = round((time.perf_counter() - began) * 1000)
        return ModelCall(site.step, site.purpose, attempt, context.model_name, started_at, latency_ms, **result)

    try:
        async with asyncio.timeout(context.model_timeout):
            answer = await model.ainvoke(list(messages))
    except TimeoutError as error:
        return finished(error=f"no answer within {context.model_timeout:.0f} s"), error
    except Exception as error:
        _log.debug("model call failed: %s", type(error).__name__)
        return finished(error=describe(error)), error
    if not isinstance(answer, AIMessage):
        return finished(error=f"it answered with a {type(answer).__name__}"), None
    return finished(response=message_to_json(_with_own_id(answer, site)), **_usage(answer, context, started_at)), None


def describe(error: BaseException) -> str:
    """An error of a client library in one short line without secrets."""
    text = _SECRET.sub("[redacted]", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def _may_retry(error: Exception | None) -> bool:
    if error is None:
        return False
    retryable = getattr(error, "is_retryable", None)  # LangChain's own error classes say it
    if retryable is not None:
        return bool(retryable)
    names = {f"{cls.__module__.split('.')[0]}.{cls.__name__}" for cls in type(error).__mro__}
    return isinstance(error, TimeoutError | ConnectionError) or bool(
        names & {"httpx.TransportError", "httpx2.TransportError", "aiohttp.ClientError"}
    )


def _with_own_id(answer: AIMessage, site: CallSite) -> AIMessage:
    """Message ids must be the same when a step is repeated, and tool-call ids unique within a turn."""
    seen: set[str] = set()
    calls = []
    for position, call in enumerate(answer.tool_calls):
        call_id = call["id"] if call["id"] and call["id"] not in seen else f"{site.step}.{position}"
        seen.add(call_id)
        calls.append({**call, "id": call_id})
    return answer.model_copy(update={"id": f"{site.purpose}-{site.step}", "tool_calls": calls})


def _usage(answer: AIMessage, context: ResearchContext, when: datetime) -> dict[str, Any]:
    usage = answer.usage_metadata
    if not usage:
        return {}
    return {
        "input_tokens": usage["input_tokens"],
        "cached_tokens": usage.get("input_token_details", {}).get("cache_read") or 0,
        "output_tokens": usage["output_tokens"],
        "reasoning_tokens": usage.get("output_token_details", {}).get("reasoning") or 0,
        "cost_usd": cost_usd(context.model_name, usage, when),
    }
