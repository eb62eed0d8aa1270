"""A person in the loop: asked, waited for, answered from another process, and never missed when nobody is there."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.fake_openai import FakeOpenAI, tool_call

QUESTION = "Do you mean ocean tides or tidal currents?"
BRIEF = "- A harbour with a large tide needs locks, so that ships stay afloat when the water falls. [1]"


def make_brain(corpus: Path, *, asks: bool) -> Any:
    """A model that asks a person first (if it has the tool), then searches, reads one page and writes."""

    def brain(body: dict[str, Any]) -> Any:
        text = "\n".join(str(message.get("content") or "") for message in body["messages"])
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        answered = sum(message["role"] == "tool" for message in body["messages"])
        if "<evidence>" in text:
            return BRIEF
        plan = [tool_call("search_web", json.dumps({"query": "harbour tide"}), "c1")]
        plan.append(tool_call("fetch_url", json.dumps({"url": (corpus / "harbour.md").as_uri()}), "c2"))
        if asks and "ask_human" in names:
            plan.insert(0, tool_call("ask_human", json.dumps({"question": QUESTION}), "c0"))
        return plan[answered] if answered < len(plan) else "DONE"

    return brain


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def agent(tmp_path: Path, empty_database: str, server_url: str) -> Agent:
    variables = {"RESEARCH_MODEL_BASE_URL": server_url, "OPENAI_API_KEY": "x", "RESEARCH_MODEL": "openai:small"}
    home = tmp_path / "home"
    home.mkdir()
    return Agent(home, empty_database, variables=variables | {"RESEARCH_TOOL_CALLING": "native"})


@pytest.fixture
def server_url(model: FakeOpenAI) -> str:
    return f"{model.url}/v1"


def query(agent: Agent, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(agent.database_url) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_a_question_is_stored_and_answered_later(agent: Agent, model: FakeOpenAI, corpus: Path) -> None:
    model.brain = make_brain(corpus, asks=True)
    first = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert first.returncode == 6, first.stderr
    assert QUESTION in one_line(first)
    [(thread_id, status)] = query(agent, "select thread_id, status from research.run_summary")
    assert status == "waiting"
    assert f"research-agent answer {thread_id}" in first.stderr
    requests = len(model.requests)

    again = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert again.returncode == 6
    assert len(model.requests) == requests, "asking again costs no call"

    answered = agent.run("answer", thread_id, "ocean tides", "--json")
    assert answered.returncode == 0, answered.stderr
    assert "locks" in json.loads(answered.stdout)["claims"][0]["text"]
    assert any(message.get("content") == "ocean tides" for message in model.requests[requests]["messages"])
    assert query(agent, "select tool_call_result from research.tool_calls where tool_name = 'ask_human'") == [
        ("ocean tides",)
    ]
    assert agent.run("answer", thread_id, "again").returncode == 2


def test_the_topic_with_an_answer_goes_on_too(agent: Agent, model: FakeOpenAI, corpus: Path) -> None:
    model.brain = make_brain(corpus, asks=True)
    agent.run("--topic", TOPIC, "--corpus", str(corpus))
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--answer", "ocean tides")
    assert result.returncode == 0, result.stderr


def test_with_no_input_it_never_waits(agent: Agent, model: FakeOpenAI, corpus: Path) -> None:
    model.brain = make_brain(corpus, asks=True)
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--no-input")
    assert result.returncode == 0, result.stderr
    assert all(tool["function"]["name"] != "ask_human" for tool in model.requests[0]["tools"])


@pytest.mark.parametrize(("reply", "code"), [("yes", 0), ("no, that page is private", 4)])
def test_a_call_that_needs_approval_waits_for_it(
    reply: str, code: int, agent: Agent, model: FakeOpenAI, corpus: Path
) -> None:
    model.brain = make_brain(corpus, asks=False)
    first = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--approve", "fetch_url")
    assert first.returncode == 6
    assert "May fetch_url(url=" in one_line(first)
    [(thread_id,)] = query(agent, "select thread_id from research.runs")
    result = agent.run("answer", thread_id, reply)
    assert result.returncode == code, result.stderr
    [(status, content)] = query(
        agent, "select status, tool_call_result from research.tool_calls where tool_name = 'fetch_url'"
    )
    assert status == ("success" if code == 0 else "error")
    assert code == 0 or "did not approve this call: no, that page is private" in content


def test_approval_without_a_person_is_refusal(agent: Agent, model: FakeOpenAI, corpus: Path) -> None:
    model.brain = make_brain(corpus, asks=False)
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--approve", "fetch_url", "--no-input")
    assert result.returncode == 4, result.stderr
    assert query(agent, "select status from research.tool_calls where tool_name = 'fetch_url'") == [("error",)]


def test_on_a_terminal_the_question_is_asked_there(agent: Agent, model: FakeOpenAI, corpus: Path) -> None:
    model.brain = make_brain(corpus, asks=True)
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "research_agent", "--topic", TOPIC, "--corpus", str(corpus)]
    process = subprocess.Popen(
        command, cwd=agent.home, env=agent.environment(), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    deadline = time.monotonic() + 40
    while QUESTION.encode() not in seen and time.monotonic() < deadline:
        try:
            seen += os.read(person, 4096)
        except OSError:  # the program has ended
            pytest.fail(seen.decode())
    os.write(person, b"ocean tides\n")
    assert process.stdout
    out = process.stdout.read().decode()
    code = process.wait(timeout=40)
    assert code == 0, (seen + os.read(person, 100_000)).decode()
    assert "locks" in out
    os.close(person)
