"""What the documents say is true."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from pathlib import Path

import psycopg
import pytest

from research_agent.settings import Settings
from tests.support import sql_page
from tests.support.commands import Agent
from tests.support.documents import TOPIC
from tests.support.places import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("hours", [0, 20])
def test_the_sql_page_shows_what_the_database_answers_at_any_time_of_day(hours: int, empty_database: str) -> None:
    page = sql_page.PAGE.read_text(encoding="utf-8")
    sql_page.fill(empty_database, datetime.now(UTC) - timedelta(hours=hours))
    fresh = sql_page.render(page, empty_database)
    changes = "\n".join(list(unified_diff(page.splitlines(), fresh.splitlines(), "page", "database", lineterm=""))[:40])
    assert page == fresh, f"docs/sql.md is not up to date, run make docs:\n{changes}"


def test_every_query_of_the_sql_page_finds_something() -> None:
    page = sql_page.PAGE.read_text(encoding="utf-8")
    queries = sql_page.questions(page)
    assert len({heading for heading, _ in queries}) >= 14
    assert page.count("```text\n") == len(queries)
    assert "(0 rows)" not in page


def test_the_summary_agrees_with_the_brief(agent: Agent, corpus: Path) -> None:
    import json

    brief = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json").stdout)
    with psycopg.connect(agent.database_url) as connection:
        row = connection.execute(
            "select status, outcome, steps, sources, tool_calls, model_calls from research.run_summary"
        ).fetchone()
    usage = brief["usage"]
    expected = (brief["outcome"], brief["steps"], brief["sources_read"], usage["tool_calls"], usage["model_calls"])
    assert row == ("finished", *expected)


def test_every_option_and_exit_code_of_the_help_is_in_the_readme() -> None:
    command = [sys.executable, "-m", "research_agent", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout
    options = set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE))
    assert options
    assert [option for option in sorted(options) if f"`{option}" not in README] == []
    codes = re.findall(r"(?<![\w-])(\d+)  (?=[a-z])", text[text.index("exit codes") :])
    assert sorted(codes, key=int) == ["0", "1", "2", "3", "4", "5", "6", "75"]
    assert [code for code in codes if f"| {code} |" not in README] == []


def test_every_setting_is_in_the_example_file() -> None:
    example = (REPOSITORY / ".env.example").read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names = [f"RESEARCH_{name.upper()}"] if alias is None else getattr(alias, "choices", [alias])
        assert all(f"#{spelling}=" in example for spelling in names), names


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} → {target}"


def test_psql_opens_the_database_of_the_runs(agent: Agent, corpus: Path, tmp_path: Path) -> None:
    import shutil

    if not shutil.which("psql"):
        pytest.skip("no psql on this machine; DATABASE_URL needs the system's")
    agent.run("--topic", TOPIC, "--corpus", str(corpus))
    result = agent.run("db", "psql", "-At", "-c", "select outcome from research.runs")
    assert (result.returncode, result.stdout) == (0, "complete\n"), result.stderr
