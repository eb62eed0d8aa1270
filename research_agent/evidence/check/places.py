"""Does each word of a claim stand where the passage has it?

A program without a grammar sees roles by order. A claim that is near to the wording of a sentence is compared with
it as two sequences (Ratcliff & Obershelp, 1988, as in `difflib`): a name or number that takes the place of
another one was swapped, a subject that takes the place of another one was exchanged; left out or moved clauses are
fine. A claim that is worded freely is compared by neighbours: a name beside the words that another name of the
claim has beside it in the sentence was swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from research_agent.evidence.check.alignment import Reading, meet
from research_agent.evidence.check.lexicon import ARTICLES, LISTING, PASSIVE
from research_agent.evidence.check.tokens import Token

_NEAR_WORDING = 0.6  # share of the claim's words in the order of the sentence from which sequences are compared
_SUBJECT = 2  # words at the beginning of a sentence that name what it speaks of
_MOVED = 3  # words in the order of the sentence that make a moved phrase rather than a swapped name
_LONGEST = 400  # tokens of a sentence that are compared as a sequence
_SIDE = 4  # tokens from a name to the word that shows its role
_SLACK = 3  # more tokens that the sentence may have between them
_FAR = 1_000_000


@dataclass(frozen=True, slots=True)
class Entity:
    """Neighbouring names or numbers of one kind: tokens ``first`` to ``last``, both included."""

    first: int
    last: int
    stems: frozenset[str]


def misplaced(claim: Sequence[Token], sentence: Reading) -> str:
    """The word of the claim that stands in the place of another one of `sentence`, or ""."""
    own = [i for i, token in enumerate(claim[:_LONGEST]) if token.is_content]
    theirs = [i for i, token in enumerate(sentence.tokens[:_LONGEST]) if token.is_content]
    stems = [_as_in(sentence, claim[i]) for i in own]
    wording = [sentence.tokens[i].stem for i in theirs]
    if stems == wording:
        return ""
    matcher = SequenceMatcher(None, stems, wording, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < _NEAR_WORDING * len(own):
        return _swapped(claim, sentence)
    turned = _turned(claim, sentence)
    text = f" {' '.join(wording)} "
    for operation, first, last, instead, _ in matcher.get_opcodes():
        if operation not in ("replace", "delete"):  # from the claim to the sentence: what the claim has of its own
            continue
        run = own[first:last]
        if len(run) >= _MOVED and f" {' '.join(stems[first:last])} " in text:
            continue  # a phrase that was moved as a whole
        entities = [i for i in run if claim[i].kind in ("name", "number")]
        if operation == "replace" and max(first, instead) < _SUBJECT and not _moved_here(claim, run, sentence):
            return claim[run[0]].raw
        strays = [i for i in entities if operation == "replace" or not _keeps_context(claim, i, sentence)]
        if strays and not turned:
            return claim[strays[0]].raw
    return "" if turned else _transposed(claim, sentence)


def _moved_here(claim: Sequence[Token], run: Sequence[int], sentence: Reading) -> bool:
    """Whether the words at the beginning were only moved there: "In winter, …". Unspaced scripts show seams only."""
    seam = not claim[run[0]].raw.isascii() and len(claim[run[0]].raw) == 2
    return seam or all(_keeps_context(claim, i, sentence) for i in run)


def _keeps_context(claim: Sequence[Token], index: int, sentence: Reading) -> bool:
    """Whether the entity has the same word before it in both, as "in 1943" has wherever it stands, or the same list."""
    before, members = _before(claim, index), _list_around(claim, index)
    return any(
        _before(sentence.tokens, place) == before
        or (len(members) > 1 and _list_around(sentence.tokens, place) == members)
        for place in meet(claim[index], sentence)[1]
    )


def _list_around(tokens: Sequence[Token], index: int) -> frozenset[str]:
    """The members of the list that the entity at `index` is in, by stem; itself alone if it is in none."""
    kind, members, listing = tokens[index].kind, {tokens[index].stem}, False
    for step in (-1, +1):
        at = index + step
        while 0 <= at < len(tokens) and (tokens[at].kind == kind or tokens[at].raw.casefold() in LISTING):
            listing = listing or tokens[at].raw.casefold() in LISTING
            members |= {tokens[at].stem} if tokens[at].kind == kind else set()
            at += step
    return frozenset(members) if listing else frozenset({tokens[index].stem})


def _before(tokens: Sequence[Token], index: int) -> str:
    at = index - 1
    while at >= 0 and (tokens[at].raw.casefold() in ARTICLES or tokens[at].kind == tokens[index].kind):
        at -= 1
    return tokens[at].stem if at >= 0 and tokens[at].clause == tokens[index].clause else ""


def other_subject(claim: Sequence[Token], sentence: Reading) -> str:
    """What `sentence` speaks of, if the claim says the same of something else; else ""."""
    head = next((token for token in claim if token.kind in ("word", "name")), None)
    if head is None or set(meet(head, sentence)[1]) & set(clause_heads(sentence, 1)):
        return ""
    said = {token.stem for token in claim}
    claimed = Counter(t.clause for t in sentence.tokens if t.kind in ("word", "name") and t.stem in said)
    if not claimed:
        return ""
    # The clause that says most of the claim is the one whose subject counts, with one attribute.
    main = max(claimed, key=lambda clause: (claimed[clause], -clause))
    subject = [t for place in clause_heads(sentence, _SUBJECT) if (t := sentence.tokens[place]).clause == main]
    if any(meet(token, _reading_of(named))[0] for named in subject for token in claim):
        return ""
    return subject[0].raw


def clause_heads(sentence: Reading, count: int) -> list[int]:
    """Places of the first `count` content words of each clause: what it speaks of."""
    heads: dict[int, list[int]] = {}
    for place, token in enumerate(sentence.tokens):
        if token.kind in ("word", "name") and len(heads.setdefault(token.clause, [])) < count:
            heads[token.clause].append(place)
    return [place for places in heads.values() for place in places]


def _reading_of(token: Token) -> Reading:
    return Reading(token.raw, (token,), {token.stem: (0,)}, {token.stem[:4]: (token.stem,)})


def _as_in(sentence: Reading, token: Token) -> str:
    """The stem of a token, as the sentence has it if both differ only by an ending."""
    strength, places = meet(token, sentence)
    return sentence.tokens[places[0]].stem if 0 < strength < 1 else token.stem


def _transposed(claim: Sequence[Token], sentence: Reading) -> str:
    """A name that has changed places with its neighbour, unless both are members of one list."""
    own = [entity for entity in _entities(claim) if claim[entity.first].kind == "name"]
    for one, two in pairwise(own):
        first, second = _locations(one, two, sentence), _locations(two, one, sentence)
        if two.first - one.last > _SIDE or len(first) != 1 or len(second) != 1:
            continue
        if _keeps_context(claim, one.first, sentence) and _keeps_context(claim, two.first, sentence):
            continue
        if 0 < first[0] - second[0] <= _SIDE + 1 and not _listed(sentence.tokens, second[0], first[0]):
            return claim[one.first].raw
    return ""


def _listed(tokens: Sequence[Token], one: int, other: int) -> bool:
    between = tokens[one + 1 : other]
    commas = tokens[one].clause != tokens[other].clause
    listing = any(token.raw.casefold() in LISTING for token in between)
    return (commas or listing) and all(token.raw.casefold() in LISTING or token.kind == "name" for token in between)


def _swapped(claim: Sequence[Token], sentence: Reading) -> str:
    own = _entities(claim)
    if len(own) < 2:
        return ""
    for entity in own:
        kind = claim[entity.first].kind
        rivals = [e for e in own if e.stems != entity.stems and claim[e.first].kind == kind]
        rivals = [e for e in rivals if not _joined(claim, entity, e)]
        if rivals and _displaced(entity, rivals, claim, sentence):
            return " ".join(claim[i].raw for i in range(entity.first, entity.last + 1))
    return ""


def _displaced(entity: Entity, rivals: Sequence[Entity], claim: Sequence[Token], sentence: Reading) -> bool:
    """Whether the words beside the entity have one of its rivals beside them in the sentence."""
    against = False
    for side in (-1, +1):
        for anchor, distance in _anchors(claim, entity, side)[:2]:
            places = meet(claim[anchor], sentence)[1]
            if not places:
                continue
            # From the word, the entity lies on the other side. Of its places, the one nearest to an entity counts.
            reach = distance + _SLACK
            for rival in rivals:
                own = _nearest(_locations(entity, rival, sentence), places, side, reach)
                other = _nearest(_locations(rival, entity, sentence), places, side, reach)
                if own < other:
                    return False
                against = against or (other < own and not _turned(claim, sentence))
            break
    return against


def _nearest(at: Sequence[int], anchors: Sequence[int], side: int, reach: int) -> int:
    return min((d for a in anchors for i in at if 0 < (d := (a - i) * side) <= reach), default=_FAR)


def _anchors(tokens: Sequence[Token], entity: Entity, side: int) -> list[tuple[int, int]]:
    """Content words on one side of an entity that are no entities, with their distance."""
    edge = entity.first if side < 0 else entity.last
    found = []
    at = edge + side
    while 0 <= at < len(tokens) and abs(at - edge) <= _SIDE:
        if tokens[at].kind == "word":
            found.append((at, abs(at - edge)))
        elif tokens[at].kind == tokens[edge].kind:
            break
        at += side
    return found


def _entities(tokens: Sequence[Token]) -> list[Entity]:
    """The names and numbers of a sentence, in order; words of one name together."""
    found: list[Entity] = []
    for index, token in enumerate(tokens):
        if token.kind not in ("name", "number"):
            continue
        last = found[-1] if found else None
        before = tokens[index - 1]
        if last and last.last == index - 1 and before.kind == token.kind and before.clause == token.clause:
            found[-1] = Entity(last.first, index, last.stems | {token.stem})
        else:
            found.append(Entity(index, index, frozenset({token.stem})))
    return found


def _locations(entity: Entity, other: Entity, sentence: Reading) -> list[int]:
    """Where the sentence has the entity, by its rarest word that `other` does not share."""
    options = [sentence.places.get(stem, ()) for stem in (entity.stems - other.stems) or entity.stems]
    held = sorted((places for places in options if places), key=len)
    return list(held[0]) if held else []


def _joined(tokens: Sequence[Token], one: Entity, other: Entity) -> bool:
    """Whether both stand in one list: nothing but function words between them."""
    first, second = sorted((one, other), key=lambda entity: entity.first)
    between = tokens[first.last + 1 : second.first]
    return len(between) <= 2 and all(token.kind in ("function", "name", "number") for token in between)


def _turned(claim: Sequence[Token], sentence: Reading) -> bool:
    """Whether only one of both is in the passive voice."""
    passive = [any(token.raw.casefold() in PASSIVE for token in tokens) for tokens in (claim, sentence.tokens)]
    return passive[0] != passive[1]
