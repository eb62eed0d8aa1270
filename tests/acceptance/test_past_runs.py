"""What the commands say of past runs: runs, show, trace."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.acceptance.test_resume import run_until_paused
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC, write_corpus

OTHER = "Why does bread rise?"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[Agent]:
    """A database with a complete run, one that a step limit ended, and one without evidence."""
    from tests.conftest import temporary_database

    home = tmp_path_factory.mktemp("past")
    corpus = str(write_corpus(home / "corpus"))
    with temporary_database(server) as url:
        agent = Agent(home, url)
        assert agent.run("--topic", TOPIC, "--corpus", corpus).returncode == 0
        assert agent.run("--topic", OTHER, "--corpus", corpus, "--max-steps", "2").returncode == 3
        assert agent.run("--topic", "treaty of Zyblor", "--corpus", corpus).returncode == 4
        yield agent


def listed(agent: Agent, *arguments: str) -> list[dict[str, Any]]:
    result = agent.run("runs", "--json", *arguments)
    assert result.returncode == 0, result.stderr
    runs: list[dict[str, Any]] = json.loads(result.stdout)
    return runs


def thread_of(agent: Agent, topic: str) -> str:
    return str(next(run["thread_id"] for run in listed(agent) if run["topic"] == topic))


@pytest.mark.parametrize(
    ("arguments", "topics"),
    [
        ([], ["treaty of Zyblor", OTHER, TOPIC]),
        (["--status", "partial"], [OTHER]),
        (["--status", "finished", "--limit", "2"], ["treaty of Zyblor", OTHER]),
        (["--status", "running"], []),
        (["--since", "1h"], ["treaty of Zyblor", OTHER, TOPIC]),
        (["--since", f"{datetime.now() + timedelta(days=1):%Y-%m-%d}"], []),
        (["--text", "ZYBLOR"], ["treaty of Zyblor"]),
        (["--text", "yeast turns sugar"], [OTHER]),  # in a sentence of the brief
        (["--text", "100%_"], []),
        (["--text", "' or true --"], []),
    ],
)
def test_runs_lists_those_that_match_the_newest_first(past: Agent, arguments: list[str], topics: list[str]) -> None:
    assert [run["topic"] for run in listed(past, *arguments)] == topics


def test_runs_never_cuts_an_id_on_a_narrow_terminal(past: Agent) -> None:
    threads = [run["thread_id"] for run in listed(past)]
    for columns in (40, 80, 120):
        shown = on_terminal(past, ["runs"], columns)
        assert [thread for thread in threads if thread not in shown] == []
        assert max(map(len, shown.splitlines())) <= max(columns, 60)


def on_terminal(agent: Agent, arguments: list[str], columns: int) -> str:
    """What a command prints on a terminal so wide."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", agent.module, *arguments]
    environment = agent.environment(COLUMNS=str(columns))
    process = subprocess.Popen(command, cwd=agent.home, env=environment, stdin=child, stdout=child, stderr=child)
    os.close(child)
    output = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while more := os.read(parent, 65536):
            output += more
    process.wait(timeout=60)
    os.close(parent)
    return output.decode().replace("\r\n", "\n")


def test_runs_is_a_table_for_people(past: Agent) -> None:
    result = past.run("runs", "--status", "partial")
    header, _, row = result.stdout.splitlines()
    assert header.split() == ["thread", "status", "began", "seconds", "steps", "sources", "sentences", "usd", "topic"]
    assert row.split()[:2] == [thread_of(past, OTHER), "partial"]
    assert row.endswith(OTHER)
    nothing = past.run("runs", "--status", "waiting")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "no run matches\n")


@pytest.mark.parametrize(
    "arguments", [["--status", "dead"], ["--since", "yesterday"], ["--since", "9999999w"], ["--limit", "0"], ["x"]]
)
def test_runs_says_what_is_wrong_with_a_filter(past: Agent, arguments: list[str]) -> None:
    result = past.run("runs", *arguments)
    assert result.returncode == 2
    assert "see research-agent runs --help" in one_line(result)


def test_show_gives_the_facts_and_the_brief(past: Agent) -> None:
    result = past.run("show", thread_of(past, OTHER))
    assert result.returncode == 0, result.stderr
    assert "finished, partial (max_steps)" in result.stdout
    assert f"# {OTHER}\n" in result.stdout
    assert "*Partial: the step limit was reached.*" in result.stdout
    shown = json.loads(past.run("show", thread_of(past, OTHER), "--json").stdout)
    assert shown["summary"]["steps"] == shown["brief"]["steps"] == 2
    assert [start["start"] for start in shown["starts"]] == [1]
    assert shown["waiting_for"] == []


def test_show_gives_a_brief_in_every_form(past: Agent) -> None:
    thread = thread_of(past, TOPIC)
    assert past.run("show", thread, "--format", "html").stdout.startswith("<!doctype html>")
    assert json.loads(past.run("show", thread, "--format", "json").stdout)["thread_id"] == thread
    printed = past.run("--topic", TOPIC).stdout
    assert past.run("show", thread, "--format", "markdown").stdout == printed


@pytest.mark.parametrize("command", [["show"], ["trace"], ["history"], ["export"], ["delete", "--yes"], ["resume"]])
@pytest.mark.parametrize("thread", ["research-0000000000", "a\nb\x1b[31m\u202e" + "x" * 10_000])
def test_a_thread_that_is_not_there_is_said_in_one_harmless_line(past: Agent, command: list[str], thread: str) -> None:
    result = past.run(*command, thread)
    assert result.returncode == 2
    assert re.search(r"there is no run \S.{,80}: research-agent runs lists them$", one_line(result))
    assert not {"\x1b", "\u202e"} & set(result.stderr)


def test_the_trace_reads_like_the_conversation(past: Agent) -> None:
    result = past.run("trace", thread_of(past, TOPIC))
    assert result.returncode == 0, result.stderr
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == TOPIC
    assert lines[-1] == "complete (done)"
    asked = lines.index(f"→ search_web {TOPIC}")
    found = next(n for n, line in enumerate(lines) if line.startswith("← Results for"))
    read = next(n for n, line in enumerate(lines) if line.startswith("→ fetch_url file:///"))
    assert asked < found < read
    assert any(line.endswith(", 1 new source)") for line in lines)


def test_the_trace_as_data_adds_up_to_the_summary(past: Agent) -> None:
    thread = thread_of(past, TOPIC)
    summary = json.loads(past.run("show", thread, "--json").stdout)["summary"]
    rows = json.loads(past.run("trace", thread, "--json").stdout)
    followed = [json.loads(line) for line in past.run("trace", thread, "--follow", "--json").stdout.splitlines()]
    assert followed == rows
    assert [row["line"] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(row["tool_latency_ms"] is not None for row in rows) == summary["tool_calls"]
    assert sum(row["model_latency_ms"] is not None for row in rows) == summary["model_calls"]
    assert sum(row["new_sources"] for row in rows) == summary["sources"]


def test_follow_shows_each_step_as_it_ends_and_stops_with_the_run(
    tmp_path: Path, empty_database: str, corpus: Path
) -> None:
    agent = Agent(tmp_path, empty_database, module="tests.support.driver")
    runner = run_until_paused(agent, ["--topic", TOPIC, "--corpus", str(corpus)], "fetch:2")
    [run] = listed(agent)
    assert run["status"] == "running"
    follower = agent.start("trace", run["thread_id"], "--follow")
    assert follower.stdout
    seen = []
    while not any(line.startswith("  ← Results") for line in seen):  # ended before the pause
        seen.append(follower.stdout.readline())
    assert follower.poll() is None
    runner.kill()
    runner.communicate()
    # Its lease is good for half a minute yet, but its process is known to be gone.
    assert [each["status"] for each in listed(agent, "--status", "interrupted")] == ["interrupted"]
    assert listed(agent, "--status", "running") == []
    began = time.monotonic()
    rest, _ = follower.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert "← no end is recorded" in rest
    assert rest.endswith("\ninterrupted\n")

    agent.run("--topic", TOPIC, "--corpus", str(corpus))
    rows = json.loads(agent.run("trace", run["thread_id"], "--json").stdout)
    assert {row["start"] for row in rows} == {1, 2}, "what a resume did is told apart"
    assert "· start 2  (" in agent.run("trace", run["thread_id"]).stdout
    again = json.loads(agent.run("show", run["thread_id"], "--json").stdout)
    assert [start["start"] for start in again["starts"]] == [1, 2]


def test_an_interrupted_run_goes_on_by_its_id_also_when_there_is_a_newer_edition(
    tmp_path: Path, empty_database: str, corpus: Path
) -> None:
    agent = Agent(tmp_path, empty_database, module="tests.support.driver")
    command = ["--topic", TOPIC, "--corpus", str(corpus), "--max-steps", "5"]
    runner = run_until_paused(agent, command, "fetch:2")
    runner.kill()
    runner.communicate()
    [old] = listed(agent)
    assert agent.run(*command, "--fresh").returncode in (0, 3)
    result = agent.run("resume", old["thread_id"], "--json")
    assert result.returncode in (0, 3), result.stderr
    brief = json.loads(result.stdout)
    assert (brief["thread_id"], brief["edition"]) == (old["thread_id"], 1)
    assert {run["status"] for run in listed(agent)} == {"finished"}
    assert agent.run("resume", old["thread_id"], "--json").stdout == result.stdout
    assert agent.run("resume", "research-0000000000").returncode == 2


def test_what_pages_say_cannot_steer_the_terminal(past: Agent) -> None:
    with psycopg.connect(past.database_url, autocommit=True) as connection:
        thread = thread_of(past, OTHER)
        connection.execute(
            "update research.tool_calls set tool_call_result = E'\\x1b[2Jgone \\u202e' || tool_call_result "
            "where thread_id = %s",
            (thread,),
        )
        connection.execute("update research.runs set topic = E'a\\x1b[31mb' where thread_id = %s", (thread,))
    for command in (["trace", thread], ["trace", thread, "--full"], ["show", thread], ["runs"]):
        result = past.run(*command)
        assert result.returncode == 0, result.stderr
        assert not {"\x1b", "\u202e"} & set(result.stdout)
    with psycopg.connect(past.database_url, autocommit=True) as connection:
        connection.execute("update research.runs set topic = %s where thread_id = %s", (OTHER, thread))
