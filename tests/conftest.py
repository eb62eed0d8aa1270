"""One real PostgreSQL for the whole test run, one database for each test that asks."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from research_agent.storage.server import cluster
from research_agent.storage.server.embedded import EmbeddedServer
from research_agent.tools import guard
from research_agent.tools.rate import RateGate
from tests.support.commands import Agent, isolate

_ROOT_VARIABLE = "RESEARCH_TEST_SERVER_ROOT"


def pytest_configure(config: pytest.Config) -> None:
    isolate(os.environ)
    # Set by the controller, inherited by the workers: all of them share one server.
    if not hasattr(config, "workerinput"):
        root = Path("/tmp") / f"ra-tests-{uuid.uuid4().hex[:10]}"
        root.mkdir(mode=0o711)
        os.environ[_ROOT_VARIABLE] = str(root)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        root = Path(os.environ[_ROOT_VARIABLE])
        deadline = time.monotonic() + 15
        while any(root.rglob("postmaster.pid")) and time.monotonic() < deadline:
            time.sleep(0.1)  # its watchdog stops the server once the workers are gone
        shutil.rmtree(root, ignore_errors=True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Twice as many as there are processors: many tests wait for processes, servers and deadlines."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 * processors


@pytest.fixture(autouse=True)
def no_line_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of calls a minute is the process's: a test must not stand behind those before it."""
    monkeypatch.setattr(guard, "GATE", RateGate())


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """DSN of the shared server's superuser."""
    root = Path(os.environ[_ROOT_VARIABLE]) / "pg"
    embedded = EmbeddedServer(root)
    owner = embedded.ensure()
    superuser = make_conninfo(owner, user="postgres", password=cluster.password(root, "postgres"))
    with psycopg.connect(superuser, autocommit=True) as connection:
        # It is thrown away: what a crash of the machine would do to it is of no interest, and the disk is slow.
        connection.execute("alter system set fsync = off")
        connection.execute("alter system set full_page_writes = off")
        connection.execute("select pg_reload_conf()")
    yield superuser
    embedded.release()


@pytest.fixture
def empty_database(server: str) -> Iterator[str]:
    """DATABASE_URL of an empty database that the ordinary role owns."""
    with temporary_database(server) as url:
        yield url


@contextmanager
def temporary_database(server: str, template: str = "") -> Iterator[str]:
    """A database of its own for the body, empty or a copy of that of a URL; yields its DATABASE_URL."""
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        copied = sql.Identifier(conninfo_to_dict(template)["dbname"] if template else "template1")
        statement = sql.SQL("create database {} template {} owner research")
        connection.execute(statement.format(sql.Identifier(name), copied))
    yield url_of(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def url_of(server: str, database: str) -> str:
    """`database` on the shared server as the ordinary role, in the form that DATABASE_URL takes."""
    host = conninfo_to_dict(server)["host"]
    password = cluster.password(Path(os.environ[_ROOT_VARIABLE]) / "pg")
    return f"postgresql://research:{quote(password)}@/{database}?host={quote(host, safe='')}&sslmode=disable"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A small folder of documents of our own."""
    from tests.support.documents import write_corpus

    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def agent(tmp_path: Path, empty_database: str) -> Agent:
    """The program with an empty database and a folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return Agent(home, empty_database)
