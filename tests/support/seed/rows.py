"""The journal's rows of a made-up run, with what must be true of them: times follow each other, ids of calls match the
message that asked, a lead points at the first result that offered the address, quotes stand at their offsets."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage
from psycopg.types.json import Jsonb

from research_agent.brief.brief import Usage
from research_agent.documents import Citation, Page
from research_agent.storage.journal import message_to_json
from research_agent.tracing import semantic_names
from research_agent.urls import canonical_url
from tests.support.seed.acts import Act

Tables = defaultdict[str, list[dict[str, Any]]]

# USD a million tokens in and out; None where no price is known.
PRICES: dict[str, tuple[float, float] | None] = {
    "google_genai:gemini-2.5-flash": (0.30, 2.50),
    "google_genai:gemini-2.5-pro": (1.25, 10.00),
    "openai:gpt-5-mini": (0.25, 2.00),
    "anthropic:claude-haiku-4-5": (1.00, 5.00),
    "mistralai:house-7b": None,
    "extractive": (0.0, 0.0),
}
MODEL_FAILURES = {
    "rate_limit": "too many requests (HTTP 429): Resource has been exhausted (check quota)",
    "timeout": "no answer in time",
    "server": "the provider is down or overloaded (HTTP 503): The model is overloaded",
    "connection": "no connection to the provider: ConnectError",
    "bad_call": "its tool call could not be read (MALFORMED_FUNCTION_CALL)",
    "empty": "its answer was empty (STOP)",
    "truncated": "its answer was cut off at the length limit (MAX_TOKENS)",
}
# An answer came, so these used tokens.
_FINISHED = {"bad_call": "MALFORMED_FUNCTION_CALL", "empty": "STOP", "truncated": "MAX_TOKENS"}
_MILLISECONDS = {"timeout": 120_000, "rate_limit": 180, "connection": 40}


class RunRows:
    """Where a run stands, and what has been written of it."""

    def __init__(self, tables: Tables, thread_id: str, model: str, now: datetime, rng: random.Random) -> None:
        self.tables, self.thread_id, self.model, self.now, self.rng = tables, thread_id, model, now, rng
        self.token = self.step = self.stagnant = 0
        self.seconds = 0.0
        self.usage = Usage()
        self.ledger: list[Citation] = []
        self.thought = ""
        self._leads: dict[str, tuple[int, str, int]] = {}
        self._attempts: dict[tuple[int, str], int] = {}

    def add(self, table: str, **values: Any) -> None:
        self.tables[table].append({"thread_id": self.thread_id, "lease_token": self.token, **values})

    def wait(self, milliseconds: float) -> None:
        self.now += timedelta(milliseconds=milliseconds)
        self.seconds += milliseconds / 1000

    def answer(self, purpose: str, text: str, asked: Sequence[tuple[str, Act]] = ()) -> None:
        """A usable answer of the model."""
        calls = [{"name": act.tool, "args": act.args, "id": call_id, "type": "tool_call"} for call_id, act in asked]
        name = semantic_names(self.model)[1]
        message = AIMessage(
            [{"type": "text", "text": text}] if text and calls else text,  # both forms come from providers
            id=f"{purpose}-{self.step}",
            tool_calls=calls,
            response_metadata={"finish_reason": "STOP", "model_name": name},
        )
        thinking = self.rng.randrange(80, 400) if name in ("gemini-2.5-pro", "gpt-5-mini") else 0
        received = 60 + len(text) // 4 + 45 * len(calls) + thinking
        tokens = (0, 0, 0) if name == "extractive" else (1800 + 900 * self.step, received, thinking)
        latency = 3 if name == "extractive" else round(self.rng.lognormvariate(7.3, 0.5)) + 8 * received
        response = Jsonb(message_to_json(message))
        self._model_call(self.step, purpose, tokens, latency, ["STOP"], response=response)

    def failed_attempt(self, step: int, purpose: str, kind: str) -> None:
        """An attempt of a model call that gave no usable answer."""
        finished = [_FINISHED[kind]] if kind in _FINISHED else None
        tokens = (1800 + 900 * step, 40, 0) if finished else (0, 0, 0)
        latency = _MILLISECONDS.get(kind, 2400)
        self._model_call(step, purpose, tokens, latency, finished, error_type=kind, error=MODEL_FAILURES[kind])
        self.wait(1100)

    def _model_call(
        self,
        step: int,
        purpose: str,
        tokens: tuple[int, int, int],
        latency_ms: int,
        finished: list[str] | None,
        *,
        response: Jsonb | None = None,
        error_type: str | None = None,
        error: str | None = None,
    ) -> None:
        provider, name = semantic_names(self.model)
        sent, received, thinking = tokens
        attempt = self._attempts[step, purpose] = self._attempts.get((step, purpose), 0) + 1
        price = PRICES[self.model] if finished else None
        cost = (sent * price[0] + received * price[1]) / 1e6 if price else None
        self.add(
            "model_calls",
            step=step,
            purpose=purpose,
            attempt=attempt,
            provider_name=provider,
            request_model=name,
            response_model=name if finished else None,
            response_id=f"r{self.rng.getrandbits(48):012x}" if finished and name != "extractive" else None,
            finish_reasons=finished,
            response=response,
            error_type=error_type,
            error=error,
            input_tokens=sent,
            cache_read_input_tokens=sent // 2 if step > 3 and provider == "gcp.gemini" else 0,
            output_tokens=received,
            reasoning_output_tokens=thinking,
            cost_usd=cost,
            started_at=self.now,
            latency_ms=latency_ms,
        )
        self._use(model_calls=1, input_tokens=sent, output_tokens=received, cost_usd=cost or 0.0)
        self.wait(latency_ms)

    def tool_call(self, call_id: str, act: Act, started_at: datetime) -> None:
        """One call that came to an end; what it offers can lead to later ones."""
        url = str(act.args.get("url", ""))
        lead = self._leads.get(canonical_url(url)) if url else None
        step, call, rank = lead if lead and lead[0] < self.step else (None, None, None)
        self.add(
            "tool_calls",
            step=self.step,
            tool_call_id=call_id,
            tool_name=act.tool,
            tool_call_arguments=Jsonb(act.args),
            status="error" if act.error_type else "success",
            error_type=act.error_type,
            tool_call_result=act.result,
            artifact=Jsonb(act.artifact) if act.artifact else None,
            content_hash=act.page.content_hash if act.page else None,
            lead_thread_id=self.thread_id if lead and step else None,
            lead_step=step,
            lead_call_id=call,
            lead_rank=rank,
            started_at=started_at,
            latency_ms=act.milliseconds,
        )
        for place, hit in enumerate((act.artifact or {}).get("hits", []), start=1):
            self._leads.setdefault(canonical_url(hit["url"]), (self.step, call_id, place))
        if act.page:
            self.tables["pages"].append(_page_row(act.page, started_at + timedelta(milliseconds=act.milliseconds)))
        self._use(tool_calls=1)

    def cite(self, call_id: str, act: Act) -> int:
        """The page of a call becomes the next source of the ledger; how many passages it brings."""
        assert act.page
        assert act.artifact
        citation: Citation = act.artifact["citation"]
        self.ledger.append(citation)
        spans = [{"start": passage["start"], "end": passage["end"]} for passage in citation["passages"]]
        self.add(
            "citations",
            number=len(self.ledger),
            **{name: citation[name] for name in ("url", "title", "kind", "content_hash")},
            first_step=self.step,
            passages=Jsonb(spans),
            tool_call_id=call_id,
            read_thread_id=self.thread_id,
        )
        return len(spans)

    def end_of_turn(self, calls: int, sources: int, passages: int, stop_reason: str) -> None:
        self.add(
            "steps",
            step=self.step,
            thought=self.thought,
            tool_calls=calls,
            new_sources=sources,
            new_passages=passages,
            stagnant_turns=self.stagnant,
            stop_reason=stop_reason,
            seconds=round(self.seconds, 3),
            finished_at=self.now,
        )

    def _use(self, **more: float) -> None:
        self.usage = replace(self.usage, **{name: getattr(self.usage, name) + n for name, n in more.items()})


def _page_row(page: Page, fetched_at: datetime) -> dict[str, Any]:
    names = ("url", "title", "kind", "media_type", "author", "site", "published", "language", "text")
    return {
        "content_hash": page.content_hash,
        **{name: getattr(page, name) for name in names},
        "fetched_at": fetched_at,
    }
