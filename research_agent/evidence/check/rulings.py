"""What a model judge said of sentences → claims, with the vetoes of the program and quotations chosen by program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from research_agent.documents import Citation, Claim, Code, Passage
from research_agent.evidence.check.lexicon import LEANING
from research_agent.evidence.check.objections import LEANING_UNSPACED
from research_agent.evidence.check.support import Verdict, closest_quotes
from research_agent.evidence.check.verdicts import as_claim, basis_of, by_program
from research_agent.evidence.check.vetoes import veto
from research_agent.evidence.claims import DraftClaim

Answer = Literal["yes", "part", "no", "off", "order"]
_CODES: dict[Answer, Code] = {"part": "part", "no": "unsaid", "off": "off_topic", "order": "instruction"}
_FIRST_WORD = re.compile(r"\W*(\w+)")
_LONGEST_DETAIL = 200  # characters of a judge's words that are kept


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge says of one sentence: the answer, the passages that say it (source number, position from 1),
    and for a part the words that no source says."""

    answer: Answer
    passages: tuple[tuple[int, int], ...] = ()
    missing: str = ""


def by_rulings(
    drafts: Sequence[DraftClaim],
    rulings: Mapping[int, Ruling],
    ledger: Sequence[Citation],
    topic: str,
    judge: str,
) -> list[Claim]:
    """Each draft as a claim; `rulings` by position. What the judge left out is decided by program."""
    return [_rule(draft, rulings.get(position), ledger, topic, judge) for position, draft in enumerate(drafts)]


def vetoed(draft: DraftClaim, ledger: Sequence[Citation], topic: str) -> Claim | None:
    """The claim of a draft that no judge needs to see, or None."""
    if found := veto(draft, ledger, topic):
        return as_claim(draft, Verdict("not", found.code, found.detail, 0.0), draft.sources, "")
    return None


def without_leaning(claims: Sequence[Claim]) -> list[Claim]:
    """The claims; a kept one that leans on a sentence before it in its bullet that was left out falls with it."""
    result: list[Claim] = []
    for claim in claims:
        before = result[-1] if result and result[-1]["bullet"] == claim["bullet"] else None
        if claim["verdict"] == "supported" and before and before["verdict"] != "supported" and leans(claim["text"]):
            claim = {**claim, "verdict": "not", "code": "leaning", "detail": "", "basis": ""}
        result.append(claim)
    return result


def leans(text: str) -> bool:
    """Whether a sentence begins with a word that means something said before."""
    first = _FIRST_WORD.match(text[:80])
    return text.startswith(LEANING_UNSPACED) or (first is not None and first[1].casefold() in LEANING)


def _rule(draft: DraftClaim, ruling: Ruling | None, ledger: Sequence[Citation], topic: str, judge: str) -> Claim:
    if claim := vetoed(draft, ledger, topic):
        return claim
    by_words = by_program([draft], ledger)[0]
    if ruling is None:
        return by_words
    if ruling.answer != "yes":
        verdict = Verdict(
            "partly" if ruling.answer == "part" else "not",
            _CODES[ruling.answer],
            " ".join(ruling.missing.split())[:_LONGEST_DETAIL],
            by_words["score"],
        )
        return as_claim(
            draft, _with_quotes(verdict, draft.text, _named(ruling, draft, ledger)), draft.sources, "", judge
        )
    named = _named(ruling, draft, ledger)
    sources = [number for number, _ in named]
    verdict = _with_quotes(Verdict("supported", "", "", by_words["score"]), draft.text, named)
    return as_claim(draft, verdict, sources, basis_of(draft.text, sources, ledger), judge)


def _named(ruling: Ruling, draft: DraftClaim, ledger: Sequence[Citation]) -> list[tuple[int, list[Passage]]]:
    """The passages that the judge named, by cited source; all that were shown where it named none."""
    named: dict[int, list[Passage]] = {}
    for number, position in ruling.passages:
        if number in draft.sources and 1 <= position <= len(ledger[number - 1]["passages"]):
            named.setdefault(number, []).append(ledger[number - 1]["passages"][position - 1])
    return [(n, named[n]) for n in draft.sources if n in named] or [
        (n, ledger[n - 1]["passages"]) for n in draft.sources
    ]


def _with_quotes(verdict: Verdict, text: str, evidence: Sequence[tuple[int, Sequence[Passage]]]) -> Verdict:
    """The verdict with the piece of each source that comes nearest: byte for byte, chosen by program."""
    quotes = closest_quotes(text, evidence)
    if not quotes:
        return verdict
    first, *rest = quotes
    return replace(verdict, source=first.source, start=first.start, end=first.end, quote=first.text, others=tuple(rest))
