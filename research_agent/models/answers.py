"""What an answer of a model is: something to act on, or one of the ways to fail that is no exception."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Literal

from langchain_core.messages import AIMessage, ToolCall

from research_agent import prompts

Problem = Literal["bad_call", "truncated", "refused", "prompt_blocked", "empty", "incomplete"]
Kind = Literal["text", "tool_calls", "unknown_tool"] | Problem

# Finish reasons in upper case; each provider has its own names for the same few things.
_REFUSED = frozenset(
    [
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "MODEL_ARMOR",
        "CONTENT_FILTER",
        "REFUSAL",
    ]
)
_BAD_CALL = frozenset(
    [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_CALL",
    ]
)
_TRUNCATED = frozenset({"MAX_TOKENS", "LENGTH", "MODEL_CONTEXT_WINDOW_EXCEEDED"})
# These say in each complete answer why it ended: without that, it was cut off on the way.
_ALWAYS_SAY = frozenset({"google_genai", "google_vertexai", "openai", "anthropic"})
_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,63}")
_UNNAMED = "unnamed"
_PREFIX = re.compile(r"(?:default_api|functions|tools)[.:]")


def classify(answer: AIMessage, tools: Collection[str]) -> Kind:
    """The class of `answer` to a call that offered `tools`."""
    reason = finish_reason(answer)
    feedback = answer.response_metadata.get("prompt_feedback") or {}
    if isinstance(feedback, dict) and feedback.get("block_reason"):
        return "prompt_blocked"
    if reason in _REFUSED:
        return "refused"
    if reason in _TRUNCATED:
        return "truncated"  # calls of a truncated answer may lack half of their arguments
    if answer.tool_calls and (tools or not answer.text.strip()):
        return _classify_calls(answer, tools)
    if reason in _BAD_CALL or answer.invalid_tool_calls:
        return "bad_call"
    if not reason and answer.response_metadata.get("model_provider") in _ALWAYS_SAY:
        return "incomplete"
    return "text" if answer.text.strip() else "empty"


def _classify_calls(answer: AIMessage, tools: Collection[str]) -> Kind:
    names = [call["name"] for call in answer.tool_calls]
    if not tools or not any(_NAME.fullmatch(name) for name in names):
        return "bad_call"
    return "tool_calls" if all(name in tools for name in names) else "unknown_tool"


def finish_reason(answer: AIMessage) -> str:
    """Why the model stopped, in upper case; "" if the answer does not say."""
    metadata = answer.response_metadata
    reason = next((metadata[key] for key in ("finish_reason", "stop_reason", "done_reason") if metadata.get(key)), "")
    return str(getattr(reason, "value", reason)).upper()


def describe(answer: AIMessage, kind: Problem) -> str:
    """One line on an answer that can't be used, for journal and user."""
    reason = finish_reason(answer)
    feedback = answer.response_metadata.get("prompt_feedback") or {}
    if kind == "prompt_blocked":
        blocked = feedback.get("block_reason")
        return f"the provider blocked the prompt ({getattr(blocked, 'value', blocked)})"
    said = {
        "refused": "it refused to answer",
        "truncated": "its answer was cut off at the length limit",
        "bad_call": "its tool call could not be read",
        "empty": "its answer was empty",
        "incomplete": "its answer ended in the middle",
    }[kind]
    return f"{said} ({reason})" if reason else said


def advice(answer: AIMessage, kind: Problem, tools: Collection[str]) -> str:
    """What the model is told before it may answer again."""
    if hint := answer.response_metadata.get("hint"):  # of the text wrapper, which knows what it could not read
        return str(hint)
    match kind:
        case "bad_call":
            return prompts.BAD_CALL.format(tools=", ".join(sorted(tools))) if tools else prompts.NO_TOOLS_NOW
        case "truncated":
            return prompts.TOO_LONG
        case "refused":
            return prompts.REFUSED
    return prompts.EMPTY_ANSWER


def tidy(answer: AIMessage, message_id: str, tools: Collection[str]) -> AIMessage:
    """`answer` with an id of ours, known tool names in their plain form, and one id for each call.

    Ids must be the same when a step is repeated, and those of calls unique within a turn. Nothing else changes:
    thought signatures hang on the provider's ids.
    """
    taken: set[str] = set()
    calls: list[ToolCall] = []
    usable = any(_NAME.fullmatch(call["name"]) for call in answer.tool_calls)
    for position, call in enumerate(answer.tool_calls):
        call_id = call["id"] if call["id"] and call["id"] not in taken else f"{message_id}.{position}"
        taken.add(call_id)
        calls.append({**call, "id": call_id, "name": _plain_name(call["name"], tools, usable)})
    changes: dict[str, Any] = {"id": message_id, "tool_calls": calls}
    return answer.model_copy(update=changes)


def _plain_name(name: str, tools: Collection[str], beside_usable: bool) -> str:
    bare = _PREFIX.sub("", name, count=1)
    if bare in tools:
        return bare
    # A name that no provider takes back would spoil the history; its usable neighbours are worth keeping.
    return _UNNAMED if beside_usable and not _NAME.fullmatch(name) else name
