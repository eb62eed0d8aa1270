"""What a person who watches a run wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from research_agent.urls import short_address


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that happened, in one line."""

    kind: Literal["start", "waiting", "step", "problem", "note"]
    text: str
    step: int = 0
    node: str = ""
    sources: int = 0
    usd: float = 0.0  # spent so far


Watcher = Callable[[Progress], None]


def describe_update(node: str, update: dict[str, Any]) -> str:
    """What a node just did, in a few words."""
    match node:
        case "reason":
            calls = [call for message in update.get("messages", []) for call in getattr(message, "tool_calls", [])]
            return "; ".join(_describe_call(call) for call in calls) or "nothing more to look for"
        case "tools":
            messages = update.get("messages", [])
            failed = sum(message.status == "error" for message in messages)
            return f"{len(messages)} call{'' if len(messages) == 1 else 's'}{f', {failed} failed' if failed else ''}"
        case "sanitize":
            stuck = update.get("stagnant_turns", 0)
            news = len(update.get("citations", []))
            return f"nothing new ({stuck} in a row)" if stuck else f"{news} source{'' if news == 1 else 's'} with news"
        case _:
            claims = update.get("claims", [])
            kept = sum(claim["verdict"] == "supported" for claim in claims)
            return f"{kept} of {len(claims)} sentences stand on a passage"


def _describe_call(call: dict[str, Any]) -> str:
    args = call["args"]
    if url := args.get("url"):
        return f"read {short_address(str(url))[:80]}"
    if query := args.get("query"):
        return f'search "{" ".join(str(query).split())[:80]}"'
    return str(call["name"])
