"""The plan: named once, kept in the state, shown again, and what the brief is written to."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage

from research_agent import build_graph, prompts
from research_agent.context import ResearchContext
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.plan import MOST, make_plan
from research_agent.tools.search_web import make_search_web
from tests.support.library import Library
from tests.support.models import ScriptedModel, calls, fetches, says, searches
from tests.support.scripted import MemoryJournal

URL = "https://a.example/power"
PAGES = {URL: "The tidal power station at La Rance has made electricity from the tide since 1966."}
QUESTIONS = ["Who built it?", "What does it cost?"]


async def run(*answers: Any, journal: MemoryJournal | None = None) -> tuple[Any, ScriptedModel]:
    library = Library(PAGES)
    model = ScriptedModel(answers=[*answers, says("DONE"), says("- La Rance makes power. [1]")])
    graph = build_graph(model, [make_plan(), make_search_web(library), make_fetch_url(library)])
    context = ResearchContext(journal=journal or MemoryJournal())
    return await graph.ainvoke({"topic": "tidal power"}, context=context), model


def plan(*questions: str) -> Any:
    return calls(("plan", {"questions": list(questions)}))


async def test_the_questions_are_in_the_state_and_the_brief_is_written_to_them() -> None:
    state, model = await run(plan(*QUESTIONS), searches("tide"), fetches(URL))
    assert state["questions"] == [{"text": text} for text in QUESTIONS]
    assert "Questions:\n- Who built it?\n- What does it cost?\n" in model.seen[-1][-1].text
    reminded = [m.text for m in state["messages"] if isinstance(m, ToolMessage) and "(2) What does it cost?" in m.text]
    assert len(reminded) == 2, "behind the search and behind the page"


async def test_planning_is_no_turn_in_vain_but_only_once() -> None:
    journal = MemoryJournal()
    await run(plan(*QUESTIONS), plan("More?"), searches("tide"), fetches(URL), journal=journal)
    assert [turn.stagnant_turns for turn in journal.turns if turn.tool_calls] == [0, 1, 2, 0]


async def test_a_second_plan_adds_and_nothing_is_named_twice() -> None:
    state, _ = await run(plan(*QUESTIONS, QUESTIONS[0]), plan("How long does it last?", QUESTIONS[1]), fetches(URL))
    assert [question["text"] for question in state["questions"]] == [*QUESTIONS, "How long does it last?"]


async def test_a_plan_is_bounded_and_an_empty_one_is_an_observation() -> None:
    state, _ = await run(plan(*(f"Question {n}?" * 50 for n in range(40))), plan("", " "), fetches(URL))
    assert len(state["questions"]) == MOST
    assert all(len(question["text"]) <= 200 for question in state["questions"])
    assert any(m.text.startswith(prompts.NO_QUESTIONS) for m in state["messages"] if isinstance(m, ToolMessage))


def test_a_graph_without_the_tool_is_not_told_of_it() -> None:
    assert "call plan" in prompts.system(["plan", "search_web"])
    assert prompts.system(["search_web"]) == prompts.SYSTEM
