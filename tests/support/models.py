"""A chat model that says what a test wrote down for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from research_agent import prompts

Answer = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Gives `answers` one after another, the last one for ever; keeps what it was sent in `seen`.

    Asked as judge it gives those of `judge` instead, kept apart in `judged`: without any it leaves all to the program.
    """

    answers: list[Any]
    judge: list[Any] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    judged: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        asked, script = self.seen, self.answers
        if messages[0].text == prompts.JUDGE:
            asked, script = self.judged, self.judge or [says("{}")]
        asked.append(list(messages))
        answer: Answer = script[min(len(asked), len(script)) - 1]
        if isinstance(answer, Exception):
            raise answer
        message = answer if isinstance(answer, AIMessage) else answer(messages)
        # A copy: graph and model must not share an object.
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(deep=True))])


def says(text: str) -> AIMessage:
    """An answer in words."""
    return AIMessage(text, response_metadata={"finish_reason": "stop"})


def calls(*asked: tuple[str, dict[str, Any]]) -> AIMessage:
    """An answer that calls tools: pairs of name and arguments."""
    return AIMessage(
        "",
        tool_calls=[{"name": name, "args": args, "id": f"call_{n}"} for n, (name, args) in enumerate(asked)],
        response_metadata={"finish_reason": "stop"},
    )


def searches(query: str) -> AIMessage:
    return calls(("search_web", {"query": query}))


def fetches(*urls: str) -> AIMessage:
    return calls(*(("fetch_url", {"url": url}) for url in urls))
