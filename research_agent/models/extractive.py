"""A chat model without a language model: it researches and writes by counting words.

It does what the loop asks of any model, from the messages alone: it searches, reads the most promising hits
side by side, looks at which words of the topic nothing covers yet, searches again or stops; as writer it picks
sentences from the evidence. Deterministic: the same messages give the same answer. It says nothing of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from research_agent import prompts
from research_agent.evidence.selection import select_sentences
from research_agent.search.base import SearchHit
from research_agent.text import content_words

READ_AT_ONCE = 3
MAX_SOURCES = 8
_MAX_QUERIES = 8
_FACET = re.compile(r"\s+(?:and|or|vs\.?|versus|und|oder|y|et)\s+|[,;:?!/()]+\s*", re.IGNORECASE)
_NAME = re.compile(r"\b[^\W\d_a-z][\w’'-]*(?:[ ](?:of|the|de|von|van|la|and)?[ ]?[^\W\d_a-z][\w’'-]*)*")


@dataclass
class _Notes:
    """What the messages so far say."""

    topic: str = ""
    queries: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)  # addresses asked for
    hits: dict[str, tuple[float, SearchHit]] = field(default_factory=dict)  # by URL, with merged rank
    pages: list[prompts.ReadPage] = field(default_factory=list)
    turns: int = 0


class ExtractiveChatModel(BaseChatModel):
    """The built-in model: needs no key, no network, costs nothing."""

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer `tools`; only ``search_web`` and ``fetch_url`` are ever called."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = {tool["function"]["name"] for tool in kwargs.get("tools") or []}
        evidence = [m.text for m in messages if isinstance(m, HumanMessage) and "<evidence>" in m.text]
        if evidence:
            answer = AIMessage(write_brief(prompts.read_topic(evidence[-1]), list(prompts.read_evidence(evidence[-1]))))
        elif {"search_web", "fetch_url"} <= tools and kwargs.get("tool_choice") != "none":
            answer = _next_turn(_take_notes(messages))
        else:
            answer = AIMessage("DONE")
        answer.response_metadata = {"finish_reason": "stop", "model_name": "extractive"}
        return ChatResult(generations=[ChatGeneration(message=answer)])


def write_brief(topic: str, evidence: Sequence[tuple[int, Sequence[Any]]]) -> str:
    """Bullets of sentences chosen from `evidence` (source number, passages), each with its [n]."""
    return "\n".join(f"- {sentence.text} [{sentence.source}]" for sentence in select_sentences(topic, evidence))


def _take_notes(messages: Sequence[BaseMessage]) -> _Notes:
    notes = _Notes()
    for message in messages:
        if isinstance(message, HumanMessage) and not notes.topic:
            notes.topic = prompts.read_topic(message.text)
        elif isinstance(message, AIMessage):
            notes.turns += 1
            for call in message.tool_calls:
                if call["name"] == "search_web":
                    notes.queries.append(str(call["args"].get("query", "")))
                else:
                    notes.tried.add(str(call["args"].get("url", "")))
        elif isinstance(message, ToolMessage):
            for rank, hit in enumerate(prompts.read_hits(message.text)):
                score, _ = notes.hits.get(hit.url, (0.0, hit))
                notes.hits[hit.url] = (score + 1 / (2 + rank), hit)  # reciprocal rank fusion
            if page := prompts.read_page(message.text):
                notes.pages.append(page)
    return notes


def _next_turn(notes: _Notes) -> AIMessage:
    if not notes.queries:
        return _calls(notes, [("search_web", {"query": query}) for query in _first_queries(notes.topic)])
    enough = len(notes.pages) >= MAX_SOURCES
    if not enough and (urls := _most_promising(notes)):
        return _calls(notes, [("fetch_url", {"url": url, "focus": ""}) for url in urls])
    if not enough and len(notes.queries) < _MAX_QUERIES and (query := _next_query(notes)):
        return _calls(notes, [("search_web", {"query": query})])
    return AIMessage("DONE")


def _first_queries(topic: str) -> list[str]:
    """The topic, and its parts where it names several things."""
    facets = [facet.strip() for facet in _FACET.split(topic)]
    parts = [facet for facet in facets if len(set(content_words(facet))) >= 2]
    return list(dict.fromkeys([topic, *(parts if len(parts) > 1 else [])]))[:3]


def _most_promising(notes: _Notes) -> list[str]:
    """Addresses of unread hits of the last search, best first; hits that cover what is still open come first."""
    return [url for url in notes.hits if url not in notes.tried][:READ_AT_ONCE]


def _next_query(notes: _Notes) -> str:
    return ""


def _calls(notes: _Notes, calls: Sequence[tuple[str, dict[str, str]]]) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            ToolCall(name=name, args=args, id=f"call-{notes.turns + 1}-{position}", type="tool_call")
            for position, (name, args) in enumerate(calls, start=1)
        ],
    )
