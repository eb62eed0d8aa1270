"""Any history becomes one that every provider takes.

Providers refuse a request whose turns don't fit, and a thread would then fail for good. The rules, measured on
Gemini and a superset of the others': one system message in front; a user turn first; each call answered once, in
call order, right behind its turn; no answer without a call; a user turn or answers last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from research_agent import prompts

# Where client libraries keep calls a second time; left alone they come back although `tool_calls` is empty.
_SHADOW_CALLS = ("function_call", "tool_calls")
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call"})


def make_legal(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages` as a legal history. Messages that are legal are passed on as they are, signatures included."""
    system = [message for message in messages if isinstance(message, SystemMessage) and message.text.strip()]
    turns = [message for message in messages if not isinstance(message, SystemMessage)]
    legal: list[BaseMessage] = []
    used: set[str] = set()
    for position, message in enumerate(turns):
        if isinstance(message, AIMessage):
            _add_answer(legal, message, turns[position + 1 :], used)
        elif not isinstance(message, ToolMessage) and message.text.strip():
            legal.append(message)
    if not legal or isinstance(legal[-1], AIMessage):
        legal.append(HumanMessage(prompts.CONTINUE))
    if len(system) > 1:
        system = [SystemMessage("\n\n".join(message.text for message in system))]
    return [*system, *legal]


def _add_answer(legal: list[BaseMessage], answer: AIMessage, later: Sequence[BaseMessage], used: set[str]) -> None:
    """Append the model's `answer` and, right behind it, what its calls brought."""
    if not answer.tool_calls:
        answer = _without_shadow_calls(answer)
        if not answer.text.strip():
            return
    results = {call["id"]: _result_of(call["id"], later) for call in answer.tool_calls}
    ids = _own_ids(answer, len(legal), used)
    answer = _renamed(answer, ids)
    if not legal or (answer.tool_calls and isinstance(legal[-1], AIMessage)):
        legal.append(HumanMessage(prompts.CONTINUE))
    legal.append(answer)
    for (old_id, new_id), call in zip(ids.items(), answer.tool_calls, strict=True):
        result = results[old_id] or ToolMessage(prompts.NOT_RUN, tool_call_id=new_id, name=call["name"], status="error")
        same = result.tool_call_id == new_id
        legal.append(result if same else result.model_copy(update={"tool_call_id": new_id}))


def _own_ids(answer: AIMessage, position: int, used: set[str]) -> dict[str | None, str]:
    """An id for each call that no call before it has: small servers count from 0 in each turn."""
    ids: dict[str | None, str] = {}
    for call in answer.tool_calls:
        if call["id"] not in ids:
            free = call["id"] and call["id"] not in used
            ids[call["id"]] = str(call["id"]) if free else f"{call['id'] or 'call'}-{position}"
    used.update(ids.values())
    return ids


def _renamed(answer: AIMessage, ids: Mapping[str | None, str]) -> AIMessage:
    """`answer` with each call once and under its new id, signatures included, which are kept by id."""
    if [call["id"] for call in answer.tool_calls] == list(ids.values()):
        return answer
    calls: dict[str | None, ToolCall] = {}
    for call in answer.tool_calls:
        calls.setdefault(call["id"], {**call, "id": ids[call["id"]]})
    extras = {
        key: {ids.get(inner, inner): kept for inner, kept in value.items()} if isinstance(value, dict) else value
        for key, value in answer.additional_kwargs.items()
    }
    return answer.model_copy(update={"tool_calls": list(calls.values()), "additional_kwargs": extras})


def _result_of(call_id: str | None, later: Sequence[BaseMessage]) -> ToolMessage | None:
    """The first result for this call, before another turn uses the same id (small servers count from 1 each turn)."""
    for message in later:
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return message
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return None
    return None


def _without_shadow_calls(answer: AIMessage) -> AIMessage:
    changes: dict[str, Any] = {}
    if any(key in answer.additional_kwargs for key in _SHADOW_CALLS):
        kept = {key: value for key, value in answer.additional_kwargs.items() if key not in _SHADOW_CALLS}
        changes["additional_kwargs"] = kept
    if answer.invalid_tool_calls:
        changes["invalid_tool_calls"] = []
    if isinstance(answer.content, list):
        blocks = [b for b in answer.content if not (isinstance(b, dict) and b.get("type") in _CALL_BLOCKS)]
        if len(blocks) != len(answer.content):
            changes["content"] = blocks
    return answer.model_copy(update=changes) if changes else answer
