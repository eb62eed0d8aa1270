"""Whatever a model writes: no address but of sources, no number without a source, no sentence without its quote."""

from __future__ import annotations

import asyncio
import html
import json
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage

from research_agent import build_graph
from research_agent.brief.bibliography import to_bibtex, to_csl_json
from research_agent.brief.brief import Brief
from research_agent.brief.html import to_html
from research_agent.brief.json import to_json
from research_agent.brief.markdown import to_markdown
from research_agent.context import ResearchContext
from research_agent.graph.state import ResearchState
from research_agent.limits import Limits
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web
from tests.support import judges
from tests.support.library import Library
from tests.support.models import ScriptedModel, fetches, says, searches

PAGES = {
    "https://a.example/tides?x=1&y=[2]": (
        "The moon causes most of the tide by its gravity. The sun causes a smaller tide of about 46 percent.\n\n"
        "Spring tides happen when sun and moon pull in one line. They are not weak [3]."
    ),
    "https://b.example/power": (
        "The tidal power station at La Rance has made electricity from the tide since 1966. "
        "The moon causes most of the tide by its gravity. Electricité de France réalisa l’usine en 1966 “à La Rance”."
    ),
    "https://c.example/潮": "潮汐は主に月の引力によって起こる。太陽の潮汐は約46パーセントである。",
}
URLS = list(PAGES)
UNHURRIED = Limits(max_calls_per_minute=1_000_000)  # all examples share the rate limit of the process
SENTENCES = [sentence for text in PAGES.values() for sentence in re.findall(r"\S[^.。]*[.。]", text)]
FRAGMENTS = st.sampled_from(
    [
        *SENTENCES, *SENTENCES, *(sentence.rstrip(".。") for sentence in SENTENCES), "- ", "\n- ", "\n", "\n\n",
        "\n* ", "\n1. ", " ", ". ", "| ", "|---|\n", "# ", "**", "`", "<li>", "</li>", "<br>", "[1]", "[2]", "[3]",
        "[4]", "[0]", "[99]", "[1][2]", "[1, 2]", "[2-9]", "【2】", "(1)", "[^1]", "[1](", "[12345]", "²",
        "https://evil.example/x", "http://evil.example", "www.evil.example", "//evil.example",
        "HTTPS://EVIL.EXAMPLE/", "[click](https://evil.example/y)", "<https://evil.example>",
        "<a href='https://evil.example'>", "</a>", "ht<b></b>tps://evil.example", "https&#58;//evil.example",
        "xhttps://evil.example", "https://", "javascript:alert(1)", "doi:10.1234/evil", "https:\n//evil.example",
        "https:/<i></i>/evil.example", "data:text/html,evil", "<!--", "-->", "1866", "1,966", "46 %", " not ",
        " never ", "The moon ", "The sun ", "La Rance ", "Galileo ", "“", "”", '"', "Sources\n", "Sources:\n[1] ",
        "[9]: https://evil.example", "&lt;", "&#91;7&#93;", "\u202e", "\u200b", "\x00", "<script>",
    ]
)  # fmt: skip
DRAFTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=24).map("".join)
ADDRESS = re.compile(r"(?:https?|ftp|file)://[^\s\"'<>]*", re.IGNORECASE)
READABLE = re.compile(r"evil", re.IGNORECASE)


def yes_to_all(messages: list[BaseMessage]) -> AIMessage:
    """The worst of judges: whatever is asked, yes."""
    return says(judges.yes_to_all(messages[-1].text))


async def write(draft: str, repaired: str) -> ResearchState:
    library = Library(PAGES)
    model = ScriptedModel(
        answers=[searches("tide"), fetches(*URLS), says("DONE"), says(draft), says(repaired)], judge=[yes_to_all]
    )
    graph = build_graph(model, [make_search_web(library), make_fetch_url(library)])
    state: ResearchState = await graph.ainvoke({"topic": "the tide"}, context=ResearchContext(UNHURRIED))
    return state


@given(DRAFTS, st.one_of(DRAFTS, DRAFTS.map(lambda text: json.dumps({"s1": text, "s2": text}))))
@example("- The moon causes most of the tide by its gravity. [1][2]", "")
@example(
    "- xhttps://evil.example The moon causes most of the tide by its gravity. [1]", "- ht<b></b>tps://evil.example [1]"
)
@example("- " + SENTENCES[0] + " [1]\n- &#91;7&#93; " + SENTENCES[0] + " [1]", "[12345]")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_draft_breaks_what_a_brief_promises(draft: str, repaired: str) -> None:
    state = asyncio.run(write(draft, repaired))
    brief = Brief.from_state(state, thread_id="t", edition=1, model="m")
    numbers = {source.number for source in brief.sources}

    for claim in brief.claims:
        assert claim["sources"]
        assert set(claim["sources"]) <= numbers
        assert {other["source"] for other in claim["others"]} | {claim["quote_source"]} <= set(claim["sources"])
        quotes = [(claim["quote_source"], claim["start"], claim["end"], claim["quote"])]
        quotes += [(other["source"], other["start"], other["end"], other["text"]) for other in claim["others"]]
        for source, start, end, quote in quotes:
            assert quote
            assert PAGES[URLS[source - 1]][start:end].encode() == quote.encode()
        assert not ADDRESS.search(claim["text"])
        assert not READABLE.search(claim["text"])
        assert not re.search(r"\[\d+\]", claim["text"])

    markdown = state["final_brief"]
    body, _, rest = markdown.partition("\n## Sources\n")
    assert {int(n) for n in re.findall(r"(?<!\\)\[(\d+)\]", body)} <= numbers
    assert {int(n) for n in re.findall(r"^- \[(\d+)\] ", rest, re.MULTILINE)} == numbers
    page = to_html(brief)
    assert not re.search(r"<(?:script|a href=.https?://evil)", page)
    assert {int(n) for n in re.findall(r"Passage in source (\d+)", page)} <= numbers
    assert {source.url for source in brief.sources} <= set(URLS)
    forms = [
        re.sub(r"\\([^\w\s\"])", r"\1", form) for form in (markdown, to_bibtex(brief))
    ]  # escaped is still readable
    for form in (*forms, html.unescape(page), to_json(brief), to_csl_json(brief)):
        assert {found.rstrip(",}") for found in ADDRESS.findall(form)} <= set(URLS)
    assert json.loads(to_json(brief))["claims"] == brief.claims


@pytest.mark.parametrize("name", ["[1](https://evil.example)", "www.evil.example", "See https://evil.example/x now."])
def test_an_address_that_a_writer_invents_is_not_even_shown_as_dropped(name: str) -> None:
    draft = f"- {SENTENCES[0]} [1]\n- {name} {SENTENCES[1]} [1]"
    state = asyncio.run(write(draft, draft))
    brief = Brief.from_state(state, thread_id="t", edition=1, model="m")
    shown = to_markdown(brief, left_out=True)
    assert brief.left_out
    assert "evil" not in shown.replace("\\", "")
    assert "(address)" in shown
