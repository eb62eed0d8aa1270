"""A model compares every sentence of a draft with everything that its sources showed (see `prompts.JUDGE`).

It sees the sentences in an order of their own, so that none leans on its neighbour, and the passages without what
they order a machine to do. Its answer is read tolerantly; what it leaves out is left to the program.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import json_repair
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from research_agent import prompts
from research_agent.context import ResearchContext
from research_agent.documents import Citation, Passage
from research_agent.evidence.check.instructions import orders_in
from research_agent.evidence.check.rulings import Answer, Ruling
from research_agent.evidence.claims import DraftClaim
from research_agent.evidence.passages import rank_passages
from research_agent.models.call import CallSite, call_model

ROOM = 80_000  # characters of passages in one call
_OF_OPEN = 12  # passages of all sources that an open question is compared with
_PASSAGE_ID = re.compile(r"(\d{1,4})\s?\.\s?(\d{1,4})")
_ANSWERS = frozenset(get_args(Answer))

Places = dict[int, list[int]]  # positions of passages, from 1, by source number


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The sentences of one call, by position in the draft, and the passages that they are compared with."""

    positions: tuple[int, ...]
    places: Places


async def judge(
    drafts: Sequence[DraftClaim],
    ledger: Sequence[Citation],
    topic: str,
    model: BaseChatModel,
    site: CallSite,
    context: ResearchContext,
    report: Callable[[Any], None],
) -> dict[int, Ruling]:
    """The ruling on each draft that it answered for, by position. One call where everything fits, else several.

    Raises:
        ModelError: no usable answer came.
    """
    rulings: dict[int, Ruling] = {}
    for number, chunk in enumerate(_chunks(drafts, ledger), start=1):
        request = _request(chunk, drafts, ledger, topic)
        messages = [SystemMessage(prompts.JUDGE), HumanMessage(request)]
        purpose = site.purpose if number == 1 else f"{site.purpose}_{number}"
        answer = await call_model(model, messages, replace(site, purpose=purpose), context, report)
        rulings |= {p: ruling for p, ruling in read_rulings(answer.text).items() if p in chunk.positions}
    return rulings


def read_rulings(answer: str) -> dict[int, Ruling]:
    """What a judge answered, by position of the sentence: a JSON object, or something like it."""
    start, end = answer.find("{"), answer.rfind("}")
    if start < 0:
        return {}
    read = json_repair.loads(answer[start : end + 1] if end > start else answer[start:])
    entries = read.items() if isinstance(read, dict) else ()
    found = ((_position(key), _ruling(value)) for key, value in entries)
    return {position: ruling for position, ruling in found if position is not None and ruling}


def _position(key: Any) -> int | None:
    digits = str(key).strip().removeprefix("s")
    return int(digits) - 1 if digits.isascii() and digits.isdigit() and 0 < len(digits) < 5 else None


def _ruling(value: Any) -> Ruling | None:
    given = value if isinstance(value, dict) else {"v": value}
    answer = str(given.get("v", given.get("verdict", ""))).strip().casefold()
    if answer not in _ANSWERS:
        return None
    places = tuple((int(m[1]), int(m[2])) for m in _PASSAGE_ID.finditer(str(given.get("p", ""))[:2000]))
    return Ruling(cast(Answer, answer), places, str(given.get("missing") or ""))


def _chunks(drafts: Sequence[DraftClaim], ledger: Sequence[Citation]) -> list[_Chunk]:
    """Sentences in groups whose sources fit into one call."""
    chunks: list[_Chunk] = []
    positions: list[int] = []
    places: Places = {}
    for position, draft in enumerate(drafts):
        more = _places_of(draft, ledger)
        joined = _joined(places, more)
        if positions and _size(joined, ledger) > ROOM:
            chunks.append(_Chunk(tuple(positions), places))
            positions, joined = [], more
        positions.append(position)
        places = joined
    return [*chunks, _Chunk(tuple(positions), places)] if positions else chunks


def _places_of(draft: DraftClaim, ledger: Sequence[Citation]) -> Places:
    """What a sentence is compared with: all of what it cites, the nearest of all sources where something is open."""
    if draft.part != "open":
        return _fitting(draft, {n: list(range(1, len(ledger[n - 1]["passages"]) + 1)) for n in draft.sources}, ledger)
    owners = {id(p): (n, k) for n, c in enumerate(ledger, 1) for k, p in enumerate(c["passages"], 1)}
    nearest = rank_passages([p for c in ledger for p in c["passages"]], draft.text)[:_OF_OPEN]
    places: Places = {}
    for _, passage in nearest:
        number, position = owners[id(passage)]
        places.setdefault(number, []).append(position)
    return {number: sorted(group) for number, group in sorted(places.items())}


def _fitting(draft: DraftClaim, places: Places, ledger: Sequence[Citation]) -> Places:
    """`places`, of sources that are larger than a call only the passages that come nearest to the sentence."""
    if _size(places, ledger) <= ROOM:
        return places
    room, kept = ROOM // max(1, len(places)), Places()
    for number in places:
        passages = ledger[number - 1]["passages"]
        order = {id(p): k for k, p in enumerate(passages, 1)}
        left = room
        for _, passage in rank_passages(passages, draft.text):
            left -= len(passage["text"])
            if left < 0:
                break
            kept.setdefault(number, []).append(order[id(passage)])
    return {number: sorted(group) for number, group in kept.items()}


def _joined(one: Places, other: Places) -> Places:
    return {n: sorted({*one.get(n, ()), *other.get(n, ())}) for n in sorted({*one, *other})}


def _size(places: Places, ledger: Sequence[Citation]) -> int:
    return sum(len(ledger[n - 1]["passages"][k - 1]["text"]) for n, group in places.items() for k in group)


def _request(chunk: _Chunk, drafts: Sequence[DraftClaim], ledger: Sequence[Citation], topic: str) -> str:
    sources = [_source(number, group, ledger[number - 1]) for number, group in chunk.places.items()]
    asked = [(f"s{p + 1}", drafts[p].text, _cites(drafts[p])) for p in chunk.positions]
    # The same draft is put in the same order again: a call that was paid is found in the journal.
    seed = hashlib.sha256("\n".join(text for _, text, _ in asked).encode()).digest()
    random.Random(seed).shuffle(asked)  # noqa: S311  (no secret)
    return prompts.render_judgement(topic, sources, asked)


def _cites(draft: DraftClaim) -> tuple[int, ...]:
    return () if draft.part == "open" else draft.sources


def _source(number: int, positions: Sequence[int], citation: Citation) -> prompts.JudgedSource:
    orders = orders_in(citation["passages"])
    shown = [
        (f"{number}.{k}", passage.get("heading", ""), _without(passage, orders[k - 1]))
        for k, passage in enumerate(citation["passages"], start=1)
        if k in positions
    ]
    return prompts.JudgedSource(number, citation["title"], citation["site"], citation["published"], shown)


def _without(passage: Passage, spans: Sequence[tuple[int, int]]) -> str:
    """The passage without what it says to a machine."""
    text, end = "", 0
    for start, stop in spans:
        text += passage["text"][end:start] + "[…]"
        end = stop
    return text + passage["text"][end:]
