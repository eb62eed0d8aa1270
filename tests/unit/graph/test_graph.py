"""The graph by itself, as somebody uses it who has their own model, tools and checkpointer."""

from __future__ import annotations

import json
import operator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from research_agent import build_graph, errors
from research_agent.context import ResearchContext
from research_agent.graph.graph import ResearchGraph
from research_agent.graph.state import append_messages, append_urls, merge_citations
from research_agent.limits import Limits
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web
from tests.support import judges
from tests.support.library import Library
from tests.support.models import ScriptedModel, calls, fetches, says, searches

TIDES = "The moon causes most of the tide by its gravity. The sun causes a smaller tide of about 46 percent."
POWER = "The tidal power station at La Rance has made electricity from the tide since 1966."
PAGES = {"https://a.example/tides": TIDES, "https://b.example/power": POWER}
A, B = PAGES
BRIEF = """- The moon causes most of the tide. [1]
- The tidal power station at La Rance has made electricity since 1966. [2]"""


def graph_with(library: Library, *answers: Any, checkpointer: Any = None) -> tuple[ResearchGraph, ScriptedModel]:
    model = ScriptedModel(answers=list(answers))
    return build_graph(model, [make_search_web(library), make_fetch_url(library)], checkpointer), model


async def test_search_read_stop_write_gives_a_cited_brief() -> None:
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), says(BRIEF))
    state = await graph.ainvoke({"topic": "What causes the tide?"})
    assert state["outcome"] == "complete"
    assert state["stop_reason"] == "done"
    assert "- The moon causes most of the tide. [1]" in state["final_brief"]
    assert f"<{B}>" in state["final_brief"]
    assert [citation["url"] for citation in state["citations"]] == [A, B]
    for claim in state["claims"]:
        assert PAGES[[A, B][claim["quote_source"] - 1]][claim["start"] : claim["end"]] == claim["quote"]


async def test_the_builtin_model_drives_the_same_graph() -> None:
    library = Library(PAGES)
    graph = build_graph(ExtractiveChatModel(), [make_search_web(library), make_fetch_url(library)])
    state = await graph.ainvoke({"topic": "the moon and the tide"})
    assert state["outcome"] == "complete"
    assert TIDES.split(".")[0] + ". [1]" in state["final_brief"]


async def test_a_failed_fetch_is_no_citation_and_does_not_end_the_run() -> None:
    library = Library(PAGES | {"https://c.example/broken": ""})
    del (pages := dict(library.pages))["https://c.example/broken"]
    searched = Library(library.pages)
    searched.read = Library(pages).read  # type: ignore[method-assign]
    graph, _ = graph_with(searched, searches("tide"), fetches("https://c.example/broken", A), says("DONE"), says(BRIEF))
    state = await graph.ainvoke({"topic": "What causes the tide?"})
    assert [citation["url"] for citation in state["citations"]] == [A]
    failed = [
        message for message in state["messages"] if isinstance(message, ToolMessage) and message.status == "error"
    ]
    assert ["no such page" in message.text for message in failed] == [True]
    assert "broken" not in state["final_brief"]


async def test_an_address_that_nobody_gave_is_not_fetched() -> None:
    library = Library(PAGES)
    graph, _ = graph_with(
        library, fetches("https://invented.example/x"), searches("tide"), fetches(A), says("DONE"), says(BRIEF)
    )
    state = await graph.ainvoke({"topic": "tide"})
    assert library.read_urls == [A]
    assert "invented.example" not in state["final_brief"]


async def test_an_address_in_the_topic_may_be_fetched() -> None:
    library = Library(PAGES)
    graph, _ = graph_with(library, fetches(A), says("DONE"), says(BRIEF))
    await graph.ainvoke({"topic": f"What does {A} say?"})
    assert library.read_urls == [A]


async def test_a_claim_that_no_passage_supports_is_dropped_and_named() -> None:
    lies = (
        "The tide was invented by Galileo Galilei in 1633. [1]",
        "Fish cause tides. [7]",
        "See https://evil.example now. [1]",
    )
    lie = "\n- ".join([BRIEF, *lies])
    graph, model = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), says(lie), says(lie))
    model.judge = [lambda messages: says(judges.yes_to_all(messages[-1].text))]
    state = await graph.ainvoke({"topic": "What causes the tide?"})
    assert "Galileo" not in state["final_brief"]
    dropped = {claim["code"]: claim["text"] for claim in state["claims"] if claim["verdict"] != "supported"}
    assert dropped["figure"].startswith("The tide was invented by Galileo")
    assert dropped["no_source"] == "Fish cause tides."
    assert "evil.example" not in state["final_brief"]
    repair = model.seen[-1][-1]
    assert isinstance(repair, HumanMessage)
    assert "Galileo" in repair.text


async def test_a_repaired_claim_is_kept() -> None:
    right = "- The tidal power station at La Rance has made electricity since 1966. [2]"
    wrong = right.replace("1966", "1866")
    mended = json.dumps({"s1": right})
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), says(wrong), says(mended))
    state = await graph.ainvoke({"topic": "tidal power"})
    assert "1966" in state["final_brief"]
    assert [claim["verdict"] for claim in state["claims"]] == ["supported"]


async def test_a_claim_that_its_passage_says_only_partly_becomes_a_quotation() -> None:
    free = "- La Rance is where the tide has been made into electricity since 1966. [2]"
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), says(free), says(free))
    state = await graph.ainvoke({"topic": "tidal power"})
    assert [claim["verdict"] for claim in state["claims"]] == ["partly", "supported"]
    assert f"- “{POWER}” [2]" in state["final_brief"]
    assert "is where the tide" not in state["final_brief"]
    assert state["checked"] == "unchecked"
    assert "Not checked in meaning" in state["final_brief"]


async def test_a_number_too_many_does_not_cost_a_true_sentence() -> None:
    graph, _ = graph_with(
        Library(PAGES),
        searches("tide"),
        fetches(A, B),
        says("DONE"),
        says("- The moon causes most of the tide. [1][2]"),
    )
    state = await graph.ainvoke({"topic": "the tide"})
    assert [(claim["verdict"], claim["sources"]) for claim in state["claims"]] == [("supported", [1])]


async def test_the_same_text_at_two_addresses_is_one_source_with_both_addresses() -> None:
    mirror = "https://mirror.example/tides"
    library = Library({A: TIDES, mirror: TIDES})
    graph, _ = graph_with(library, searches("tide"), fetches(A, mirror), says("DONE"), says(BRIEF.split("\n")[0]))
    state = await graph.ainvoke({"topic": "the tide"})
    assert len(state["citations"]) == 1
    assert f"<{A}>, also at <{mirror}>" in state["final_brief"]


async def test_bullets_beyond_the_length_are_cut() -> None:
    many = "\n".join(["- The moon causes most of the tide. [1]"] * 40)
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), says(many))
    state = await graph.ainvoke({"topic": "the tide"}, context=ResearchContext(length="short"))
    assert len(state["claims"]) == 5


async def test_when_the_model_cannot_write_the_builtin_writer_does_and_says_so() -> None:
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says("DONE"), ValueError("gone"))
    state = await graph.ainvoke({"topic": "the moon and the tide"})
    assert state["writer"] == "extractive"
    assert "chosen from the sources by program" in state["final_brief"]
    assert "The moon causes most of the tide by its gravity. [1]" in state["final_brief"]


async def test_a_model_that_fails_after_evidence_ends_in_a_partial_brief() -> None:
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A), ValueError("gone"))
    state = await graph.ainvoke({"topic": "the moon and the tide"})
    assert (state["outcome"], state["stop_reason"]) == ("partial", "model_failed")


async def test_a_model_that_fails_before_any_evidence_raises_and_the_thread_goes_on_later() -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    graph, _ = graph_with(Library(PAGES), ValueError("gone"), checkpointer=saver)
    with pytest.raises(errors.ModelError, match="gone"):
        await graph.ainvoke({"topic": "tide"}, config)
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A), says("DONE"), says(BRIEF), checkpointer=saver)
    state = await graph.ainvoke(None, config)
    assert state["outcome"] == "complete"


async def test_a_model_that_answers_before_reading_is_asked_once_more() -> None:
    graph, model = graph_with(
        Library(PAGES), says("I know it all."), searches("tide"), fetches(A), says("DONE"), says(BRIEF)
    )
    state = await graph.ainvoke({"topic": "tide"})
    assert "nothing has been read yet" in model.seen[1][-1].text
    assert state["outcome"] == "complete"


async def test_a_model_that_never_reads_gets_no_brief() -> None:
    graph, model = graph_with(Library(PAGES), says("The moon did it. [1]"))
    state = await graph.ainvoke({"topic": "tide"})
    assert len(model.seen) == 2
    assert state["outcome"] == "no_evidence"
    assert "[1]" not in state["final_brief"]


async def test_the_step_limit_answers_pending_calls_and_ends_in_a_partial_brief() -> None:
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(A, B), says(BRIEF))
    state = await graph.ainvoke({"topic": "tide", "max_steps": 2})
    assert (state["step_count"], state["outcome"], state["stop_reason"]) == (2, "partial", "max_steps")
    asked = [call["id"] for m in state["messages"] if isinstance(m, AIMessage) for call in m.tool_calls]
    answered = [m.tool_call_id for m in state["messages"] if isinstance(m, ToolMessage)]
    assert answered == asked


async def test_turns_without_new_evidence_end_the_run() -> None:
    library = Library(PAGES)
    graph, _ = graph_with(
        library, searches("tide"), fetches(A), searches("tides"), fetches(A), searches("a tide"), says(BRIEF)
    )
    state = await graph.ainvoke({"topic": "tide"}, context=ResearchContext(Limits(max_stagnant_turns=3)))
    assert state["stop_reason"] == "stagnant"
    assert state["step_count"] == 5
    again = [m.text for m in state["messages"] if isinstance(m, ToolMessage) and "shown before" in m.text]
    assert len(again) == 1


async def test_fetching_what_a_search_found_is_progress() -> None:
    pages = {f"https://x.example/{n}": f"Fact number {n} about the tide is that it is tide {n}." for n in range(5)}
    graph, _ = graph_with(
        Library(pages), searches("tide"), *(fetches(url) for url in pages), says("DONE"), says("- x [1]")
    )
    state = await graph.ainvoke({"topic": "tide"})
    assert len(state["citations"]) == 5
    assert state["stop_reason"] == "done"


async def test_a_tool_that_does_not_exist_is_an_observation() -> None:
    graph, _ = graph_with(
        Library(PAGES), calls(("brew_coffee", {}), ("", {})), searches("tide"), fetches(A), says("DONE"), says(BRIEF)
    )
    state = await graph.ainvoke({"topic": "tide"})
    first = [m.text for m in state["messages"] if isinstance(m, ToolMessage)][:2]
    assert "There is no tool 'brew_coffee'. Use one of: fetch_url, search_web." in first[0]
    assert state["outcome"] == "complete"


async def test_wrong_arguments_are_an_observation() -> None:
    graph, _ = graph_with(
        Library(PAGES), calls(("search_web", {"words": "x"})), searches("tide"), fetches(A), says("DONE"), says(BRIEF)
    )
    state = await graph.ainvoke({"topic": "tide"})
    assert state["outcome"] == "complete"
    assert "query" in next(m.text for m in state["messages"] if isinstance(m, ToolMessage))


async def test_a_tool_that_raises_hangs_or_floods_is_an_observation() -> None:
    @tool
    async def explode() -> str:
        """Explode."""
        raise RuntimeError("secret detail")

    @tool
    async def hang() -> str:
        """Hang."""
        import asyncio

        await asyncio.sleep(600)
        return ""

    @tool
    async def flood() -> str:
        """Flood."""
        return "x\x00" * 2_000_000

    library = Library(PAGES)
    model = ScriptedModel(
        answers=[
            calls(("explode", {}), ("hang", {}), ("flood", {})),
            searches("tide"),
            fetches(A),
            says("DONE"),
            says(BRIEF),
        ]
    )
    graph = build_graph(model, [make_search_web(library), make_fetch_url(library), explode, hang, flood])
    context = ResearchContext(Limits(max_seconds_per_tool=0.2))
    state = await graph.ainvoke({"topic": "tide"}, context=context)
    exploded, hung, flooded = [m.text for m in state["messages"] if isinstance(m, ToolMessage)][:3]
    assert exploded == "explode failed (RuntimeError). Try another source or other words."
    assert hung == "hang took longer than 0 s and was stopped. Try another source."
    assert len(flooded) < 13_000
    assert "\x00" not in flooded
    assert state["outcome"] == "complete"


def entry(content: str, *passages: dict[str, Any]) -> dict[str, Any]:
    return {"content_hash": content, "url": f"https://{content}.example", "also_at": [], "passages": list(passages)}


@pytest.mark.parametrize("reducer", [append_messages, merge_citations, append_urls])
def test_reducers_give_the_same_in_one_batch_and_in_many(reducer: Any) -> None:
    """DeltaChannel replays writes in other batches than they were made in."""
    passage = {"start": 0, "end": 3, "text": "abc"}
    other = {"start": 5, "end": 8, "text": "fgh"}
    writes: list[list[Any]] = {
        append_messages: [
            [HumanMessage("a", id="1")],
            [AIMessage("b", id="2"), AIMessage("c", id="3")],
            [AIMessage("B", id="2")],
        ],
        merge_citations: [
            [entry("x", passage), entry("y")],
            [entry("x", other, passage)],
            [],
        ],
        append_urls: [["a", "b"], ["b", "c"], []],
    }[reducer]
    one_by_one: list[Any] = []
    for write in writes:
        one_by_one = reducer(one_by_one, [write])
    assert one_by_one == reducer(None, writes)
    assert reducer(reducer(None, writes[:1]), writes[1:]) == one_by_one
    assert len(one_by_one) == len(set(map(str, one_by_one)))
    assert operator.length_hint(one_by_one) >= 2


def test_the_ledger_never_renumbers() -> None:
    first = [entry("x"), entry("y")]
    merged: Any = merge_citations(first, [[entry("y"), entry("z")]])  # type: ignore[arg-type]
    assert [entry["content_hash"] for entry in merged] == ["x", "y", "z"]


def test_the_same_text_at_two_addresses_is_one_source_with_both() -> None:
    other = {**entry("x"), "url": "https://mirror.example"}
    merged: Any = merge_citations(None, [[entry("x")], [other], [other]])
    assert [(source["url"], source["also_at"]) for source in merged] == [
        ("https://x.example", ["https://mirror.example"])
    ]


@pytest.mark.parametrize("url", ["http://[", "[tides](https://a.example/tides)", "", "https://", "\x00", "a" * 5000])
async def test_an_argument_that_is_no_address_is_an_observation(url: str) -> None:
    graph, _ = graph_with(Library(PAGES), searches("tide"), fetches(url), fetches(A), says("DONE"), says(BRIEF))
    state = await graph.ainvoke({"topic": "tide"})
    assert state["outcome"] == "complete"
    assert [m.status for m in state["messages"] if isinstance(m, ToolMessage)] == ["success", "error", "success"]
