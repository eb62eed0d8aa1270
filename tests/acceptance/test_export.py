"""Everything that is stored of a run, in one document."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.acceptance.test_resume import run_until_paused
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.runs import query

TABLES = ("starts", "steps", "model_calls", "tool_calls", "citations", "claims")


def write_brief(agent: Agent, corpus: Path, *more: str, **variables: str) -> dict[str, Any]:
    brief: dict[str, Any] = json.loads(
        agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json", *more, **variables).stdout
    )
    return brief


def test_it_holds_every_row_and_every_page_of_the_run(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, corpus, "--max-steps", "2")
    write_brief(agent, corpus, "--max-steps", "6")
    write_brief(agent, corpus, "--fresh")  # another run, of which nothing may be in there
    result = agent.run("export", brief["thread_id"], "--json")
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    assert list(record) == ["record_version", "summary", "run", *TABLES, "pages"]
    assert record["summary"]["status"] == "finished"
    assert record["run"]["brief"]["thread_id"] == brief["thread_id"]
    assert [earlier["stop_reason"] for earlier in record["run"]["earlier_briefs"]] == ["max_steps"]
    for table in TABLES:
        columns = [
            row[0]
            for row in query(
                agent.database_url,
                "select column_name from information_schema.columns where table_schema = 'research' "
                "and table_name = %s order by ordinal_position",
                table,
            )
        ]
        [(count,)] = query(
            agent.database_url, f"select count(*) from research.{table} where thread_id = %s", brief["thread_id"]
        )
        assert len(record[table]) == count > 0
        assert all(list(row) == columns for row in record[table]), "the keys have the order of the columns"
        assert {row["thread_id"] for row in record[table]} == {brief["thread_id"]}
    assert [row["step"] for row in record["steps"]] == [1, 2, 3, 4, 5, 6]
    pages = {page["content_hash"]: page["text"] for page in record["pages"]}
    assert set(pages) == {citation["content_hash"] for citation in record["citations"]}
    assert all(hashlib.sha256(text.encode()).hexdigest() == key for key, text in pages.items())
    assert agent.run("export", brief["thread_id"]).stdout == result.stdout


def test_times_are_utc_and_numbers_exact(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, corpus)
    cost = Decimal("0.12345678")
    query(agent.database_url, "update research.model_calls set cost_usd = %s where step = 1", cost)
    name = query(agent.database_url, "select current_database()")[0][0]
    query(agent.database_url, f"alter database {name} set timezone = 'Asia/Tokyo'")
    text = agent.run("export", brief["thread_id"]).stdout
    record = json.loads(text, parse_float=Decimal)
    assert record["model_calls"][0]["cost_usd"] == cost
    times = re.findall(r'"\w+_at":"([^"]+)"', text)
    assert len(times) > 20
    assert all(time.endswith("+00:00") and datetime.fromisoformat(time) for time in times)
    assert "+09:00" not in text


def test_a_file_is_written_whole_or_not_at_all(agent: Agent, corpus: Path) -> None:
    brief = write_brief(agent, corpus)
    target = agent.home / "run.json"
    result = agent.run("export", brief["thread_id"], "--output", str(target))
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert target.read_text(encoding="utf-8") == agent.run("export", brief["thread_id"]).stdout
    before = target.read_bytes()
    query(agent.database_url, "drop view research.run_summary cascade")
    failed = agent.run("export", brief["thread_id"], "--output", str(target))
    assert failed.returncode == 1
    assert target.read_bytes() == before
    assert [path.name for path in agent.home.iterdir() if path.name.startswith("tmp")] == []
    failed = agent.run("export", brief["thread_id"])
    assert (failed.returncode, failed.stdout) == (1, "")


def test_no_secret_is_in_it(agent: Agent, corpus: Path) -> None:
    secrets = ("GEMINI_API_KEY", "OPENAI_API_KEY", "BRAVE_API_KEY", "TAVILY_API_KEY")
    variables = {name: f"s3cret-{name}" for name in secrets}
    brief = write_brief(agent, corpus, "--model", "extractive", RESEARCH_CONTACT="me@s3cret.example", **variables)
    password = agent.database_url.split("research:")[1].split("@")[0]
    text = agent.run("export", brief["thread_id"], **variables).stdout
    assert "s3cret" not in text
    assert password not in text
    # All that can ever be in the options: a new one must be thought about here.
    known = {
        "corpus",
        "search",
        "since",
        "until",
        "chosen_model",
        "writer_model",
        "check",
        "judge_model",
        "tool_calling",
        "approve",
        "length",
    }
    assert set(json.loads(text)["run"]["options"]) <= known


def test_a_run_that_is_running_is_exported_as_it_is(agent: Agent, corpus: Path) -> None:
    agent.module = "tests.support.driver"
    running = run_until_paused(agent, ["--topic", TOPIC, "--corpus", str(corpus)], "model:3")
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    record = json.loads(agent.run("export", thread_id).stdout)
    assert (record["summary"]["status"], record["run"]["brief"], record["claims"]) == ("running", None, [])
    assert [row["step"] for row in record["steps"]] == [1, 2]
    running.kill()
    running.communicate()


def test_what_cannot_be_exported_is_one_line_and_exit_2(agent: Agent) -> None:
    for words, says in (
        (["no-such-thread"], "there is no run no-such-thread"),
        (["no-such-thread", "--output", "/no/such/folder/x.json"], "does not exist, create it first"),
    ):
        result = agent.run("export", *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert says in one_line(result)
