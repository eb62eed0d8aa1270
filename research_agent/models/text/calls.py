"""Read tool calls from text that a model wrote, in whatever form it wrote them.

Models without native tool calling write a call as ``Action: search_web`` with ``Action Input: …``, as
``Search[…]``, as JSON with or without a fence, as XML. `read_text` takes all of these, from outputs of real small
models, and nothing that only looks like a call: an echo of the tool schemas, a topic as tool name, prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from research_agent.models.text.json import objects_in, parse_json, to_ascii_marks

MAX_CALLS = 4  # of one answer; models that loop repeat the same call until they are cut off

# Every repetition has an end: a model that repeats itself until it is cut off must not make the search slow.
_LABEL = re.compile(
    r"^[ \t>*#_-]*(Thought|Action Input|Action|Observation|Final Answer|Question)"
    r"[ \t]{0,4}\d{0,4}[ \t*_]{0,6}[:：][ \t*_]{0,6}",
    re.IGNORECASE | re.MULTILINE,
)
_XML_ATTRIBUTE = re.compile(
    r"""<(?:function|tool|invoke)\b[^<>]{0,60}?\bname\s?=\s?["']([^"'<>]{1,80})["'][^<>]{0,60}?\barguments\s?=\s?'"""
)
_XML_NESTED = re.compile(r"<name>([^<]{1,100})</name>\s{0,40}<(arguments|parameters|args)>(.{0,4000}?)</\2>", re.DOTALL)
_XML_ARGUMENT = re.compile(r"<([A-Za-z_]\w{0,40})>(.*?)</\1>", re.DOTALL)
_CALL = re.compile(r"[`*\s]*([A-Za-z_][\w.-]*)[`*]*\s*[\[(](.*)", re.DOTALL)
_KEYWORD = re.compile(r"""\b([A-Za-z_]\w{0,40})\s?=\s?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]+)""")
_NAME_KEYS = ("name", "tool", "tool_name", "action", "function")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "action_input", "actionInput", "input", "tool_input")
_FINISH = frozenset({"finish", "final", "finalanswer", "answer", "done"})
_PLACEHOLDERS = frozenset({"the input to the action", "input", "none", "null", "n/a", ""})


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call read from text: a tool that exists, and arguments that it knows."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text is: calls, a final answer, or neither (then `wrong` is the name of a tool that does not exist)."""

    thought: str = ""
    calls: tuple[TextCall, ...] = ()
    final: str | None = None
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class ToolForm:
    """The name of a tool and the names of its arguments, the main one first."""

    name: str
    arguments: tuple[str, ...] = field(default=())


def read_text(text: str, tools: Sequence[ToolForm]) -> Reading:
    """What `text` asks for, given `tools`. Never raises."""
    reader = _Reader({_key(tool.name): tool for tool in tools})
    sections = _sections(text)
    thought = " ".join(body for label, body in sections if label in ("", "thought")).strip()
    wrong = ""
    for position, (label, body) in enumerate(sections):
        if label == "final answer":
            return Reading(thought, final=body)
        if label == "action":
            given = next((b for name, b in sections[position + 1 : position + 2] if name == "action input"), "")
            if _key(body) in _FINISH and not reader.tool(body):
                return Reading(thought, final=given)
            if finished := reader.finish(body):
                return Reading(thought, final=finished[0])
            if call := reader.action(body, given):
                return Reading(thought, (call,))
            wrong = wrong or _looks_like_name(body)
    if any(label in ("action", "action input") for label, _ in sections):
        calls = tuple(c for label, body in sections if label.startswith("action") for c in reader.calls(body))
        return Reading(thought, calls[:1], wrong="" if calls else wrong)
    calls = tuple(_distinct(reader.calls(text)))
    return Reading("" if calls else thought, calls[:MAX_CALLS])


def _sections(text: str) -> list[tuple[str, str]]:
    """The labelled parts up to the first observation, which only the program writes."""
    found = list(_LABEL.finditer(text))
    parts = [("", text[: found[0].start()] if found else text)]
    for match, after in zip(found, [*found[1:], None], strict=False):
        label = " ".join(match[1].lower().split())
        if label in ("observation", "question"):
            break
        parts.append((label, text[match.end() : after.start() if after else len(text)].strip()))
    return parts


def _key(name: str) -> str:
    """A tool name as models vary it: case, spaces, underscores, quotes."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _looks_like_name(body: str) -> str:
    match = re.match(r"[`*\"']*([A-Za-z_][\w.-]{1,40})[`*\"']*\s*(?:[\[(]|$)", body)
    return match[1] if match else ""


def _distinct(calls: Iterable[TextCall]) -> Iterator[TextCall]:
    seen: set[str] = set()
    for call in calls:
        if (key := json.dumps([call.name, call.args], sort_keys=True, default=str)) not in seen:
            seen.add(key)
            yield call


class _Reader:
    """Finds calls of known tools."""

    def __init__(self, tools: Mapping[str, ToolForm]) -> None:
        self._tools = tools

    def tool(self, name: object) -> ToolForm | None:
        key = _key(name) if isinstance(name, str) else ""
        return self._tools.get(key) or self._tools.get(key.removeprefix("functions").removeprefix("defaultapi"))

    def action(self, body: str, given: str) -> TextCall | None:
        """The call of an ``Action:`` and what stands behind its ``Action Input:``."""
        first, _, rest = _unfenced(body).partition("\n")
        if tool := self.tool(first.strip("`*\"'[]() .:\t")):
            return self.fitted(tool, _value(given or rest, tool))
        return next(iter(self.calls(body)), None) or (self.written(given) if _key(body) in self._tools else None)

    def finish(self, body: str) -> tuple[str] | None:
        """The answer in ``Finish[answer]``, also where the closing bracket was cut off."""
        match = _CALL.match(to_ascii_marks(body))
        if match and _key(match[1]) in _FINISH and not self.tool(match[1]):
            return (_inside(match[2]).strip("\"' "),)
        return None

    def calls(self, text: str) -> list[TextCall]:
        """Every call in `text`, by the form that is most explicit."""
        found = list(self._xml(text)) or list(self._json(text))
        if not found and (call := self.written(text)):
            found = [call]
        return found

    def written(self, text: str) -> TextCall | None:
        """A call in the syntax of a programming language, or ``Tool[argument]``, at the beginning of `text`."""
        match = _CALL.match(to_ascii_marks(_unfenced(text)))
        tool = self.tool(match[1]) if match else None
        if not match or not tool:
            return None
        inside = _inside(match[2])
        if _KEYWORD.match(inside):
            return self.fitted(tool, dict(_keywords(inside)))
        return self.fitted(tool, _value(inside, tool))

    def _xml(self, text: str) -> Iterator[TextCall]:
        for match in _XML_ATTRIBUTE.finditer(text):
            raw = text[match.end() :].split("'/>")[0].split("'>")[0]
            if (tool := self.tool(match[1])) and (call := self.fitted(tool, parse_json(raw))):
                yield call
        for match in _XML_NESTED.finditer(text):
            inner = dict(_XML_ARGUMENT.findall(match[3])) or parse_json(match[3])
            if (tool := self.tool(match[1])) and (call := self.fitted(tool, inner)):
                yield call

    def _json(self, text: str) -> Iterator[TextCall]:
        for value in objects_in(text):
            if call := self._from_object(value):
                yield call

    def _from_object(self, value: Mapping[str, Any]) -> TextCall | None:
        inner = value.get("function")
        if isinstance(inner, Mapping):  # {"type": "function", "function": {"name": …, "arguments": …}}
            value = inner
        tool = next((t for key in _NAME_KEYS if (t := self.tool(value.get(key)))), None)
        if not tool:
            return None
        for key in _ARGUMENT_KEYS:
            if key in value:
                return self.fitted(tool, _value(value[key], tool) if isinstance(value[key], str) else value[key])
        return self.fitted(tool, {k: v for k, v in value.items() if k not in _NAME_KEYS})

    def fitted(self, tool: ToolForm, given: Any) -> TextCall | None:
        """A call with those of the `given` arguments that the tool has; None without its main one."""
        if not isinstance(given, Mapping) or _is_schema(given):
            return None
        by_key = {_key(name): name for name in tool.arguments}
        args = {
            by_key[_key(str(k))]: v for k, v in given.items() if _key(str(k)) in by_key and not isinstance(v, Mapping)
        }
        if not args and len(given) == 1 and tool.arguments:  # one argument under another name
            (only,) = given.values()
            args = {tool.arguments[0]: only} if isinstance(only, str) else {}
        main = args.get(tool.arguments[0]) if tool.arguments else ""
        if tool.arguments and (main is None or (isinstance(main, str) and main.strip().lower() in _PLACEHOLDERS)):
            return None
        return TextCall(tool.name, {name: v.strip() if isinstance(v, str) else v for name, v in args.items()})


def _is_schema(given: Mapping[str, Any]) -> bool:
    return "properties" in given or (given.get("type") in ("object", "function") and len(given) > 1)


def _value(raw: str, tool: ToolForm) -> Any:
    """What stands in the place of arguments: an object, or the main argument itself."""
    text = _unfenced(raw)
    if text[:1] in "{｛":
        parsed = parse_json(text)
        if isinstance(parsed, Mapping):
            return parsed
    line = text.split("\n", 1)[0].strip()
    label = re.match(r"([A-Za-z_]\w*)\s*[:=：]\s*(?!//)(.+)", line)
    if label and _key(label[1]) in {_key(name) for name in tool.arguments}:  # query: tides
        return {label[1]: _unquoted(label[2])}
    again = _CALL.match(line)
    if again and _key(again[1]) == _key(tool.name):  # the call written once more as its own input
        return _value(_inside(again[2]), tool)
    return {tool.arguments[0]: _unquoted(line)} if tool.arguments else {}


def _unfenced(text: str) -> str:
    """`text` without a code fence around it."""
    text = text.strip().removesuffix("```").strip()
    if text.startswith("```"):
        first, _, rest = text[3:].partition("\n")
        return rest.strip() if first.strip().isalnum() or not first.strip() else text[3:].strip()
    return text


def _unquoted(text: str) -> str:
    text = text.strip().strip("`").rstrip(",").strip()
    for left, right in ('""', "''", "“”", "‘’", "«»", "「」"):
        if text[:1] == left:
            end = text.rfind(right)
            return text[1:end].strip() if end > 0 else text[1:].strip()
    return text.rstrip("\"'")


def _inside(text: str) -> str:
    """`text` up to the bracket that closes it; all of its first line where none does."""
    depth = 0
    for position, letter in enumerate(text):
        if letter in "[(":
            depth += 1
        elif letter in ")]":
            if not depth:
                return text[:position]
            depth -= 1
    return text.split("\n", 1)[0].rstrip("])")


def _keywords(inside: str) -> Iterator[tuple[str, Any]]:
    """``query="tides", limit=3`` as pairs."""
    for piece in _KEYWORD.finditer(inside):
        raw = piece[2].strip()
        yield piece[1], _unquoted(raw) if raw[:1] in "\"'" else _scalar(raw)


def _scalar(raw: str) -> Any:
    try:
        return json.loads(raw.replace("True", "true").replace("False", "false").replace("None", "null"))
    except ValueError:
        return raw
