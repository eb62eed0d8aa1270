"""Sentences that go back to the writer, one by one, and what comes of it. All others stay byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import json_repair

from research_agent import prompts
from research_agent.documents import Citation, Claim
from research_agent.evidence.passages import rank_passages

_NEAREST = 3  # passages of each cited source that go along
_RANK = {"supported": 2, "partly": 1, "not": 0}
# What the writer is told of a refusal; `detail` is put behind it.
_WHY = {
    "unsaid": "its sources do not say this",
    "part": "its sources do not say all of it; what is missing there",
    "doubt": "its sources say it in another sense; look at",
    "figure": "this figure or date stands in none of its sources and is not worked out from others in the sentence",
    "quotation": "these words stand in none of its sources",
    "no_source": "it needs the number of a source that exists",
    "address": "it writes an address",
    "off_topic": "it has no bearing on the topic",
    "leaning": "it leans on a sentence before it that is refused; say what it speaks of",
    "too_long": "it is too long to be one sentence",
    "unchecked": "its sources do not say this",
}


def refused_sentences(claims: Sequence[Claim], ledger: Sequence[Citation]) -> list[prompts.RefusedSentence]:
    """What the writer is asked to mend; an instruction of a page is not even sent back."""
    return [
        prompts.RefusedSentence(
            f"s{place + 1}",
            " | ".join(claim["cells"]) or claim["text"],
            ": ".join(part for part in (_WHY[claim["code"]], claim["detail"]) if part),
            _nearest(claim, ledger),
        )
        for place, claim in enumerate(claims)
        if claim["verdict"] != "supported" and claim["code"] in _WHY
    ]


def read_repairs(answer: str) -> dict[int, str]:
    """What the writer answered, by position; "" for a sentence that it gives up."""
    start, end = answer.find("{"), answer.rfind("}")
    if start < 0:
        return {}
    read = json_repair.loads(answer[start : end + 1] if end > start else answer[start:])
    if not isinstance(read, dict):
        return {}
    return {
        int(digits) - 1: value if isinstance(value, str) else ""
        for key, value in read.items()
        if (digits := str(key).strip().removeprefix("s")).isascii() and digits.isdigit() and 0 < len(digits) < 5
    }


def merged(claims: Sequence[Claim], anew: Mapping[int, Claim]) -> list[Claim]:
    """The better version of each sentence; the first of equals."""
    return [
        new if (new := anew.get(place)) and _RANK[new["verdict"]] > _RANK[claim["verdict"]] else claim
        for place, claim in enumerate(claims)
    ]


def _nearest(claim: Claim, ledger: Sequence[Citation]) -> list[tuple[int, str]]:
    """What the judge named, and what comes nearest, of each source that is cited; of all where none is."""
    named = {(claim["quote_source"], claim["quote"])} if claim["quote"] else set()
    named |= {(other["source"], other["text"]) for other in claim["others"]}
    numbers = [number for number in claim["sources"] if 1 <= number <= len(ledger)] or range(1, len(ledger) + 1)
    ranked = [
        (number, passage["text"])
        for number in list(numbers)[:4]
        for _, passage in rank_passages(ledger[number - 1]["passages"], f"{claim['text']} {claim['detail']}")[:_NEAREST]
    ]
    return [*ranked, *(pair for pair in sorted(named) if not any(pair[1] in text for _, text in ranked))]
