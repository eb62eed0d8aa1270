"""The tool `ask_human`, and which calls a person must approve.

The question is put by `reason`, through LangGraph's `interrupt`, before any call of the turn is carried out: so all
questions of a turn are asked together, and none of its calls runs twice. The replies reach the calls by the state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from research_agent import prompts
from research_agent.errors import SourceError
from research_agent.text import clean

NAME = "ask_human"
_YES = frozenset({"y", "yes", "ok", "okay", "approve", "approved", "ja", "oui", "si", "sí", "はい", "是"})


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked about one call: to answer it (`ask_human`), or to approve it."""

    call_id: str
    tool: str
    text: str


def make_ask_human() -> BaseTool:
    """The tool. It is only ever carried out when nobody is there to answer."""

    @tool(parse_docstring=True)
    async def ask_human(question: str) -> str:
        """Ask the person who wants the brief, when the topic can be understood in several ways that differ much.

        Not for anything that can be found by reading.

        Args:
            question: one short question that can be answered in a sentence.
        """
        raise SourceError(prompts.NOBODY_THERE, "nobody_there")

    return ask_human


def questions_in(answer: AIMessage, approve: Collection[str]) -> list[Question]:
    """What a person must say before the calls of `answer` are carried out."""
    questions = []
    for call in answer.tool_calls:
        if call["name"] == NAME:
            questions.append(Question(call["id"] or "", NAME, clean(str(call["args"].get("question", "")))[:1000]))
        elif call["name"] in approve:
            args = ", ".join(f"{name}={value!r}" for name, value in call["args"].items())
            text = f"May {call['name']}({clean(args)[:1000]}) be carried out?"
            questions.append(Question(call["id"] or "", call["name"], text))
    return questions


def as_payload(questions: Sequence[Question]) -> list[dict[str, str]]:
    """Plain data for the checkpoint."""
    return [asdict(question) for question in questions]


def from_payload(payload: Any) -> list[Question]:
    """The questions that `as_payload` wrote."""
    return [Question(**question) for question in payload]


def replies_to(questions: Sequence[Question], reply: Any) -> dict[str, str]:
    """Reply by call id: one text for all, or a text for each."""
    if isinstance(reply, Mapping):
        return {question.call_id: clean(str(reply.get(question.call_id, ""))) for question in questions}
    return {question.call_id: clean(str(reply)) for question in questions}


def observation_of(call: Mapping[str, Any], reply: str) -> ToolMessage | None:
    """What a reply makes of its call: the answer, a refusal, or nothing, so that the call is carried out."""
    if call["name"] == NAME:
        return ToolMessage(reply or prompts.NOBODY_THERE, tool_call_id=call["id"], name=NAME)
    if reply.strip().casefold().rstrip(".!") in _YES:
        return None
    text = prompts.REFUSED_BY_PERSON.format(reason=f": {reply}" if reply else "")
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
