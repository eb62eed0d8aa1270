"""Does a passage support a sentence? Decided by program, without a model.

The smallest run of up to three neighbouring sentences of a cited passage that carries the claim is looked for.
Carrying means: it has enough of the claim's content words, rare ones counting more (inverse sentence frequency,
Spärck Jones, 1972), no part of the claim is without a sentence, and nothing speaks against it: each number, date,
name, quotation and identifier stands there, in the role that the claim gives it, and both say yes or both say no.
Strict on purpose: a true sentence lost is better than a false one kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from research_agent.documents import Code, Passage
from research_agent.evidence.check.alignment import Reading, coverage, meet, read
from research_agent.evidence.check.figures import missing_quantities, quantities
from research_agent.evidence.check.objections import WeighedClaim, clauses, objection_to
from research_agent.evidence.check.places import clause_heads
from research_agent.evidence.check.verbatim import missing_verbatim
from research_agent.evidence.sentences import split_sentences

Level = Literal["supported", "partly", "not"]

# Shares of the claim's word weight that the quote must hold; benchmarks/support.py chooses both. PARTLY: best balanced
# accuracy on ExpertQA's human labels (median of five folds). SUPPORTED: the lowest value at which at most 1.5 % of
# generated false claims pass (median of five folds over xquad_en); ExpertQA cannot choose it, see there.
SUPPORTED = 0.88
PARTLY = 0.54
_LONGEST = 2000  # characters of a claim
_COMMON = 0.4  # weight of a word that every sentence has, against 1 for one that none has
_WINDOW = 3  # sentences
_JUDGED = 6  # windows that are looked at closely
_RANK = {"not": 0, "partly": 1, "supported": 2}
_LONGER = 0.02  # what each further sentence of a quote must add to be worth it
_FIGURE = 0.15  # what a figure or date in common counts beside words


@dataclass(frozen=True, slots=True)
class Quote:
    """``text == stored[start:end]`` in the stored text of source `source`."""

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the cited passages support a claim.

    Attributes:
        level: ``supported``; ``partly``, the doubtful middle that a person or a model may decide; or ``not``.
        code, detail: why not, "" when supported, and the words that it is about.
        score: 0 to 1, the share of the claim's content that the quote holds.
        source, start, end, quote: the closest passage: ``quote == text[start:end]`` of source `source`
            (0 and empty when there is nothing close).
        others: one more quote for each other cited source that carries the claim, or a part of it.
    """

    level: Level
    code: Code
    detail: str
    score: float
    source: int = 0
    start: int = 0
    end: int = 0
    quote: str = ""
    others: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class _Window:
    source: int
    passage: Passage
    start: int
    end: int
    readings: tuple[Reading, ...]

    @property
    def text(self) -> str:
        return self.passage["text"][self.start : self.end]

    @property
    def quote(self) -> Quote:
        offset = self.passage["start"]
        return Quote(self.source, offset + self.start, offset + self.end, self.text)


def check_support(claim: str, evidence: Sequence[tuple[int, Sequence[Passage]]]) -> Verdict:
    """The best verdict on `claim` over the cited `evidence`: pairs of source number and its passages.

    A claim that cites several sources is supported when each of them carries it, or a part of it that the
    others leave open.
    """
    if len(claim) > _LONGEST:
        return Verdict("not", "too_long", "", 0.0)
    windows = {number: list(_windows(number, passages)) for number, passages in evidence}
    if not any(windows.values()):
        return Verdict("not", "no_source", "", 0.0)
    weighed = _weigh(claim, [window for group in windows.values() for window in group if len(window.readings) == 1])
    if not sum(weighed.weights):
        return Verdict("not", "unsaid", "", 0.0)
    verdicts = {number: _best(weighed, group) for number, group in windows.items()}
    return _together(weighed, verdicts, windows) if len(verdicts) > 1 else next(iter(verdicts.values()))


def closest_quotes(claim: str, evidence: Sequence[tuple[int, Sequence[Passage]]]) -> list[Quote]:
    """Of each source the piece of its passages that comes nearest to `claim`, whatever language it is in.

    For a reader who wants to see what a sentence stands on; it decides nothing.
    """
    windows = {number: list(_windows(number, passages)) for number, passages in evidence}
    weighed = _weigh(claim, [window for group in windows.values() for window in group if len(window.readings) == 1])
    return [max(group, key=lambda w: _nearness(weighed, w)).quote for group in windows.values() if group]


def _nearness(claim: WeighedClaim, window: _Window) -> tuple[float, float, int]:
    stated, there = quantities(claim.text), quantities(window.text)
    figures = sum(any(figure.values & other.values for other in there.figures) for figure in stated.figures)
    dates = sum(any(date.within(other) for other in there.dates) for date in stated.dates)
    longer = _LONGER * len(window.readings)
    score = coverage(claim.tokens, claim.weights, window.readings) if sum(claim.weights) else 0.0
    # Where no word is shared, as between languages, figures, dates and names lead there.
    return score + _FIGURE * (figures + dates) - longer, -longer, -window.start


def _together(claim: WeighedClaim, verdicts: dict[int, Verdict], windows: dict[int, list[_Window]]) -> Verdict:
    """One verdict over several sources."""
    best = max(verdicts.values(), key=_order)
    if best.level == "supported":
        others = [verdict for number, verdict in verdicts.items() if number != best.source]
        silent = [number for number, verdict in verdicts.items() if verdict.level == "not"]
        if silent:
            return replace(best, level="partly", code="unsaid", detail=f"[{silent[0]}]")
        return replace(best, others=tuple(Quote(v.source, v.start, v.end, v.quote) for v in others))
    return _shared_out(claim, windows) or best


def _shared_out(claim: WeighedClaim, windows: dict[int, list[_Window]]) -> Verdict | None:
    """The verdict when each clause stands in one of the sources, and each source carries a clause."""
    parts = clauses(claim)
    if len(parts) < 2:
        return None
    carriers: list[Verdict] = []
    for part in parts:
        options = [_best(part, group, subject=True) for group in windows.values()]
        best = max(options, key=_order)
        if best.level != "supported":
            return None
        carriers.append(best)
    if {verdict.source for verdict in carriers} != set(windows):
        return None
    first, *rest = {verdict.source: verdict for verdict in carriers}.values()
    score = min(verdict.score for verdict in carriers)
    return replace(first, score=score, others=tuple(Quote(v.source, v.start, v.end, v.quote) for v in rest))


def _best(claim: WeighedClaim, windows: Sequence[_Window], *, subject: bool = False) -> Verdict:
    scored = [(coverage(claim.tokens, claim.weights, window.readings), window) for window in windows]
    scored.sort(key=lambda pair: pair[0] - _LONGER * len(pair[1].readings), reverse=True)
    judged = [_judge(claim, score, window, subject=subject) for score, window in scored[:_JUDGED] if score > 0]
    return max(judged, key=_order, default=Verdict("not", "unsaid", "", 0.0))


def _order(verdict: Verdict) -> tuple[int, float, int, int, int]:
    # The shortest of equally good quotes; the first in the ledger of equally long ones.
    return _RANK[verdict.level], verdict.score, -len(verdict.quote), -verdict.source, -verdict.start


def _judge(claim: WeighedClaim, score: float, window: _Window, *, subject: bool = False) -> Verdict:
    level, code, detail = _level(claim, score, window)
    if level == "supported" and subject and _drops_subject(claim, window):
        level, code = "partly", "doubt"
    quote = window.quote
    return Verdict(level, code, detail, round(score, 4), quote.source, quote.start, quote.end, quote.text)


def _level(claim: WeighedClaim, score: float, window: _Window) -> tuple[Level, Code, str]:
    named = score < PARTLY and _is_named(claim, window.readings)
    if score < PARTLY and not named:
        return "not", "unsaid", ""
    texts = [sentence.text for sentence in window.readings]
    if missing := missing_quantities(quantities(claim.wording), texts):
        return "not", "figure", ", ".join(missing[:3])
    if missing := missing_verbatim(claim.wording, [window.text]):
        return "not", "quotation", missing[0]
    if named:  # the passage may be in another language
        return "partly", "part", ""
    if objection := objection_to(claim, window.readings):
        return "partly", *objection
    return ("partly", "part", "") if score < SUPPORTED else ("supported", "", "")


def _is_named(claim: WeighedClaim, readings: Sequence[Reading]) -> bool:
    """Whether all names and numbers of the claim stand there, and it has two at least."""
    entities = {token.stem: token for token in claim.tokens if token.kind in ("name", "number")}
    return len(entities) > 1 and all(any(meet(t, sentence)[0] for sentence in readings) for t in entities.values())


def _drops_subject(part: WeighedClaim, window: _Window) -> bool:
    """Whether the clause may have lost its subject: it must begin as a clause of the quote does, with what that one
    speaks of; a clause of the claim that only names something says nothing."""
    sentence = window.readings[0]
    head = next((token for token in part.tokens if token.kind in ("word", "name")), None)
    if head is None or len(window.readings) > 1 or not set(meet(head, sentence)[1]) & set(clause_heads(sentence, 1)):
        return True
    said = [token for token in part.tokens if token.is_content and meet(token, sentence)[0]]
    named = all(token.kind in ("name", "number") for token in said)
    first = sentence.tokens[clause_heads(sentence, 1)[0]]
    return named or not any(token.stem == first.stem for token in said)


def _weigh(claim: str, sentences: Sequence[_Window]) -> WeighedClaim:
    """The claim with the rarity of each of its words among the sentences of the evidence."""
    frequency: Counter[str] = Counter()
    names: set[str] = set()
    for window in sentences:
        frequency.update(window.readings[0].stems)
        names |= {token.stem for token in window.readings[0].tokens if token.kind == "name"}
    # A capital at the beginning of a sentence is that of a name if the evidence writes it elsewhere, too.
    found = tuple(
        replace(t, kind="name") if i == 0 and t.kind == "word" and t.raw[0].isupper() and t.stem in names else t
        for i, t in enumerate(read(claim).tokens)
    )
    count = len(sentences) + 1
    most = math.log(1 + count / 0.5)
    weights = (
        # The words that every sentence has are what the source is about: they must not weigh nothing.
        _COMMON + (1 - _COMMON) * math.log(1 + count / (frequency[t.stem] + 0.5)) / most
        if t.kind in ("word", "name")
        else 0.0  # numbers are compared as quantities, not as words
        for t in found
    )
    return WeighedClaim(claim, found, tuple(weights))


def _windows(number: int, passages: Sequence[Passage]) -> Iterator[_Window]:
    for passage in passages:
        spans = _sentences(passage["text"])
        readings = [read(passage["text"][start:end]) for start, end in spans]
        for first in range(len(spans)):
            for last in range(first, min(first + _WINDOW, len(spans))):
                yield _Window(number, passage, spans[first][0], spans[last][1], tuple(readings[first : last + 1]))


@lru_cache(maxsize=2048)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(split_sentences(text))
