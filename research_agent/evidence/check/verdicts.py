"""What becomes of a draft: evidence chosen for it, each sentence judged, and kept, quoted instead, or dropped."""

from __future__ import annotations

from collections.abc import Sequence

from research_agent.documents import Citation, Claim, OtherQuote, Passage
from research_agent.evidence.check.instructions import orders_in, speaks_to_model
from research_agent.evidence.check.objections import ADDITION
from research_agent.evidence.check.support import ONLY_A_PART, ONLY_NAMES, Verdict, check_support
from research_agent.evidence.claims import DraftClaim, has_url
from research_agent.evidence.passages import rank_passages
from research_agent.evidence.selection import stands_alone

EVIDENCE_CHARS = 24_000  # of passages that the writer gets, about 6,000 tokens
SECOND_OPINION = "second opinion of "  # how the reason of a claim begins that a model judge lifted
INSTRUCTION = "it repeats an instruction that a page gives to its reader"
_MAX_QUOTE = 320  # characters of a passage that may stand in a brief as it is

Evidence = list[tuple[int, list[Passage]]]


def choose_evidence(topic: str, ledger: Sequence[Citation], budget: int = EVIDENCE_CHARS) -> Evidence:
    """Passages for the writer within `budget` characters, spread over sources: each one's best, then each second …"""
    ranked = [[passage for _, passage in rank_passages(citation["passages"], topic)] for citation in ledger]
    chosen: dict[int, list[Passage]] = {number: [] for number in range(1, len(ledger) + 1)}
    for depth in range(max((len(passages) for passages in ranked), default=0)):
        for number, passages in enumerate(ranked, start=1):
            if depth < len(passages) and len(passages[depth]["text"]) <= budget:
                chosen[number].append(passages[depth])
                budget -= len(passages[depth]["text"])
    return [(number, sorted(group, key=lambda p: p["start"])) for number, group in chosen.items() if group]


def judge_claims(drafts: Sequence[DraftClaim], ledger: Sequence[Citation], max_bullets: int) -> list[Claim]:
    """Each draft with its verdict over everything the model was shown of the sources that it cites.

    Bullets beyond `max_bullets` are left out: a writer that can't stop is cut.
    """
    return [_judge(draft, ledger) for draft in drafts if draft.bullet <= max_bullets]


def better_draft(first: list[Claim], second: list[Claim]) -> list[Claim]:
    """The draft with more supported sentences; the second of equals."""
    return max((second, first), key=lambda claims: sum(claim["verdict"] == "supported" for claim in claims))


def may_be_lifted(claim: Claim) -> bool:
    """Whether a second opinion may decide: only on wording, never on a number, name, quotation, negation or role."""
    return claim["verdict"] == "partly" and (
        claim["reason"] in (ONLY_A_PART, ONLY_NAMES) or claim["reason"].startswith(ADDITION)
    )


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
            draft = DraftClaim(claim["bullet"], f"“{quote}”", (claim["quote_source"],))
            verdict = _judge(draft, ledger)
            if verdict["verdict"] == "supported":
                result.append(verdict)
    return result


def _judge(draft: DraftClaim, ledger: Sequence[Citation]) -> Claim:
    unknown = [number for number in draft.sources if not 1 <= number <= len(ledger)]
    sources = draft.sources
    if _repeats_instruction(draft.text, ledger):
        verdict = Verdict("not", INSTRUCTION, 0.0)
    elif has_url(draft.text):
        verdict = Verdict("not", "it writes an address itself", 0.0)
    elif unknown:
        verdict = Verdict("not", f"there is no source [{unknown[0]}]", 0.0)
    else:
        verdict = _support(draft.text, sources, ledger)
        if verdict.level != "supported" and len(sources) > 1:
            # One number too many is no reason to lose a true sentence.
            alone = [n for n in sources if _support(draft.text, (n,), ledger).level == "supported"]
            if alone:
                sources, verdict = tuple(alone), _support(draft.text, tuple(alone), ledger)
    return Claim(
        bullet=draft.bullet,
        text=draft.text,
        sources=list(sources),
        verdict=verdict.level,
        reason=verdict.reason,
        score=verdict.score,
        quote=verdict.quote,
        quote_source=verdict.source,
        start=verdict.start,
        end=verdict.end,
        others=[OtherQuote(source=q.source, start=q.start, end=q.end, text=q.text) for q in verdict.others],
    )


def _repeats_instruction(text: str, ledger: Sequence[Citation]) -> bool:
    """Whether a sentence says what a page told the model to do or to say, cited or not."""
    if speaks_to_model(text):
        return True
    orders = [(number, _orders(citation)) for number, citation in enumerate(ledger, start=1)]
    orders = [(number, passages) for number, passages in orders if passages]
    if not orders:
        return False
    said = " ".join(text.split()).rstrip(".!").casefold()
    if any(said in " ".join(p["text"].split()).casefold() for _, passages in orders for p in passages):
        return True
    return any(check_support(text, [each]).level != "not" for each in orders)


def _orders(citation: Citation) -> list[Passage]:
    """What a source says to the model, sentence by sentence."""
    return [
        Passage(start=passage["start"] + start, end=passage["start"] + end, text=passage["text"][start:end])
        for passage, spans in zip(citation["passages"], orders_in(citation["passages"]), strict=True)
        for start, end in spans
    ]


def _support(text: str, numbers: Sequence[int], ledger: Sequence[Citation]) -> Verdict:
    return check_support(text, [(number, ledger[number - 1]["passages"]) for number in numbers])
