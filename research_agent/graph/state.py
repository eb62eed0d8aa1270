"""The state of a run: what the next step needs. What happened is in the journal.

Only plain JSON types and LangChain messages go in, so that the strict serializer can read every checkpoint.
The three growing lists are `DeltaChannel`s: a checkpoint stores what a step added, not the whole list again,
so a thread grows linearly with its steps (facts: plain reducers stored 1 KB x n²).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Annotated, Any, Protocol, TypedDict, cast

from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.runtime import Runtime

from research_agent.context import ResearchContext
from research_agent.documents import Citation, Claim, Question

# A full copy each so many updates bounds the replay when a thread is loaded; runs are far shorter.
_SNAPSHOT_EVERY = 1000
_MOST_QUESTIONS = 8


def _flat(writes: Sequence[Any]) -> list[Any]:
    return [item for write in writes for item in (write if isinstance(write, list) else [write])]


def append_messages(history: list[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """Append by id; a message whose id is there already takes the old one's place."""
    by_id: dict[str, AnyMessage] = {cast(str, message.id): message for message in history or []}
    for message in _flat(writes):
        by_id[message.id] = message
    return list(by_id.values())


def merge_citations(ledger: list[Citation] | None, writes: Sequence[Any]) -> list[Citation]:
    """Append new sources; passages of a source that is there already join it. Positions never change."""
    merged = {citation["content_hash"]: citation for citation in ledger or []}
    for citation in _flat(writes):
        known = merged.get(citation["content_hash"])
        merged[citation["content_hash"]] = _with_passages(known, citation) if known else citation
    return list(merged.values())


def _with_passages(known: Citation, more: Citation) -> Citation:
    passages = {(passage["start"], passage["end"]): passage for passage in known["passages"]}
    passages |= {(passage["start"], passage["end"]): passage for passage in more["passages"]}
    also_at = [url for url in (more["url"], *more["also_at"]) if url not in (known["url"], *known["also_at"])]
    return {
        **known,
        "also_at": known["also_at"] + also_at,
        "passages": [passages[span] for span in sorted(passages)],
    }


def append_urls(urls: list[str] | None, writes: Sequence[Any]) -> list[str]:
    """Append what is not there yet, in order."""
    return list(dict.fromkeys([*(urls or []), *_flat(writes)]))


def append_questions(plan: list[Question] | None, more: list[Question]) -> list[Question]:
    """The questions of the topic in the order in which they were named; a second plan adds what is new in it."""
    known = {question["text"] for question in plan or []}
    return [*(plan or []), *(question for question in more if question["text"] not in known)][:_MOST_QUESTIONS]


class ResearchState(TypedDict, total=False):
    """See `docs/architecture.md`. `stop_reason` is "" while running; `outcome` is set by finalize alone."""

    topic: str
    messages: Annotated[list[AnyMessage], DeltaChannel(append_messages, snapshot_frequency=_SNAPSHOT_EVERY)]
    citations: Annotated[list[Citation], DeltaChannel(merge_citations, snapshot_frequency=_SNAPSHOT_EVERY)]
    seen_urls: Annotated[list[str], DeltaChannel(append_urls, snapshot_frequency=_SNAPSHOT_EVERY)]
    questions: Annotated[list[Question], append_questions]
    replies: dict[str, str]  # of a person to calls of the last turn, by call id
    step_count: int
    max_steps: int
    stagnant_turns: int
    stop_reason: str
    outcome: str
    writer: str
    claims: list[Claim]
    open: list[str]
    checked: str
    rewritten: bool
    final_brief: str


# What lets a thread go on behind `sanitize`, whatever had ended it: the next node is `reason`.
GOING_ON: ResearchState = {
    "stop_reason": "",
    "outcome": "",
    "final_brief": "",
    "claims": [],
    "open": [],
    "stagnant_turns": 0,
}


class Node(Protocol):
    """A node of the graph: from the state to what it adds or changes."""

    def __call__(self, state: ResearchState, runtime: Runtime[ResearchContext]) -> Awaitable[dict[str, Any]]: ...
