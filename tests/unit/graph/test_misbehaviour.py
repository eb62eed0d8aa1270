"""Models that misbehave: each run ends within its limits, with a brief or an honest word that there is none."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage

from research_agent import build_graph, prompts
from research_agent.context import ResearchContext
from research_agent.limits import Limits
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web
from tests.support.library import Library
from tests.support.models import ScriptedModel, calls, fetches, says, searches
from tests.support.recorded import RecordedJournal, check_ended, check_history, check_sent
from tests.support.scripted import Waits

PAGES = {
    "https://a.example/tides": "The moon causes most of the tide by its gravity. The sun causes a smaller tide.",
    "https://b.example/power": "The tidal power station at La Rance has made electricity from the tide since 1966.",
    "https://c.example/mills": "The oldest tide mill that is known stood at Nendrum and was built in the year 619.",
}
A, B, C = PAGES
BRIEF = "- The moon causes most of the tide by its gravity. [1]"
MAX_STEPS, MAX_TOOL_CALLS = 10, 30


@dataclass
class Ended:
    """How a run ended, and what it took."""

    state: dict[str, Any]
    model: ScriptedModel
    journal: RecordedJournal
    library: Library

    @property
    def how(self) -> tuple[str, str]:
        return self.state["stop_reason"], self.state["outcome"]

    @property
    def steps(self) -> int:
        return int(self.state["step_count"])

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.state["messages"]]


async def run(*answers: Any, **limits: Any) -> Ended:
    """A run of a model that answers so, the last one for ever. What every run owes is checked here."""
    chosen = Limits(
        **{"max_steps": MAX_STEPS, "max_tool_calls": MAX_TOOL_CALLS, "max_calls_per_minute": 10**6, **limits}
    )
    model, journal, library = ScriptedModel(answers=list(answers)), RecordedJournal(), Library(PAGES)
    context = ResearchContext(chosen, journal, model_name="test:priced", ceiling_price=(1.0, 1.0), sleep=Waits())
    graph = build_graph(model, [make_search_web(library), make_fetch_url(library)])
    # Five nodes a step would be too many: LangGraph's own limit must not be what ends it.
    config: Any = {"recursion_limit": 5 * chosen.max_steps + 20}
    state = await graph.ainvoke({"topic": "What causes the tide?"}, config, context=context)
    check_ended(state)
    check_history(state["messages"])
    for sent in model.seen:
        check_sent(sent)
    assert state["step_count"] <= chosen.max_steps
    assert journal.spending.tool_calls.total() <= chosen.max_tool_calls
    assert len(library.read_urls) <= chosen.max_tool_calls
    # Each answer that can't be used is asked for again twice at most; the brief is two calls more.
    assert len(model.seen) <= 3 * (state["step_count"] + 2)
    assert all(citation["url"] in PAGES for citation in state["citations"])
    return Ended(state, model, journal, library)


def in_turn(*makers: Callable[[int], AIMessage]) -> Callable[[list[BaseMessage]], AIMessage]:
    """A model that writes the brief when asked for it, and else answers with `makers` in turn, each told the count."""
    numbers = itertools.count()

    def answer(messages: list[BaseMessage]) -> AIMessage:
        if messages[0].text != prompts.SYSTEM:
            return says(BRIEF)
        number = next(numbers)
        return makers[number % len(makers)](number)

    return answer


def invalid(args: str = '{"query": ') -> AIMessage:
    call = {"name": "search_web", "args": args, "id": "i", "error": "no JSON", "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[call])


def string_for_arguments(messages: list[BaseMessage]) -> AIMessage:
    """As client libraries do it whose server sends a JSON string within JSON: the message can't be built."""
    return AIMessage("", tool_calls=[{"name": "search_web", "args": '{"query": "tide"}', "id": "i"}])


@dataclass(frozen=True)
class Case:
    """A misbehaviour, and how it must end."""

    model: Callable[[], Callable[[list[BaseMessage]], AIMessage]]
    how: tuple[str, str]
    steps: int
    tool_calls: int
    limits: dict[str, Any] = field(default_factory=dict)


READ = [lambda n: searches("tide"), lambda n: fetches(A)]


def after_reading(*makers: Callable[[int], AIMessage]) -> Callable[[], Any]:
    """`makers` in turn, after a search and a page."""

    def make() -> Any:
        numbers = itertools.count()

        def answer(messages: list[BaseMessage]) -> AIMessage:
            if messages[0].text != prompts.SYSTEM:
                return says(BRIEF)
            number = next(numbers)
            return READ[number](number) if number < 2 else makers[number % len(makers)](number)

        return answer

    return make


def from_the_start(*makers: Callable[[int], AIMessage]) -> Callable[[], Any]:
    return lambda: in_turn(*makers)


CASES = {
    "alternates": Case(from_the_start(lambda n: searches("tide"), lambda n: fetches(A)), ("stagnant", "partial"), 5, 5),
    "alternates, a word changed each time": Case(
        from_the_start(lambda n: searches(f"tide {n}"), lambda n: fetches(A, B, C)), ("stagnant", "partial"), 5, 9
    ),
    "repeats a search": Case(from_the_start(lambda n: searches("tide")), ("repeating", "no_evidence"), 3, 3),
    "repeats a fetch": Case(after_reading(lambda n: fetches(A)), ("repeating", "partial"), 4, 4),
    "repeats a fetch that fails": Case(
        after_reading(lambda n: fetches("https://a.example/none")),
        ("stagnant", "partial"),
        5,
        5,
        {"max_identical_calls": 9},
    ),
    "searches in other words for ever": Case(
        from_the_start(lambda n: searches(f"tide {n}")), ("stagnant", "no_evidence"), 3, 3
    ),
    "reads a page with ever another focus": Case(
        after_reading(lambda n: calls(("fetch_url", {"url": A, "focus": str(n)}))), ("stagnant", "partial"), 5, 5
    ),
    "never stops, with more patience": Case(
        from_the_start(lambda n: searches(f"tide {n}")),
        ("max_steps", "no_evidence"),
        10,
        10,
        {"max_stagnant_turns": 99},
    ),
    "ignores warnings": Case(
        after_reading(lambda n: searches(f"tide {n}")), ("max_steps", "partial"), 10, 10, {"max_stagnant_turns": 99}
    ),
    "ignores that its tool calls are used up": Case(
        after_reading(lambda n: fetches(A, B, C)), ("max_tool_calls", "partial"), 4, 6, {"max_tool_calls": 6}
    ),
    "ignores that one tool is used up": Case(
        after_reading(lambda n: searches(f"tide {n}")), ("stagnant", "partial"), 5, 2, {"max_calls_per_tool": 1}
    ),
    "invents one tool": Case(from_the_start(lambda n: calls(("brew", {"n": n}))), ("stagnant", "no_evidence"), 3, 3),
    "invents tools": Case(from_the_start(lambda n: calls((f"brew{n}", {}))), ("stagnant", "no_evidence"), 3, 3),
    "invents 40 tools at once": Case(
        from_the_start(lambda n: calls(*((f"brew{k}", {}) for k in range(40)))),
        ("max_tool_calls", "no_evidence"),
        1,
        30,
    ),
    "names no tool, beside one that exists": Case(
        from_the_start(lambda n: calls(("", {}), ("search_web", {"query": f"tide {n}"}))),
        ("stagnant", "no_evidence"),
        3,
        6,
    ),
    "calls 20 tools at once": Case(
        after_reading(lambda n: calls(*(("fetch_url", {"url": A, "focus": f"{n} {k}"}) for k in range(20)))),
        ("max_tool_calls", "partial"),
        4,
        30,
    ),
    "calls the same 20 times at once": Case(
        from_the_start(lambda n: calls(*[("search_web", {"query": "tide"})] * 20)),
        ("max_tool_calls", "no_evidence"),
        2,
        30,
    ),
    "answers before reading anything": Case(
        from_the_start(lambda n: says("The moon causes it. [1]")), ("done", "no_evidence"), 2, 0
    ),
    "answers, and once more after a search": Case(
        from_the_start(lambda n: says("The moon."), lambda n: searches("tide"), lambda n: says("The moon. [1]")),
        ("done", "no_evidence"),
        4,
        1,
    ),
    "gives a number for a text": Case(
        from_the_start(lambda n: calls(("search_web", {"query": n}))), ("stagnant", "no_evidence"), 3, 3
    ),
    "gives a list, nothing, an object": Case(
        from_the_start(*(lambda n, v=v: calls(("fetch_url", {"url": v})) for v in ([A], None, {"url": A}))),
        ("stagnant", "no_evidence"),
        3,
        3,
    ),
    "gives no arguments": Case(from_the_start(lambda n: calls(("search_web", {}))), ("repeating", "no_evidence"), 3, 3),
    "gives its arguments as JSON within an argument": Case(
        from_the_start(
            lambda n: calls(("search_web", {"query": '{"query": "tide"}'})),
            lambda n: fetches(A),
            lambda n: says("DONE"),
        ),
        ("done", "complete"),
        3,
        2,
    ),
    "gives a huge argument": Case(
        from_the_start(
            lambda n: calls(("search_web", {"query": "tide " * 20_000})), lambda n: fetches(A), lambda n: says("DONE")
        ),
        ("done", "complete"),
        3,
        2,
    ),
    "fetches addresses of its own": Case(
        from_the_start(lambda n: fetches(f"https://invented.example/{n}", "file:///etc/passwd", "javascript:1", "")),
        ("stagnant", "no_evidence"),
        3,
        12,
    ),
    "passes what PostgreSQL refuses": Case(
        from_the_start(lambda n: searches("a\x00b\ud800"), lambda n: fetches(A), lambda n: says("DONE")),
        ("done", "complete"),
        3,
        2,
    ),
}
# What can't be used at all is asked for again, then given up.
UNUSABLE: dict[str, Any] = {
    "is empty": says(""),
    "is blank": says(" \n"),
    "can't be read": invalid(),
    "has a string for arguments": invalid('"{\\"query\\": \\"tide\\"}"'),
    "names no tool": calls(("", {}), (" ", {})),
    "is cut off": AIMessage("The", response_metadata={"finish_reason": "length"}),
    "is refused": AIMessage("", response_metadata={"finish_reason": "SAFETY"}),
}


@pytest.mark.parametrize("name", CASES)
async def test_it_ends_as_it_must(name: str) -> None:
    case = CASES[name]
    ended = await run(case.model(), **case.limits)
    assert (ended.how, ended.steps) == (case.how, case.steps)
    assert ended.journal.spending.tool_calls.total() == case.tool_calls
    if ended.state["citations"]:
        assert "[1]" in ended.state["final_brief"]


@pytest.mark.parametrize("name", UNUSABLE)
async def test_an_answer_that_is_unusable_for_ever_ends_in_the_built_in_brief(name: str) -> None:
    ended = await run(searches("tide"), fetches(A), UNUSABLE[name])
    assert ended.how == ("model_failed", "partial")
    assert ended.state["writer"] == "extractive"
    # Three attempts, and as many to write.
    assert (ended.steps, len(ended.model.seen)) == (3, 2 + 3 + 3)


@pytest.mark.parametrize("name", UNUSABLE)
async def test_an_answer_that_is_unusable_from_the_start_ends_in_no_evidence(name: str) -> None:
    ended = await run(UNUSABLE[name])
    assert ended.how == ("model_failed", "no_evidence")
    assert len(ended.model.seen) <= 3


@pytest.mark.parametrize("name", UNUSABLE)
async def test_an_answer_that_is_unusable_once_is_asked_for_again(name: str) -> None:
    ended = await run(UNUSABLE[name], searches("tide"), fetches(A), says("DONE"), says(BRIEF))
    assert ended.how == ("done", "complete")
    assert ended.steps == 3


async def test_arguments_that_no_message_can_hold_are_asked_for_again() -> None:
    ended = await run(string_for_arguments, searches("tide"), fetches(A), says("DONE"), says(BRIEF))
    assert ended.how == ("done", "complete")


async def test_a_huge_argument_fills_no_prompt_for_ever() -> None:
    huge = calls(("search_web", {"words": "tide " * 20_000}))
    ended = await run(huge, searches("tide"), fetches(A), says("DONE"), says(BRIEF))
    assert ended.how == ("done", "complete")
    assert max(map(len, ended.texts)) < 13_000


async def test_warnings_come_before_each_stop() -> None:
    ended = await run(from_the_start(lambda n: searches("tide"))())
    assert prompts.HINT_REPEATING in "\n".join(ended.texts)
    ended = await run(from_the_start(lambda n: searches(f"tide {n}"))())
    assert prompts.HINT_STAGNANT in "\n".join(ended.texts)
    ended = await run(from_the_start(lambda n: searches(f"tide {n}"))(), max_stagnant_turns=99)
    assert prompts.HINT_LAST in "\n".join(ended.texts)


async def test_the_step_limit_and_not_langgraph_ends_a_long_run() -> None:
    ended = await run(
        from_the_start(lambda n: searches(f"tide {n}"))(), max_steps=60, max_tool_calls=10**4, max_stagnant_turns=10**4
    )
    assert (ended.how, ended.steps) == (("max_steps", "no_evidence"), 60)


# Whatever a model can say. Ids as servers make them: unique, counted anew in each turn, twice in a turn, none.
_WORDS = st.text(string.printable + "βß日\x00\ud800", max_size=12)
_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=2),
    max_leaves=4,
)
_URLS = st.sampled_from([*PAGES, "https://a.example/none", "https://invented.example", "", "http://[::1"])
_GOOD_CALLS = st.one_of(
    st.builds(lambda query: ("search_web", {"query": query}), _WORDS),
    st.builds(lambda url: ("fetch_url", {"url": url}), _URLS),
    st.builds(lambda url, focus: ("fetch_url", {"url": url, "focus": focus}), _URLS, _WORDS),
)
_NAMES = st.sampled_from(["search_web", "fetch_url", "functions.search_web", "brew", "", " ", "x" * 200, "naïve tool"])
_ODD_CALLS = st.tuples(
    _NAMES, st.dictionaries(st.sampled_from(["query", "url", "focus", "runtime", "x"]), _VALUES, max_size=3)
)
_CALLS = st.lists(st.one_of(_GOOD_CALLS, _GOOD_CALLS, _ODD_CALLS), min_size=1, max_size=6)
_IDS = st.sampled_from(["counted", "unique", "same", "none", "empty"])
_FINISH = st.sampled_from(["stop", "STOP", "tool_calls", "length", "SAFETY", "MALFORMED_FUNCTION_CALL", ""])
_SIZES = st.none() | st.integers(0, 3_000)
_serial: Iterator[int] = itertools.count()


def _id(kind: str, position: int) -> str | None:
    return {"counted": f"call_{position}", "unique": f"id{next(_serial)}", "same": "call", "none": None}.get(kind, "")


def _asks(asked: list[Any], ids: str, text: str, finish: str, size: int | None, broken: bool) -> AIMessage:
    tool_calls = [{"name": name, "args": args, "id": _id(ids, n)} for n, (name, args) in enumerate(asked)]
    more: dict[str, Any] = {"invalid_tool_calls": invalid().invalid_tool_calls} if broken else {}
    return _sized(AIMessage(text, tool_calls=tool_calls, response_metadata={"finish_reason": finish}, **more), size)


def _speaks(text: str, finish: str, size: int | None) -> AIMessage:
    return _sized(AIMessage(text, response_metadata={"finish_reason": finish}), size)


def _sized(answer: AIMessage, size: int | None) -> AIMessage:
    usage = {"input_tokens": size, "output_tokens": 0, "total_tokens": size} if size is not None else None
    return answer.model_copy(update={"usage_metadata": usage})


_ANSWERS = st.one_of(
    st.builds(
        _asks, _CALLS, _IDS, st.just("") | _WORDS, st.sampled_from(["stop", "tool_calls"]), _SIZES, st.just(False)
    ),
    st.builds(_asks, _CALLS, _IDS, _WORDS, _FINISH, _SIZES, st.booleans()),
    st.builds(
        _speaks, st.sampled_from(["", "DONE", BRIEF, "I think so.", "- x [9]", '{"query": "x"}']), _FINISH, _SIZES
    ),
)
_LIMITS = st.fixed_dictionaries(
    {
        "max_steps": st.integers(1, 8),
        "max_stagnant_turns": st.integers(1, 5),
        "max_identical_calls": st.integers(1, 4),
        "max_tool_calls": st.integers(1, 15),
        "max_calls_per_tool": st.integers(1, 10),
        "max_tokens": st.integers(1, 20_000),
        "max_usd": st.floats(1e-6, 0.02),
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(_ANSWERS, min_size=1, max_size=12), _LIMITS)
async def test_whatever_a_model_answers_the_run_ends_within_its_limits(
    answers: list[AIMessage], limits: dict[str, Any]
) -> None:
    ended = await run(*answers, **limits)
    spending = ended.journal.spending
    assert spending.tokens <= limits["max_tokens"] + spending.largest_tokens
    assert spending.usd <= limits["max_usd"] + spending.largest_usd
    assert max(spending.tool_calls.values(), default=0) <= limits["max_calls_per_tool"]
