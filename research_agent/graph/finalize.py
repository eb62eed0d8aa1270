"""The node `finalize`: a brief from the ledger, every claim of it checked.

Nothing here can lose what was collected: if the model can't write, the built-in writer does, and the brief says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.runtime import Runtime

from research_agent import prompts
from research_agent.brief.brief import Brief, outcome_of
from research_agent.brief.markdown import to_markdown
from research_agent.documents import Citation, Claim
from research_agent.errors import ModelError
from research_agent.evidence.check.verdicts import (
    INSTRUCTION,
    better_draft,
    choose_evidence,
    judge_claims,
    quote_instead,
)
from research_agent.evidence.claims import parse_claims, without_addresses
from research_agent.graph.context import Node, ResearchContext, context_of
from research_agent.graph.sanitize import last_turn
from research_agent.graph.state import ResearchState
from research_agent.limits import DONE, REPEATING, SOURCES_FAILED, STAGNANT, may_call_model
from research_agent.models.call import CallSite, call_model
from research_agent.models.extractive import write_brief
from research_agent.models.judge import second_opinion
from research_agent.settings import EXTRACTIVE
from research_agent.storage.journal import Purpose, Turn

# What ToolNode and the guard say of calls that never came to a search: wrong arguments, a limit, a person's no.
_NOT_A_SEARCH = (
    "Error invoking tool",
    *(text.partition("{")[0] for text in (prompts.LIMIT_REACHED, prompts.REFUSED_BY_PERSON)),
)


def make_finalize(model: BaseChatModel) -> Node:
    """The node, with `model` as writer."""

    async def finalize(state: ResearchState, runtime: Runtime[ResearchContext]) -> dict[str, Any]:
        context = context_of(state, runtime)
        ledger = state.get("citations", [])
        reason = state.get("stop_reason") or DONE
        if not ledger and reason in (DONE, STAGNANT, REPEATING, "max_steps") and _no_search_worked(state):
            reason = SOURCES_FAILED
        claims, writer = await _write(state, ledger, model, context, runtime) if ledger else ([], "")
        kept = [claim for claim in claims if claim["verdict"] == "supported"]
        result: dict[str, Any] = {
            "stop_reason": reason,
            "outcome": outcome_of(reason, has_claims=bool(kept)),
            "writer": writer,
            "claims": claims,
            "not_established": list(dict.fromkeys(_dropped(c) for c in claims if c["verdict"] != "supported")),
        }
        answer, _ = last_turn(state.get("messages", []))
        # A turn that asked for tools has its row from sanitize already; this adds the one that stopped.
        await context.journal.save_turn(
            Turn(
                step=state.get("step_count", 0),
                thought=answer.text,
                tool_calls=0,
                new_sources=0,
                new_passages=0,
                stagnant_turns=state.get("stagnant_turns", 0),
                stop_reason=reason,
                seconds=context.seconds,
            )
        )
        brief = Brief.from_state({**state, **result}, thread_id="", edition=1, model=context.model_name)
        return {**result, "final_brief": to_markdown(brief)}

    return finalize


def _no_search_worked(state: ResearchState) -> bool:
    """Whether there were searches, and not one of them was answered: that says nothing about the topic."""
    searches = [
        message
        for message in state.get("messages", [])
        if isinstance(message, ToolMessage)
        and message.name == "search_web"
        and not message.text.startswith(_NOT_A_SEARCH)
    ]
    return bool(searches) and all(message.status == "error" for message in searches)


async def _write(
    state: ResearchState,
    ledger: Sequence[Citation],
    model: BaseChatModel,
    context: ResearchContext,
    runtime: Runtime[ResearchContext],
) -> tuple[list[Claim], str]:
    """The checked claims, and who wrote them."""
    least, most = prompts.BULLETS[context.length]
    evidence = choose_evidence(state["topic"], ledger)
    titled = [(number, ledger[number - 1]["title"], passages) for number, passages in evidence]
    request = prompts.render_evidence(state["topic"], titled, most)
    messages = [SystemMessage(prompts.WRITER.format(least=least, most=most)), HumanMessage(request)]
    step = state.get("step_count", 0)
    writer = context.writer_name or context.model_name
    claims: list[Claim] = []

    async def write(purpose: Purpose) -> tuple[str, list[Claim]]:
        if not may_call_model(context.journal.spending, context.seconds, context.limits):
            raise ModelError("nothing is left of the limits for a model call: the built-in writer writes")
        site = CallSite(step, purpose, model_name=writer)
        draft = await call_model(model, messages, site, context, runtime.stream_writer)
        return draft.text, judge_claims(parse_claims(draft.text), ledger, most)

    try:
        text, claims = await write("write")
        problems = [claim for claim in claims if claim["verdict"] != "supported"]
        if problems:
            messages += [AIMessage(text), HumanMessage(_repair_request(problems))]
            claims = better_draft(claims, (await write("repair"))[1])
        if context.judge and may_call_model(context.journal.spending, context.seconds, context.limits):
            site = CallSite(step, "judge", model_name=writer)
            claims = await second_opinion(claims, model, site, context, runtime.stream_writer)
    except ModelError as error:
        runtime.stream_writer({"problem": str(error)})
    claims = quote_instead(claims, ledger)
    if any(claim["verdict"] == "supported" for claim in claims):
        return claims, writer
    own = judge_claims(parse_claims(write_brief(state["topic"], evidence, most)), ledger, most)
    return own or claims, EXTRACTIVE


def _dropped(claim: Claim) -> str:
    """The line of a sentence that was dropped. What a page orders is not even repeated there."""
    if claim["reason"] == INSTRUCTION:
        return f"A sentence was left out: {INSTRUCTION}"
    return f"{without_addresses(claim['text'])} — {without_addresses(claim['reason'])}"


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
