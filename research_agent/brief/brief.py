"""The result of a run, typed. Everything in it is plain data; exporters turn it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from research_agent.documents import Claim, OtherQuote
from research_agent.limits import DONE, SOURCES_FAILED

Outcome = Literal["complete", "partial", "no_evidence", "failed"]

SCHEMA_VERSION = 1


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
        claims: the sentences that were kept, in order; each has its quote and the offsets of it.
        not_established: what the writer said and no passage supported, with the reason.
        writer: the model that wrote it, or ``extractive`` when the built-in writer had to.
        sources: the cited sources. `sources_read` counts those that were read.
    """

    topic: str
    thread_id: str
    edition: int
    outcome: Outcome
    stop_reason: str
    claims: list[Claim]
    not_established: list[str]
    sources: list[Source]
    sources_read: int
    steps: int
    model: str
    writer: str
    started_at: str = ""
    finished_at: str = ""
    usage: Usage = field(default_factory=Usage)
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def from_state(cls, state: Mapping[str, Any], **about_run: Any) -> Brief:
        """The brief that the final `state` holds; `about_run` are the fields that no state knows."""
        kept = [claim for claim in state.get("claims", []) if claim["verdict"] == "supported"]
        cited = sorted({number for claim in kept for number in claim["sources"]})
        ledger = state.get("citations", [])
        return cls(
            topic=state["topic"],
            outcome=state["outcome"],
            stop_reason=state["stop_reason"],
            claims=kept,
            not_established=list(state.get("not_established", [])),
            sources=[_source(number, ledger[number - 1]) for number in cited],
            sources_read=len(ledger),
            steps=state.get("step_count", 0),
            writer=state.get("writer", ""),
            **about_run,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Brief:
        """The brief that `to_dict` wrote."""
        return cls(
            **{
                **data,
                "claims": [_claim(claim) for claim in data["claims"]],
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


def _claim(data: Mapping[str, Any]) -> Claim:
    """The claim with its keys in order: jsonb keeps none, and a stored brief is printed as it was the first time."""
    claim: dict[str, Any] = {key: data[key] for key in Claim.__annotations__}
    claim["others"] = [{key: other[key] for key in OtherQuote.__annotations__} for other in data["others"]]
    return cast(Claim, claim)


def _source(number: int, citation: Mapping[str, Any]) -> Source:
    fields = ("url", "title", "kind", "author", "site", "published", "language", "content_hash")
    return Source(number=number, also_at=list(citation["also_at"]), **{name: citation[name] for name in fields})
