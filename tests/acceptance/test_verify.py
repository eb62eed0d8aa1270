"""A stored brief is checked again: against the stored pages, against the sources as they are now."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from research_agent.runs.verify import verify as check_again
from research_agent.settings import load_settings
from tests.support.commands import Agent, one_line
from tests.support.documents import DOCUMENTS, TOPIC
from tests.support.fake_openai import FakeOpenAI, tool_call
from tests.support.fake_web import Answer, FakeWeb, running_web
from tests.support.places import REPOSITORY

LA_RANCE = "has produced electricity from the tide since 1966"


def write_brief(agent: Agent, *arguments: str) -> dict[str, Any]:
    result = agent.run("--topic", TOPIC, "--json", *arguments, timeout=90)
    assert result.returncode == 0, result.stderr
    brief: dict[str, Any] = json.loads(result.stdout)
    return brief


def verify(agent: Agent, thread: str, *arguments: str) -> tuple[int, list[tuple[str, str]]]:
    """Exit code, and the findings as pairs of state and text."""
    result = agent.run("verify", thread, *arguments)
    assert "Traceback" not in result.stderr, result.stderr
    *lines, summary = result.stdout.splitlines()
    found = [(line[:11].strip(), line[11:].strip()) for line in lines]
    assert summary == f"{sum(state == 'ok' for state, _ in found)} of {len(found)} hold"
    return result.returncode, found


def test_each_sentence_of_a_finished_brief_holds(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    code, found = verify(agent, brief["thread_id"])
    assert code == 0
    assert [state for state, _ in found] == ["ok"] * len(brief["claims"])
    assert any(LA_RANCE in text for _, text in found)


TAMPERING = {
    "a page": (
        f"update research.pages set text = replace(text, '{LA_RANCE}', 'was shut in 1966') where url like '%power.md'",
        "the stored page of [2] was altered",
    ),
    "an offset": ("update research.claims set quote_start = quote_start + 1 where text like '%La Rance%'", "differ"),
    "a quote": ("update research.claims set quote = 'x' where text like '%La Rance%'", "differ"),
    "a sentence": ("update research.claims set text = replace(text, '1966', '1866')", "differ"),
    "a lost sentence": ("delete from research.claims where text like '%La Rance%'", "differ"),
    "the brief": ("update research.runs set brief = replace(brief::text, '1966', '1866')::jsonb", "differ"),
    "a sentence, everywhere": (
        "with c as (update research.claims set text = replace(text, '1966', '1866') returning 1) "
        "update research.runs set brief = jsonb_set(brief, '{claims,0,text}', "
        "to_jsonb(replace(brief #>> '{claims,0,text}', '1966', '1866')))",
        "a figure or date stands in none of its sources: 1866",
    ),
    "an offset, everywhere": (
        "with c as (update research.claims set quote_start = quote_start + 1 where position = 1) "
        "update research.runs set brief = jsonb_set(brief, '{claims,0,start}', "
        "to_jsonb((brief #>> '{claims,0,start}')::integer + 1))",
        "its passage does not stand at its offsets in [2]",
    ),
    "what was shown": ("update research.citations set passages = '[]'", "it names no source that was read"),
    "the address of a source": (
        "update research.citations set url = 'https://else.example' where url like '%power.md'",
        "the ledger has another source as [2]",
    ),
}


def test_whatever_is_altered_in_the_database_is_found(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    assert "1966" in brief["claims"][0]["text"]
    assert brief["claims"][0]["quote_source"] == 2
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        for table in ("runs", "claims", "citations", "pages"):
            connection.execute(f"create table kept_{table} as table research.{table}".encode())
        for what, (statement, expected) in TAMPERING.items():
            connection.execute(statement.encode())
            found = asyncio.run(check_again(brief["thread_id"], load_settings(database_url=agent.database_url)))
            assert [one for one in found if one.state == "wrong" and expected in one.detail], (what, found)
            if what == "a page":
                assert verify(agent, brief["thread_id"])[0] == 3
            connection.execute(UNDO)
    assert verify(agent, brief["thread_id"])[0] == 0


UNDO = b"""
update research.pages p set text = k.text from kept_pages k where k.content_hash = p.content_hash;
update research.runs set brief = k.brief from kept_runs k;
delete from research.claims; insert into research.claims table kept_claims;
update research.citations c set url = k.url, passages = k.passages from kept_citations k where k.number = c.number;
"""


def test_a_sentence_of_two_sources_stands_on_a_quote_of_each(agent: Agent, tmp_path: Path) -> None:
    said = "The tidal station at La Rance has made electricity since 1966."
    corpus = tmp_path / "two"
    corpus.mkdir()
    (corpus / "a.md").write_text(f"# A\n\nOne more thing. {said}\n", encoding="utf-8")
    (corpus / "b.md").write_text(f"# B\n\n{said} It stands in France.\n", encoding="utf-8")

    def brain(body: dict[str, Any]) -> Any:
        if "<evidence>" in str(body["messages"][-1]["content"]):
            return f"- {said} [1][2]"
        answered = sum(message["role"] == "tool" for message in body["messages"])
        plan = [("search_web", {"query": "tidal station"})]
        plan += [("fetch_url", {"url": (corpus / name).as_uri()}) for name in ("a.md", "b.md")]
        if answered == len(plan):
            return "DONE"
        name, arguments = plan[answered]
        return tool_call(name, json.dumps(arguments), f"c{answered}")

    with FakeOpenAI(brain=brain) as model:
        variables = {"RESEARCH_MODEL_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "x"}
        agent.variables = variables | {"RESEARCH_MODEL": "openai:small", "RESEARCH_TOOL_CALLING": "native"}
        brief = write_brief(agent, "--corpus", str(corpus), "--no-input")
    [sentence] = brief["claims"]
    [other] = sentence["others"]
    assert {sentence["quote_source"], other["source"]} == {1, 2}
    assert (sentence["quote"], other["text"]) == (said, said)
    assert verify(agent, brief["thread_id"])[0] == 0
    with psycopg.connect(agent.database_url) as connection:
        assert connection.execute("select others from research.claims").fetchall() == [([other],)]
        connection.execute("update research.claims set others = jsonb_set(others, '{0,start}', '1')")
        connection.execute("update research.runs set brief = jsonb_set(brief, '{claims,0,others,0,start}', '1')")
    code, found = verify(agent, brief["thread_id"], "--live")
    assert code == 3
    assert found[0][0] == "wrong"
    assert f"in [{other['source']}]" in found[0][1]
    assert [state for state, _ in found[1:]] == ["ok", "ok"]


def test_live_against_an_unchanged_folder(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    code, found = verify(agent, brief["thread_id"], "--live")
    assert code == 0
    assert len(found) == len(brief["claims"]) + len(brief["sources"])
    assert any("passages still stand there" in text for _, text in found)


def test_live_finds_changed_and_removed_documents(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    power = corpus / "power.md"
    power.write_text(power.read_text(encoding="utf-8").replace("1966", "1967"), encoding="utf-8")
    (corpus / "tides.md").unlink()
    mills = corpus / "mills.txt"
    mills.write_text(mills.read_text(encoding="utf-8") + "\nCorn is ground no more.\n", encoding="utf-8")
    code, found = verify(agent, brief["thread_id"], "--live")
    assert code == 3
    states = {text.split(":///")[1].split(": ")[0].rsplit("/")[-1]: state for state, text in found if ":///" in text}
    assert states["power.md"] == "changed"
    assert states["tides.md"] == "unreachable"
    assert states.get("mills.txt", "ok") == "ok", "all that was quoted still stands there"
    assert verify(agent, brief["thread_id"])[0] == 0, "what was stored is as it was"


def test_live_finds_the_documents_where_they_have_moved(agent: Agent, corpus: Path, tmp_path: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    shutil.move(corpus, tmp_path / "else where")
    code, found = verify(agent, brief["thread_id"], "--live")
    assert (code, {state for state, text in found if ":///" in text}) == (3, {"unreachable"})
    code, _ = verify(agent, brief["thread_id"], "--live", "--corpus", str(tmp_path / "else where"))
    assert code == 0
    # A folder that is set for other runs is not the one that this run read.
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n\nNothing.\n", encoding="utf-8")
    code, found = verify(Agent(agent.home, agent.database_url, variables={"RESEARCH_CORPUS": str(other)}),
                         brief["thread_id"], "--live")  # fmt: skip
    assert (code, {state for state, text in found if ":///" in text}) == (3, {"unreachable"})


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with running_web() as fake:
        yield fake


def test_live_over_the_web(tmp_path: Path, empty_database: str, web: FakeWeb) -> None:
    pages = {name.partition(".")[0]: text.lstrip("# ").partition("\n\n") for name, text in DOCUMENTS.items()}
    urls = {path: web.article(f"/{path}", body, title=title) for path, (title, _, body) in pages.items()}
    hits = [
        {"url": url, "title": f"{pages[path][0]} and the tide", "content": "About it."} for path, url in urls.items()
    ]
    web.route("/search", Answer(json.dumps({"results": hits}).encode(), "application/json"))
    variables = {"SEARXNG_URL": web.url(""), "RESEARCH_ALLOW_HOSTS": ",".join(web.allow)}
    agent = Agent(tmp_path, empty_database, variables=variables)
    brief = write_brief(agent, "--search", "searxng")
    # Checking needs no search, and reads each page anew although it is in the store.
    agent.variables.pop("SEARXNG_URL")
    before = len(web.asked("/power"))
    code, found = verify(agent, brief["thread_id"], "--live")
    assert code == 0, found
    assert len(web.asked("/power")) == before + 1
    web.article("/power", pages["power"][2].replace("1966", "1967"), title="Tidal power")
    web.route("/tides", Answer(b"gone", status=410))
    code, found = verify(agent, brief["thread_id"], "--live")
    states = {text.partition(": ")[0]: state for state, text in found if text.startswith("http")}
    assert (code, states[urls["power"]]) == (3, "changed")
    assert states.get(urls["tides"], "unreachable") == "unreachable"


def test_an_unknown_thread_and_an_unfinished_run_are_refused(agent: Agent, corpus: Path) -> None:
    agent.module = "tests.support.driver"
    running = agent.start("--topic", TOPIC, "--corpus", str(corpus), TEST_PAUSE_AT="fetch:1")
    while not agent.seen("pause") and running.poll() is None:
        pass
    running.kill()
    running.communicate()
    with psycopg.connect(agent.database_url) as connection:
        rows = connection.execute("select thread_id from research.runs").fetchall()
    refused = agent.run("verify", rows[0][0])
    assert refused.returncode == 2
    assert "has no brief yet" in one_line(refused)
    refused = agent.run("verify", "research-0000000000")
    assert refused.returncode == 2
    assert "there is no run research-0000000000" in one_line(refused)


def test_forms_through_the_command_line(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, "--corpus", str(corpus))
    forms = {
        form: agent.run("--topic", TOPIC, "--format", form).stdout for form in ("html", "bibtex", "csl-json", "json")
    }
    assert forms["html"].startswith("<!doctype html>")
    assert all(" ".join(claim["quote"].split()) in forms["html"] for claim in brief["claims"])
    assert forms["bibtex"].count("@online{") == len(brief["sources"])
    assert [item["URL"] for item in json.loads(forms["csl-json"])] == [source["url"] for source in brief["sources"]]
    assert forms["json"] == json.dumps(brief, ensure_ascii=False, indent=2) + "\n", "keys keep their order"


def test_lengths_through_the_command_line(agent: Agent, tmp_path: Path) -> None:
    towns = ["Alder", "Birch", "Cedar", "Dunes", "Elder", "Fern", "Gorse", "Heath", "Ivy", "Juniper", "Kelp", "Larch"]
    uses = ["grinding corn", "sawing timber", "making ice", "pumping water", "washing wool", "lighting streets"]
    (tmp_path / "towns").mkdir()
    for number, town in enumerate(towns):
        said = f"The tide at {town} gives power for {uses[number % 6]} since {1800 + 7 * number}.\n\n"
        more = f"Power from the tide at {town} Point feeds {number + 3} workshops of the {town} guild.\n"
        (tmp_path / "towns" / f"{town}.md").write_text(f"# {town}\n\n{said}{more}", encoding="utf-8")
    most = {}
    for length in ("short", "standard", "long"):
        arguments = ("--topic", "tide power", "--corpus", str(tmp_path / "towns"), "--length", length, "--fresh")
        most[length] = len(json.loads(agent.run(*arguments, "--json").stdout)["claims"])
    assert 3 <= most["short"] <= 5 < most["standard"] <= most["long"]
    wrong = agent.run("--topic", TOPIC, "--length", "endless")
    assert wrong.returncode == 2
    assert "length" in one_line(wrong)


def test_json_is_as_its_schema_says(agent: Agent, corpus: Path) -> None:
    validators = pytest.importorskip("jsonschema")
    from research_agent.brief.brief import SCHEMA_VERSION
    from tests.unit.brief.briefs import brief as example

    schema = json.loads((REPOSITORY / "docs/brief.schema.json").read_text(encoding="utf-8"))
    validators.Draft202012Validator.check_schema(schema)
    check = validators.Draft202012Validator(schema)
    brief = write_brief(agent, "--corpus", str(corpus))
    check.validate(brief)
    assert schema["properties"]["schema_version"]["const"] == SCHEMA_VERSION
    nothing = agent.run("--topic", "history of the Zyblorian treaty", "--corpus", str(corpus), "--json")
    check.validate(json.loads(nothing.stdout))
    other = {"source": 2, "start": 0, "end": 1, "text": "x"}
    brief["claims"][0]["others"].append(other)
    check.validate(brief)
    # Each field is described, and a field more or less is noticed.
    assert set(schema["properties"]) == set(example().to_dict())
    del brief["claims"][0]["quote"]
    assert not check.is_valid(brief)
