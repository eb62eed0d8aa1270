"""A run goes on from an earlier step as a run of its own; nothing that is shared is paid or written twice."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from research_agent import research
from research_agent.errors import UsageError
from research_agent.runs.fork import find_origin
from research_agent.runs.history import _ranges
from research_agent.storage.database import open_pool
from research_agent.storage.retention import delete_thread
from tests.acceptance.test_person import make_brain
from tests.acceptance.test_resume import kill_at, run_until_paused
from tests.conftest import temporary_database
from tests.support import judges
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC, write_corpus
from tests.support.fake_openai import FakeOpenAI, tool_call
from tests.support.runs import ledger, query, run_topic, settings_for, tables_with, without_own

STEPS = [1, 2, 3, 4, 5]  # those of the undisturbed run that `sanitize` ended; in the sixth it stops


@dataclass
class Finished:
    """A run that is finished, in a database of its own."""

    url: str
    corpus: Path
    brief: dict[str, Any]

    @property
    def thread_id(self) -> str:
        return str(self.brief["thread_id"])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[Finished]:
    """For tests that only add to the database."""
    corpus = write_corpus(tmp_path_factory.mktemp("origin") / "corpus")
    with temporary_database(server) as url:
        brief = asyncio.run(run_topic(url, corpus, max_steps=6))
        yield Finished(url, corpus, brief.to_dict())


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Watched, and halted where a test wants it."""
    agent.module = "tests.support.driver"
    return agent


async def fork(url: str, thread_id: str, step: int, corpus: Path, **more: Any) -> dict[str, Any]:
    """A fork in this process."""
    async with open_pool(url, embedded=True) as pool:
        origin = await find_origin(pool, thread_id, step)
    return (await research(origin.run.topic, settings=settings_for(url, corpus, **more), origin=origin)).to_dict()


def command(corpus: Path) -> list[str]:
    return ["--topic", TOPIC, "--corpus", str(corpus), "--max-steps", "6", "--json"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_fork_to_which_nothing_else_happens_ends_as_its_origin(step: int, finished: Finished) -> None:
    origin, url = finished.thread_id, finished.url
    brief = await fork(url, origin, step, finished.corpus)
    thread_id = brief["thread_id"]
    assert brief["edition"] > 1
    assert without_own(brief) == without_own(finished.brief)
    assert ledger(url, thread_id) == ledger(url, origin)
    readers = query(
        url,
        "select distinct read_thread_id, first_step <= %s from research.citations where thread_id = %s",
        step,
        thread_id,
    )
    assert set(readers) <= {(origin, True), (thread_id, False)}
    assert query(url, "select forked_from, forked_at_step from research.runs where thread_id = %s", thread_id) == [
        (origin, step)
    ]
    own = query(url, "select step from research.steps where thread_id = %s order by step", thread_id)
    assert own == [(number,) for number in range(step + 1, 7)]
    for table in ("model_calls", "tool_calls"):
        shared = f"select count(*) from research.{table} where thread_id = %s and step > %s"
        [(there,)] = query(url, shared, origin, step)
        [(here,)] = query(url, f"select count(*) from research.{table} where thread_id = %s", thread_id)
        assert here == there == brief["usage"][table], "only what it called itself, and that is what it is charged with"
    result = Agent(finished.corpus.parent, url).run("verify", thread_id)
    assert result.returncode == 0, result.stdout


def test_the_command_uses_the_options_of_the_run_and_those_that_are_given(agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    agent.events.unlink()
    result = agent.run("fork", first["thread_id"], "--step", "2", "--max-steps", "3", "--length", "short", "--json")
    assert result.returncode == 3, result.stderr
    brief = json.loads(result.stdout)
    assert (brief["thread_id"], brief["steps"], brief["stop_reason"]) == (f"{first['thread_id']}.2", 3, "max_steps")
    assert f"from {first['thread_id']} after step 2" in result.stderr
    assert len([event for event in agent.seen() if event.startswith("model ")]) == 2, "one turn, and the brief"
    [(limits, options)] = query(agent.database_url, "select limits, options from research.runs where edition = 2")
    assert (limits["max_steps"], options["corpus"], options["length"]) == (3, str(corpus), "short")

    agent.events.unlink()
    again = agent.run("--topic", TOPIC, "--json", "--corpus", str(corpus), "--max-steps", "3")
    assert json.loads(again.stdout) == brief, "the topic stands for its newest edition"
    assert agent.seen() == []
    more = agent.run(*command(corpus))
    assert json.loads(more.stdout)["thread_id"] == brief["thread_id"], "which goes on under a higher limit"
    assert without_own(json.loads(more.stdout)) == without_own(first)


async def test_where_the_step_limit_is_reached_only_the_brief_is_written(finished: Finished) -> None:
    brief = await fork(finished.url, finished.thread_id, 3, finished.corpus, max_steps=3)
    assert (brief["outcome"], brief["stop_reason"], brief["steps"]) == ("partial", "max_steps", 3)
    assert brief["usage"]["tool_calls"] == 0
    assert [source["number"] for source in brief["sources"]] == [1, 2]


async def test_the_first_reader_of_a_source_is_kept_through_forks_of_forks(finished: Finished) -> None:
    url, origin = finished.url, finished.thread_id
    child = await fork(url, origin, 3, finished.corpus)
    grandchild = await fork(url, child["thread_id"], 4, finished.corpus)
    same = await fork(url, child["thread_id"], 3, finished.corpus)  # where the child itself began
    for brief in (grandchild, same):
        assert without_own(brief) == without_own(finished.brief)
    readers = "select read_thread_id from research.citations where thread_id = %s order by number"
    expected = [(origin,)] * 3 + [(child["thread_id"],)] * 2
    assert query(url, readers, grandchild["thread_id"]) == expected
    [(forked_from,)] = query(url, "select forked_from from research.runs where thread_id = %s", grandchild["thread_id"])
    assert forked_from == child["thread_id"]
    with pytest.raises(UsageError, match="forked after steps 3 to 5;"):
        await fork(url, child["thread_id"], 2, finished.corpus)
    found = "select found_step, read_thread_id from research.source_origin where thread_id = %s and number = 1"
    assert query(url, found, grandchild["thread_id"]) == [(1, origin)]


async def test_forks_outlive_their_origin(empty_database: str, corpus: Path) -> None:
    url = empty_database
    first = (await run_topic(url, corpus, max_steps=6)).to_dict()
    child = await fork(url, first["thread_id"], 4, corpus)
    async with open_pool(url, embedded=True) as pool:
        await delete_thread(pool, first["thread_id"])
    assert set(tables_with(url, first["thread_id"])) == {"research.leases", "research.runs", "research.citations"}
    result = Agent(corpus.parent, url).run("verify", child["thread_id"])
    assert result.returncode == 0, result.stdout
    grandchild = await fork(url, child["thread_id"], 5, corpus)
    assert without_own(grandchild) == without_own(first)
    assert grandchild["edition"] == 3, "the edition of a run that is gone is not given again"
    origin = "select number, found_step from research.source_origin where thread_id = %s order by 1"
    assert query(url, origin, child["thread_id"]) == [(number, None) for number in range(1, 6)]
    topic = await run_topic(url, corpus)
    assert topic.thread_id == grandchild["thread_id"]


async def test_an_origin_that_is_deleted_meanwhile_gives_no_half_fork(empty_database: str, corpus: Path) -> None:
    brief = await run_topic(empty_database, corpus)
    async with open_pool(empty_database, embedded=True) as pool:
        origin = await find_origin(pool, brief.thread_id, 2)
        await delete_thread(pool, brief.thread_id)
    with pytest.raises(UsageError, match="there is no run"):
        await research(TOPIC, settings=settings_for(empty_database, corpus), origin=origin)
    assert query(empty_database, "select count(*) from research.runs") == [(0,)]


@pytest.mark.parametrize("point", ["before-put:1", "put:1", "begin:1", "model:1"])
def test_a_fork_that_is_killed_is_whole_or_is_not_there(point: str, agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    words = ["fork", first["thread_id"], "--step", "2", "--json"]
    kill_at(agent, words, point)
    rows = query(agent.database_url, "select thread_id from research.runs where edition = 2")
    assert bool(rows) == (point not in ("before-put:1", "put:1")), "row, ledger and checkpoint come together"
    if not rows:
        assert set(tables_with(agent.database_url, f"{first['thread_id']}.2")) == {"research.leases"}
    else:
        history = agent.run("history", f"{first['thread_id']}.2", "--json")
        assert json.loads(history.stdout)[0]["step"] == 2
        assert (
            ledger(agent.database_url, f"{first['thread_id']}.2")[:3]
            == ledger(agent.database_url, first["thread_id"])[:3]
        )

    topic = agent.run(*command(corpus))
    assert topic.returncode == 0, topic.stderr
    assert without_own(json.loads(topic.stdout)) == without_own(first)
    assert json.loads(topic.stdout)["edition"] == (2 if rows else 1)
    again = agent.run(*words)
    assert again.returncode == 0, again.stderr
    assert without_own(json.loads(again.stdout)) == without_own(first)
    assert json.loads(again.stdout)["edition"] == (3 if rows else 2)


def test_a_fork_that_is_stopped_names_the_command_that_goes_on(agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    process = run_until_paused(agent, ["fork", first["thread_id"], "--step", "2", "--json"], "put:1")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 75, stderr
    assert f"to continue: research-agent fork {first['thread_id']} --step 2 --corpus {corpus}" in stderr
    assert query(agent.database_url, "select count(*) from research.runs") == [(1,)], "it is not there yet"

    process = run_until_paused(agent, ["fork", first["thread_id"], "--step", "2", "--json"], "model:2")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 75, stderr
    assert f"to continue: research-agent --topic '{TOPIC}' --corpus {corpus}" in stderr
    assert "--step" not in stderr.split("to continue:")[1]
    brief = json.loads(agent.run(*command(corpus)).stdout)
    assert brief["edition"] == 2
    assert without_own(brief) == without_own(first)


def test_two_forks_at_once_are_two_editions(agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    processes = [agent.start("fork", first["thread_id"], "--step", "2", "--json") for _ in range(4)]
    results = [process.communicate(timeout=90) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, results
    assert sorted(json.loads(out)["edition"] for out, _ in results) == [2, 3, 4, 5]


def test_a_run_that_is_running_can_be_forked_at_an_earlier_step(agent: Agent, corpus: Path) -> None:
    running = run_until_paused(agent, command(corpus), "model:4")
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    late = agent.run("fork", thread_id, "--step", "4")
    assert late.returncode == 2
    assert "it can be forked after steps 1 to 3;" in one_line(late)
    result = agent.run("fork", thread_id, "--step", "2", "--json")
    assert result.returncode == 0, result.stderr
    assert running.poll() is None
    running.kill()
    running.communicate()


def test_what_cannot_be_forked_is_one_line_and_exit_2(agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    for words, says in (
        (["no-such-thread", "--step", "1"], "there is no run no-such-thread"),
        ([first["thread_id"], "--step", "0"], '"0" is not a whole number'),
        ([first["thread_id"], "--step", "6"], "it can be forked after steps 1 to 5; --fresh on its topic starts anew"),
        ([first["thread_id"]], "required: --step"),
        ([first["thread_id"], "--step", "2", "--model", "nonsense"], "not of the form provider:name"),
        ([first["thread_id"], "--step", "2", "--fresh"], "unrecognized arguments"),
    ):
        result = agent.run("fork", *words)
        assert result.returncode == 2, result.stderr
        assert says in one_line(result)
    assert query(agent.database_url, "select count(*) from research.runs") == [(1,)]


def test_the_steps_that_there_are_read_as_ranges() -> None:
    assert _ranges([4]) == "step 4"
    assert _ranges([1, 2, 3]) == "steps 1 to 3"
    assert _ranges([1, 3, 4, 7]) == "steps 1, 3 to 4 and 7"


# --- other models, and people ---


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def variables(model: FakeOpenAI) -> dict[str, str]:
    return {"RESEARCH_MODEL_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "x", "RESEARCH_TOOL_CALLING": "native"}


def test_another_model_goes_on_with_the_history_of_the_first(
    agent: Agent, model: FakeOpenAI, variables: dict[str, str], corpus: Path
) -> None:
    first = json.loads(agent.run(*command(corpus)).stdout)
    agent.variables = variables
    more = tool_call("fetch_url", json.dumps({"url": (corpus / "harbour.md").as_uri()}), "mine")
    brief = "- A harbour with a large tide needs locks, so that ships stay afloat when the water falls. [4]"

    def brain(body: dict[str, Any]) -> Any:
        if any("<evidence>" in str(message.get("content")) for message in body["messages"]):
            return brief
        if judges.ASKED in (asked := str(body["messages"][-1].get("content"))):
            return judges.yes_to_all(asked)
        return "DONE" if any(message.get("tool_call_id") == "mine" for message in body["messages"]) else more

    model.brain = brain
    result = agent.run("fork", first["thread_id"], "--step", "2", "--model", "openai:small", "--json")
    assert result.returncode == 0, result.stderr
    written = json.loads(result.stdout)
    assert [claim["sources"] for claim in written["claims"]] == [[4]]
    asked = model.requests[0]["messages"]
    assert [message["role"] for message in asked[:2]] == ["system", "user"]
    calls = [call["id"] for message in asked for call in message.get("tool_calls", [])]
    assert calls == [message["tool_call_id"] for message in asked if message["role"] == "tool"]
    assert calls[0] == "call-1-1", "what the built-in model asked for"
    # It is charged with its own four calls, and the built-in model's cost nothing.
    assert written["usage"]["input_tokens"] == 400
    spent = query(agent.database_url, "select request_model, calls, input_tokens from research.spending order by 1")
    assert spent == [("extractive", 6, 0), ("small", 4, 400)]
    [(thread, at)] = query(
        agent.database_url, "select forked_from, forked_at_step from research.run_summary where edition = 2"
    )
    assert (thread, at) == (first["thread_id"], 2)


def test_limits_count_only_what_the_fork_uses(
    agent: Agent, model: FakeOpenAI, variables: dict[str, str], corpus: Path
) -> None:
    agent.variables = variables | {"RESEARCH_MODEL": "openai:small"}
    model.brain = make_brain(corpus, asks=False)
    arguments = ["--topic", TOPIC, "--corpus", str(corpus), "--json", "--max-tokens", "480"]
    first = json.loads(agent.run(*arguments).stdout)  # 120 a call; two are kept back for the brief
    assert first["stop_reason"] == "max_tokens"
    result = agent.run("fork", first["thread_id"], "--step", "2", "--json")
    brief = json.loads(result.stdout)
    assert (result.returncode, brief["stop_reason"]) == (0, "done"), result.stderr
    [(total,)] = query(agent.database_url, "select sum(input_tokens + output_tokens) from research.model_calls")
    assert total == 120 * len(model.requests)
    used = [each["usage"]["input_tokens"] for each in (first, brief)]
    assert sum(used) == 100 * len(model.requests)


def test_a_waiting_run_can_be_forked_and_answered_and_neither_takes_the_others_answer(
    agent: Agent, model: FakeOpenAI, variables: dict[str, str], corpus: Path
) -> None:
    agent.variables = variables | {"RESEARCH_MODEL": "openai:small"}
    model.brain = make_brain(corpus, asks=False)
    first = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--approve", "fetch_url")
    assert first.returncode == 6, first.stderr
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    result = agent.run("fork", thread_id, "--step", "1", "--approve", "", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["edition"] == 2
    waiting = "select edition, status from research.run_summary order by 1"
    assert query(agent.database_url, waiting) == [(1, "waiting"), (2, "finished")]

    also = agent.run("fork", thread_id, "--step", "1")
    assert also.returncode == 6, "the options of the run hold: it asks as well"
    assert f"research-agent answer {thread_id}.3" in also.stderr
    answered = agent.run("answer", thread_id, "yes", "--json")
    assert answered.returncode == 0, answered.stderr
    assert json.loads(answered.stdout)["thread_id"] == thread_id
    assert query(agent.database_url, waiting) == [(1, "finished"), (2, "finished"), (3, "waiting")]
