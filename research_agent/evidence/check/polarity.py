"""Does a claim say yes where the passage says no, or rise where it says fall?

A negation is compared where it stands: by the content words beside it. So a clause that the claim leaves out may
negate what it likes (cf. NegEx, Chapman et al., 2001, which also takes the scope of a negation from its neighbours).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from research_agent.evidence.check.alignment import Reading, meet
from research_agent.evidence.check.lexicon import COORDINATING, IRREGULAR, OPPOSITES
from research_agent.evidence.check.tokens import NOT, Token
from research_agent.text import words

_NEAR = 4  # tokens between a negation and the word it negates, function words included
_REACH = 6  # tokens within which the counterpart may stand

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "anti", "de", "mis", "ab")
_MIN_REST = 3
_SAME_WORDS = 0.85  # shared content words, both ways, from which two sentences are the same but for details


@lru_cache(maxsize=1)
def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in OPPOSITES:
        one, other = (words(IRREGULAR.get(word, word))[0] for word in pair)
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


def reversal(claim: Sequence[Token], carriers: Sequence[Reading]) -> str:
    """A word of the claim of which the sentences that carry it have the opposite; "" if there is none."""
    stated = Counter(token.stem for token in claim)
    known = Counter(token.stem for sentence in carriers for token in sentence.tokens)
    for index, token in enumerate(claim):
        if stated[token.stem] <= known[token.stem] or token.kind in ("name", "number", "negation"):
            continue
        opposites = [o for o in _opposites().get(token.stem, ()) if o in known]
        if token.kind == "word":
            opposites += _negated_forms(token.stem, known)
        for other in opposites:
            if known[other] > stated[other] and _same_place(index, claim, other, carriers):
                return token.raw
    return ""


def _negated_forms(stem: str, known: Iterable[str]) -> list[str]:
    """Stems of the sentences that are this one with a negative prefix, or without it; endings may differ."""
    if not stem.isalpha() or not stem.isascii() or len(stem) < _MIN_REST:
        return []
    forms = [prefix + stem for prefix in _PREFIXES]
    forms += [stem[len(prefix) :] for prefix in _PREFIXES if stem.startswith(prefix)]
    return [
        other
        for other in known
        for form in forms
        if min(len(form), len(other)) >= _MIN_REST
        and (other.startswith(form) or form.startswith(other))
        and abs(len(other) - len(form)) <= 1
    ]


def _same_place(index: int, claim: Sequence[Token], other: str, carriers: Sequence[Reading]) -> bool:
    """Whether the opposite stands beside a word that the claim's word stands beside, too."""
    beside = [claim[i] for i in _neighbours(claim, index)]
    return not beside or any(
        abs(at - place) <= _REACH
        for sentence in carriers
        for place in sentence.places.get(other, ())
        for token in beside
        for at in meet(token, sentence)[1]
    )


def negation_differs(claim: Sequence[Token], carriers: Sequence[Reading]) -> bool:
    """Whether the claim negates what the sentences that carry it state, or states what they negate."""
    own = [index for index, token in enumerate(claim) if token.kind == "negation"]
    if any(not _claim_negation_stands(claim, index, carriers) for index in own):
        return True
    return any(_states_negated(claim, sentence) or _counts_differ(claim, len(own), sentence) for sentence in carriers)


def _claim_negation_stands(claim: Sequence[Token], index: int, carriers: Sequence[Reading]) -> bool:
    """Whether a carrier negates the word that the claim negates here; if it lacks the word, something near."""
    heads = _heads(claim, index)
    for sentence in carriers:
        places = {place for head in _decisive(claim, heads) for place in meet(claim[head], sentence)[1]}
        negated = [_heads(sentence.tokens, at) for at in sentence.places.get(NOT, ())]
        if places and any(places & set(each) for each in negated):
            return True
        if places:
            continue
        beside = {at for i in _neighbours(claim, index) for at in meet(claim[i], sentence)[1]}
        if any(abs(at - place) <= _REACH for at in beside for place in sentence.places.get(NOT, ())):
            return True
    return False


def _states_negated(claim: Sequence[Token], sentence: Reading) -> bool:
    """Whether a word that the sentence negates is said by the claim without a negation."""
    everywhere = {head for place in sentence.places.get(NOT, ()) for head in _heads(sentence.tokens, place)}
    for place in sentence.places.get(NOT, ()):
        heads = _heads(sentence.tokens, place)
        if not heads:
            continue
        again = sentence.places[sentence.tokens[heads[0]].stem]
        if len(again) > 1 and not set(again) <= everywhere:
            continue  # the sentence states the same word elsewhere
        said = {at for head in _decisive(sentence.tokens, heads) for at in _said(claim, sentence.tokens[head])}
        negated = {head for i, token in enumerate(claim) if token.kind == "negation" for head in _heads(claim, i)}
        # The word alone may be a chance meeting: another neighbour must be shared as well, if there is one.
        others = [i for i in _neighbours(sentence.tokens, place) if i != heads[0]]
        if said and not said & negated and (not others or any(_said(claim, sentence.tokens[i]) for i in others)):
            return True
    return False


def _counts_differ(claim: Sequence[Token], negations: int, sentence: Reading) -> bool:
    """Whether claim and sentence have the same words, but not the same number of negations."""
    content = [token for token in claim if token.is_content]
    theirs = [token for token in sentence.tokens if token.is_content]
    shared = sum(bool(meet(token, sentence)[0]) for token in content)
    held = sum(bool(_said(claim, token)) for token in theirs)
    if shared < _SAME_WORDS * len(content) or held < _SAME_WORDS * len(theirs):
        return False
    return negations != len(sentence.places.get(NOT, ()))


def _said(claim: Sequence[Token], token: Token) -> set[int]:
    """Where the claim says a token of a sentence."""
    stem = token.stem
    return {
        i
        for i, own in enumerate(claim)
        if own.is_content and (own.stem == stem or (len(stem) > 4 and own.stem[:5] == stem[:5]))
    }


def _heads(tokens: Sequence[Token], index: int) -> list[int]:
    """What a negation negates: the next content word, and the one after it unless something is coordinated.

    At the end of a clause (German, Japanese), it is the word before.
    """
    heads: list[int] = []
    for at in range(index + 1, min(len(tokens), index + 1 + _REACH)):
        token = tokens[at]
        if token.clause != tokens[index].clause or token.kind == "negation" or (heads and token.raw in COORDINATING):
            break
        if token.is_content:
            heads.append(at)
        if len(heads) == 2:
            break
    if not heads:
        before = range(index - 1, max(-1, index - 1 - _NEAR), -1)
        heads = [at for at in before if tokens[at].is_content and tokens[at].clause == tokens[index].clause][:1]
    return heads


def _decisive(tokens: Sequence[Token], heads: Sequence[int]) -> Sequence[int]:
    """The word that a negation negates; of pairs of letters, the first may be a seam, so both."""
    return heads if heads and not tokens[heads[0]].stem.isascii() and len(tokens[heads[0]].stem) == 2 else heads[:1]


def _neighbours(tokens: Sequence[Token], index: int) -> list[int]:
    """The two nearest content words on each side, within the clause."""
    found: list[int] = []
    for step in (-1, +1):
        near = range(index + step, index + step * (_REACH + 1), step)
        content = [
            i
            for i in near
            if 0 <= i < len(tokens) and tokens[i].is_content and tokens[i].clause == tokens[index].clause
        ]
        found += content[:2]
    return found
