"""The node `finalize`: a brief from the ledger, every claim of it checked.

Nothing here can lose what was collected: if the model can't write, the built-in writer does, and the brief says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from research_agent import prompts
from research_agent.context import Node, ResearchContext, context_of
from research_agent.errors import ModelError
from research_agent.evidence.brief import Brief, outcome_of
from research_agent.evidence.claims import DraftClaim, has_url, parse_claims
from research_agent.evidence.passages import rank_passages
from research_agent.evidence.support import Verdict, check_support
from research_agent.export.markdown import to_markdown
from research_agent.limits import DONE, may_call_model
from research_agent.models.call import CallSite, call_model
from research_agent.models.extractive import write_brief
from research_agent.nodes.sanitize import last_turn
from research_agent.settings import EXTRACTIVE
from research_agent.state import Citation, Claim, Passage, ResearchState
from research_agent.storage.journal import Purpose, Turn

EVIDENCE_CHARS = 24_000  # of passages that the writer gets, about 6,000 tokens

Evidence = list[tuple[int, list[Passage]]]


def make_finalize(model: BaseChatModel) -> Node:
    """The node, with `model` as writer."""

    async def finalize(state: ResearchState, runtime: Runtime[ResearchContext]) -> dict[str, Any]:
        context = context_of(state, runtime)
        ledger = state.get("citations", [])
        reason = state.get("stop_reason") or DONE
        claims, writer = await _write(state, ledger, model, context, runtime) if ledger else ([], "")
        kept = [claim for claim in claims if claim["verdict"] == "supported"]
        result: dict[str, Any] = {
            "stop_reason": reason,
            "outcome": outcome_of(reason, has_claims=bool(kept)),
            "writer": writer,
            "claims": claims,
            "not_established": [f"{c['text']} — {c['reason']}" for c in claims if c["verdict"] != "supported"],
        }
        answer, _ = last_turn(state.get("messages", []))
        # A turn that asked for tools has its row from sanitize already; this adds the one that stopped.
        await context.journal.save_turn(
            Turn(
                state.get("step_count", 0),
                answer.text,
                0,
                0,
                0,
                state.get("stagnant_turns", 0),
                reason,
                context.seconds,
            )
        )
        brief = Brief.from_state({**state, **result}, thread_id="", edition=1, model=context.model_name)
        return {**result, "final_brief": to_markdown(brief)}

    return finalize


async def _write(
    state: ResearchState,
    ledger: Sequence[Citation],
    model: BaseChatModel,
    context: ResearchContext,
    runtime: Runtime[ResearchContext],
) -> tuple[list[Claim], str]:
    """The checked claims, and who wrote them."""
    evidence = choose_evidence(state["topic"], ledger)
    titled = [(number, ledger[number - 1]["title"], passages) for number, passages in evidence]
    messages = [SystemMessage(prompts.WRITER), HumanMessage(prompts.render_evidence(state["topic"], titled))]
    step = state.get("step_count", 0)
    writer = context.writer_name or context.model_name
    claims: list[Claim] = []

    def site(purpose: Purpose) -> CallSite:
        return CallSite(step, purpose, model_name=writer)

    try:
        _check_budget(context)
        draft = await call_model(model, messages, site("write"), context, runtime.stream_writer)
        claims = check_claims(parse_claims(draft.text), ledger)
        problems = [claim for claim in claims if claim["verdict"] != "supported"]
        if problems:
            _check_budget(context)
            messages += [AIMessage(draft.text), HumanMessage(_repair_request(problems))]
            draft = await call_model(model, messages, site("repair"), context, runtime.stream_writer)
            claims = _better(claims, check_claims(parse_claims(draft.text), ledger))
    except ModelError as error:
        runtime.stream_writer({"problem": str(error)})
    if any(claim["verdict"] == "supported" for claim in claims):
        return claims, writer
    return check_claims(parse_claims(write_brief(state["topic"], evidence)), ledger) or claims, EXTRACTIVE


def _check_budget(context: ResearchContext) -> None:
    if not may_call_model(context.journal.spending, context.seconds, context.limits):
        raise ModelError("nothing is left of the limits for a model call: the built-in writer writes")


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


def check_claims(drafts: Sequence[DraftClaim], ledger: Sequence[Citation]) -> list[Claim]:
    """Each draft with its verdict over everything the model was shown of the sources that it cites."""
    return [_check(draft, ledger) for draft in drafts]


def _check(draft: DraftClaim, ledger: Sequence[Citation]) -> Claim:
    unknown = [number for number in draft.sources if not 1 <= number <= len(ledger)]
    if has_url(draft.text):
        verdict = Verdict("not", "it writes an address itself", 0.0)
    elif unknown:
        verdict = Verdict("not", f"there is no source [{unknown[0]}]", 0.0)
    else:
        verdict = check_support(draft.text, [(number, ledger[number - 1]["passages"]) for number in draft.sources])
    return Claim(
        bullet=draft.bullet,
        text=draft.text,
        sources=list(draft.sources),
        verdict=verdict.level,
        reason=verdict.reason,
        score=verdict.score,
        quote=verdict.quote,
        quote_source=verdict.source,
        start=verdict.start,
        end=verdict.end,
    )


def _repair_request(problems: Sequence[Claim]) -> str:
    lines = []
    for claim in problems:
        closest = (
            f' Closest passage, in [{claim["quote_source"]}]: "{prompts.fenced(claim["quote"])}"'
            if claim["quote"]
            else ""
        )
        lines.append(f'- "{claim["text"]}": {claim["reason"]}.{closest}')
    return prompts.REPAIR.format(problems="\n".join(lines))


def _better(first: list[Claim], second: list[Claim]) -> list[Claim]:
    """The draft with more supported sentences; the repaired one of equals."""
    return max((second, first), key=lambda claims: sum(claim["verdict"] == "supported" for claim in claims))
