"""Which token of a claim meets which token of a sentence: equal stems, or stems that differ only in an ending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from research_agent.evidence.check.tokens import Token, tokens

INFLECTED = 0.85  # what a meeting of two inflections counts
_MIN_PREFIX = 4
_SHARE = 0.6  # of the longer stem, the common beginning
_MAX_ENDING = 4
_NAME_ENDINGS = frozenset(("s", "es", "n", "en", "e", "a", "u", "i"))  # cases and plurals; more changes the name


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence prepared for meeting claims."""

    text: str
    tokens: tuple[Token, ...]
    places: Mapping[str, tuple[int, ...]]
    by_beginning: Mapping[str, tuple[str, ...]]

    @property
    def stems(self) -> frozenset[str]:
        """Each different stem."""
        return frozenset(self.places)


@lru_cache(maxsize=4096)
def read(sentence: str) -> Reading:
    """The sentence with an index of its stems."""
    found = tokens(sentence)
    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(found):
        places[token.stem].append(index)
    beginnings: dict[str, list[str]] = defaultdict(list)
    for stem in places:
        if len(stem) >= _MIN_PREFIX:
            beginnings[stem[:_MIN_PREFIX]].append(stem)
    return Reading(
        sentence,
        found,
        {stem: tuple(at) for stem, at in places.items()},
        {beginning: tuple(stems) for beginning, stems in beginnings.items()},
    )


def meet(token: Token, sentence: Reading) -> tuple[float, tuple[int, ...]]:
    """How surely `token` occurs in `sentence` (0 to 1), and where."""
    if places := sentence.places.get(token.stem):
        return 1.0, places
    if token.kind in ("number", "negation") or len(token.stem) < _MIN_PREFIX:
        return 0.0, ()
    same = _name_forms if token.kind == "name" else _inflections
    places = tuple(
        place
        for stem in sentence.by_beginning.get(token.stem[:_MIN_PREFIX], ())
        if same(token.stem, stem)
        for place in sentence.places[stem]
    )
    return (INFLECTED, places) if places else (0.0, ())


def coverage(claim: Sequence[Token], weights: Sequence[float], window: Sequence[Reading]) -> float:
    """Share of the claim's weight that meets something in the window."""
    total = sum(weights)
    if not total:
        return 0.0
    strengths = [
        max(meet(token, sentence)[0] for sentence in window) if weight else 0.0
        for token, weight in zip(claim, weights, strict=True)
    ]
    for i in range(1, len(claim) - 1):
        # Scripts without spaces: where something was left out, a pair of letters arises that no text has.
        if not strengths[i] and len(claim[i].stem) == 2 and not claim[i].stem.isascii():
            strengths[i] = min(strengths[i - 1], strengths[i + 1])
    held = sum(weight * strength for weight, strength in zip(weights, strengths, strict=True))
    return held / total


@lru_cache(maxsize=65536)
def _name_forms(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) :] in _NAME_ENDINGS


@lru_cache(maxsize=65536)
def _inflections(one: str, other: str) -> bool:
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    longer = max(len(one), len(other))
    return (
        common >= max(_MIN_PREFIX, _SHARE * longer)
        and longer - common <= _MAX_ENDING
        and not any(letter.isdigit() for letter in one + other)
    )
