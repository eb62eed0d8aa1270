"""Does a passage support a sentence? Decided by program, without a model.

The best run of up to three neighbouring sentences of the cited passages is looked for. It supports the claim
when it holds enough of the claim's content words (rare ones count more), all its numbers and names, and
negates as the claim does. Strict on purpose: a true sentence lost is better than a false one kept.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from research_agent.evidence.passages import split_sentences
from research_agent.state import Passage
from research_agent.text import content_words

THRESHOLD = 0.7  # share of the claim's word weight that the quote must hold
_WINDOW = 3
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w-]+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|kein\w*|nicht|nie|ne|pas|jamais|không|chưa)\b|n't\b|n’t\b|ない|不|没",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`quote` is ``text[start:end]`` of source `source` (0 and empty when there is nothing close)."""

    supported: bool
    reason: str
    score: float
    source: int = 0
    start: int = 0
    end: int = 0
    quote: str = ""


def check_support(claim: str, evidence: Sequence[tuple[int, Sequence[Passage]]]) -> Verdict:
    """The best verdict on `claim` over the cited `evidence`: pairs of source number and its passages."""
    passages = [(number, passage) for number, group in evidence for passage in group]
    if not passages:
        return Verdict(False, "it cites no source of the ledger", 0.0)
    weights = _word_weights(claim, [passage["text"] for _, passage in passages])
    if not weights:
        return Verdict(False, "it has no content that could be checked", 0.0)
    return max(
        (
            _judge(claim, weights, number, passage, span)
            for number, passage in passages
            for span in _windows(passage["text"])
        ),
        # The shortest of equally good quotes; the first in the ledger of equally long ones.
        key=lambda verdict: (verdict.supported, verdict.score, -len(verdict.quote), -verdict.source, -verdict.start),
    )


def _judge(claim: str, weights: dict[str, float], number: int, passage: Passage, span: tuple[int, int]) -> Verdict:
    quote = passage["text"][span[0] : span[1]]
    held = set(content_words(quote))
    score = sum(weight for word, weight in weights.items() if word in held) / sum(weights.values())
    reason = ""
    if score < THRESHOLD:
        reason = "the cited passages do not say this"
    elif missing := sorted(_particulars(claim, quote)):
        reason = f"{', '.join(missing)} does not stand in the passage"
    elif bool(_NEGATION.search(claim)) != bool(_NEGATION.search(quote)):
        reason = "one of claim and passage negates, the other does not"
    start = passage["start"] + span[0]
    return Verdict(not reason, reason, round(score, 4), number, start, start + len(quote), quote)


def _particulars(claim: str, quote: str) -> set[str]:
    """Numbers and names of the claim that the quote does not hold."""
    names = {name for name in _NAME.findall(claim) if name.casefold() not in quote.casefold()}
    return names | (set(_NUMBER.findall(claim)) - set(_NUMBER.findall(quote)))


def _word_weights(claim: str, texts: Sequence[str]) -> dict[str, float]:
    """Each content word of the claim with its rarity among the passages; unknown ones weigh most."""
    frequency = Counter(word for text in texts for word in set(content_words(text)))
    return {
        word: math.log(1 + (len(texts) + 1) / (frequency[word] + 0.5)) for word in dict.fromkeys(content_words(claim))
    }


def _windows(text: str) -> Iterator[tuple[int, int]]:
    spans = split_sentences(text)
    for first in range(len(spans)):
        for last in range(first, min(first + _WINDOW, len(spans))):
            yield spans[first][0], spans[last][1]
