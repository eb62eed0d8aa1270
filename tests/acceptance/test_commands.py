"""What holds for every command: help, JSON, errors in one line, and nothing heavy before it is needed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from research_agent.cli.main import _COMMANDS
from tests.support.commands import Agent, one_line
from tests.support.places import REPOSITORY

DATABASE_COMMANDS = ["url", "migrate", "check", "prune", "vacuum"]
COMMANDS = [[name] for name in _COMMANDS if name != "db"] + [["db", name] for name in DATABASE_COMMANDS]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def lone_agent(tmp_path: object) -> Agent:
    """One that never comes as far as a database."""
    return Agent(REPOSITORY, "postgresql://u:s3cret@127.0.0.1:1/none")


def by_name(command: list[str]) -> str:
    return " ".join(command)


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_each_has_a_help_with_json_and_is_in_the_readme(command: list[str]) -> None:
    words = [sys.executable, "-m", "research_agent", *command, "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout
    assert shown.startswith(f"usage: research-agent {by_name(command)} ")
    assert "--json" in shown
    assert re.search(rf"`{by_name(command)}\b", README), "the README's table of commands lacks it"


def test_the_help_names_every_command() -> None:
    words = [sys.executable, "-m", "research_agent", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout
    assert set(re.findall(r"^  research-agent (\w+)", shown, re.MULTILINE)) == set(_COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_a_wrong_option_is_one_line_that_names_the_help(command: list[str], lone_agent: Agent) -> None:
    result = lone_agent.run(*command, "--nonsense")
    assert result.returncode == 2
    # argparse hands what a command under `db` does not know back to `db`.
    assert re.search(f"see research-agent {command[0]}( {command[-1]})? --help$", one_line(result))


@pytest.mark.parametrize(
    "command",
    [
        ["runs"],
        ["show", "x"],
        ["trace", "x"],
        ["trace", "x", "--follow"],
        ["verify", "x"],
        ["answer", "x", "y"],
        ["sql", "select 1"],
        ["history", "x"],
        ["fork", "x", "--step", "1"],
        ["export", "x"],
        ["delete", "x", "--yes"],
        ["db", "migrate"],
        ["db", "check"],
        ["db", "prune", "--older-than", "1d"],
        ["db", "vacuum"],
    ],
    ids=by_name,
)
def test_a_database_that_is_not_there_is_one_line_without_a_secret(command: list[str], lone_agent: Agent) -> None:
    result = lone_agent.run(*command)
    assert result.returncode == 1
    assert "nothing listens there" in one_line(result)
    assert "s3cret" not in result.stdout + result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_a_help_imports_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys, contextlib, io, os\nfrom research_agent.cli.main import main\nos._exit = lambda code: None\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main({command!r} + ['--help'])\n"
        "heavy = {'langchain_core', 'langgraph', 'psycopg', 'pydantic', 'httpx', 'rich', 'snowballstemmer'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout.strip() == "[]"
