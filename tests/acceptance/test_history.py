"""The checkpoints of a run, as a person can read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research_agent.runs.history import Past, still_graph
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.database import open_pool
from research_agent.storage.runs import find_thread
from tests.acceptance.test_fork import fork
from tests.acceptance.test_resume import run_until_paused
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.runs import query, run_topic


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Watched, and halted where a test wants it."""
    agent.module = "tests.support.driver"
    return agent


def test_each_superstep_is_a_line_the_oldest_first(agent: Agent, corpus: Path) -> None:
    brief = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json", "--max-steps", "2").stdout)
    result = agent.run("history", brief["thread_id"], "--json")
    assert result.returncode == 0, result.stderr
    moments = json.loads(result.stdout)
    turn = ["reason", "tools", "sanitize"]
    assert [moment["node"] for moment in moments] == ["", "__start__", *turn, *turn, "finalize"]
    assert [moment["next"] for moment in moments[:-1]] == [[moment["node"]] for moment in moments[1:]]
    assert moments[-1]["next"] == []
    assert [moment["number"] for moment in moments] == list(range(-1, 8))
    assert [moment["step"] for moment in moments] == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert [moment["sources"] for moment in moments] == [0, 0, 0, 0, 0, 0, 0, 3, 3]
    assert sorted(moment["at"] for moment in moments) == [moment["at"] for moment in moments]
    assert moments[0]["at"].endswith("+00:00")
    ids = [row[0] for row in query(agent.database_url, "select checkpoint_id from checkpoints order by 1")]
    assert [moment["checkpoint_id"] for moment in moments] == ids

    header, _, *lines = agent.run("history", brief["thread_id"]).stdout.splitlines()
    assert header.split() == ["superstep", "step", "node", "next", "sources", "when", "checkpoint"]
    assert [line.split()[2] for line in lines] == ["(input)", "__start__", *turn, *turn, "finalize"]
    assert [line.split()[-1] for line in lines] == ids
    assert lines[-1].split()[3] == "-"


async def test_a_thread_that_is_read_once_gives_what_langgraph_gives(empty_database: str, corpus: Path) -> None:
    # A fork begins with whole lists; a raised limit writes a state from outside.
    first = await run_topic(empty_database, corpus, max_steps=6)
    child = await fork(empty_database, first.thread_id, 2, corpus, max_steps=3)
    assert child["stop_reason"] == "max_steps"
    assert (await run_topic(empty_database, corpus, max_steps=4)).thread_id == child["thread_id"]
    async with open_pool(empty_database, embedded=True) as pool:
        for thread_id in (first.thread_id, child["thread_id"]):
            run, _, _ = await find_thread(pool, thread_id)
            past = Past(pool, run)
            config = past._config()
            ours = [snapshot async for snapshot in past._graph.aget_state_history(config)]
            theirs = [snapshot async for snapshot in still_graph(make_saver(pool)).aget_state_history(config)]
            assert ours == theirs
            assert len(ours[0].values["citations"]) >= 3
        moments = await past.moments()
        assert [moment.node for moment in moments if moment.source == "update"] == ["", ""]
        assert moments[0].sources == 3
        for step in (2, 3, 4):
            state = await past.state_after(step)
            assert (state["step_count"], state["messages"][-1].id.split("-")[1]) == (step, str(step))


def test_a_run_that_is_running_can_be_read(agent: Agent, corpus: Path) -> None:
    running = run_until_paused(agent, ["--topic", TOPIC, "--corpus", str(corpus)], "model:2")
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    moments = json.loads(agent.run("history", thread_id, "--json").stdout)
    assert moments[-1]["next"] == ["reason"]
    running.kill()
    running.communicate()


def test_a_run_without_checkpoints_has_no_lines(agent: Agent, corpus: Path) -> None:
    running = run_until_paused(agent, ["--topic", TOPIC, "--corpus", str(corpus)], "before-put:1")
    running.kill()
    running.communicate()
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    assert agent.run("history", thread_id, "--json").stdout == "[]\n"
    result = agent.run("fork", thread_id, "--step", "1")
    assert result.returncode == 2
    assert "no step of it is finished yet" in one_line(result)


def test_a_thread_that_does_not_exist_is_said(agent: Agent) -> None:
    result = agent.run("history", "research-0000000000")
    assert result.returncode == 2
    assert "there is no run research-0000000000" in one_line(result)
