"""A chat model that says what a test wrote down, and tools over documents in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from research_agent.storage.journal import ModelCall, NoJournal, Purpose, Turn, message_from_json
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web
from tests.support.documents import DOCUMENTS
from tests.support.library import Library

Step = AIMessage | BaseException | str | Callable[[list[BaseMessage]], AIMessage]


class ScriptedChatModel(BaseChatModel):
    """Plays `script` step by step; the last step again and again. `calls` holds what it was asked."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    script: list[Any] = Field(default_factory=list)
    calls: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = self.script[min(len(self.calls), len(self.script) - 1)]
        self.calls.append({"messages": list(messages), "stop": stop, **kwargs})
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, str):
            step = AIMessage(step)
        answer = step.model_copy(deep=True) if isinstance(step, AIMessage) else step(messages)
        answer.id = None
        answer.response_metadata = {"finish_reason": "stop", "model_name": "scripted", **answer.response_metadata}
        return ChatResult(generations=[ChatGeneration(message=answer)])


def call(name: str, call_id: str = "c1", **args: Any) -> dict[str, Any]:
    """A tool call as LangChain writes it."""
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def library_tools(documents: dict[str, str] | None = None) -> list[BaseTool]:
    """Our two tools over documents in memory; each search finds all of them."""
    library = Library({f"https://library.example/{name}": text for name, text in (documents or DOCUMENTS).items()})
    return [make_search_web(library), make_fetch_url(library)]


class MemoryJournal(NoJournal):
    """Keeps model calls in a list, and finds them again."""

    def __init__(self) -> None:
        super().__init__()
        self.model_calls: list[ModelCall] = []
        self.turns: list[Turn] = []

    async def save_turn(self, turn: Turn) -> None:
        self.turns.append(turn)

    async def find_model_call(self, step: int, purpose: Purpose) -> tuple[AIMessage | None, int]:
        made = [one for one in self.model_calls if (one.step, one.purpose) == (step, purpose)]
        if not made:
            return None, 0
        return (message_from_json(made[-1].response) if made[-1].response else None), made[-1].attempt

    async def save_model_call(self, call: ModelCall) -> None:
        await super().save_model_call(call)
        self.model_calls.append(call)


class Waits:
    """A `sleep` that only notes how long it was asked to."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
