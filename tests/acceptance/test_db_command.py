"""``research-agent db``: address, schema, checks, and how long things are kept."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import temporary_database
from tests.integration.storage.server.test_embedded import new_home, processes_of
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC, write_corpus
from tests.support.runs import run_topic

CHECKPOINTS = "select (select count(*) from checkpoints) + (select count(*) from checkpoint_writes)"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[str]:
    """A database with one finished run, to be copied."""
    corpus = write_corpus(tmp_path_factory.mktemp("finished") / "corpus")
    with temporary_database(server) as url:
        asyncio.run(run_topic(url, corpus))
        yield url


@pytest.fixture
def agent(tmp_path: Path, server: str, finished: str) -> Iterator[Agent]:
    """With a copy of it."""
    with temporary_database(server, template=finished) as url:
        yield Agent(tmp_path, url)


def value(agent: Agent, statement: str) -> object:
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row
    return row[0]


def test_check_finds_nothing_wrong_with_a_good_database(agent: Agent) -> None:
    result = agent.run("db", "check")
    assert result.returncode == 0, result.stderr
    assert "found nothing wrong" in result.stdout
    report = json.loads(agent.run("db", "check", "--json").stdout)
    assert report["good"] is True
    assert report["server"]["schema_version"] == value(agent, "select max(version) from research.migrations")
    assert {"research.runs", "checkpoints"} <= {table["name"] for table in report["tables"]}


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("update research.pages set text = text || '!'", "pages whose text is not what was stored"),
        ("update research.claims set quote_start = quote_start + 1", "passage does not stand in its page"),
        ("update research.claims set sources = '{99}'", "cite a source that is not in the ledger"),
        ("update research.runs set brief = null", "finished runs without a brief"),
        ("delete from research.claims where position = 1", "another number of sentences"),
        ("update research.runs set finished_at = null; delete from checkpoints", "with steps and without checkpoints"),
    ],
)
def test_check_finds_damage(agent: Agent, damage: str, found: str) -> None:
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        connection.execute(damage.encode())
    result = agent.run("db", "check")
    assert result.returncode == 3
    [line] = [line for line in result.stdout.splitlines() if found in line]
    assert int(line.split()[0]) > 0


def test_migrate_may_be_called_at_any_time(agent: Agent) -> None:
    assert "already" in agent.run("db", "migrate").stdout
    again = json.loads(agent.run("db", "migrate", "--json").stdout)
    assert again["before"] == again["after"]
    # The saver's tables stay one set, though the role is called like our schema.
    assert value(agent, "select count(*) from pg_class where relname = 'checkpoints'") == 1
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        connection.execute("drop schema research cascade")
    assert json.loads(agent.run("db", "migrate", "--json").stdout)["before"] == 0
    assert agent.run("runs", "--json").stdout == "[]\n"


def test_the_address_names_the_database_and_holds_no_password(agent: Agent) -> None:
    result = agent.run("db", "url")
    assert result.returncode == 0, result.stderr
    password = agent.database_url.split(":")[2].split("@")[0]
    assert password not in result.stdout + result.stderr
    shown = json.loads(agent.run("db", "url", "--json").stdout)
    assert shown == {"url": result.stdout.strip(), "psql": result.stderr.strip()}
    with psycopg.connect(shown["url"], password=password) as connection:
        assert connection.execute("select count(*) from research.runs").fetchone() == (1,)


def test_the_address_of_the_embedded_server_works_in_a_shell_and_only_reads(embedded: Agent) -> None:
    shown = json.loads(embedded.run("db", "url", "--json").stdout)

    def pasted(*arguments: str) -> subprocess.CompletedProcess[str]:
        # As it is pasted, after our own process is gone.
        command = f"{shown['psql']} {shlex.join(arguments)}"
        return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)

    counted = pasted("-At", "-c", "select count(*) from research.run_summary")
    assert (counted.stdout, counted.stderr) == ("0\n", "")
    assert "read-only transaction" in pasted("-c", "delete from research.runs").stderr
    switched = pasted("-c", "set default_transaction_read_only = off", "-c", "delete from research.runs")
    assert "permission denied" in switched.stderr


@pytest.fixture
def embedded() -> Iterator[Agent]:
    """With an embedded server of its own, which nobody has used."""
    home = new_home()
    yield Agent(home.path, variables={"RESEARCH_DATA_DIR": str(home.path)})
    for process in processes_of(home.path):
        if "--keep" in process.cmdline():  # it would wait a minute for further visitors
            process.kill()
    try:
        home.leave()
    finally:
        shutil.rmtree(home.path, ignore_errors=True)


def test_prune_removes_checkpoints_and_keeps_what_can_be_read(agent: Agent) -> None:
    too_young = json.loads(agent.run("db", "prune", "--older-than", "1d", "--json").stdout)
    assert (too_young["runs"], too_young["rows"]) == (0, 0)
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        connection.execute("update research.runs set finished_at = finished_at - interval '31 days'")
    before = value(agent, CHECKPOINTS)
    dry = agent.run("db", "prune", "--older-than", "30d", "--dry-run")
    assert "would remove the checkpoints of 1 run (" in dry.stdout
    assert value(agent, CHECKPOINTS) == before

    done = agent.run("db", "prune", "--older-than", "30d")
    assert "removed the checkpoints of 1 run (" in done.stdout
    assert value(agent, CHECKPOINTS) == 0
    thread = str(value(agent, "select thread_id from research.runs"))
    assert "pruned" in agent.run("show", thread).stdout
    assert agent.run("verify", thread).returncode == 0
    assert agent.run("trace", thread).returncode == 0
    assert agent.run("db", "check").returncode == 0
    assert agent.run("--topic", TOPIC).stdout.startswith(f"# {TOPIC}")
    for command in (["history", thread], ["fork", thread, "--step", "1"]):
        assert "pruned" in one_line(agent.run(*command))


def test_vacuum_says_what_it_came_to(agent: Agent) -> None:
    for arguments in ([], ["--full"]):
        sizes = json.loads(agent.run("db", "vacuum", "--json", *arguments).stdout)
        assert 0 < sizes["bytes_after"] <= sizes["bytes_before"] + 1_000_000
    assert " MB now" in agent.run("db", "vacuum").stdout


@pytest.mark.parametrize("age", ["", "30", "30 days", "-1d", "1y", "99999999d"])
def test_an_age_that_is_none_is_refused(tmp_path: Path, age: str) -> None:
    result = Agent(tmp_path, "postgresql://u@127.0.0.1:1/none").run("db", "prune", f"--older-than={age}")
    assert result.returncode == 2
    assert "is not a length of time such as" in one_line(result)
