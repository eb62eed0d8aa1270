"""Answers of every class that Gemini's API can give, small and our own; and what the shared 46 are."""

from __future__ import annotations

from typing import Any

from tests.support.fake_gemini import SIGNATURE, candidate

SEARCH = {"functionCall": {"name": "search_web", "args": {"query": "q"}}}


def bare(finish: str, **more: Any) -> dict[str, Any]:
    """An answer with a finish reason and no content."""
    return {"candidates": [{"index": 0, "finishReason": finish, **more}], "modelVersion": "gemini-3.5-flash-lite"}


# name → class, body
OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "text": ("text", candidate({"text": "Hello."})),
    "text with signature": ("text", candidate({"text": "Hello.", "thoughtSignature": SIGNATURE})),
    "thinking": ("text", candidate({"text": "plan", "thought": True}, {"text": "Hello."})),
    "future finish reason": ("text", candidate({"text": "Hello."}, finish="SOMETHING_NEW")),
    "call": ("tool_calls", candidate({"text": "Let me look."}, {**SEARCH, "thoughtSignature": SIGNATURE})),
    "parallel calls": ("tool_calls", candidate(SEARCH, SEARCH)),
    "prefixed name": (
        "tool_calls",
        candidate({"functionCall": {"name": "default_api.search_web", "args": {"query": "q"}}}),
    ),
    "wrong types": ("tool_calls", candidate({"functionCall": {"name": "search_web", "args": {"query": 42}}})),
    "no arguments": ("tool_calls", candidate({"functionCall": {"name": "search_web", "args": None}})),
    "unknown tool": ("unknown_tool", candidate({"functionCall": {"name": "open_browser", "args": {}}})),
    "undeclared call": (
        "unknown_tool",
        candidate({"functionCall": {"name": "run_code", "args": {}}}, finish="UNEXPECTED_TOOL_CALL"),
    ),
    "no name": ("bad_call", candidate({"functionCall": {"name": "", "args": {}}})),
    "malformed call": ("bad_call", bare("MALFORMED_FUNCTION_CALL", finishMessage="print(default_api…")),
    "no signature": ("bad_call", bare("MISSING_THOUGHT_SIGNATURE")),
    "cut off": ("truncated", candidate({"text": "Half an ans"}, finish="MAX_TOKENS")),
    "cut off in thought": ("truncated", bare("MAX_TOKENS")),
    "cut off in call": ("truncated", candidate(SEARCH, finish="MAX_TOKENS")),
    "safety": ("refused", bare("SAFETY", content={})),
    "recitation": ("refused", bare("RECITATION")),
    "blocked": ("prompt_blocked", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
    "empty": ("empty", bare("STOP", content={"role": "model"})),
    "empty part": ("empty", candidate({"text": ""})),
    "no candidates": ("incomplete", {"candidates": []}),
    "nothing": ("incomplete", {}),
    "error with status 200": ("incomplete", {"error": {"code": 500, "message": "oops", "status": "INTERNAL"}}),
    "arguments as text": ("error", candidate({"functionCall": {"name": "search_web", "args": '{"query": 1}'}})),
}

_SHARED_OTHERS = {
    "tool_calls": "text+functionCall|text+fc 3.x sig|parallel fc|parallel fc 3.x ids|thinking + fc|finish FUNCTION_CALL"
    "|default_api. prefix|wrong types|float ints|args null|args missing",
    "unknown_tool": "unknown tool",
    "bad_call": "MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE"
    "|name missing|name empty",
    "truncated": "MAX_TOKENS no parts|MAX_TOKENS partial|MAX_TOKENS partial fc",
    "refused": "SAFETY|RECITATION",
    "prompt_blocked": "promptFeedback block|promptFeedback SAFETY",
    "empty": "STOP empty content|STOP parts ['']|no content key",
    "incomplete": "empty candidates []|no candidates key",
    "error": "args string",
}
# The class of each shared shape that is not plain text.
SHARED_CLASSES = {name: kind for kind, names in _SHARED_OTHERS.items() for name in names.split("|")}
