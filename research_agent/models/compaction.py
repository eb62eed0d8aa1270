"""Keep the prompt from growing with every step.

A research loop is one question followed by turns: calls of the model and what they brought. What was digested is
in the ledger, so old turns can shrink to a line each without losing evidence. It happens in rare big steps: the
prompt grows to `max_tokens`, then drops to about a third of it. In between each prompt is the one before plus the
new turn, so that the prompt caches of providers keep working. A pure function of the history: the state keeps
everything, and a resumed run compacts in the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from research_agent import prompts

# Shares of `max_tokens`.
_AFTER = 1 / 3  # what turns that stay whole may fill
_SUMMARY = 1 / 6  # what lines and excerpts of the others may fill
_CHARS_PER_TOKEN = 4
_EXCERPT_CHARS = 240

Turn = list[BaseMessage]


def compact(messages: Sequence[BaseMessage], max_tokens: int | None) -> list[BaseMessage]:
    """`messages` with old turns in short where the whole is longer than `max_tokens` (estimated).

    System and question stay, the newest turn stays whole. Without a limit nothing changes.
    """
    head, turns = _split(messages)
    if max_tokens is None or not turns:
        return list(messages)
    first_whole = _first_whole(head, turns, max_tokens)
    if not first_whole:
        return list(messages)
    return _shortened(head, turns, first_whole, max_tokens)


def withhold(messages: Sequence[BaseMessage], max_tokens: int) -> list[BaseMessage]:
    """`messages` with every turn in short and nothing that pages said: for a provider that won't take the whole."""
    head, turns = _split(messages)
    return _shortened(head, turns, len(turns), max_tokens, excerpt_chars=0) if turns else list(messages)


def _split(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[Turn]]:
    """What stands before the first answer of the model, and the turns: an answer and what follows it."""
    head: list[BaseMessage] = []
    turns: list[Turn] = []
    for message in messages:
        if isinstance(message, AIMessage):
            turns.append([message])
        else:
            (turns[-1] if turns else head).append(message)
    return head, turns


def _first_whole(head: Sequence[BaseMessage], turns: Sequence[Turn], max_tokens: int) -> int:
    """Index of the first turn that stays whole.

    Replays how the history grew, so that the result stays the same until the limit is reached again.
    """
    sizes = [count_tokens_approximately(turn) for turn in turns]
    base, summary = count_tokens_approximately(head), 0
    first = 0
    for end in range(1, len(turns) + 1):
        if base + summary + sum(sizes[first:end]) <= max_tokens:
            continue
        summary = int(max_tokens * _SUMMARY)
        while first < end - 1 and sum(sizes[first:end]) > max_tokens * _AFTER:
            first += 1
    return first


def _shortened(
    head: Sequence[BaseMessage],
    turns: Sequence[Turn],
    first_whole: int,
    max_tokens: int,
    excerpt_chars: int = _EXCERPT_CHARS,
) -> list[BaseMessage]:
    summary = _summary(turns[:first_whole], int(max_tokens * _SUMMARY * _CHARS_PER_TOKEN), excerpt_chars)
    system = [message for message in head if isinstance(message, SystemMessage)]
    asked = [message.text for message in head if not isinstance(message, SystemMessage)]
    # One user turn, not two: some chat templates refuse two in a row.
    question = HumanMessage("\n\n".join([*asked, summary]))
    return [*system, question, *(message for turn in turns[first_whole:] for message in turn)]


def _summary(turns: Sequence[Turn], budget: int, excerpt_chars: int) -> str:
    """One line for each turn and an excerpt of each page within `budget` characters; what is oldest goes first."""
    lines = [line for number, turn in enumerate(turns, start=1) for line in _lines(number, turn)]
    pages = [excerpt for turn in turns for excerpt in _excerpts(turn, excerpt_chars)]
    kept_pages = _newest(pages, budget * 2 // 3)
    kept_lines = _newest(lines, budget - sum(map(len, kept_pages)))
    return prompts.earlier(kept_lines, len(lines) - len(kept_lines), kept_pages, len(pages) - len(kept_pages))


def _lines(number: int, turn: Turn) -> Iterator[str]:
    answer = turn[0]
    assert isinstance(answer, AIMessage)  # noqa: S101 - a turn begins with one
    results = {message.tool_call_id: message for message in turn if isinstance(message, ToolMessage)}
    done = [prompts.call_line(call["name"], call["args"], results.get(call["id"] or "")) for call in answer.tool_calls]
    if done:
        yield f"{number}. " + "; ".join(done)


def _excerpts(turn: Turn, chars: int) -> Iterator[str]:
    for message in turn:
        page = prompts.read_page(message.text) if isinstance(message, ToolMessage) else None
        if page and page.number:
            yield prompts.excerpt(page, chars)


def _newest(texts: Sequence[str], budget: int) -> list[str]:
    kept: list[str] = []
    for text in reversed(texts):
        budget -= len(text) + 1
        if budget < 0:
            break
        kept.append(text)
    return kept[::-1]
