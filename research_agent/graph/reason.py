"""The node `reason`: one model call that asks for tools, or stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from research_agent import prompts
from research_agent.context import ResearchContext, context_of
from research_agent.errors import ModelError
from research_agent.graph.state import Node, ResearchState
from research_agent.limits import DONE, MODEL_FAILED, stop_reason
from research_agent.models.call import CallSite, call_model
from research_agent.tools.ask_human import as_payload, questions_in, replies_to

# It did answer, again and again: nothing that the same command would cure a minute later.
UNUSABLE = frozenset({"bad_call", "empty", "prompt_blocked", "refused", "truncated"})


def make_reason(model: BaseChatModel, tools: Sequence[BaseTool]) -> Node:
    """The node for `model` with `tools` offered."""
    bound = model.bind_tools(tools)
    names = frozenset(tool.name for tool in tools)

    async def reason(state: ResearchState, runtime: Runtime[ResearchContext]) -> dict[str, Any]:
        context = context_of(state, runtime)
        step = state.get("step_count", 0) + 1
        new: list[Any] = []
        if not state.get("messages"):
            new.append(HumanMessage(prompts.task(state["topic"]), id="topic"))
        elif _said_nothing(state):
            new.append(HumanMessage(prompts.NUDGE, id=f"nudge-{step}"))
        history = [SystemMessage(prompts.system(names)), *state.get("messages", []), *new]
        site = CallSite(step, "reason", names)
        try:
            answer = await call_model(bound, history, site, context, runtime.stream_writer)
        except ModelError as error:
            reached = stop_reason(context.standing(state), context.limits)
            if not reached and not state.get("citations") and error.kind not in UNUSABLE:
                raise  # nothing to write a brief from; the thread stays as it is and the same command goes on
            runtime.stream_writer({"problem": str(error)})
            return {"messages": new, "step_count": step, "stop_reason": reached or MODEL_FAILED}
        # A model that stops before anything was read is asked once more; then it has its way.
        done = not answer.tool_calls and (bool(state.get("citations")) or _said_nothing(state))
        update: dict[str, Any] = {"messages": [*new, answer], "step_count": step}
        if (questions := questions_in(answer, context.approve)) and context.person:
            update["replies"] = replies_to(questions, interrupt(as_payload(questions)))
        if done or (not answer.tool_calls and step >= context.limits.max_steps):
            update["stop_reason"] = DONE
        return update

    return reason


def _said_nothing(state: ResearchState) -> bool:
    messages = state.get("messages", [])
    return bool(messages) and isinstance(messages[-1], AIMessage) and not messages[-1].tool_calls
