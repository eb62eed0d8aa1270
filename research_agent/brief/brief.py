"""The result of a run, typed. Everything in it is plain data; exporters turn it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypedDict, cast

from research_agent.documents import Claim, Code, OtherQuote
from research_agent.evidence.claims import without_addresses
from research_agent.language import guess_language
from research_agent.limits import DONE, SOURCES_FAILED

Outcome = Literal["complete", "partial", "no_evidence", "failed"]
Checked = Literal["model", "program", "unchecked"]

SCHEMA_VERSION = 2


class LeftOut(TypedDict):
    """A sentence that was drafted and is not in the brief. What a page orders is not even repeated: no `text` then."""

    text: str
    sources: list[int]
    code: Code
    detail: str


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of the ledger that the brief cites; `number` is its [n], `also_at` are addresses with the same text."""

    number: int
    url: str
    title: str
    kind: str
    author: str
    site: str
    published: str
    language: str
    content_hash: str
    also_at: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Usage:
    """What all starts of the run used together. `cost_usd` counts calls whose price is known."""

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief and what it stands on.

    Attributes:
        outcome: ``complete``, ``partial`` (a limit ended the run; see `stop_reason`), ``no_evidence`` or ``failed``.
        claims: the sentences that were kept, in order: first the lead, then sections, tables and what the sources
            disagree on; each has its quote and the offsets of it.
        open: what nothing that was read answers.
        left_out: what was drafted and could not be kept, with the reason.
        writer: the model that wrote it, or ``extractive`` when the built-in writer had to.
        checked: who judged the sentences: a ``model``, the ``program`` where that was wanted, or ``unchecked``: the
            program alone, because no model was there to judge their meaning.
        rewritten: nothing of the first draft could be kept.
        sources: the cited sources. `sources_read` counts those that were read.
    """

    topic: str
    thread_id: str
    edition: int
    outcome: Outcome
    stop_reason: str
    claims: list[Claim]
    open: list[str]
    left_out: list[LeftOut]
    sources: list[Source]
    sources_read: int
    steps: int
    model: str
    writer: str
    checked: Checked = "program"
    rewritten: bool = False
    language: str = "en"  # ISO 639-1, of the topic
    started_at: str = ""
    finished_at: str = ""
    usage: Usage = field(default_factory=Usage)
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def from_state(cls, state: Mapping[str, Any], **about_run: Any) -> Brief:
        """The brief that the final `state` holds; `about_run` are the fields that no state knows."""
        claims = state.get("claims", [])
        kept = [claim for claim in claims if claim["verdict"] == "supported"]
        left_out = [_left_out(claim) for claim in claims if claim["verdict"] != "supported"]
        cited = sorted({number for claim in kept for number in claim["sources"]})
        ledger = state.get("citations", [])
        return cls(
            topic=state["topic"],
            outcome=state["outcome"],
            stop_reason=state["stop_reason"],
            claims=kept,
            open=list(state.get("open", [])),
            left_out=[each for n, each in enumerate(left_out) if each not in left_out[:n]],
            sources=[_source(number, ledger[number - 1]) for number in cited],
            sources_read=len(ledger),
            steps=state.get("step_count", 0),
            writer=state.get("writer", ""),
            checked=state.get("checked", "program"),
            rewritten=state.get("rewritten", False),
            language=guess_language(state["topic"]),
            **about_run,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Brief:
        """The brief that `to_dict` wrote, by this version or an earlier one."""
        data = data if data["schema_version"] >= 2 else _from_version_1(data)
        return cls(
            **{
                **data,
                "claims": [_claim(claim) for claim in data["claims"]],
                "left_out": [{key: each[key] for key in LeftOut.__annotations__} for each in data["left_out"]],
                "sources": [Source(**source) for source in data["sources"]],
                "usage": Usage(**data["usage"]),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def outcome_of(stop_reason: str, *, has_claims: bool) -> Outcome:
    """How a run ended: nothing supported is no brief, a limit makes it partial."""
    if not has_claims:
        return "failed" if stop_reason == SOURCES_FAILED else "no_evidence"
    return "complete" if stop_reason == DONE else "partial"


def _from_version_1(data: Mapping[str, Any]) -> dict[str, Any]:
    """A brief of before leads, sections and codes: one list of bullets, reasons as lines of text."""
    new: dict[str, Any] = {
        "part": "body",
        "heading": "",
        "columns": [],
        "cells": [],
        "code": "",
        "detail": "",
        "judge": "",
    }
    claims = [
        {**new, "basis": "combined" if len(claim["sources"]) > 1 else "stated", **claim} for claim in data["claims"]
    ]
    for claim in claims:
        claim["judge"] = claim.pop("reason", "").partition("second opinion of ")[2]
    lines = (line.partition(" — ") for line in data["not_established"])
    left_out = [{"text": text, "sources": [], "code": "", "detail": reason} for text, _, reason in lines]
    kept = {name: value for name, value in data.items() if name != "not_established"}
    return kept | {
        "claims": claims,
        "left_out": left_out,
        "open": [],
        "language": guess_language(data["topic"]),
        "schema_version": SCHEMA_VERSION,
    }


def _left_out(claim: Claim) -> LeftOut:
    told = claim["code"] != "instruction"
    return LeftOut(
        text=without_addresses(claim["text"]) if told else "",
        sources=claim["sources"],
        code=claim["code"],
        detail=without_addresses(claim["detail"]) if told else "",
    )


def _claim(data: Mapping[str, Any]) -> Claim:
    """The claim with its keys in order: jsonb keeps none, and a stored brief is printed as it was the first time."""
    claim: dict[str, Any] = {key: data[key] for key in Claim.__annotations__}
    claim["others"] = [{key: other[key] for key in OtherQuote.__annotations__} for other in data["others"]]
    return cast(Claim, claim)


def _source(number: int, citation: Mapping[str, Any]) -> Source:
    fields = ("url", "title", "kind", "author", "site", "published", "language", "content_hash")
    return Source(number=number, also_at=list(citation["also_at"]), **{name: citation[name] for name in fields})
