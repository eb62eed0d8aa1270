"""The node `finalize`: a brief from the ledger, every sentence of it checked (see `graph.writing`)."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from research_agent import prompts
from research_agent.brief.brief import Brief, outcome_of
from research_agent.brief.markdown import to_markdown
from research_agent.context import ResearchContext, context_of
from research_agent.graph.sanitize import last_turn
from research_agent.graph.state import Node, ResearchState
from research_agent.graph.writing import BuiltInWriter, Judge, ModelWriter, Writer, Written, write_checked
from research_agent.limits import DONE, REPEATING, SOURCES_FAILED, STAGNANT
from research_agent.settings import EXTRACTIVE
from research_agent.storage.journal import Turn

# What ToolNode and the guard say of calls that never came to a search: wrong arguments, a limit, a person's no.
_NOT_A_SEARCH = (
    "Error invoking tool",
    *(text.partition("{")[0] for text in (prompts.LIMIT_REACHED, prompts.REFUSED_BY_PERSON)),
)


def make_finalize(model: BaseChatModel, judge: BaseChatModel | None = None) -> Node:
    """The node, with `model` as writer and `judge`, or the writer, as judge."""

    async def finalize(state: ResearchState, runtime: Runtime[ResearchContext]) -> dict[str, Any]:
        context = context_of(state, runtime)
        ledger = state.get("citations", [])
        reason = state.get("stop_reason") or DONE
        if not ledger and reason in (DONE, STAGNANT, REPEATING, "max_steps") and _no_search_worked(state):
            reason = SOURCES_FAILED
        written = await _write(state, model, judge, context, runtime) if ledger else Written([], "", "program")
        kept = any(claim["verdict"] == "supported" for claim in written.claims)
        result: dict[str, Any] = {
            "stop_reason": reason,
            "outcome": outcome_of(reason, has_claims=kept),
            "writer": written.writer,
            "claims": written.claims,
            "open": written.open,
            "checked": written.checked,
            "rewritten": written.rewritten,
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
    model: BaseChatModel,
    judge: BaseChatModel | None,
    context: ResearchContext,
    runtime: Runtime[ResearchContext],
) -> Written:
    topic, ledger, step = state["topic"], state.get("citations", []), state.get("step_count", 0)
    most = prompts.BULLETS[context.length][1]
    name, report = context.writer_name or context.model_name, runtime.stream_writer
    if name == EXTRACTIVE:
        nobody = Judge(None, "", ledger, topic, step, context, report)
        return await write_checked(topic, BuiltInWriter(most), nobody, most)
    questions = [question["text"] for question in state.get("questions", [])]
    writer: Writer = ModelWriter(model, name, ledger, questions, step, context, report)
    judging = (judge or model) if context.check == "model" else None
    return await write_checked(
        topic, writer, Judge(judging, context.judge_name or name, ledger, topic, step, context, report), most
    )
