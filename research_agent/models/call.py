"""The one way to call a model: legal history, journal, time limit, retry, repair, cost.

Every attempt is journaled. An error that passes is waited for, an answer that can't be used is asked for again
with a word of advice, a prompt that the provider won't take is shortened; each a few times, then it is a
`ModelError` whose `kind` says why.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from research_agent import tracing
from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.limits import may_call_model
from research_agent.models import answers
from research_agent.models.compaction import compact, withhold
from research_agent.models.failures import TRANSIENT, Failure, Kind, read_failure
from research_agent.models.history import make_legal
from research_agent.models.prices import CallUsage, usage_of
from research_agent.storage.journal import ModelCall, Purpose, message_from_json, message_to_json
from research_agent.text import clean

MAX_RETRIES = 3  # of one call after errors that pass, so 4 attempts
MAX_REPAIRS = 2  # of one call after answers that can't be used
MAX_WAIT_SECONDS = 120.0  # a server that asks for more is as good as down
_FIRST_WAIT_SECONDS = 1.0
_WITHHELD_TOKENS = 8_000
# What a prompt without the old turns may cure: too long, blocked for what a page says, turns not accepted.
_CURED_BY_LESS: frozenset[Kind] = frozenset({"context_overflow", "prompt_blocked", "invalid_request"})
_CURED_BY_ADVICE: frozenset[Kind] = frozenset({"bad_call", "truncated", "refused", "empty"})


_DOING = {
    "reason": "thinking",
    "write": "writing",
    "judge": "checking each sentence",
    "repair": "correcting",
    "rewrite": "writing again",
}


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where in a run a call belongs: its key in the journal, the tools that it offers, and the model that it calls."""

    step: int
    purpose: Purpose
    tools: Collection[str] = ()
    model_name: str = ""  # where it is not the run's


async def call_model(
    model: Runnable[Any, BaseMessage],
    messages: Sequence[BaseMessage],
    site: CallSite,
    context: ResearchContext,
    report: Callable[[Any], None],
) -> AIMessage:
    """The model's answer to `messages`: the recorded one if this call came to an end before.

    Raises:
        ModelError: no usable answer came. The reason is in the message, in its `kind` and in the journal.
    """
    recorded, tried = await context.journal.find_model_call(site.step, site.purpose)
    if recorded:
        return recorded
    name = site.model_name or context.model_name
    call = _Call(model, messages, site, context, name)
    if seconds := context.breaker.seconds_left(name):
        text = f"{name} is resting for {seconds:.0f} s, because its last calls failed"
        await call.record(tried + 1, text)
        raise ModelError(text, "server")
    report({"waiting": f"{name} ({_DOING[site.purpose.partition('_')[0]]})"})
    while True:
        if not may_call_model(context.journal.spending, context.seconds, context.limits):
            raise ModelError("nothing is left of the limits for a model call", "limit")
        tried += 1
        answer, failure = await call.attempt(tried)
        if answer:
            context.breaker.answered(name)
            return answer
        wait = call.wait_before_next(failure)
        if wait is None:
            if failure.kind in TRANSIENT:
                context.breaker.failed(name)
            raise ModelError(f"{name} gave no usable answer: {failure.text}", failure.kind)
        report({"waiting": f"{name}, again{f' in {wait:.0f} s' if wait >= 1 else ''} ({failure.text})"})
        await context.sleep(wait)


class _Call:
    """One call with all its attempts: what is sent next, and how much patience is left."""

    def __init__(
        self,
        model: Runnable[Any, BaseMessage],
        messages: Sequence[BaseMessage],
        site: CallSite,
        context: ResearchContext,
        name: str,
    ) -> None:
        self._model, self._site, self._context, self._name = model, site, context, name
        self._messages = compact(messages, context.max_prompt_tokens)
        self._advice = ""
        self._retries = self._repairs = 0
        self._less = False

    async def attempt(self, number: int) -> tuple[AIMessage | None, Failure]:
        """One request, journaled: the answer, or why there is none."""
        prompt = make_legal([*self._messages, *([HumanMessage(self._advice)] if self._advice else [])])
        started_at, began = datetime.now(UTC), time.perf_counter()
        answer, usage = None, CallUsage()
        failure: Failure | None = Failure("bad_response", "it answered with something that is no message of a model")
        with tracing.model_span(self._name, self._site.purpose, self._site.step) as set_attributes:
            try:
                async with asyncio.timeout(self._seconds_left(self._context.model_timeout)):
                    answer = await self._model.ainvoke(prompt)
            except Exception as error:
                failure = read_failure(error)
            if isinstance(answer, AIMessage):
                answer = answers.tidy(answer, f"{self._site.purpose}-{self._site.step}", self._site.tools)
                usage = usage_of(answer, prompt, self._name, started_at, self._context.ceiling_price)
                failure = self._judge(answer)
            set_attributes(_attributes(answer, usage, failure))
        call = ModelCall(
            step=self._site.step,
            purpose=self._site.purpose,
            attempt=number,
            model=self._name,
            started_at=started_at,
            latency_ms=round((time.perf_counter() - began) * 1000),
            response=message_to_json(answer) if isinstance(answer, AIMessage) and not failure else None,
            error=failure.text if failure else None,
            error_type=failure.kind if failure else None,
            **_said(answer),
            **asdict(usage),
        )
        await self._context.journal.save_model_call(call)
        # Read back, so that a first run and a resumed one go on with the very same message.
        return (message_from_json(call.response) if call.response else None), failure or Failure("unknown", "")

    async def record(self, number: int, error: str) -> None:
        """Journal an attempt that was not made."""
        site = self._site
        call = ModelCall(
            site.step, site.purpose, number, self._name, datetime.now(UTC), 0, error=error, error_type="server"
        )
        await self._context.journal.save_model_call(call)

    def _judge(self, answer: AIMessage) -> Failure | None:
        kind = answers.classify(answer, self._site.tools)
        if kind == "text" or kind == "tool_calls" or kind == "unknown_tool":
            return None
        if kind in _CURED_BY_ADVICE:
            self._advice = answers.advice(answer, kind, self._site.tools)
        return Failure(kind, answers.describe(answer, kind))

    def wait_before_next(self, failure: Failure) -> float | None:
        """Seconds before another attempt has a chance; None if there is none."""
        if failure.kind in _CURED_BY_LESS:
            return 0.0 if self._shorten() else None
        if failure.kind in _CURED_BY_ADVICE:
            self._repairs += 1
            return 0.0 if self._repairs <= MAX_REPAIRS else None
        if failure.kind not in TRANSIENT:
            return None
        self._retries += 1
        asked = failure.retry_after or 0.0
        wait = max(asked, _FIRST_WAIT_SECONDS * 2 ** (self._retries - 1)) * random.uniform(1, 1.3)  # noqa: S311 - jitter
        fits = asked <= MAX_WAIT_SECONDS and wait < self._seconds_left(float("inf"))
        return wait if fits and self._retries <= MAX_RETRIES else None

    def _shorten(self) -> bool:
        """Once, and only if it changes anything: all turns in short."""
        shorter = withhold(self._messages, min(self._context.max_prompt_tokens or _WITHHELD_TOKENS, _WITHHELD_TOKENS))
        if self._less or shorter == self._messages:
            return False
        self._messages, self._less = shorter, True
        return True

    def _seconds_left(self, at_most: float) -> float:
        deadline = self._context.deadline
        return at_most if deadline is None else max(0.0, min(at_most, deadline - time.monotonic()))


def _said(answer: BaseMessage | None) -> dict[str, Any]:
    """What an answer says of itself, usable or not."""
    if not isinstance(answer, AIMessage):
        return {}
    metadata = answer.response_metadata
    reason = answers.finish_reason(answer)
    return {
        "response_model": clean(str(metadata.get("model_name") or metadata.get("model") or "")) or None,
        "response_id": clean(str(metadata.get("id") or metadata.get("response_id") or "")) or None,
        "finish_reasons": [clean(reason)] if reason else None,
    }


def _attributes(answer: BaseMessage | None, usage: CallUsage, failure: Failure | None) -> dict[str, Any]:
    """What a span says of an attempt, by the GenAI semantic conventions."""
    attributes: dict[str, Any] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_input_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_output_tokens,
    }
    if isinstance(answer, AIMessage):
        attributes["gen_ai.response.model"] = _said(answer)["response_model"]
        attributes["gen_ai.response.finish_reasons"] = [answers.finish_reason(answer) or "unknown"]
    if failure:
        attributes["error.type"] = failure.kind
    return attributes
