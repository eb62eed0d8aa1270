"""The reader on servers of other people: made where our rights allow, asked for where they don't."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from research_agent.errors import StorageError
from research_agent.storage.connection import connect
from research_agent.storage.database import open_pool
from research_agent.storage.server import cluster
from research_agent.storage.statements import read, set_up_reader
from tests.integration.storage.server.test_embedded import new_home


class Foreign:
    """A server without the role, as somebody else would run it."""

    def __init__(self, superuser: str) -> None:
        self.superuser = superuser

    def do(self, statement: str, **where: str) -> list[Any]:
        with psycopg.connect(self.superuser, autocommit=True, **where) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def database(self, owner: str) -> str:
        """DATABASE_URL of a new one."""
        name = f"t{secrets.token_hex(6)}"
        self.do(f"create database {name} owner {owner}")
        return make_conninfo(self.superuser, user=owner, password="x", dbname=name)


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    home = new_home()
    try:
        owner = home.server().ensure()
        server = Foreign(make_conninfo(owner, user="postgres", password=cluster.password(home.root, "postgres")))
        server.do("drop role research_reader")
        yield server
    finally:
        home.leave()
        shutil.rmtree(home.path, ignore_errors=True)


async def migrate(dsn: str) -> None:
    async with open_pool(dsn, embedded=False):
        pass


async def set_up_again(dsn: str) -> None:
    async with await connect(dsn) as connection:
        await set_up_reader(connection)


def ask(dsn: str, statement: str = "select current_user") -> list[list[Any]]:
    return asyncio.run(read(dsn, statement)).rows


def test_without_the_right_runs_work_and_the_refusal_says_what_an_administrator_does(foreign: Foreign) -> None:
    foreign.do("create role \"Plain user\" login password 'x'")
    url = foreign.database('"Plain user"').replace('"Plain user"', "Plain user")
    asyncio.run(migrate(url))
    with pytest.raises(StorageError) as refusal:
        ask(url)
    said = str(refusal.value)
    statements = re.findall(r"(?:create|grant)[^;]*;", said)
    assert statements == ["create role research_reader;", 'grant research_reader to "Plain user";']
    assert said.endswith("and then run research-agent db migrate")

    foreign.do(statements[0])
    with pytest.raises(StorageError) as refusal:
        ask(url)
    assert re.findall(r"(?:create|grant)[^;]*;", str(refusal.value)) == statements[1:]
    asyncio.run(set_up_again(url))  # cannot do it yet, and does not fail
    foreign.do(statements[1])
    with pytest.raises(StorageError, match="let its owner run research-agent db migrate"):
        ask(url)
    asyncio.run(set_up_again(url))
    assert ask(url) == [["research_reader"]]
    asyncio.run(set_up_again(url))
    assert ask(url, "select count(*) from runs") == [[0]]


def test_a_role_that_may_create_roles_sets_everything_up_by_itself(foreign: Foreign) -> None:
    foreign.do("create role maker login createrole password 'x'")
    url = foreign.database("maker")
    asyncio.run(migrate(url))
    assert ask(url) == [["research_reader"]]
    database = conninfo_to_dict(url)["dbname"]
    assert foreign.do("select rolcanlogin from pg_roles where rolname = 'research_reader'") == [(False,)]
    creators = "select has_schema_privilege('research_reader', 'research', 'create')"
    assert foreign.do(creators, dbname=str(database)) == [(False,)]
    others = "select has_function_privilege('public', 'research.read_only(text, integer)', 'execute')"
    assert foreign.do(others, dbname=str(database)) == [(False,)]


def test_many_databases_of_one_server_can_be_set_up_at_once(foreign: Foreign) -> None:
    foreign.do("create role maker login createrole noinherit password 'x'")
    urls = [foreign.database("maker") for _ in range(8)]

    async def all_at_once() -> None:
        await asyncio.gather(*map(migrate, urls))

    asyncio.run(all_at_once())
    superuser = make_conninfo(foreign.superuser, dbname=conninfo_to_dict(foreign.database("postgres"))["dbname"])
    asyncio.run(migrate(superuser))
    assert [ask(url) for url in [*urls, superuser]] == [[["research_reader"]]] * 9


def test_a_reader_with_more_rights_than_reading_is_not_used(foreign: Foreign) -> None:
    foreign.do("create role maker login createrole password 'x'")
    url = foreign.database("maker")
    asyncio.run(migrate(url))
    for strengthen, weaken in (
        ("alter role research_reader superuser", "alter role research_reader nosuperuser"),
        ("grant pg_read_server_files to research_reader", "revoke pg_read_server_files from research_reader"),
        ("alter role research_reader replication", "alter role research_reader noreplication"),
    ):
        foreign.do(strengthen)
        with pytest.raises(StorageError, match="may do more than read"):
            ask(url)
        foreign.do(weaken)
        assert ask(url) == [["research_reader"]]


def test_a_second_login_reads_after_it_was_made_a_member(foreign: Foreign) -> None:
    foreign.do("create role maker login createrole password 'x'; create role colleague login password 'x'")
    url = foreign.database("maker")
    asyncio.run(migrate(url))
    colleague = make_conninfo(url, user="colleague")
    with pytest.raises(StorageError):
        ask(colleague)
    foreign.do("grant research_reader to colleague")
    assert ask(colleague) == [["research_reader"]]
