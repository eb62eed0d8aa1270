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
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from research_agent import prompts
from research_agent.documents import SearchHit
from research_agent.evidence.passages import split_sentences
from research_agent.evidence.selection import DEFAULT_BULLETS, select_sentences
from research_agent.text import content_words

READ_AT_ONCE = 3
MAX_SOURCES = 8
_QUERIES_AT_ONCE = 3
# What a hit is worth beside its merged rank (0 to about 1.5): its title stands in the topic, a read page mentions
# the title, it has words nothing read has. benchmarks/recall.py hardly moves when they are halved or doubled.
_NAMED, _LINKED, _GAIN = 0.5, 1.0, 0.3
_FACET = re.compile(r"\s+(?:and|or|vs\.?|versus|und|oder|y|et)\s+|[,;:?!/()]+\s*", re.IGNORECASE)
_ACRONYM = 4  # letters: "SQL" or "URLs" as a query finds everything
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
    searched_last: bool = False
    read_last: int = 0  # pages that the last turn brought


class ExtractiveChatModel(BaseChatModel):
    """The built-in model: needs no key, no network, costs nothing."""

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {"ls_model_name": "extractive", **super()._get_ls_params(stop, **kwargs)}

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
        if {"search_web", "fetch_url"} <= tools and kwargs.get("tool_choice") != "none":
            answer = _next_turn(_take_notes(messages))
        else:
            answer = AIMessage("DONE")
        answer.response_metadata = {"finish_reason": "stop", "model_name": "extractive"}
        return ChatResult(generations=[ChatGeneration(message=answer)])


def write_brief(topic: str, evidence: Sequence[tuple[int, Sequence[Any]]], most: int = DEFAULT_BULLETS) -> str:
    """At most so many bullets of sentences chosen from `evidence` (source number, passages), each with its [n]."""
    chosen = select_sentences(topic, evidence, most)
    return "\n".join(f"- {sentence.text} [{sentence.source}]" for sentence in chosen)


def _take_notes(messages: Sequence[BaseMessage]) -> _Notes:
    notes = _Notes()
    for message in messages:
        if isinstance(message, HumanMessage) and not notes.topic:
            notes.topic = prompts.read_topic(message.text)
        elif isinstance(message, AIMessage):
            notes.turns += 1
            notes.read_last = 0
            notes.searched_last = any(call["name"] == "search_web" for call in message.tool_calls)
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
                notes.read_last += 1
    return notes


def _next_turn(notes: _Notes) -> AIMessage:
    if not notes.queries:
        return _calls(notes, "search_web", "query", _first_queries(notes.topic))
    if len(notes.pages) >= MAX_SOURCES:
        return AIMessage("DONE")
    urls, queries = _most_promising(notes), _next_queries(notes)
    # After a search, and after pages that could not be read, there are better leads than another search.
    if urls and (notes.searched_last or not notes.read_last or not queries):
        return _calls(notes, "fetch_url", "url", urls)
    if queries and not notes.searched_last:
        return _calls(notes, "search_web", "query", queries)
    return AIMessage("DONE")


def _first_queries(topic: str) -> list[str]:
    """The topic, and its parts where it names several things."""
    facets = [facet.strip() for facet in _FACET.split(topic)]
    parts = [facet for facet in facets if len(set(content_words(facet))) >= 2]
    return list(dict.fromkeys([topic, *(parts if len(parts) > 1 else [])]))[:_QUERIES_AT_ONCE]


def _next_queries(notes: _Notes) -> list[str]:
    """What to look for next: names that read pages mention beside words of the topic, with what is still open."""
    missing = " ".join(_open_words(notes))
    queries = [f"{name} {missing}".strip() for name in _mentioned_names(notes)]
    if not queries and missing:
        queries = [missing]
    return [query for query in queries if query not in notes.queries][:_QUERIES_AT_ONCE]


def _open_words(notes: _Notes) -> list[str]:
    """Words of the topic, as it spells them, that no read page has."""
    covered = {word for page in notes.pages for word in content_words(page.text)}
    return [
        token.strip(".,;:!?()[]\"'“”")
        for token in notes.topic.split()
        if (words := content_words(token)) and not covered & set(words)
    ]


def _mentioned_names(notes: _Notes) -> list[str]:
    """Names in read pages that the topic does not give and no page read is about, the best connected first."""
    topic = set(content_words(notes.topic))
    about = {word for page in notes.pages for word in content_words(page.title)} | topic
    scores: dict[str, float] = {}
    for page in notes.pages:
        for start, end in split_sentences(page.text):
            sentence = page.text[start:end]
            shared = len(topic & set(content_words(sentence))) / max(1, len(topic))
            for match in _NAME.finditer(sentence):
                words = set(content_words(match[0]))
                if match.start() and len(match[0]) > _ACRONYM and words and not words <= about:
                    scores[match[0]] = scores.get(match[0], 0.0) + shared
    return sorted((name for name in scores if scores[name] > 0), key=lambda name: -scores[name])


def _most_promising(notes: _Notes) -> list[str]:
    """Addresses of unread hits: well ranked, about something the topic or a read page names, or about what is open."""
    still_open = {word for token in _open_words(notes) for word in content_words(token)}
    topic = set(content_words(notes.topic))
    mentioned = " ".join(page.text for page in notes.pages).casefold()

    def promise(url: str) -> float:
        rank, hit = notes.hits[url]
        title = set(content_words(hit.title))
        named = bool(title) and title <= topic
        linked = len(hit.title) > 3 and hit.title.casefold() in mentioned
        gain = len(still_open & set(content_words(f"{hit.title} {hit.snippet}"))) / max(1, len(still_open))
        return rank + _NAMED * named + _LINKED * linked + _GAIN * gain

    unread = [url for url in notes.hits if url not in notes.tried]
    return sorted(unread, key=promise, reverse=True)[:READ_AT_ONCE]


def _calls(notes: _Notes, tool: str, argument: str, values: Sequence[str]) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            ToolCall(name=tool, args={argument: value}, id=f"call-{notes.turns + 1}-{position}", type="tool_call")
            for position, value in enumerate(values, start=1)
        ],
    )
