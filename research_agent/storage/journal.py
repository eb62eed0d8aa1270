"""What was called, and what came back: written when a call ends, read back when its step runs again.

One mechanism gives three things: a resumed run pays for nothing twice, budgets survive a crash, and the
trace can be read with SQL.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Protocol

from langchain_core.messages import AIMessage, ToolMessage, message_to_dict, messages_from_dict
from psycopg.types.json import Jsonb

from research_agent.documents import Citation, Page
from research_agent.limits import Spending
from research_agent.storage.database import Pool, fetch
from research_agent.text import clean_json
from research_agent.tracing import semantic_names
from research_agent.urls import canonical_url

Purpose = str
"""What a model call is for: reason, write, judge, repair, judge_repair, rewrite or judge_rewrite; where one takes
several calls, the second and later ones have their number behind it, as in judge_2."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call that came to an end: with `response` or with `error`."""

    step: int
    purpose: Purpose
    attempt: int
    model: str
    started_at: datetime
    latency_ms: int
    response: dict[str, Any] | None = None
    error: str | None = None
    error_type: str | None = None  # a `models.failures.Kind`
    response_model: str | None = None  # these three as the answer says, usable or not
    response_id: str | None = None
    finish_reasons: list[str] | None = None
    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call that came to an end, and the page it read if it read one."""

    step: int
    args: dict[str, Any]
    message: ToolMessage
    started_at: datetime
    latency_ms: int
    error_type: str | None = None
    page: Page | None = None


@dataclass(frozen=True, slots=True)
class Lead:
    """A place in a tool's result that offered an address; ranks count from 1. Of a fork it can be the origin's."""

    lead_thread_id: str
    lead_step: int
    lead_call_id: str
    lead_rank: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished turn of the loop, and the ledger entries that it touched: number, entry, and the id of the tool
    call that read it in this turn."""

    step: int
    thought: str
    tool_calls: int
    new_sources: int
    new_passages: int
    stagnant_turns: int
    stop_reason: str
    seconds: float = 0.0  # running time of all starts so far
    citations: Sequence[tuple[int, Citation, str]] = ()


class Journal(Protocol):
    """Where nodes record what they did. Keyed by step, and within it by purpose or tool-call id."""

    spending: Spending
    """What the run has used so far."""

    async def load(self, step: int) -> None:
        """Read what earlier starts have used, and what they recorded of `step`, where the run goes on."""
        ...

    async def find_model_call(self, step: int, purpose: Purpose) -> tuple[AIMessage | None, int]:
        """The answer recorded for this call if there is one, and how many attempts were made."""
        ...

    async def save_model_call(self, call: ModelCall) -> None: ...

    async def find_tool_call(self, step: int, tool_call_id: str, tool: str) -> ToolMessage | None: ...

    async def save_tool_call(self, call: ToolCall) -> None: ...

    async def save_turn(self, turn: Turn) -> None: ...


class NoJournal:
    """For a graph that is used without our storage: counts, and remembers nothing else."""

    def __init__(self) -> None:
        self.spending = Spending()

    async def load(self, step: int) -> None: ...

    async def find_model_call(self, step: int, purpose: Purpose) -> tuple[AIMessage | None, int]:
        return None, 0

    async def save_model_call(self, call: ModelCall) -> None:
        self.spending.add_model_call(call.input_tokens + call.output_tokens, call.cost_usd or 0.0)

    async def find_tool_call(self, step: int, tool_call_id: str, tool: str) -> ToolMessage | None:
        return None

    async def save_tool_call(self, call: ToolCall) -> None: ...

    async def save_turn(self, turn: Turn) -> None: ...


class PostgresJournal:
    """The journal of one thread, written under a lease: a runner that lost it gets `LeaseLost`."""

    def __init__(self, pool: Pool, thread_id: str, lease_token: int) -> None:
        self._pool = pool
        self._key: dict[str, Any] = {"thread_id": thread_id, "token": lease_token}
        self.spending = Spending()
        self._model_calls: dict[tuple[int, str], dict[str, Any]] = {}
        self._tool_calls: dict[tuple[int, str], dict[str, Any]] = {}
        self._leads: dict[str, Lead] = {}

    async def load(self, step: int) -> None:
        """Read what earlier starts of this run have used, and what they recorded of `step`, where it goes on.

        Once is enough: while the lease is held nobody else adds to it.
        """
        for row in await self._fetch("finished_model_calls", step=step):
            self._model_calls[row["step"], row["purpose"]] = row
        for row in await self._fetch("finished_tool_calls", step=step):
            self._tool_calls[row["step"], row["tool_call_id"]] = row
        for row in await self._fetch("model_call_sizes"):
            self.spending.add_model_call(row["tokens"], row["usd"])
        for row in await self._fetch("tool_call_counts"):
            self.spending.tool_calls[row["tool_name"]] = row["calls"]
        for row in await self._fetch("offered_addresses"):
            self._offer(row["urls"], row["thread_id"], row["step"], row["tool_call_id"])

    async def find_model_call(self, step: int, purpose: Purpose) -> tuple[AIMessage | None, int]:
        row = self._model_calls.get((step, purpose))
        if row is None:
            return None, 0
        return (message_from_json(row["response"]) if row["response"] else None), row["attempt"]

    async def save_model_call(self, call: ModelCall) -> None:
        values = {**asdict(call), "response": Jsonb(call.response) if call.response else None}
        values["provider_name"], values["request_model"] = semantic_names(values.pop("model"))
        await self._fetch("save_model_call", **values)
        # A node that a question interrupts runs again in the same process.
        self._model_calls[call.step, call.purpose] = {"response": call.response, "attempt": call.attempt}
        self.spending.add_model_call(call.input_tokens + call.output_tokens, call.cost_usd or 0.0)

    async def find_tool_call(self, step: int, tool_call_id: str, tool: str) -> ToolMessage | None:
        row = self._tool_calls.get((step, tool_call_id))
        if row is None:
            return None
        kept = {key: row[key] for key in ("tool_call_id", "artifact", "status")}
        return ToolMessage(name=tool, content=row["tool_call_result"], **kept)

    async def save_tool_call(self, call: ToolCall) -> None:
        message = call.message
        page: dict[str, Any] = {}
        if call.page:
            page = {**asdict(call.page), "content_hash": call.page.content_hash}
            page["url_keys"] = sorted({canonical_url(url) for url in (call.page.url, call.page.requested_url) if url})
        await self._fetch(
            "save_tool_call",
            step=call.step,
            tool_call_id=message.tool_call_id,
            tool_name=message.name,
            tool_call_arguments=Jsonb(clean_json(call.args)),
            status=message.status,
            error_type=call.error_type,
            tool_call_result=message.text,
            artifact=Jsonb(message.artifact) if message.artifact is not None else None,
            started_at=call.started_at,
            latency_ms=call.latency_ms,
            page=Jsonb(page),
            **self._lead_to(call),
        )
        artifact = message.artifact if isinstance(message.artifact, dict) else {}
        urls = [hit["url"] for hit in artifact.get("hits", [])]
        self._offer(urls, self._key["thread_id"], call.step, message.tool_call_id)

    def _offer(self, urls: Sequence[str], thread_id: str, step: int, tool_call_id: str) -> None:
        """Remember what offered each address first."""
        for rank, url in enumerate(urls, start=1):
            self._leads.setdefault(canonical_url(url), Lead(thread_id, step, tool_call_id, rank))

    def _lead_to(self, call: ToolCall) -> dict[str, Any]:
        """Which earlier result offered the address of this call. One of the same turn can't have led to it."""
        lead = self._leads.get(canonical_url(str(call.args.get("url", ""))))
        if lead is None or lead.lead_step >= call.step:
            return dict.fromkeys(each.name for each in fields(Lead))
        return asdict(lead)

    async def save_turn(self, turn: Turn) -> None:
        entries = [
            {
                **{key: entry[key] for key in ("url", "title", "kind", "content_hash")},
                "number": number,
                "tool_call_id": tool_call_id,
                "passages": [{"start": p["start"], "end": p["end"]} for p in entry["passages"]],
            }
            for number, entry, tool_call_id in turn.citations
        ]
        await self._fetch("save_step", **{**asdict(turn), "citations": Jsonb(entries)})

    async def _fetch(self, query: str, **values: Any) -> list[dict[str, Any]]:
        return await fetch(self._pool, query, **values, **self._key)


def message_to_json(message: AIMessage) -> dict[str, Any]:
    """`message` as plain JSON that PostgreSQL can store; provider data it can't hold becomes text."""
    cleaned: dict[str, Any] = clean_json(json.loads(json.dumps(message_to_dict(message), default=str)))
    return cleaned


def message_from_json(data: dict[str, Any]) -> AIMessage:
    """The message that `message_to_json` wrote."""
    (message,) = messages_from_dict([data])
    assert isinstance(message, AIMessage)  # noqa: S101 - only answers of models are written
    return message
