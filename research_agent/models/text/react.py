"""Tool calling for models that have none, or whose own can't be trusted.

`TextReactModel` stands around any chat model and looks to the graph like one with native tool calling: it renders
the history as Thought / Action / Observation, stops the model before it writes an observation itself, reads the
call from its text and returns it as an ordinary tool call. Modes:

* ``text``: always so.
* ``schema``: the server is asked to enforce a JSON schema of all calls (llama.cpp, vLLM, Ollama).
* ``auto``: native calls if there are any; else a call found in the text; else, from the next step on, ``text``.

What a step does follows from the history alone, so a resumed run goes on in the same way.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from research_agent import prompts
from research_agent.models.text.calls import Reading, ToolForm, read_text
from research_agent.models.text.json import parse_json

STOP = ("\nObservation", "\nQuestion:")
_FROM_TEXT = "tool_calls_from"  # key in response_metadata of answers whose calls we read from text
_FINAL = "final_answer"
_NO_TOOLS_HERE = re.compile(
    r"not support (?:tools?|function)|tools? (?:is|are) not supported|--jinja|tool_?choice", re.I
)

Style = Literal["plain", "native", "text", "schema"]


@dataclass(frozen=True, slots=True)
class _Request:
    """What goes to the inner model, and how its answer is to be read."""

    style: Style
    model: Runnable[LanguageModelInput, AIMessage]
    messages: list[BaseMessage]
    stop: list[str] | None
    options: dict[str, Any]


class TextReactModel(BaseChatModel):
    """`inner` with tool calling through text. See the module."""

    inner: BaseChatModel
    mode: Literal["auto", "text", "schema"] = "auto"
    _refused_tools: bool = PrivateAttr(default=False)  # the server said that it knows no tools

    @property
    def _llm_type(self) -> str:
        return f"text-react-{self.inner._llm_type}"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"mode": self.mode, **self.inner._identifying_params}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {"ls_model_name": self.inner._llm_type, **self.inner._get_ls_params(stop, **kwargs)}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer `tools` to the model."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = kwargs.get("tools") or []
        while True:
            request = self._request(messages, stop, kwargs)
            try:
                answer = request.model.invoke(request.messages, stop=request.stop, **request.options)
            except Exception as error:
                if not self._goes_on_without_tools(request, error):
                    raise
                continue
            return _result(_read(answer, request.style, tools))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = kwargs.get("tools") or []
        while True:
            request = self._request(messages, stop, kwargs)
            try:
                answer = await request.model.ainvoke(request.messages, stop=request.stop, **request.options)
            except Exception as error:
                if not self._goes_on_without_tools(request, error):
                    raise
                continue
            return _result(_read(answer, request.style, tools))

    def _goes_on_without_tools(self, request: _Request, error: Exception) -> bool:
        """Whether the server refused tools as such; then the same step is asked for in text."""
        if request.style != "native" or not _NO_TOOLS_HERE.search(str(error)):
            return False
        self._refused_tools = True
        return True

    def _request(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> _Request:
        options = {key: value for key, value in kwargs.items() if key not in ("tools", "tool_choice")}
        tools, choice = kwargs.get("tools") or [], kwargs.get("tool_choice")
        style = self._style(messages, tools, choice)
        if style == "native":
            return _Request(style, self.inner.bind_tools(tools, tool_choice=choice), messages, stop, options)
        if style == "plain":
            shown = messages if not _has_calls(messages) else transcript(messages, "")
            return _Request(style, self.inner, shown, stop, options)
        instructions = prompts.text_tools(tools, as_json=style == "schema")
        if style == "schema":
            options |= _enforced(self.inner, call_schema(tools))
        stops = [*(stop or []), *(STOP if style == "text" else ())]
        return _Request(style, self.inner, transcript(messages, instructions), stops or None, options)

    def _style(self, messages: Sequence[BaseMessage], tools: Sequence[Any], choice: Any) -> Style:
        if not tools or choice == "none":
            return "plain"
        if self.mode != "auto":
            return self.mode
        answers = [message for message in messages if isinstance(message, AIMessage)]
        native = any(answer.tool_calls and _FROM_TEXT not in answer.response_metadata for answer in answers)
        return "text" if self._refused_tools or (answers and not native) else "native"


def transcript(messages: Sequence[BaseMessage], instructions: str) -> list[BaseMessage]:
    """`messages` as a system message and one question with everything that happened since, as text."""
    system = [message.text for message in messages if isinstance(message, SystemMessage)]
    lines: list[str] = []
    results = {message.tool_call_id: str(message.text) for message in messages if isinstance(message, ToolMessage)}
    for message in messages:
        if isinstance(message, AIMessage):
            lines += _answer_lines(message, results)
        elif isinstance(message, HumanMessage):
            lines.append(f"Question: {message.text}" if not lines else f"Note: {message.text}")
    head = "\n\n".join(part for part in [*system, instructions] if part)
    return [*([SystemMessage(head)] if head else []), HumanMessage("\n".join(lines) or prompts.CONTINUE)]


def _answer_lines(answer: AIMessage, results: dict[str, str]) -> list[str]:
    lines = [f"Thought: {answer.text.strip()}"] if answer.text.strip() else []
    for call in answer.tool_calls:
        observed = results.get(call["id"] or "", prompts.NOT_RUN)
        lines += [f"Action: {call['name']}", f"Action Input: {json.dumps(call['args'], ensure_ascii=False)}"]
        lines.append(f"Observation: {observed}")
    return lines


def call_schema(tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A JSON schema that allows one call of one of `tools`, or the final answer."""
    choices = [
        {
            "type": "object",
            "properties": {
                "tool": {"const": tool["function"]["name"]},
                "arguments": tool["function"].get("parameters") or {"type": "object"},
            },
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    final = {
        "type": "object",
        "properties": {_FINAL: {"type": "string"}},
        "required": [_FINAL],
        "additionalProperties": False,
    }
    return {"oneOf": [*choices, final]}


def _enforced(inner: BaseChatModel, schema: dict[str, Any]) -> dict[str, Any]:
    """The option by which the server of `inner` enforces `schema`."""
    if inner._llm_type == "chat-ollama":
        return {"format": schema}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}}}


def tool_forms(tools: Sequence[dict[str, Any]]) -> list[ToolForm]:
    """What the parser needs to know of `tools` (in OpenAI's form): required arguments first."""
    forms = []
    for tool in tools:
        parameters = tool["function"].get("parameters") or {}
        names, required = list(parameters.get("properties") or {}), parameters.get("required") or []
        forms.append(ToolForm(tool["function"]["name"], tuple(sorted(names, key=lambda name: name not in required))))
    return forms


def _read(answer: BaseMessage, style: Style, tools: Sequence[dict[str, Any]]) -> AIMessage:
    """The inner model's `answer` as the graph expects it."""
    assert isinstance(answer, AIMessage)  # noqa: S101 - every chat model gives one
    if style == "plain" or (style == "native" and answer.tool_calls):
        return answer
    if style == "schema":
        value = parse_json(answer.text)
        if isinstance(value, dict) and isinstance(value.get(_FINAL), str):
            return _with(answer, value[_FINAL].strip() or prompts.DONE_WORD)
    reading = read_text(answer.text, tool_forms(tools))
    if reading.calls:
        return _with(answer, reading.thought, _calls(answer, reading))
    if style == "native":
        return answer  # prose; from the next step on the model is asked in text
    if reading.final is not None:
        return _with(answer, reading.final.strip() or prompts.DONE_WORD)
    if reading.wrong:  # the tools' guard says which ones there are
        return _with(answer, reading.thought, [_tool_call(reading.wrong, {})])
    if answer.text.strip().strip(".").upper() == prompts.DONE_WORD:
        return _with(answer, prompts.DONE_WORD)
    names = ", ".join(form.name for form in tool_forms(tools))
    hint = {"finish_reason": "malformed_call", "hint": prompts.TEXT_HINT.format(tools=names)}
    return answer.model_copy(update={"response_metadata": {**answer.response_metadata, **hint}})


def _calls(answer: AIMessage, reading: Reading) -> list[ToolCall]:
    reason = str(answer.response_metadata.get("finish_reason") or answer.response_metadata.get("done_reason") or "")
    whole = reading.calls[:-1] if reason in ("length", "MAX_TOKENS") and len(reading.calls) > 1 else reading.calls
    return [_tool_call(call.name, call.args) for call in whole]


def _tool_call(name: str, args: dict[str, Any]) -> ToolCall:
    return ToolCall(name=name, args=args, id=f"text-{uuid.uuid4().hex[:12]}", type="tool_call")


def _with(answer: AIMessage, text: str, calls: Sequence[ToolCall] = ()) -> AIMessage:
    """`answer` with our reading of it; tokens and the rest stay."""
    metadata = {**answer.response_metadata, _FROM_TEXT: "text", "finish_reason": "tool_calls" if calls else "stop"}
    changes: dict[str, Any] = {
        "content": text,
        "tool_calls": list(calls),
        "invalid_tool_calls": [],
        "response_metadata": metadata,
    }
    return answer.model_copy(update=changes)


def _has_calls(messages: Sequence[BaseMessage]) -> bool:
    return any(isinstance(message, ToolMessage) for message in messages)


def _result(answer: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=answer)])
