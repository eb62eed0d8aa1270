"""Roles that do not own the schema: one for this program, and one of another program in the same tables."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.runs import query

GRANTS = (
    "grant usage on schema research to {role}; "
    "grant select, insert, update, delete on all tables in schema research to {role}; "
    "grant select, insert, update, delete on checkpoints, checkpoint_blobs, checkpoint_writes to {role}; "
)


@pytest.fixture
def role(server: str, empty_database: str, tmp_path: Path) -> Iterator[str]:
    """A login without any right, whose password is its name; the schema is set up by its owner."""
    assert Agent(tmp_path, empty_database).run("db", "migrate").returncode == 0
    name = f"r{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create role {name} login password '{name}'".encode())
    yield name
    query(empty_database, f"revoke all on all tables in schema research, public from {name}")
    query(empty_database, f"revoke all on schema research from {name}")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop role {name}".encode())


def url_of_role(url: str, role: str) -> str:
    """`url` as `role`."""
    return f"postgresql://{role}:{role}@" + url.split("@", 1)[1]


def test_who_may_change_rows_may_do_all_but_set_up_and_vacuum(
    role: str, empty_database: str, corpus: Path, tmp_path: Path
) -> None:
    query(empty_database, GRANTS.format(role=role))
    agent = Agent(tmp_path, url_of_role(empty_database, role))
    command = ["--topic", TOPIC, "--corpus", str(corpus), "--json"]
    assert agent.run(*command, "--max-steps", "2").returncode == 3
    brief = json.loads(agent.run(*command, "--max-steps", "6").stdout)
    for words in (
        ["history", brief["thread_id"]],
        ["fork", brief["thread_id"], "--step", "2"],
        ["export", brief["thread_id"]],
        ["delete", brief["thread_id"], "--yes"],
        ["db", "prune", "--older-than", "0d"],
        ["db", "check"],
        ["runs"],
    ):
        result = agent.run(*words)
        assert result.returncode == 0, (words, result.stderr)
    assert query(empty_database, "select edition, pruned_at is null from research.runs") == [(2, False)]


def test_who_lacks_a_right_is_told_which_to_ask_for(
    role: str, empty_database: str, corpus: Path, tmp_path: Path
) -> None:
    query(empty_database, f"grant usage on schema research to {role}")
    query(empty_database, f"grant select on all tables in schema research to {role}")
    agent = Agent(tmp_path, url_of_role(empty_database, role))
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert result.returncode == 1
    assert "select, insert, update, delete on its tables" in one_line(result)


def test_another_program_in_langgraphs_tables_needs_no_right_on_our_schema(role: str, empty_database: str) -> None:
    query(empty_database, f"grant select, insert on checkpoints, checkpoint_blobs, checkpoint_writes to {role}")
    url = url_of_role(empty_database, role)
    query(url, "insert into checkpoints (thread_id, checkpoint_id, checkpoint) values ('other', 'c', '{}')")
    query(url, "insert into checkpoint_blobs (thread_id, channel, version, type) values ('other', 'm', '1', 'empty')")
    query(
        url,
        "insert into checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob) "
        "values ('other', 'c', 't', 0, 'm', '')",
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        query(url, "select from research.runs")
