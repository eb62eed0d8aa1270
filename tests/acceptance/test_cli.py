"""The command line as a person meets it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.commands import Agent, one_line, without_times
from tests.support.documents import TOPIC
from tests.support.places import REPOSITORY


@pytest.fixture
def lone_agent(tmp_path: Path) -> Agent:
    """One that never comes as far as a database."""
    home = tmp_path / "home"
    home.mkdir()
    return Agent(home, "postgresql://u:p@127.0.0.1:1/none")


def test_a_topic_gives_a_brief_with_sources_on_stdout_and_progress_on_stderr(agent: Agent, corpus: Path) -> None:
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"# {TOPIC}\n")
    assert (
        "- A tidal power station at La Rance in France has produced electricity from the tide since 1966."
        in result.stdout
    )
    assert f"<{(corpus / 'power.md').as_uri()}>" in result.stdout
    assert "step 2  reason" in result.stderr
    assert "waiting for reading" in result.stderr
    assert "export GEMINI_API_KEY" in result.stderr


def test_a_finished_topic_prints_its_stored_brief_without_any_call(agent: Agent, corpus: Path) -> None:
    agent.module = "tests.support.driver"
    first = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json")
    agent.events.unlink()
    # No corpus is needed any more, and white space does not make another topic.
    second = agent.run("--topic", f"  {TOPIC.replace(' ', '  ')}\n", "--json")
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout
    assert agent.log() == []


def test_fresh_starts_a_new_edition_and_keeps_the_old_one(agent: Agent, corpus: Path) -> None:
    first = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json").stdout)
    second = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json", "--fresh").stdout)
    assert (first["edition"], second["edition"]) == (1, 2)
    assert second["thread_id"] == first["thread_id"] + ".2"
    with psycopg.connect(agent.database_url) as connection:
        rows = connection.execute("select edition, outcome from research.runs order by edition").fetchall()
    assert rows == [(1, "complete"), (2, "complete")]
    again = json.loads(agent.run("--topic", TOPIC, "--json").stdout)
    assert again["edition"] == 2


def test_a_topic_nobody_wrote_about_ends_without_a_brief(agent: Agent, corpus: Path) -> None:
    topic = "history of the Zyblorian treaty of 1843"
    result = agent.run("--topic", topic, "--corpus", str(corpus))
    assert result.returncode == 4
    assert "No evidence was found" in result.stdout
    assert "[1]" not in result.stdout


def test_a_step_limit_gives_a_partial_brief_that_says_so(agent: Agent, corpus: Path) -> None:
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--max-steps", "2")
    assert result.returncode == 3
    assert "*Partial: the step limit was reached.*" in result.stdout


def test_a_higher_limit_lets_a_run_go_on_that_had_ended_on_it(agent: Agent, corpus: Path) -> None:
    agent.module = "tests.support.driver"
    command = ["--topic", TOPIC, "--corpus", str(corpus), "--json"]
    first = agent.run(*command, "--max-steps", "2")
    assert first.returncode == 3, first.stderr
    ended = agent.seen()
    same = agent.run(*command, "--max-steps", "2")
    assert (same.returncode, same.stdout) == (3, first.stdout)
    assert agent.seen() == ended, "the same limit changes nothing and costs nothing"

    second = agent.run(*command, "--max-steps", "6")
    assert second.returncode == 0, second.stderr
    before, after = json.loads(first.stdout), json.loads(second.stdout)
    assert after["thread_id"] == before["thread_id"]
    assert after["steps"] > before["steps"] == 2
    with psycopg.connect(agent.database_url) as connection:
        [(earlier, starts)] = connection.execute(
            "select earlier_briefs, (select count(*) from research.starts) from research.runs"
        ).fetchall()
        repeated = connection.execute(
            "select tool_call_arguments from research.tool_calls group by 1 having count(*) > 1"
        ).fetchall()
    assert [brief["stop_reason"] for brief in earlier] == ["max_steps"]
    assert starts == 2
    assert repeated == []


def test_output_writes_the_file_and_nothing_on_stdout(agent: Agent, corpus: Path) -> None:
    target = agent.home / "brief.md"
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--output", str(target))
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert target.read_text(encoding="utf-8").startswith("# ")
    assert [path.name for path in agent.home.iterdir() if path.suffix != ".log"] in (
        ["cache", "brief.md"],
        ["brief.md", "cache"],
    )


def test_quiet_is_silent_on_stderr(agent: Agent, corpus: Path) -> None:
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--quiet")
    assert result.stderr == ""


@pytest.mark.parametrize(
    "topic",
    ["Tide\nand power", "المد والجزر tide power", "‮tide power‬", "潮汐 tide power", "tide power/../../etc"],
)
def test_unusual_topics_work(topic: str, agent: Agent, corpus: Path) -> None:
    result = agent.run("--topic", topic, "--corpus", str(corpus), "--json")
    assert result.returncode in (0, 4), result.stderr
    stored = json.loads(result.stdout)["topic"]
    assert "\n" not in stored
    assert "‮" not in stored


def test_a_c_locale_does_not_garble_a_topic(agent: Agent, corpus: Path) -> None:
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = agent.run("--topic", "β 日本 tide", "--corpus", str(corpus), "--json", **variables)
    assert "Traceback" not in result.stderr
    assert json.loads(result.stdout)["topic"] == "β 日本 tide"


def test_a_reader_that_leaves_early_causes_no_traceback(agent: Agent, corpus: Path) -> None:
    process = agent.start("--topic", TOPIC, "--corpus", str(corpus))
    assert process.stdout
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr
    assert "Traceback" not in process.stderr.read()


def test_names_of_files_cannot_steer_the_terminal(agent: Agent, corpus: Path) -> None:
    (corpus / "tide\x1b[31m\x07 and\u202e power.md").write_text(
        "The tide moves the turbine of the tide mill twice a day."
    )
    result = agent.run("--topic", "tide turbine mill", "--corpus", str(corpus))
    assert result.returncode == 0, result.stderr
    assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout + result.stderr)


def test_list_items_and_linked_words_are_evidence(agent: Agent, tmp_path: Path) -> None:
    (notes := tmp_path / "notes").mkdir()
    text = "# Bees\n\n- Split the **colony** in May.\n- Feed [sugar syrup](https://example.org/s) to bees in spring.\n"
    (notes / "bees.md").write_text(text)
    result = agent.run("--topic", "When is the colony split, and sugar syrup fed to bees?", "--corpus", str(notes))
    assert result.returncode == 0, result.stderr
    assert "- Split the colony in May. [1]" in result.stdout
    assert "- Feed sugar syrup to bees in spring. [1]" in result.stdout


def test_eight_processes_with_one_new_topic_run_it_once(agent: Agent, corpus: Path) -> None:
    command = ["--topic", TOPIC, "--corpus", str(corpus)]
    processes = [agent.start(*command) for _ in range(8)]
    for process in processes:
        process.communicate(timeout=90)
    assert {process.returncode for process in processes} <= {0, 5}
    with psycopg.connect(agent.database_url) as connection:
        assert connection.execute("select count(*), max(start) from research.starts").fetchall() == [(1, 1)]


def test_a_dead_stderr_does_not_cost_the_brief(agent: Agent, corpus: Path) -> None:
    command = [sys.executable, "-m", "research_agent", "--topic", TOPIC, "--corpus", str(corpus)]
    for redirection in ("2>&-", "2>/dev/full"):
        shell = ["sh", "-c", f'"$@" {redirection}', "sh", *command, "--fresh"]
        done = subprocess.run(
            shell, cwd=agent.home, env=agent.environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done
        assert done.stdout.startswith(f"# {TOPIC}")


# --- bad input: one clear line, the right exit code, nothing lost ---

LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--topic", ""], "the topic is empty"),
        (["--topic", " \t\n "], "the topic is empty"),
        (["--topic", "‮"], "the topic is empty"),
        (["--topic", LONG], "10,000 characters, the limit is 2,000"),
        (["--max-steps", "0"], '"0" is not a whole number from 1'),
        (["--max-steps", "-1"], '"-1" is not a whole number from 1'),
        (["--max-steps", "abc"], '"abc" is not a whole number from 1'),
        (["--max-steps", "9" * 5000], "is not a whole number from 1"),
        (["--nonsense"], "unrecognized arguments"),
        (["--output", "/no/such/folder/brief.md"], "does not exist, create it first"),
        (["--output", "/"], "is a folder"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(arguments: list[str], says: str, lone_agent: Agent) -> None:
    result = lone_agent.run(*arguments)
    assert result.returncode == 2
    assert says in one_line(result)


def test_a_setting_of_the_wrong_form_is_named(lone_agent: Agent) -> None:
    for value in ("many", "0", "99999999999999999999"):
        result = lone_agent.run("--topic", "x", RESEARCH_MAX_STEPS=value)
        assert result.returncode == 2
        assert "setting max_steps" in one_line(result)
    for value in ("nan", "inf", "-1", "1e400"):
        result = lone_agent.run("--topic", "x", RESEARCH_MAX_USD=value)
        assert result.returncode == 2
        assert "setting max_usd" in one_line(result)


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def make_looping(path: Path) -> Path:
    (make_folder(path) / "loop").symlink_to(path)
    return path


def make_huge(path: Path) -> Path:
    with (make_folder(path) / "huge.txt").open("wb") as file:
        file.truncate(50_000_000)
    return path


def make_file(path: Path) -> Path:
    path.write_text("no folder")
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path, "does not exist"),
        (make_file, "is a file"),
        (make_folder, "holds no documents"),
        (make_looping, "holds no documents"),
        (make_huge, "holds no readable document"),
    ],
    ids=["missing", "file", "empty", "loop", "huge"],
)
def test_a_corpus_that_cannot_be_used_is_one_line_and_exit_2(
    make: Callable[[Path], Path], says: str, agent: Agent, tmp_path: Path
) -> None:
    result = agent.run("--topic", "x", "--corpus", str(make(tmp_path / "bad corpus")))
    assert result.returncode == 2
    assert says in one_line(result)


def test_unreadable_documents_are_reported_and_skipped(agent: Agent, corpus: Path) -> None:
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    make_huge(corpus / "more")
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert result.returncode == 0
    assert "skipped" in result.stderr
    assert "broken.pdf" in result.stderr
    assert "huge.txt" in result.stderr


def test_a_source_that_cannot_be_used_is_one_line_and_exit_2(agent: Agent) -> None:
    for arguments, says in (
        (["--search", "altavista"], "altavista"),
        (["--search", "brave"], "BRAVE_API_KEY"),
        (["--search", "corpus"], "--corpus DIR"),
        (["--since", "yesterday"], "setting since"),
    ):
        result = agent.run("--topic", "x", *arguments)
        assert result.returncode == 2, result.stderr
        assert says in one_line(result)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "DATABASE_URL is malformed"),
        ("postgresql://u:hunter2@127.0.0.1:1/x", "nothing listens there"),
        ("postgresql://u:hunter2@no-such-host.invalid/x", "host name is unknown"),
        ("postgresql://u:hunter2@127.0.0.1:99999/x", "the port is no number"),
    ],
)
def test_a_database_that_cannot_be_reached_is_one_line_without_the_password(
    url: str, says: str, lone_agent: Agent, corpus: Path
) -> None:
    lone_agent.database_url = url
    result = lone_agent.run("--topic", "x", "--corpus", str(corpus))
    assert result.returncode == 1
    assert says in one_line(result)
    assert "hunter2" not in result.stdout + result.stderr


def test_a_wrong_password_is_said(agent: Agent, corpus: Path) -> None:
    secret = agent.database_url.split("research:")[1].split("@")[0]
    agent.database_url = agent.database_url.replace(secret, "hunter2")
    result = agent.run("--topic", "x", "--corpus", str(corpus))
    assert result.returncode == 1
    assert "wrong user or password" in one_line(result)
    assert "hunter2" not in result.stderr


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that accepts and never answers."""
    held = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    held.append(listener.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def test_a_database_that_hangs_is_given_up(lone_agent: Agent, corpus: Path) -> None:
    with silent_server() as port:
        lone_agent.database_url = f"postgresql://u:p@127.0.0.1:{port}/x?connect_timeout=2"
        result = lone_agent.run("--topic", "x", "--corpus", str(corpus), timeout=30)
    assert result.returncode == 1
    assert "no answer within" in one_line(result)


def test_a_read_only_database_is_said(agent: Agent, corpus: Path) -> None:
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set default_transaction_read_only = on".encode())
    result = agent.run("--topic", "x", "--corpus", str(corpus))
    assert result.returncode == 1
    assert "read-only" in one_line(result)


def test_a_read_only_database_still_shows_finished_briefs(agent: Agent, corpus: Path) -> None:
    first = agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json")
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set default_transaction_read_only = on".encode())
    second = agent.run("--topic", TOPIC, "--json")
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout


def test_a_database_of_a_newer_program_is_refused(agent: Agent, corpus: Path) -> None:
    agent.run("--topic", TOPIC, "--corpus", str(corpus))
    with psycopg.connect(agent.database_url, autocommit=True) as connection:
        connection.execute("insert into research.migrations (version) values (999)")
    result = agent.run("--topic", "another", "--corpus", str(corpus))
    assert result.returncode == 1
    assert "schema version 999" in one_line(result)
    assert "pip install -U" in one_line(result)


def test_an_unusable_model_is_one_line_and_exit_2(agent: Agent, corpus: Path) -> None:
    for model, says in (
        ("nonsense", "is not of the form provider:name"),
        ("nobody:x", 'no model provider "nobody"'),
        ("google_genai:gemini-3.5-flash-lite", "GEMINI_API_KEY"),
    ):
        result = agent.run("--topic", "x", "--corpus", str(corpus), "--model", model)
        assert result.returncode == 2, result.stderr
        assert says in one_line(result)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, contextlib, io\nfrom research_agent.cli.main import main\nimport os\n"
        "os._exit = lambda code: None\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n    main(['--help'])\n"
        "heavy = {'langchain_core', 'langgraph', 'psycopg', 'pydantic', 'httpx', 'rich', 'asyncpg'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout.strip() == "[]"


def test_the_api_gives_the_brief_that_the_command_line_stored(
    agent: Agent, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    from research_agent import research

    printed: dict[str, Any] = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json").stdout)
    monkeypatch.setenv("DATABASE_URL", agent.database_url)
    brief = asyncio.run(research(TOPIC))
    assert without_times(json.loads(json.dumps(brief.to_dict()))) == without_times(printed)
    assert brief.claims[0]["quote"] in Path(corpus / "power.md").read_text() + Path(corpus / "tides.md").read_text()
    assert os.environ["DATABASE_URL"] == agent.database_url
