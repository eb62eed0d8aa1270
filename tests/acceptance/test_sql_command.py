"""``research-agent sql`` as a person or a script meets it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.integration.storage.server.test_embedded import new_home
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.places import REPOSITORY


@pytest.fixture
def lone_agent(tmp_path: Path) -> Agent:
    """One that never comes as far as a database."""
    return Agent(tmp_path, "postgresql://u:hunter2@127.0.0.1:1/none")


def from_stdin(agent: Agent, statement: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "research_agent", "sql", "-", *arguments]
    return subprocess.run(
        command, cwd=agent.home, env=agent.environment(), input=statement, capture_output=True, timeout=60
    )


def test_what_a_run_did_can_be_selected(agent: Agent, corpus: Path) -> None:
    assert agent.run("--topic", TOPIC, "--corpus", str(corpus)).returncode == 0
    table = agent.run("sql", "select topic, outcome, model_calls from run_summary")
    assert (table.returncode, table.stderr) == (0, "")
    header, rule, row = table.stdout.splitlines()
    assert header.split() == ["topic", "outcome", "model_calls"]
    assert set(rule) == {"-", " "}
    assert row.startswith(TOPIC[:50])
    assert "complete" in row

    steps = agent.run("sql", "select distinct tool_name from research.tool_calls order by 1", "--format", "csv")
    assert steps.stdout.splitlines()[0] == "tool_name"
    [run] = json.loads(agent.run("sql", "select topic, brief -> 'outcome' as outcome from runs", "--json").stdout)
    assert run == {"topic": TOPIC, "outcome": "complete"}
    assert agent.run("sql", "table claims", "--format", "json").stdout.startswith("[\n  {\n")


def test_an_empty_database_has_a_journal_without_rows(agent: Agent) -> None:
    assert agent.run("sql", "select thread_id, step from trace").stdout == "thread_id  step\n---------  ----\n"
    assert agent.run("sql", "select thread_id, step from trace", "--format", "csv").stdout == "thread_id,step\n"
    assert agent.run("sql", "select thread_id, step from trace", "--json").stdout == "[]\n"


def test_more_rows_than_the_limit_are_told_on_stderr(agent: Agent) -> None:
    statement = "select n from generate_series(1, 1500) n"
    result = agent.run("sql", statement, "--format", "csv")
    assert len(result.stdout.splitlines()) == 1001
    assert result.stderr == "there are more rows: these are the first 1,000; --limit N gives more\n"
    result = agent.run("sql", statement, "--format", "csv", "--limit", "1500")
    assert len(result.stdout.splitlines()) == 1501
    assert (result.returncode, result.stderr) == (0, "")


def test_a_statement_can_come_from_stdin(agent: Agent) -> None:
    done = from_stdin(agent, "\ufeff-- what a file begins with\nselect 'Grüße' as a;\n".encode(), "--json")
    assert json.loads(done.stdout) == [{"a": "Grüße"}]


def test_a_statement_that_begins_with_a_comment_is_no_option(agent: Agent) -> None:
    assert agent.run("sql", "-- first\nselect 1 as a", "--format", "csv").stdout == "a\n1\n"
    assert agent.run("sql", "--format", "csv", "--", "--first\nselect\n1 as a").stdout == "a\n1\n"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("delete from research.runs", "only one statement that reads is run"),
        ("delete from research.runs returning 1", "read-only transaction"),
        ("select 1; select 2", "only one statement that reads is run"),
        ("select nonsense", 'column "nonsense" does not exist at character 8'),
        ("select pg_read_file('/etc/passwd')", "permission denied for function pg_read_file"),
        ("select lowr('a')", "No function matches the given name"),
    ],
)
def test_a_statement_that_is_refused_is_one_line_and_exit_2(statement: str, says: str, agent: Agent) -> None:
    result = agent.run("sql", statement)
    assert result.returncode == 2
    assert says in one_line(result)
    assert result.stdout == ""


def test_a_statement_that_takes_too_long_is_stopped_and_the_option_is_named(agent: Agent) -> None:
    began = time.monotonic()
    result = agent.run("sql", "select pg_sleep(600)", "--timeout", "1")
    assert time.monotonic() - began < 20
    assert result.returncode == 2
    assert "stopped after 1 s" in one_line(result)
    assert "--timeout" in one_line(result)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: SQL"),
        (["select 1", "--limit", "0"], '"0" is not a whole number from 1'),
        (["select 1", "--limit", "1000001"], "is not a whole number from 1"),
        (["select 1", "--limit", "9" * 5000], "is not a whole number from 1"),
        (["select 1", "--timeout", "0"], '"0" is not a number of seconds'),
        (["select 1", "--timeout", "601"], "number of seconds up to 600"),
        (["select 1", "--timeout", "nan"], '"nan" is not a number of seconds'),
        (["select 1", "--format", "xml"], "invalid choice"),
        (["select", "1"], "unrecognized arguments"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(arguments: list[str], says: str, lone_agent: Agent) -> None:
    result = lone_agent.run("sql", *arguments)
    assert result.returncode == 2
    assert says in one_line(result)


def test_what_is_not_utf_8_or_has_no_end_is_refused(lone_agent: Agent) -> None:
    done = from_stdin(lone_agent, b"select '\xff'")
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr
    done = from_stdin(lone_agent, b" " * 16_000_001)
    assert done.returncode == 2
    assert b"more than 16 MB" in done.stderr


def test_a_nul_in_the_statement_is_refused(agent: Agent) -> None:
    done = from_stdin(agent, b"select 1 \0; drop schema research")
    assert done.returncode == 2
    assert b"NUL" in done.stderr


def test_a_c_locale_does_not_garble_a_statement(agent: Agent) -> None:
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert agent.run("sql", "select 'β 日本' as a", "--format", "csv", **variables).stdout == "a\nβ 日本\n"


def test_the_connection_is_never_told(lone_agent: Agent) -> None:
    result = lone_agent.run("sql", "select 1")
    assert result.returncode == 1
    assert "hunter2" not in one_line(result)


def test_on_a_terminal_nothing_steers_it_and_the_table_fits(agent: Agent) -> None:
    statement = "select E'\\x1b[31m\\u202e' || repeat('wide ', 50) as a, E'\\x9b' as b, 7 as n"
    for form in ("table", "csv", "json"):
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "research_agent", "sql", statement.replace("\\x9b", "\\u009b")]
        environment = agent.environment(COLUMNS="50")
        done = subprocess.run(
            [*command, "--format", form], cwd=agent.home, env=environment, stdout=follower, timeout=60
        )  # fmt: skip
        os.close(follower)
        shown = os.read(leader, 10_000).decode()
        os.close(leader)
        assert done.returncode == 0
        assert not {"\x1b", "\x9b", "\u202e"} & set(shown), form
        if form == "table":
            assert max(map(len, shown.splitlines())) == 50


def test_a_reader_that_leaves_early_causes_no_traceback(agent: Agent) -> None:
    process = agent.start("sql", "select repeat('x', 100) from generate_series(1, 1000)")
    assert process.stdout
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr
    assert process.stderr.read() == ""


def test_reading_makes_no_change_even_as_superuser(server: str, agent: Agent) -> None:
    name = psycopg.conninfo.conninfo_to_dict(agent.database_url)["dbname"]
    agent.database_url = psycopg.conninfo.make_conninfo(server, dbname=name)
    assert agent.run("sql", "select current_user as u", "--format", "csv").stdout == "u\nresearch_reader\n"
    for statement in ("select pg_read_file('/etc/passwd')", "select set_config('role', 'none', true)"):
        assert agent.run("sql", statement).returncode == 2


def test_the_embedded_server_can_be_read_before_any_run(lone_agent: Agent) -> None:
    home = new_home()
    try:
        lone_agent.database_url = ""
        result = lone_agent.run("sql", "select current_user as u", "--json", RESEARCH_DATA_DIR=str(home.path))
        assert (result.returncode, result.stdout) == (0, '[\n  {\n    "u": "research_reader"\n  }\n]\n'), result.stderr
        home.leave()
    finally:
        shutil.rmtree(home.path, ignore_errors=True)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, contextlib, io\nfrom research_agent.cli.main import main\nimport os\n"
        "os._exit = lambda code: None\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['sql', '--help'])\n"
        "heavy = {'langchain_core', 'langgraph', 'psycopg', 'pydantic', 'httpx', 'rich', 'snowballstemmer'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout.strip() == "[]"
