"""What LangGraph hands to a tool beside its arguments."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg
from langgraph.prebuilt import ToolRuntime
from pydantic import PlainSerializer

# LangChain dumps the arguments of every call, the injected runtime with the whole state included, and throws the
# result away: a millisecond a call after 100 steps, and growing.
InjectedRuntime = Annotated[ToolRuntime[Any, Any], InjectedToolArg, PlainSerializer(lambda runtime: None)]
