"""Text → passages with offsets, and which of them matter.

Ranking is BM25 (Robertson & Zaragoza, 2009) with the passages of one text as the collection: words that
every passage has say little, words that few have say much.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from research_agent.documents import Passage
from research_agent.evidence.sentences import split_sentences, trim
from research_agent.text import content_words

__all__ = ["PASSAGE_CHARS", "choose_passages", "rank_passages", "split_passages", "split_sentences"]

PASSAGE_CHARS = 500
_K1, _B = 1.2, 0.75
_BLANK = re.compile(r"\n\s*\n")
_LONGEST = 2  # times the size, for a passage that is one sentence
_CUT_LOOK = 80  # a sentence longer than a passage is cut at white space this near


def split_passages(text: str, size: int = PASSAGE_CHARS) -> list[Passage]:
    """Cut `text` into passages of about `size` characters that begin and end at sentence or paragraph ends.

    Each passage is verbatim: ``text[passage["start"]:passage["end"]] == passage["text"]``.
    """
    return [Passage(start=s, end=e, text=text[s:e]) for s, e in _passage_spans(text, size)]


def rank_passages(passages: Sequence[Passage], query: str) -> list[tuple[float, Passage]]:
    """Passages with their BM25 score against `query`, best first; ties keep the order of the text."""
    bags = [Counter(content_words(passage["text"])) for passage in passages]
    mean_length = sum(bag.total() for bag in bags) / max(1, len(bags)) or 1.0
    terms = set(content_words(query))
    rarity = {
        term: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        for term in terms
        if (n := sum(term in bag for bag in bags))
    }
    scored = []
    for bag, passage in zip(bags, passages, strict=True):
        norm = _K1 * (1 - _B + _B * bag.total() / mean_length)
        scored.append((sum(r * bag[t] * (_K1 + 1) / (bag[t] + norm) for t, r in rarity.items()), passage))
    return sorted(scored, key=lambda pair: -pair[0])


def choose_passages(text: str, query: str, budget: int, seen: Sequence[tuple[int, int]] = ()) -> list[Passage]:
    """The passages of `text` that matter most for `query`, within `budget` characters, in text order.

    Passages whose span is in `seen` are left out. The first passage stands in where nothing matches: the
    start of a document says what it is about.
    """
    known = set(seen)
    fresh = [passage for passage in split_passages(text) if (passage["start"], passage["end"]) not in known]
    ranked = rank_passages(fresh, query)
    chosen: list[Passage] = []
    for score, passage in ranked if any(score for score, _ in ranked) else [(1.0, p) for p in fresh]:
        if score <= 0:
            break
        if len(passage["text"]) <= budget:
            chosen.append(passage)
            budget -= len(passage["text"])
    return sorted(chosen, key=lambda passage: passage["start"])


def _passage_spans(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, short neighbours joined, long ones cut at sentence ends (at `size` if there are none)."""
    pending: tuple[int, int] | None = None
    for begin, end in _paragraphs(text):
        if pending and end - pending[0] <= size:
            pending = (pending[0], end)
            continue
        if pending:
            yield pending
        pending = None
        if end - begin <= size:
            pending = (begin, end)
        else:
            yield from _cut_paragraph(text, begin, end, size)
    if pending:
        yield pending


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _BLANK.finditer(text, begin):
        if span := _nonempty(text, begin, match.start()):
            yield span
        begin = match.end()
    if span := _nonempty(text, begin, len(text)):
        yield span


def _cut_paragraph(text: str, begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    pending: tuple[int, int] | None = None
    for start, stop in split_sentences(text, begin, end):
        if pending and stop - pending[0] <= size:
            pending = (pending[0], stop)
            continue
        if pending:
            yield pending
        while stop - start > _LONGEST * size:  # a whole sentence is worth a long passage
            cut = _cut_point(text, start, start + size)
            yield trim(text, start, cut)
            start = cut
        pending = trim(text, start, stop)
    if pending and pending[0] < pending[1]:
        yield pending


def _cut_point(text: str, start: int, end: int) -> int:
    """The last white space before `end`, if it is near; else `end`."""
    for position in range(end, max(start + 1, end - _CUT_LOOK), -1):
        if text[position].isspace():
            return position
    return end


def _nonempty(text: str, start: int, end: int) -> tuple[int, int] | None:
    span = trim(text, start, end)
    return span if span[0] < span[1] else None
