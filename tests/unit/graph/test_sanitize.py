"""`sanitize` numbers what was read, calls new evidence progress and nothing else, and warns before it stops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from research_agent import build_graph, prompts
from research_agent.context import ResearchContext
from research_agent.documents import SearchHit
from research_agent.graph.sanitize import identical_turns
from research_agent.limits import Limits, Spending
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.runtime import InjectedRuntime
from research_agent.tools.search_web import make_search_web
from tests.support.library import Library
from tests.support.models import ScriptedModel, calls, fetches, says, searches
from tests.support.recorded import RecordedJournal

SITE = "https://site.example"
PAGES = {
    f"{SITE}/{name}": f"The tide at {name} is {height} metres high."
    for name, height in zip("abcd", range(4, 8), strict=True)
}
A, B, C, D = PAGES
MISSING = f"{SITE}/missing"
# Long enough for two passages, so that another focus shows another one.
PARTS = {
    "locks": "A lock keeps ships afloat when the water of the tide falls. " * 150,
    "birds": "Wading birds eat worms of the wet sand behind the falling tide. " * 150,
}
LONG = f"{SITE}/long"


class Run:
    """A run of the real graph up to where sanitize stopped it, or the script's end."""

    def __init__(self, *answers: AIMessage, library: Library | None = None, topic: str = "tide", **limits: Any) -> None:
        limits = {"max_calls_per_minute": 10**6, "max_steps": 50, **limits}
        self.journal = RecordedJournal()
        self.context = ResearchContext(Limits(**limits), self.journal)
        self.model = ScriptedModel(answers=[*answers, says("DONE")])
        self.library = library or Library({**PAGES, LONG: "\n\n".join(PARTS.values())})
        self.topic = topic

    async def __call__(self) -> dict[str, Any]:
        graph = build_graph(self.model, [make_search_web(self.library), make_fetch_url(self.library)])
        return await graph.ainvoke({"topic": self.topic}, context=self.context)

    @property
    def stagnant(self) -> list[int]:
        """Turns without progress, after each turn that asked for tools."""
        return [turn.stagnant_turns for turn in self.journal.turns if turn.tool_calls]


def observations(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def hints(state: dict[str, Any]) -> list[str]:
    """The word to the model behind each observation, "" where there is none."""
    return [
        message.text.rpartition("\n\nNote: ")[2] if "\n\nNote: " in message.text else ""
        for message in observations(state)
    ]


async def test_sources_are_numbered_in_the_order_of_the_calls_and_keep_their_numbers() -> None:
    state = await Run(searches("tide"), fetches(C, A), fetches(B))()
    assert [citation["url"] for citation in state["citations"]] == [C, A, B]
    assert [message.text[:4] for message in observations(state)[1:]] == ["[1] ", "[2] ", "[3] "]


async def test_what_was_digested_is_not_kept_twice() -> None:
    state = await Run(searches("tide"), fetches(A, MISSING), fetches(A))()
    assert [message.artifact for message in observations(state)] == [None] * 4


async def test_only_new_evidence_is_progress() -> None:
    run = Run(
        searches("tide"), fetches(A), searches("tides"), fetches(MISSING), fetches(A), fetches(B), max_stagnant_turns=9
    )
    await run()
    assert run.stagnant == [1, 0, 1, 2, 3, 0]
    assert [(turn.new_sources, turn.new_passages) for turn in run.journal.turns[:6]] == [
        (0, 0),
        (1, 1),
        (0, 0),
        (0, 0),
        (0, 0),
        (1, 1),
    ]


async def test_a_failed_fetch_is_no_source() -> None:
    state = await Run(searches("tide"), fetches(MISSING, A))()
    assert [citation["url"] for citation in state["citations"]] == [A]
    failed = observations(state)[1]
    assert failed.status == "error"
    assert not failed.text.startswith("[")


async def test_a_tool_that_says_it_failed_gives_no_source_even_with_a_page_in_hand() -> None:
    library = Library(PAGES)
    read = make_fetch_url(library)

    @tool
    async def fetch_half(url: str, runtime: InjectedRuntime) -> ToolMessage:
        """Read half a page."""
        result = await read.ainvoke(
            {"type": "tool_call", "id": "x", "name": "fetch_url", "args": {"url": url, "runtime": runtime}}
        )
        return result.model_copy(update={"status": "error", "tool_call_id": runtime.tool_call_id})

    model = ScriptedModel(answers=[searches("tide"), calls(("fetch_half", {"url": A})), says("DONE")])
    context = ResearchContext(Limits(max_calls_per_minute=10**6), RecordedJournal())
    state = await build_graph(model, [make_search_web(library), fetch_half]).ainvoke({"topic": "tide"}, context=context)
    assert library.read_urls == [A]
    assert state["citations"] == []


async def test_a_page_that_was_read_is_not_shown_again() -> None:
    state = await Run(searches("tide"), fetches(A), fetches(A))()
    again = observations(state)[2].text
    assert again.startswith(prompts.ALREADY_READ.format(number=1))
    assert PAGES[A] not in again
    assert len(state["citations"]) == 1


async def test_the_same_page_twice_in_one_turn_is_shown_once() -> None:
    run = Run(searches("tide"), fetches(A, A))
    state = await run()
    shown = [PAGES[A] in message.text for message in observations(state)[1:]]
    assert shown == [True, False]
    assert run.journal.turns[1].new_passages == 1


async def test_the_same_text_at_another_address_is_one_source_and_no_progress() -> None:
    mirror = f"{SITE}/mirror"
    run = Run(searches("tide"), fetches(A), fetches(mirror), library=Library({**PAGES, mirror: PAGES[A]}))
    state = await run()
    assert [(entry["url"], entry["also_at"]) for entry in state["citations"]] == [(A, [mirror])]
    assert run.stagnant == [1, 0, 1]
    assert "[1]" in observations(state)[2].text


async def test_another_focus_on_a_page_that_was_read_shows_only_what_is_new() -> None:
    def focused(focus: str) -> AIMessage:
        return calls(("fetch_url", {"url": LONG, "focus": focus}))

    run = Run(
        searches("tide"),
        focused("locks ships afloat"),
        focused("birds worms sand"),
        topic="harbour",
        max_stagnant_turns=9,
    )
    state = await run()
    first, second = (message.text for message in observations(state)[1:3])
    assert "lock keeps ships" in first and "Wading birds" not in first
    assert "Wading birds" in second and "lock keeps ships" not in second
    assert second.startswith("[1] ")
    assert run.stagnant == [1, 0, 0]
    assert len(state["citations"]) == 1


async def test_a_page_that_changes_at_every_read_is_counted_by_what_it_says() -> None:
    """A clock in the footer makes it another text each time, not another piece of evidence."""

    class Clockwork(Library):
        async def read(self, url: str) -> Any:
            page = await super().read(url)
            footer = f"\n\nPage {len(self.read_urls)} of today's visitors."
            return type(page)(page.url, page.title, page.text * 30 + "\n\n" + "x" * 600 + footer)

    run = Run(searches("tide"), *[fetches(A)] * 4, library=Clockwork(PAGES), max_identical_calls=9)
    state = await run()
    assert run.stagnant == [1, 0, 1, 2, 3]
    assert state["stop_reason"] == "stagnant"


async def test_addresses_that_were_seen_are_kept_once() -> None:
    state = await Run(searches("tide"), searches("tides"), fetches(A))()
    assert sorted(state["seen_urls"]) == sorted({*PAGES, LONG})


@pytest.mark.parametrize("limit", [2, 3, 5])
async def test_turns_without_new_evidence_stop_at_their_limit(limit: int) -> None:
    queries = [searches(f"tide {number}") for number in range(9)]
    state = await Run(searches("tide"), fetches(A), *queries, max_stagnant_turns=limit)()
    assert (state["stop_reason"], state["step_count"]) == ("stagnant", 2 + limit)


async def test_a_warning_comes_before_the_stop_for_stagnation() -> None:
    state = await Run(searches("tide"), fetches(A), *[searches(f"tide {n}") for n in range(9)])()
    assert hints(state) == ["", "", "", prompts.HINT_STAGNANT.removeprefix("Note: "), ""]


async def test_a_warning_comes_before_the_stop_for_repeating() -> None:
    state = await Run(searches("tide"), fetches(A), *[searches("tides")] * 9, max_stagnant_turns=9)()
    assert hints(state) == ["", "", "", prompts.HINT_REPEATING.removeprefix("Note: "), ""]
    assert (state["stop_reason"], state["step_count"]) == ("repeating", 5)


async def test_a_cycle_of_calls_is_stagnation() -> None:
    cycle = [searches("tide"), fetches(A), searches("tides"), fetches(A, B)]
    run = Run(*cycle, *cycle[:3] * 9)
    state = await run()
    # The fourth turn reads B; the cycle after it brings nothing.
    assert (state["stop_reason"], state["step_count"]) == ("stagnant", 7)


async def test_the_model_is_told_when_the_end_is_near() -> None:
    state = await Run(searches("tide"), fetches(A), fetches(B), fetches(C), max_steps=4)()
    two, one = prompts.HINT_STEPS.format(left=2), prompts.HINT_LAST
    assert hints(state) == ["", two.removeprefix("Note: "), one.removeprefix("Note: "), ""]
    assert state["stop_reason"] == "max_steps"


async def test_the_model_is_told_when_its_tool_calls_run_out() -> None:
    state = await Run(searches("tide"), fetches(A), fetches(B), max_tool_calls=3)()
    assert hints(state) == [
        prompts.HINT_STEPS.format(left=2).removeprefix("Note: "),
        prompts.HINT_LAST.removeprefix("Note: "),
        "",
    ]
    assert state["stop_reason"] == "max_tool_calls"


async def test_a_hint_stands_behind_the_last_of_several_observations_and_ids_stay() -> None:
    state = await Run(searches("tide"), fetches(A, B, MISSING), max_steps=3)()
    ids = [message.tool_call_id for message in observations(state)]
    assert ids == ["call_0", "call_0", "call_1", "call_2"]
    assert [bool(hint) for hint in hints(state)] == [True, False, False, True]
    assert observations(state)[3].status == "error"


async def test_a_hint_changes_nothing_that_was_sent_before() -> None:
    """Prompt caches of providers need each prompt to be the one before and something more."""
    run = Run(searches("tide"), fetches(A), searches("tides"), searches("a tide"), max_stagnant_turns=9, max_steps=5)
    await run()
    prompts_sent = [[message.text for message in sent] for sent in run.model.seen if sent[0].text == prompts.SYSTEM]
    for earlier, later in pairwise(prompts_sent):
        assert later[: len(earlier)] == earlier


async def test_the_reason_for_a_stop_is_in_the_journal() -> None:
    run = Run(searches("tide"), fetches(A), *[searches("tides")] * 3)
    state = await run()
    assert run.journal.turns[-2].stop_reason == run.journal.turns[-1].stop_reason == state["stop_reason"] == "repeating"
    assert "same calls again and again" in state["final_brief"]


async def test_hits_without_a_proper_address_do_no_harm() -> None:
    class Odd(Library):
        async def search(self, query: str, limit: int, **more: Any) -> list[SearchHit]:
            odd = [
                "",
                "http://[::1",
                "not an address",
                "http://\ud800.example",
                "mailto:x@y.example",
                "http://x:99999/",
            ]
            return [*(SearchHit(url, "t", "s") for url in odd), *await super().search(query, limit)]

    state = await Run(searches("tide"), fetches(A), library=Odd(PAGES))()
    assert state["outcome"] == "complete"


def turn(*names: str, query: str = "q") -> AIMessage:
    return calls(*((name, {"query": query}) for name in names))


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([], 0),
        ([HumanMessage("x")], 0),
        ([turn("a")], 1),
        ([turn("a"), turn("a"), turn("a")], 3),
        ([turn("a"), turn("b"), turn("a")], 1),
        ([turn("b"), turn("a"), turn("a")], 2),
        ([turn("a", "b"), turn("b", "a")], 2),
        ([turn("a", "a"), turn("a")], 2),
        ([turn("a"), AIMessage("thinking"), turn("a")], 2),
        ([turn("a"), turn("a", query="Q")], 1),
        ([turn("a"), turn("a"), AIMessage("DONE")], 2),
    ],
)
def test_identical_turns_are_counted_from_the_end_whatever_the_order_of_calls(messages: list[Any], count: int) -> None:
    assert identical_turns(messages) == count


_ARGS = st.dictionaries(
    st.text(max_size=3),
    st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists, max_leaves=4),
    max_size=3,
)


@given(_ARGS, st.integers(1, 4))
def test_any_arguments_can_be_compared(args: dict[str, Any], times: int) -> None:
    assert identical_turns([calls(("other", {})), *[calls(("a", args))] * times]) == times


async def test_spending_of_the_run_is_what_counts_not_that_of_this_start() -> None:
    run = Run(searches("tide"), fetches(A), max_tokens=1000)
    run.journal.spending = Spending(tokens=999, largest_tokens=10)
    state = await run()
    assert (state["stop_reason"], state["step_count"]) == ("max_tokens", 1)
