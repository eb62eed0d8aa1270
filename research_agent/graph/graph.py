"""The picture: START → reason → tools → sanitize → reason …, and finalize at the end. Nothing else is a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from research_agent.context import ResearchContext
from research_agent.graph.finalize import make_finalize
from research_agent.graph.reason import make_reason
from research_agent.graph.sanitize import last_turn, sanitize
from research_agent.graph.state import ResearchState
from research_agent.tools.guard import guard_tool_call

ResearchGraph = CompiledStateGraph[ResearchState, ResearchContext, ResearchState, ResearchState]


def build_graph(
    model: BaseChatModel,
    tools: Sequence[BaseTool],
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    *,
    writer: BaseChatModel | None = None,
    judge: BaseChatModel | None = None,
) -> ResearchGraph:
    """The research graph for any chat model with tool calling; `writer` writes the brief if it is another one,
    `judge` judges its sentences if that is not the writer.

    Input: ``{"topic": "…"}``, optionally ``"max_steps"``. Output: the state, with ``final_brief`` as Markdown.
    Without a `ResearchContext` it runs with default limits and no journal. A tool adds to the ledger by
    returning an artifact ``{"citation": Citation, "page": Page}``; with ``{"hits": [{"url": …}, …]}`` it offers
    addresses that may be fetched.
    """
    graph = StateGraph(ResearchState, context_schema=ResearchContext)
    graph.add_node("reason", make_reason(model, tools))
    graph.add_node("tools", ToolNode(list(tools), awrap_tool_call=guard_tool_call))
    graph.add_node("sanitize", sanitize)
    graph.add_node("finalize", make_finalize(writer or model, judge))
    graph.add_edge(START, "reason")
    graph.add_conditional_edges("reason", _after_reason)
    graph.add_edge("tools", "sanitize")
    graph.add_conditional_edges("sanitize", _after_sanitize)
    graph.add_edge("finalize", END)
    return graph.compile(checkpointer=checkpointer)


def _after_reason(state: ResearchState) -> Literal["tools", "reason", "finalize"]:
    if state.get("stop_reason"):
        return "finalize"
    return "tools" if last_turn(state["messages"])[0].tool_calls else "reason"


def _after_sanitize(state: ResearchState) -> Literal["reason", "finalize"]:
    return "finalize" if state["stop_reason"] else "reason"
