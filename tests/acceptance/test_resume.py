"""Killed anywhere, the same command goes on: same brief, same ledger, and no finished call runs twice."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.commands import Agent, without_times
from tests.support.documents import TOPIC

KILL_POINTS = [
    *(f"model:{n}" for n in (1, 2, 6, 7)),  # the last two: deciding to stop, and writing in finalize
    "search:1",
    "search:3",
    *(f"fetch:{n}" for n in (1, 2, 3)),  # three in parallel
    *(f"put:{n}" for n in (1, 2, 3, 4, 11, 19)),  # before the first step, after each node, at the end
    "before-put:1",
    "before-put:6",
    "finish:1",
]


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Watched, and halted where a test wants it."""
    agent.module = "tests.support.driver"
    return agent


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, server: str) -> dict[str, Any]:
    """Brief, ledger and calls of a run that nothing happened to."""
    from tests.conftest import temporary_database
    from tests.support.documents import write_corpus

    home = tmp_path_factory.mktemp("undisturbed")
    corpus = write_corpus(home / "corpus")
    with temporary_database(server) as url:
        agent = Agent(home, url, module="tests.support.driver")
        result = agent.run(*command(corpus))
        assert result.returncode == 0, result.stderr
        return {
            "brief": json.loads(result.stdout),
            "ledger": ledger(url),
            "calls": agent.seen(),
            "recorded": recorded_calls(url),
            "trace": trace(url),
            "corpus": corpus,
        }


def command(corpus: Path) -> list[str]:
    return ["--topic", TOPIC, "--corpus", str(corpus), "--max-steps", "6", "--json"]


def ledger(url: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        rows = connection.execute(
            "select number, url, title, content_hash, first_step, passages from research.citations order by number"
        )
        return rows.fetchall()


def run_until_paused(agent: Agent, arguments: list[str], point: str) -> subprocess.Popen[str]:
    process = agent.start(*arguments, TEST_PAUSE_AT=point)
    deadline = time.monotonic() + 30
    while point not in agent.seen("pause"):
        assert process.poll() is None, f"never came to {point}: {process.communicate()}"
        assert time.monotonic() < deadline, f"never came to {point}: {agent.seen('start')}"
        time.sleep(0.02)
    return process


def kill_at(agent: Agent, arguments: list[str], point: str) -> None:
    process = run_until_paused(agent, arguments, point)
    process.kill()
    process.communicate()


def check_no_finished_call_ran_again(agent: Agent, undisturbed: dict[str, Any]) -> None:
    """A tool call is finished once it is recorded: one killed in between was in flight, and may run again."""
    recorded = set()
    for kind, call in agent.log():
        assert not (kind == "start" and call in recorded), f"{call} ran again"
        if kind == "recorded":
            recorded.add(call)
    assert Counter(models(agent.seen())) == Counter(models(undisturbed["calls"]))
    assert recorded_calls(agent.database_url) == undisturbed["recorded"]


def recorded_calls(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select step, tool_name, tool_call_arguments::text, status, tool_call_result "
            "from research.tool_calls order by 1, 2, 3"
        ).fetchall()


def trace(url: str) -> list[tuple[Any, ...]]:
    """The trace but for times, and for who wrote each line."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select line, step, purpose, attempt, thought, tool_name, tool_call_arguments, status, observation, "
            "new_sources, input_tokens, output_tokens, cost_usd from research.trace order by line"
        ).fetchall()


def models(events: list[str]) -> list[str]:
    return [event for event in events if event.startswith("model ")]


@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_run_goes_on_as_if_nothing_happened(point: str, agent: Agent, undisturbed: dict[str, Any]) -> None:
    arguments = command(undisturbed["corpus"])
    kill_at(agent, arguments, point)
    result = agent.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert without_times(json.loads(result.stdout)) == without_times(undisturbed["brief"])
    assert ledger(agent.database_url) == undisturbed["ledger"]
    assert trace(agent.database_url) == undisturbed["trace"]
    check_no_finished_call_ran_again(agent, undisturbed)


def test_killed_four_times_in_a_row(agent: Agent, undisturbed: dict[str, Any]) -> None:
    arguments = command(undisturbed["corpus"])
    for point in ("before-put:1", "fetch:2", "put:1", "model:1"):  # counted anew in each process
        kill_at(agent, arguments, point)
    result = agent.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert without_times(json.loads(result.stdout)) == without_times(undisturbed["brief"])
    assert ledger(agent.database_url) == undisturbed["ledger"]
    check_no_finished_call_ran_again(agent, undisturbed)


def test_the_kill_points_cover_the_whole_run(undisturbed: dict[str, Any]) -> None:
    counts = Counter(event.split()[0] for event in undisturbed["calls"])
    assert (counts["model"], counts["put"]) == (7, 19), "KILL_POINTS name the last of each"
    assert counts["search"] >= 3
    assert counts["fetch"] >= 4


@pytest.mark.parametrize(
    ("number", "point"),
    [
        (signal.SIGINT, "before-put:1"),
        (signal.SIGTERM, "model:2"),
        (signal.SIGINT, "search:1"),
        (signal.SIGTERM, "fetch:2"),
        (signal.SIGINT, "model:7"),
        (signal.SIGTERM, "finish:1"),
    ],
)
def test_a_signal_stops_it_within_two_seconds_and_names_the_command_that_resumes(
    number: signal.Signals, point: str, agent: Agent, undisturbed: dict[str, Any]
) -> None:
    arguments = command(undisturbed["corpus"])
    process = run_until_paused(agent, arguments, point)
    began = time.monotonic()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=10)
    assert time.monotonic() - began < 2
    assert process.returncode == 75, stderr
    assert "Traceback" not in stderr
    assert f"to continue: research-agent --topic '{TOPIC}'" in stderr
    result = agent.run(*arguments)
    assert without_times(json.loads(result.stdout)) == without_times(undisturbed["brief"])


def test_a_second_signal_stops_it_at_once(agent: Agent, undisturbed: dict[str, Any]) -> None:
    process = run_until_paused(agent, command(undisturbed["corpus"]), "model:2")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)  # two equal signals that arrive together are one
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert time.monotonic() - began < 0.7
    assert process.returncode == 75
    assert "to continue:" in stderr


def test_a_second_process_is_told_who_runs_the_topic(agent: Agent, undisturbed: dict[str, Any]) -> None:
    arguments = command(undisturbed["corpus"])
    first = run_until_paused(agent, arguments, "model:2")
    second = agent.run(*arguments)
    assert second.returncode == 5
    assert f"process {first.pid} since 20" in second.stderr
    first.kill()
    first.communicate()


def test_a_paused_holder_that_wakes_up_after_a_takeover_is_fenced_off(
    agent: Agent, undisturbed: dict[str, Any]
) -> None:
    arguments = command(undisturbed["corpus"])
    first = run_until_paused(agent, arguments, "model:2")
    first.send_signal(signal.SIGSTOP)
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        # As after the 30 s that nobody wants to wait for in a test.
        connection.execute("update research.leases set expires_at = now() - interval '1 second'")
    second = agent.run(*arguments)
    assert second.returncode == 0, second.stderr
    first.send_signal(signal.SIGCONT)
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=10)
    assert ledger(agent.database_url) == undisturbed["ledger"]
    with psycopg.connect(agent.database_url) as connection, pytest.raises(psycopg.Error, match="stale lease token"):
        connection.execute(
            "insert into research.steps (thread_id, step, thought, tool_calls, new_sources, new_passages, "
            "stagnant_turns, stop_reason, lease_token) select thread_id, 99, '', 0, 0, 0, 0, '', 1 from research.runs"
        )


def test_four_processes_start_on_an_empty_database_at_once(tmp_path: Path, empty_database: str, corpus: Path) -> None:
    agents = []
    for number in range(4):
        home = tmp_path / f"home{number}"
        home.mkdir()
        agents.append(Agent(home, empty_database))
    processes = [
        agent.start("--topic", f"{TOPIC} {number}", "--corpus", str(corpus)) for number, agent in enumerate(agents)
    ]
    results = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], results
