"""The program's own verdicts on a draft, by likeness of words: what decides where no model writes or judges.

How a sentence comes into a brief: `evidence.draft` and `evidence.claims` read it out of the draft; `vetoes` refuses
what is certainly wrong; where a model writes, a model judges the rest over all that the cited sources showed
(`models.judge`, taken over in `rulings`), else `support` does here; what was refused is written once more, sentence
by sentence (`graph.writing`), and judged again; the rest is left out, with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from research_agent.documents import Basis, Citation, Claim, OtherQuote, Passage
from research_agent.evidence.check.support import Verdict, check_support
from research_agent.evidence.check.vetoes import Veto, computed_figures, orders_of, repeats_order, shown_of
from research_agent.evidence.claims import DraftClaim, has_url
from research_agent.evidence.passages import rank_passages
from research_agent.evidence.selection import stands_alone

_MAX_QUOTE = 320  # characters of a passage that may stand in a brief as it is

Evidence = list[tuple[int, list[Passage]]]


def choose_evidence(topic: str, ledger: Sequence[Citation], budget: int) -> Evidence:
    """Passages for the writer within `budget` characters, spread over sources: each one's best, then each second …"""
    ranked = [[passage for _, passage in rank_passages(citation["passages"], topic)] for citation in ledger]
    chosen: dict[int, list[Passage]] = {number: [] for number in range(1, len(ledger) + 1)}
    for depth in range(max((len(passages) for passages in ranked), default=0)):
        for number, passages in enumerate(ranked, start=1):
            if depth < len(passages) and len(passages[depth]["text"]) <= budget:
                chosen[number].append(passages[depth])
                budget -= len(passages[depth]["text"])
    return [(number, sorted(group, key=lambda p: p["start"])) for number, group in chosen.items() if group]


def by_program(drafts: Sequence[DraftClaim], ledger: Sequence[Citation]) -> list[Claim]:
    """Each draft with the program's verdict over everything the model was shown of the sources that it cites."""
    return [_check(draft, ledger) for draft in drafts]


def quote_instead(claims: Sequence[Claim], ledger: Sequence[Citation]) -> list[Claim]:
    """The claims, and for each that its passage says only partly that passage itself, as a quotation.

    So a writer's free wording costs the wording, not the fact. The claim stays in the list as unsupported.
    """
    quoted = {claim["quote"] for claim in claims if claim["verdict"] == "supported"}
    result: list[Claim] = []
    for claim in claims:
        result.append(claim)
        quote = " ".join(claim["quote"].split())
        fits = claim["verdict"] == "partly" and len(quote) <= _MAX_QUOTE and stands_alone(quote)
        if fits and claim["quote"] not in quoted:
            quoted.add(claim["quote"])
            draft = DraftClaim(claim["bullet"], f"“{quote}”", (claim["quote_source"],), claim["part"], claim["heading"])
            verdict = _check(draft, ledger)
            if verdict["verdict"] == "supported":
                result.append(verdict)
    return result


def as_claim(draft: DraftClaim, verdict: Verdict, sources: Sequence[int], basis: Basis, judge: str = "") -> Claim:
    """The record of a draft with its verdict."""
    return Claim(
        bullet=draft.bullet,
        part="body" if draft.part == "open" else draft.part,
        heading=draft.heading,
        columns=list(draft.columns),
        cells=list(draft.cells),
        text=draft.text,
        sources=list(sources),
        verdict=verdict.level,
        code=verdict.code,
        detail=verdict.detail,
        basis=basis,
        judge=judge,
        score=verdict.score,
        quote=verdict.quote,
        quote_source=verdict.source,
        start=verdict.start,
        end=verdict.end,
        others=[OtherQuote(source=q.source, start=q.start, end=q.end, text=q.text) for q in verdict.others],
    )


def basis_of(text: str, sources: Sequence[int], ledger: Sequence[Citation]) -> Basis:
    """What a kept sentence rests on."""
    if computed_figures(text, shown_of([ledger[number - 1] for number in sources])):
        return "computed"
    return "combined" if len(sources) > 1 else "stated"


def _check(draft: DraftClaim, ledger: Sequence[Citation]) -> Claim:
    sources = draft.sources
    if refused := _refused(draft, ledger):
        verdict = Verdict("not", refused.code, refused.detail, 0.0)
    else:
        verdict = _support(draft.text, sources, ledger)
        if verdict.level != "supported" and len(sources) > 1:
            # One number too many is no reason to lose a true sentence.
            alone = [n for n in sources if _support(draft.text, (n,), ledger).level == "supported"]
            if alone:
                sources, verdict = tuple(alone), _support(draft.text, tuple(alone), ledger)
    basis = basis_of(draft.text, sources, ledger) if verdict.level == "supported" else ""
    return as_claim(draft, verdict, sources, basis)


def _refused(draft: DraftClaim, ledger: Sequence[Citation]) -> Veto | None:
    """What no likeness makes up for. Figures and quotations are compared with the very passage by `check_support`."""
    if repeats_order(draft.text, ledger) or _says_order(draft.text, ledger):
        return Veto("instruction")
    if has_url(draft.text):
        return Veto("address")
    unknown = [number for number in draft.sources if not 1 <= number <= len(ledger)]
    return Veto("no_source", str(unknown[0])) if unknown else None


def _says_order(text: str, ledger: Sequence[Citation]) -> bool:
    """Whether a sentence says in other words what a page told the model to do or to say."""
    return any(check_support(text, [(1, orders)]).level != "not" for orders in map(orders_of, ledger) if orders)


def _support(text: str, numbers: Sequence[int], ledger: Sequence[Citation]) -> Verdict:
    return check_support(text, [(number, ledger[number - 1]["passages"]) for number in numbers])
