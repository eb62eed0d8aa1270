"""A brief without a language model: the sentences of the evidence that say most about the topic.

Greedy choice by marginal relevance (Carbonell & Goldstein, 1998, "The use of MMR"): each sentence counts for
the words of the topic that earlier ones have not covered, less what it repeats of them. The same evidence
gives the same sentences.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from research_agent.documents import Passage
from research_agent.evidence.check.instructions import orders_in
from research_agent.evidence.passages import split_sentences
from research_agent.text import content_words

DEFAULT_BULLETS = 12
_REPETITION = 0.6  # weight of overlap with chosen sentences against relevance, both 0 to 1
_COVERED = 0.55  # what a topic word still counts after each sentence that has it
_MIN_CHARS, _MAX_CHARS = 20, 400  # letters of other scripts say more each
_ON_TOPIC = (
    0.5  # of the topic's words more than this share must occur at all: else the evidence is about something else
)
_MIN_SHARE = 0.2  # of the weight of these words one sentence must have so much
_MIN_OF_BEST = 0.3  # and of what the best sentence has: one common word of the topic is met by chance
_SAME = 0.6  # overlap from which two sentences say the same
_MARKUP = re.compile(r"^\s*(?:[#|>*+•-]|\d+[.)]\s|```)|[|{}<>]|https?://|\]\(|[\[【]")
_ITEM = re.compile(r"^(?:[*+•-]|\d{1,2}[.)])\s+")  # the mark of a list item is no part of its sentence
_PROSE_END = re.compile(r"[.!?。！？][\"'”’»」』)]*$")
# A sentence that opens so leans on the one before it and cannot stand alone.
_LEANING = re.compile(
    r"^(?:this|that|these|those|it|its|they|them|their|he|she|his|her|such|here|there|however|but|and|so|then|thus|"
    r"therefore|otherwise|instead|also|both|another|the (?:same|latter|former))\b",
    re.IGNORECASE,
)
# A request to somebody, the plainest form of prompt injection, states nothing.
_REQUEST = re.compile(
    r"^(?:please\s+)?(?:advise|analy[sz]e|brainstorm|compose|describe|draft|explain|forecast|generate|give|guide|help|list"
    r"|outline|predict|provide|recommend|rewrite|share|show|suggest|summari[sz]e|teach|tell|translate|write)\s+"
    r"(?!(?:is|are|was|were|has|have|had|may|can|of|in)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of source `source`, white space folded."""

    text: str
    source: int
    words: frozenset[str]


def select_sentences(
    topic: str, evidence: Sequence[tuple[int, Sequence[Passage]]], count: int = DEFAULT_BULLETS
) -> list[Sentence]:
    """At most `count` sentences for `topic` from `evidence` (source number, passages), best first.

    Fewer, or none, when fewer sentences have to do with the topic.
    """
    candidates = _candidates(evidence, latin=_is_latin(topic))
    frequency = Counter(word for sentence in candidates for word in sentence.words)
    asked = sorted(set(content_words(topic)))  # sorted: a sum of floats depends on their order
    weights = {word: math.log(1 + len(candidates) / frequency[word]) for word in asked if frequency[word]}
    if len(weights) <= _ON_TOPIC * len(asked):
        return []
    hits = [sum(weights.get(word, 0.0) for word in sorted(sentence.words)) for sentence in candidates]
    bar = max(_MIN_SHARE * sum(weights.values()), _MIN_OF_BEST * max(hits))
    candidates = [sentence for sentence, hit in zip(candidates, hits, strict=True) if hit >= bar]
    standing = _standing(candidates, weights)
    chosen: list[Sentence] = []
    used: Counter[int] = Counter()
    while candidates and len(chosen) < count and weights:
        total = sum(weights.values())
        gains = [
            _gain(sentence, weights, total, chosen, used[sentence.source]) * standing[sentence.source]
            for sentence in candidates
        ]
        best = max(range(len(candidates)), key=gains.__getitem__)  # the first of equals: ledger order
        if gains[best] <= 0:
            break
        pick = candidates.pop(best)
        chosen.append(pick)
        used[pick.source] += 1
        weights = {word: weight * (_COVERED if word in pick.words else 1) for word, weight in weights.items()}
        candidates = [sentence for sentence in candidates if _overlap(sentence, pick) < _SAME]
    return chosen


def _gain(sentence: Sentence, weights: dict[str, float], total: float, chosen: list[Sentence], used: int) -> float:
    hit = sum(weight for word, weight in weights.items() if word in sentence.words)
    if not hit:
        return 0.0
    repetition = max((_overlap(sentence, other) for other in chosen), default=0.0)
    relevance = hit / total / (1 + abs(math.log(len(sentence.words) / 14)) / 2)  # around 14 content words reads best
    return (relevance - _REPETITION * repetition * relevance) / (1 + 0.35 * used)


def _standing(candidates: Sequence[Sentence], weights: Mapping[str, float]) -> dict[int, float]:
    """How much each source is about the topic, 0.2 to 1: by the topic's words in what it has to offer.

    A single sentence can meet a word by chance; a page that comes back to it is about it.
    """
    sums: dict[int, list[float]] = {}
    for sentence in candidates:
        hit = sum(weight for word, weight in weights.items() if word in sentence.words)
        sums.setdefault(sentence.source, []).append(hit)
    # Each page is measured by its three best sentences: long pages must not lose by what else they say.
    best = {source: sum(sorted(hits)[-3:]) / 3 for source, hits in sums.items()}
    most = max(best.values(), default=1.0) or 1.0
    return {source: 0.2 + 0.8 * (value / most) ** 2 for source, value in best.items()}


def _candidates(evidence: Sequence[tuple[int, Sequence[Passage]]], *, latin: bool) -> list[Sentence]:
    """Each different sentence that can stand alone, in the kind of script that the topic is written in."""
    found: dict[str, Sentence] = {}
    for number, passages in evidence:
        for passage, orders in zip(passages, orders_in(passages), strict=True):
            for start, end in split_sentences(passage["text"]):
                if any(start < last and first < end for first, last in orders):
                    continue
                text = _ITEM.sub("", " ".join(passage["text"][start:end].split()))
                if stands_alone(text) and _is_latin(text) == latin:
                    found.setdefault(text, Sentence(text, number, frozenset(content_words(text))))
    return [sentence for sentence in found.values() if sentence.words]


def stands_alone(text: str) -> bool:
    return (
        len(text) * (1 if text.isascii() else 2) >= _MIN_CHARS
        and len(text) <= _MAX_CHARS
        and bool(_PROSE_END.search(text))
        and not text.endswith("?")
        and not _MARKUP.search(text)
        and not _LEANING.match(text)
        and not _REQUEST.match(text)
    )


def _is_latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters) * 2 >= len(letters)


def _overlap(one: Sentence, other: Sentence) -> float:
    """Share of the shorter sentence's words that the other has as well."""
    return len(one.words & other.words) / min(len(one.words), len(other.words))
