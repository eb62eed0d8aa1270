"""The node `sanitize`: observations become evidence.

It numbers sources, adds what is new to the ledger, counts turns without progress, and shortens what was shown
before. Progress is new evidence only: a source that the ledger does not have, or new passages of one. Errors,
leads, and pages already read are none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from research_agent import prompts
from research_agent.context import ResearchContext, context_of
from research_agent.documents import Citation, Passage, Question
from research_agent.graph.state import ResearchState, merge_citations
from research_agent.limits import Limits, Standing, steps_left, stop_reason
from research_agent.storage.journal import Turn
from research_agent.urls import canonical_url

_AGAIN = 0.5  # of a page's passages: an address that says so much of what it said before is read again, not anew


async def sanitize(state: ResearchState, runtime: Runtime[ResearchContext]) -> dict[str, Any]:
    """Digest the observations of the last turn."""
    context = context_of(state, runtime)
    answer, observations = last_turn(state["messages"])
    before = state.get("citations", [])
    ledger, messages, urls = before, list[AnyMessage](), list[str]()
    questions: list[Question] = []
    readers: dict[int, str] = {}  # number of a source → the call that read it first in this turn
    for observation in observations:
        artifact = observation.artifact if isinstance(observation.artifact, dict) else {}
        questions += artifact.get("questions", [])
        urls += [canonical_url(hit["url"]) for hit in artifact.get("hits", [])]
        if observation.status == "success" and "citation" in artifact:
            ledger, message = _take_page(ledger, artifact["citation"], observation)
            messages.append(message)
            readers.setdefault(len(ledger), observation.tool_call_id)
        elif observation.artifact is not None:
            messages.append(observation.model_copy(update={"artifact": None}))
    # By position: the ledger only grows, and comparing each entry with all is quadratic in a long run.
    changed = [(n, e) for n, e in enumerate(ledger, start=1) if n > len(before) or e != before[n - 1]]
    new_sources = len(ledger) - len(before)
    new_passages = _passage_count(ledger) - _passage_count(before)
    update: dict[str, Any] = {
        "messages": messages,
        "citations": [entry for _, entry in changed],
        "seen_urls": urls,
        "stagnant_turns": 0 if new_passages else state.get("stagnant_turns", 0) + 1,
    }
    if questions:
        update["questions"] = questions
        if not state.get("questions"):  # to plan is no turn in vain
            update["stagnant_turns"] = state.get("stagnant_turns", 0)
    if state.get("replies"):
        update["replies"] = {}  # they were to this turn: where ids are counted anew, another call has the same soon
    standing = context.standing({**state, **update}, identical_turns(state["messages"]))
    update["stop_reason"] = stop_reason(standing, context.limits)
    plan = state.get("questions", [])
    if observations and not update["stop_reason"] and (hint := _hint(standing, context.limits) or _reminder(plan)):
        _append_hint(messages, observations[-1], hint)
    await context.journal.save_turn(
        Turn(
            step=state["step_count"],
            thought=answer.text,
            tool_calls=len(answer.tool_calls),
            new_sources=new_sources,
            new_passages=new_passages,
            stagnant_turns=update["stagnant_turns"],
            stop_reason=update["stop_reason"],
            seconds=context.seconds,
            citations=[(number, entry, readers.get(number, "")) for number, entry in changed],
        )
    )
    return update


def identical_turns(messages: Sequence[AnyMessage]) -> int:
    """How many of the last turns asked for the very same calls, whatever their order."""
    turns = (
        {(call["name"], json.dumps(call["args"], sort_keys=True, default=str)) for call in message.tool_calls}
        for message in reversed(messages)
        if isinstance(message, AIMessage) and message.tool_calls
    )
    last = next(turns, None)
    return 0 if last is None else 1 + sum(1 for _ in takewhile(lambda turn: turn == last, turns))


def _hint(standing: Standing, limits: Limits) -> str:
    """A word to the model while it can still act on it."""
    if standing.identical_turns > 1:
        return prompts.HINT_REPEATING
    left = steps_left(standing, limits)
    if left <= 1:
        return prompts.HINT_LAST
    if left == 2:
        return prompts.HINT_STEPS.format(left=left)
    if standing.stagnant_turns > 1:
        return prompts.HINT_STAGNANT
    return ""


def _reminder(plan: Sequence[Question]) -> str:
    """The questions once more: by the time of the third page a model has forgotten half of them."""
    numbered = " ".join(f"({number}) {question['text']}" for number, question in enumerate(plan, start=1))
    return prompts.HINT_QUESTIONS.format(questions=numbered) if plan else ""


def _append_hint(messages: list[AnyMessage], last: ToolMessage, hint: str) -> None:
    """Put `hint` behind the last observation of the turn: the one place where every provider allows it."""
    for position, message in enumerate(messages):
        if message.id == last.id:
            last = cast(ToolMessage, messages.pop(position))
            break
    text = f"{last.text}\n\n{hint}"
    messages.append(last.model_copy(update={"content": text, "artifact": None}))


def last_turn(messages: Sequence[AnyMessage]) -> tuple[AIMessage, list[ToolMessage]]:
    """The last answer of the model and the observations after it."""
    observations: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message, observations[::-1]
        if isinstance(message, ToolMessage):
            observations.append(message)
    return AIMessage(""), observations[::-1]


def _take_page(ledger: list[Citation], page: Citation, observation: ToolMessage) -> tuple[list[Citation], ToolMessage]:
    """The ledger with this page, and the observation with its [n]: only passages not shown before are in it."""
    page = _as_known(page, ledger)
    known = next((entry for entry in ledger if entry["content_hash"] == page["content_hash"]), None)
    shown = {(p["start"], p["end"]) for p in known["passages"]} if known else set()
    fresh: list[Passage] = [p for p in page["passages"] if (p["start"], p["end"]) not in shown]
    ledger = merge_citations(ledger, [[page]])
    number = next(n for n, e in enumerate(ledger, start=1) if e["content_hash"] == page["content_hash"])
    if fresh:
        text = prompts.render_page(page["title"], page["url"], fresh, number)
    else:
        text = prompts.ALREADY_READ.format(number=number)
    return ledger, observation.model_copy(update={"content": text, "artifact": None})


def _as_known(page: Citation, ledger: Sequence[Citation]) -> Citation:
    """`page` as the source that said all of this before, if there is one: a clock in a footer makes a page another
    text at each read, and a copy elsewhere is no second witness."""
    said = {passage["text"] for passage in page["passages"]}
    for entry in ledger:
        known = said & {passage["text"] for passage in entry["passages"]}
        again = page["url"] == entry["url"] and len(known) >= _AGAIN * len(said)
        if said and (known == said or again):
            return {**page, "content_hash": entry["content_hash"], "passages": entry["passages"]}
    return page


def _passage_count(ledger: Sequence[Citation]) -> int:
    return sum(len(entry["passages"]) for entry in ledger)
