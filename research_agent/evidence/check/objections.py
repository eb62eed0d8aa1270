"""What speaks against a claim whose words stand in a passage.

Each clause must be said by one sentence, with what that one leans on; the sentences that carry the clauses must
agree with the claim on yes and no, on more and less, and on who does what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from research_agent.documents import Code
from research_agent.evidence.check.alignment import Reading, coverage, meet
from research_agent.evidence.check.figures import missing_quantities, quantities
from research_agent.evidence.check.lexicon import ARTICLES, LEANING
from research_agent.evidence.check.places import misplaced, other_subject
from research_agent.evidence.check.polarity import negation_differs, reversal
from research_agent.evidence.check.tokens import Token

Objection = tuple[Code, str]  # why a claim does not stand, and the words that it is about
_CLAUSE = 0.5  # share of each clause that one sentence must hold
_ADDED = 3  # words in a row that the quote lacks
_CLAUSE_WORDS = 3  # a shorter clause says too little to be checked alone
LEANING_UNSPACED = ("これ", "それ", "この", "その", "彼", "同", "他", "她", "它", "该", "这", "此")


@dataclass(frozen=True, slots=True)
class WeighedClaim:
    """A claim, or one clause of it, with the weight of each token; `text` is always that of the whole claim."""

    text: str
    tokens: tuple[Token, ...]
    weights: tuple[float, ...]
    whole: bool = True

    @property
    def wording(self) -> str:
        """The text that the tokens stand in."""
        return self.text if self.whole else self.text[self.tokens[0].start : self.tokens[-1].end]

    def part(self, indices: Sequence[int]) -> WeighedClaim:
        """The tokens at `indices` alone."""
        tokens = tuple(self.tokens[i] for i in indices)
        weights = tuple(self.weights[i] for i in indices)
        return WeighedClaim(self.text, tokens, weights, whole=self.whole and len(tokens) == len(self.tokens))

    def words(self, indices: Sequence[int]) -> int:
        """How many of the tokens at `indices` say something of their own."""
        return sum(self.tokens[i].is_content for i in indices)


def objection_to(claim: WeighedClaim, readings: Sequence[Reading]) -> Objection | None:
    """What speaks against a claim whose words and numbers stand there, or None."""
    names = [t.raw for t in claim.tokens if t.kind == "name" and not any(meet(t, s)[0] for s in readings)]
    if names:
        return "part", ", ".join(names[:3])
    parts = clauses(claim)
    carried = [_carrier(part, readings) for part in parts]
    for position, (part, carrier) in enumerate(zip(parts, carried, strict=True)):
        if objection := _against_part(part, readings, carrier, first=position == 0):
            return objection
    carriers = [readings[i] for i in sorted(set(carried))]
    if turned := reversal(claim.tokens, carriers):
        return "doubt", turned
    if negation_differs(claim.tokens, carriers):
        return "doubt", ""
    if addition := _addition(claim, readings):
        return "part", addition
    for sentence, group in zip(carriers, _carried(parts, carried), strict=True):
        if moved := misplaced(group, sentence) or other_subject(group, sentence):
            return "doubt", moved
    return None


def _addition(claim: WeighedClaim, readings: Sequence[Reading]) -> str:
    """Words in a row that no sentence of the quote has: something was added. Two are enough at the end of the claim."""
    run: list[Token] = []
    for token in claim.tokens:
        if token.kind not in ("word", "name"):
            continue
        if any(meet(token, sentence)[0] for sentence in readings):
            run = []
        elif len(run := [*run, token]) == _ADDED:
            break
    return " ".join(token.raw for token in run) if len(run) >= _ADDED - 1 else ""


def _carried(parts: Sequence[WeighedClaim], carriers: Sequence[int]) -> list[list[Token]]:
    """The tokens of the clauses that each carrier carries, in the order of the carriers."""
    return [
        [token for part, by in zip(parts, carriers, strict=True) if by == carrier for token in part.tokens]
        for carrier in sorted(set(carriers))
    ]


def _carrier(part: WeighedClaim, readings: Sequence[Reading]) -> int:
    """Which sentence of a window says most of this clause."""
    return max(range(len(readings)), key=lambda i: coverage(part.tokens, part.weights, [readings[i]]))


def _against_part(part: WeighedClaim, readings: Sequence[Reading], carrier: int, *, first: bool) -> Objection | None:
    """What speaks against a clause: one sentence must say it, with what that one leans on."""
    around = [readings[carrier]]
    if carrier and _leans(readings[carrier]):
        around.append(readings[carrier - 1])
    if coverage(part.tokens, part.weights, around) < _CLAUSE:
        return "part", ""
    # A word that only another sentence has: two sentences were run together, or a name went to the wrong one.
    foreign = [t for t in part.tokens if t.kind in ("word", "name") and not any(meet(t, s)[0] for s in around)]
    borrowed = [t for t in foreign if any(meet(t, sentence)[0] for sentence in readings)]
    names = [token for token in foreign if token.kind == "name"]
    if names or len(borrowed) > 1:
        return "doubt", (names or borrowed)[0].raw
    head = next((token for token in part.tokens if token.kind in ("word", "name")), None)
    if first and head and not any(meet(head, sentence)[0] for sentence in around):
        return "doubt", head.raw
    stated = quantities(part.wording)
    if missing := missing_quantities(stated, [readings[carrier].text]):
        return "doubt", missing[0]
    return None


def _leans(sentence: Reading) -> bool:
    if sentence.text.startswith(LEANING_UNSPACED):
        return True
    first = sentence.tokens[0].raw.casefold() if sentence.tokens else ""
    # "The company …" leans, "The LangGraph saver …" need not.
    named = any(token.kind == "name" for token in sentence.tokens)
    return first in LEANING or (first in ARTICLES and not named)


def clauses(claim: WeighedClaim) -> list[WeighedClaim]:
    """The parts of the claim between its commas and conjunctions; those that say too little join a neighbour."""
    groups: list[list[int]] = []
    for _, group in groupby(range(len(claim.tokens)), key=lambda i: claim.tokens[i].clause):
        groups.append(list(group))
        if len(groups) > 1 and min(claim.words(groups[-1]), claim.words(groups[-2])) < _CLAUSE_WORDS:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [claim.part(group) for group in groups]
