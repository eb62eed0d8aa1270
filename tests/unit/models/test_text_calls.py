"""The parser takes what models really write: fixtures of our own, shared outputs of real models, and noise."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_agent.models.text.calls import Reading, TextCall, ToolForm, read_text
from research_agent.models.text.json import parse_json
from tests.integration.models.conftest import shared_file

TOOLS = [ToolForm("search_web", ("query",)), ToolForm("fetch_url", ("url", "focus")), ToolForm("list_pages")]
TIDES = TextCall("search_web", {"query": "tide mills"})
PAGE = TextCall("fetch_url", {"url": "https://e.org/a?b=(c)"})

ONE_CALL: dict[str, tuple[str, TextCall]] = {
    "classic": ("Thought: look\nAction: search_web\nAction Input: tide mills", TIDES),
    "numbered": ("Thought 1: look\nAction 1: search_web\nAction Input 1: tide mills\nObservation 1:", TIDES),
    "json input": ('Action: search_web\nAction Input: {"query": "tide mills"}', TIDES),
    "python input": ("Action: search_web\nAction Input: {'query': 'tide mills',}", TIDES),
    "quoted": ('Action: search_web\nAction Input: "tide mills"', TIDES),
    "half quoted": ('Action: search_web\nAction Input: "tide mills', TIDES),
    "named": ("Action: search_web\nAction Input: query: tide mills", TIDES),
    "fenced input": ('Action: search_web\nAction Input:\n```json\n{"query": "tide mills"}\n```', TIDES),
    "extra line break": ("Action:\nsearch_web\nAction Input:\n\ntide mills\n", TIDES),
    "no label for the input": ("Action: search_web\ntide mills", TIDES),
    "square brackets": ("Thought 2: look\nAction 2: search_web[tide mills]", TIDES),
    "open bracket": ("Action: search_web[tide mills", TIDES),
    "text after the bracket": ("Action: search_web[tide mills] on another site", TIDES),
    "round brackets": ("Action: search_web(tide mills)", TIDES),
    "call syntax": ('Action: search_web("tide mills")\nAction Input: the input to the action', TIDES),
    "keyword": ("Action: search_web(query='tide mills')", TIDES),
    "call as input": ('Action: search_web\nAction Input: search_web("tide mills")', TIDES),
    "other case": ("action: Search_Web\naction input: tide mills", TIDES),
    "other spelling": ("Action: Search Web\nAction Input: tide mills", TIDES),
    "bold": ("**Thought:** look\n**Action:** `search_web`\n**Action Input:** tide mills", TIDES),
    "full width": ("Thought：look\nAction：search_web［tide mills］", TIDES),
    "full width quotes": ("Action：search_web\nAction Input：“tide mills”", TIDES),
    "invented observation": (
        "Action: search_web\nAction Input: tide mills\nObservation: 1. …\nThought: good\nFinal Answer: all done",
        TIDES,
    ),
    "json action": ('Action: {"action": "search_web", "action_input": "tide mills"}', TIDES),
    "fenced": ('Sure!\n```json\n{"name": "search_web", "arguments": {"query": "tide mills"}}\n```\nThis will …', TIDES),
    "tool and args": ('{"tool": "search_web", "args": {"query": "tide mills"}}', TIDES),
    "arguments as text": ('{"name": "search_web", "arguments": "{\\"query\\": \\"tide mills\\"}"}', TIDES),
    "openai form": (
        '{"type": "function", "function": {"name": "search_web", "arguments": {"query": "tide mills"}}}',
        TIDES,
    ),
    "no last brace": ('{"name": "search_web", "arguments": {"query": "tide mills"}', TIDES),
    "doubled braces": ('{{"name": "search_web", "arguments": {"query": "tide mills"}}}}', TIDES),
    "trailing comma": ('{"name": "search_web", "arguments": {"query": "tide mills",},}', TIDES),
    "flat": ('{"tool": "search_web", "query": "tide mills"}', TIDES),
    "list": ('[{"name": "search_web", "arguments": {"query": "tide mills"}}]', TIDES),
    "schema words as arguments": (
        '{"name": "search_web", "arguments": {"query": "tide mills", "required": ["query"]}}',
        TIDES,
    ),
    "tool_call tags": ('<tool_call>{"name": "search_web", "arguments": {"query": "tide mills"}}</tool_call>', TIDES),
    "xml attributes": ('<tools>\n<function name="search_web" arguments=\'{"query": "tide mills"}\'/>', TIDES),
    "nested xml": (
        "<function><name>search_web</name><arguments><query>tide mills</query></arguments></function>",
        TIDES,
    ),
    "address": ("Action: fetch_url\nAction Input: https://e.org/a?b=(c)", PAGE),
    "address in brackets": ("Action: fetch_url[https://e.org/a?b=(c)]", PAGE),
    "address in quotes": ('Action: fetch_url("https://e.org/a?b=(c)")', PAGE),
    "two arguments": (
        "Action: fetch_url(url='https://e.org', focus=\"year, cost\")",
        TextCall("fetch_url", {"url": "https://e.org", "focus": "year, cost"}),
    ),
    "no arguments": ("Action: list_pages\nAction Input: none", TextCall("list_pages", {})),
    "another script": (
        "Thought：搜索\nAction：search_web\nAction Input：潮汐 磨坊",
        TextCall("search_web", {"query": "潮汐 磨坊"}),
    ),
}

NO_CALL = {
    "prose": "The tide has been used for centuries. I would search for tide mills.",
    "refusal": "I'm sorry, I can't help with that.",
    "nothing": "",
    "schema echo": '{"type": "function", "function": {"name": "search_web", "parameters": {"type": "object", '
    '"properties": {"query": {"type": "string"}}, "required": ["query"]}}}',
    "topic as tool": '{"name": "Tide mills", "arguments": {"query": "tide mills"}}',
    "tool as action, no input": "Action: search_web",
    "placeholder": "Action: search_web\nAction Input: the input to the action",
    "prose as action": "Action: I will look for mills\nAction Input: mills",
    "the instruction as action": "Action: The action to take, should be one of [search_web, fetch_url]",
    "empty action": "We need to look\nAction:",
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_one_call_is_read(name: str) -> None:
    text, expected = ONE_CALL[name]
    assert read_text(text, TOOLS).calls == (expected,)


@pytest.mark.parametrize("name", NO_CALL)
def test_what_is_no_call_stays_none(name: str) -> None:
    reading = read_text(NO_CALL[name], TOOLS)
    assert reading.calls == ()
    assert reading.final is None


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("Thought: done\nFinal Answer: DONE", "DONE"),
        ("Thought 3: done\nAction 3: Finish[It is so]", "It is so"),
        ("Action: Finish[It is", "It is"),
        ("Action: Finish\nAction Input: DONE", "DONE"),
        ("Final Answer: DONE\n\nThought: more\nAction: search_web\nAction Input: x", "DONE"),
        ("**Final Answer:** DONE", "DONE"),
    ],
)
def test_a_final_answer_ends_at_the_next_thought(text: str, final: str) -> None:
    assert read_text(text, TOOLS) == Reading(read_text(text, TOOLS).thought, final=final)


def test_the_thought_is_kept_and_an_unknown_tool_named() -> None:
    assert read_text("I need more.\nAction: search_web[x]", TOOLS).thought == "I need more."
    assert read_text("Thought: a page.\nAction: Login", TOOLS) == Reading("a page.", wrong="Login")


def test_several_calls_without_labels_are_all_read_once() -> None:
    one = '{"name": "search_web", "arguments": {"query": "%s"}}'
    text = "\n".join([one % "a", one % "b", one % "a", one[:-1] % "c", one % "d", one % "e"])
    assert [call.args["query"] for call in read_text(text, TOOLS).calls] == ["a", "b", "c", "d"]


# Labels that a look at the output corrects: the schema's own word is no argument; white space is trimmed.
REVIEWED: dict[str, dict[str, Any]] = {
    "qwen0.5b-lc_hint-52": {"tool": "search_web", "args": {"query": "PostgreSQL logical replication"}},
    "qwen0.5b-lc-25": {"tool": "search_web", "args": {"query": "Byzantine generals problem"}},
}


def test_outputs_of_real_small_models() -> None:
    lines = shared_file("fixtures/malformed.jsonl").read_text(encoding="utf-8").splitlines()
    wrong = []
    for row in map(json.loads, lines):
        expected = REVIEWED.get(row["id"], row["expected_call"])
        calls = read_text(row["output"], [ToolForm("search_web", ("query",)), ToolForm("fetch_url", ("url",))]).calls
        got = {"tool": calls[0].name, "args": calls[0].args} if calls else None
        if got != expected:
            wrong.append((row["id"], got, expected))
    assert len(lines) == 110
    assert wrong == []


def test_real_trajectories_of_the_react_paper() -> None:
    """All steps of the published FEVER runs, those included that broke the original parser."""
    rows = shared_file("data/react_fever_traces/traces.jsonl").read_text(encoding="utf-8").splitlines()
    tools = [ToolForm("Search", ("entity",)), ToolForm("Lookup", ("keyword",))]
    understood = total = 0
    for row in map(json.loads, rows):
        for step in re.finditer(r"^Thought \d+: (?:.*\n)*?Action \d+: (.*)$", row["raw"], re.MULTILINE):
            reading = read_text(step[0], tools)
            action = re.match(r"(Search|Lookup|Finish)\[\"?(.*?)\"?(?:\]|$)", step[1])
            if not action:  # "Login", and six empty ones: a person would not know either
                assert not reading.calls
                assert reading.final is None
                continue
            total += 1
            if action[1] == "Finish":
                understood += reading.final == action[2]
            else:
                understood += [(c.name, *c.args.values()) for c in reading.calls] == [(action[1], action[2])]
    assert total == 604
    assert understood / total >= 0.99


_NOISE = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from([*(text for text, _ in ONE_CALL.values()), *NO_CALL.values()]),
        st.sampled_from([*"{}[]()\"'<>:，“\\\n`", "Action:", "Action Input:", "Final Answer:", "search_web", "{{"]),
    ),
    max_size=12,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(_NOISE)
def test_noise_never_raises_and_gives_only_known_tools(text: str) -> None:
    for call in read_text(text, TOOLS).calls:
        form = next(tool for tool in TOOLS if tool.name == call.name)
        assert set(call.args) <= set(form.arguments)
    parse_json(text)


@pytest.mark.parametrize(
    "unit",
    ["{", "[", '{"a":', "<name>", "Action: ", "Action: x[", "<function name='a' ", '{"tool": "search_web"', "(("],
)
def test_long_repetitions_are_read_quickly(unit: str) -> None:
    began = time.perf_counter()
    read_text(unit * (100_000 // len(unit)), TOOLS)
    assert time.perf_counter() - began < 5
