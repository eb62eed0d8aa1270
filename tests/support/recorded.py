"""A journal in memory that remembers everything and can be loaded again, and who checks what a run left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from research_agent.limits import SOURCES_FAILED
from research_agent.models.history import make_legal
from research_agent.storage.journal import ToolCall, Turn
from tests.support.scripted import MemoryJournal


class RecordedJournal(MemoryJournal):
    """Keeps calls and turns, finds calls again, and counts what `earlier`, the journal of the start before, used."""

    def __init__(self, earlier: RecordedJournal | None = None) -> None:
        super().__init__()
        self.tool_calls: list[ToolCall] = list(earlier.tool_calls) if earlier else []
        self.turns: list[Turn] = list(earlier.turns) if earlier else []
        for call in earlier.model_calls if earlier else []:
            self.model_calls.append(call)
            self.spending.add_model_call(call.input_tokens + call.output_tokens, call.cost_usd or 0.0)
        for made in self.tool_calls:
            self.spending.tool_calls[str(made.message.name)] += 1

    async def find_tool_call(self, step: int, tool_call_id: str, tool: str) -> ToolMessage | None:
        for made in self.tool_calls:
            if (made.step, made.message.tool_call_id) == (step, tool_call_id):
                return made.message
        return None

    async def save_tool_call(self, call: ToolCall) -> None:
        self.tool_calls.append(call)

    async def save_turn(self, turn: Turn) -> None:
        self.turns.append(turn)


def check_ended(state: dict[str, Any]) -> None:
    """It ended as a run must: a brief that stands on the ledger, or an honest word that there is none."""
    assert state["stop_reason"]
    assert state["final_brief"]
    supported = [claim for claim in state["claims"] if claim["verdict"] == "supported"]
    assert bool(supported) == (state["outcome"] in ("complete", "partial"))
    if not supported:
        assert state["outcome"] == ("failed" if state["stop_reason"] == SOURCES_FAILED else "no_evidence")
    if not state.get("citations"):
        assert not supported
        assert "[1]" not in state["final_brief"]


def check_history(messages: Sequence[BaseMessage]) -> None:
    """Every call is answered once, in order, right behind its turn; ids are unique."""
    ids = [message.id for message in messages]
    assert len(ids) == len(set(ids))
    assert all(ids)
    waiting: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert waiting, "an answer without a call"
            assert waiting.pop(0) == message.tool_call_id
        else:
            assert waiting == []
        if isinstance(message, AIMessage):
            waiting = [call["id"] for call in message.tool_calls]
            assert len(waiting) == len(set(waiting))
    assert waiting == []


def check_sent(messages: Sequence[BaseMessage]) -> None:
    """What a model was sent is what every provider takes."""
    assert make_legal(messages) == list(messages)
    check_pairs = [message for message in messages if isinstance(message, AIMessage | ToolMessage)]
    asked = [call["id"] for message in check_pairs if isinstance(message, AIMessage) for call in message.tool_calls]
    answered = [message.tool_call_id for message in check_pairs if isinstance(message, ToolMessage)]
    assert asked == answered
    assert len(asked) == len(set(asked))
