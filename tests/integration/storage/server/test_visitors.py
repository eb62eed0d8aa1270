"""People with psql at the embedded server: their role, their password file, and who keeps the server up for them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from urllib.parse import unquote

import psutil
import psycopg
import pytest

from research_agent.errors import StorageError
from research_agent.storage.database import open_pool
from research_agent.storage.server import cluster
from research_agent.storage.statements import read
from tests.integration.storage.server.test_embedded import (
    Home,
    dsn_of,
    is_down,
    needs_root,
    new_home,
    nobody,  # noqa: F401 - a fixture
    processes_of,
    wait_until,
)

# Prints the visitors' DSN and ends, like a command that a person runs and then pastes from.
STARTER = """
import sys
from pathlib import Path
from research_agent.storage.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), linger=float(sys.argv[2]))
server.keep_for_visitors(quiet={quiet})
print(server.reader_dsn(), flush=True)
"""


@pytest.fixture
def home() -> Iterator[Home]:
    opened = new_home()
    yield opened
    try:
        opened.leave()
    finally:
        shutil.rmtree(opened.path, ignore_errors=True)


def psql(home: Home, dsn: str, statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [home.server().program("psql"), dsn, "-XAtc", statement], capture_output=True, text=True, timeout=30
    )


def start(home: Home, quiet: float, **options: str) -> str:
    """Runs the starter to its end; the DSN that it printed."""
    starter = home.client(code=STARTER.format(quiet=quiet), **options)  # type: ignore[arg-type]
    dsn = dsn_of(starter)
    assert starter.wait(20) == 0
    return dsn


def keepers(home: Home) -> list[psutil.Process]:
    found = []
    for process in processes_of(home.path):
        with contextlib.suppress(psutil.Error):
            if "--keep" in process.cmdline():
                found.append(process)
    return found


def test_a_pasted_command_works_after_its_printer_has_gone_and_the_server_ends_some_time_after(home: Home) -> None:
    dsn = start(home, quiet=3)
    time.sleep(1)  # the watchdog alone would have stopped it by now
    done = psql(home, dsn, "select current_user")
    assert (done.stdout, done.stderr) == ("research_reader\n", "")
    wait_until(lambda: is_down(home.root), "the server's end")


def test_the_server_stays_as_long_as_a_visitor_does(home: Home) -> None:
    dsn = start(home, quiet=0.5)
    with psycopg.connect(dsn) as visitor:
        time.sleep(2)
        assert visitor.execute("select 1").fetchone() == (1,)
    wait_until(lambda: is_down(home.root), "the server's end")


def test_short_visits_keep_it_up_as_well(home: Home) -> None:
    dsn = start(home, quiet=2)
    began = time.monotonic()
    while time.monotonic() - began < 4:
        with psycopg.connect(dsn) as visitor:
            visitor.execute("select 1")
        time.sleep(0.3)
    wait_until(lambda: is_down(home.root), "the server's end")


def test_there_is_one_keeper_and_a_second_call_makes_it_wait_anew(home: Home) -> None:
    dsn = start(home, quiet=4)
    began = time.monotonic()
    for _ in range(3):
        time.sleep(1)
        assert start(home, quiet=4) == dsn
    wait_until(lambda: len(keepers(home)) == 1, "the others' end", seconds=5)
    assert time.monotonic() - began < 30, "this machine is too slow to tell"
    wait_until(lambda: is_down(home.root), "the server's end")
    assert time.monotonic() - began >= 3 + 4


def test_a_killed_keeper_holds_nothing(home: Home) -> None:
    start(home, quiet=60)
    [keeper] = keepers(home)
    keeper.kill()
    wait_until(lambda: is_down(home.root), "the server's end")


def test_a_keeper_ends_when_its_server_was_stopped_by_hand(home: Home) -> None:
    start(home, quiet=1)
    for process in processes_of(home.path):
        if "--keep" not in process.cmdline() and "postgres" in process.name():
            with contextlib.suppress(psutil.Error):
                process.terminate()
    wait_until(lambda: is_down(home.root), "the keeper's end")


def test_the_dsn_has_no_password_and_the_file_holds_only_the_readers(home: Home) -> None:
    dsn = home.server().reader_dsn()
    stored = json.loads((home.root / "secrets.json").read_text())
    assert set(stored) == {"postgres", "research", "research_reader"}
    assert not any(password in dsn for password in stored.values())
    path = home.root / "pgpass"
    assert unquote(dsn.split("passfile=")[1]) == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((home.root / "secrets.json").stat().st_mode) == 0o600
    assert path.read_text() == f"*:5432:research:research_reader:{stored['research_reader']}\n"
    assert not any(password in (home.root / "server.log").read_text() for password in stored.values())


@pytest.mark.parametrize("name", ["with space", "with'quote", "prozent%41&host=x", "ünïcödé"])
def test_the_dsn_works_for_any_directory(name: str, home: Home) -> None:
    server = home.server(home.path / name)
    done = psql(home, server.reader_dsn(), "select 1")
    assert done.stdout == "1\n", done.stderr
    shell = subprocess.run(
        ["sh", "-c", f"'{server.program('psql')}' '{server.reader_dsn()}' -XAtc 'select 2'"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert shell.stdout == "2\n", shell.stderr
    server.release()


def test_a_visitor_reads_the_journal_and_can_write_nothing(home: Home) -> None:
    server = home.server()
    asyncio.run(_migrate(server.ensure()))
    with psycopg.connect(server.reader_dsn(), autocommit=True) as visitor:
        assert visitor.execute("select count(*) from research.trace").fetchone() == (0,)
        assert visitor.execute("show transaction_read_only").fetchone() == ("on",)
        assert visitor.execute("show temp_file_limit").fetchone() == ("1GB",)
        visitor.execute("set default_transaction_read_only = off")
        for statement in (
            "insert into research.migrations (version) values (77)",
            "update research.runs set topic = ''",
            "create table research.t ()",
            "create table public.t ()",
            "create temporary table t ()",
            "select * from public.checkpoints",
            "select pg_read_file('PG_VERSION')",
            "set role research",
            "set temp_file_limit = '9GB'",
            "drop schema research cascade",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                visitor.execute(statement.encode())


def test_a_visitor_who_weakens_the_function_gains_nothing(home: Home) -> None:
    """It is the role's own function; what `sql` runs is checked each time."""
    server = home.server()
    owner = server.ensure()
    asyncio.run(_migrate(owner))
    assert asyncio.run(read(owner, "select current_user")).rows == [["research_reader"]]
    with psycopg.connect(server.reader_dsn(), autocommit=True) as visitor:
        visitor.execute("set default_transaction_read_only = off")
        visitor.execute("alter function research.read_only(text, integer) security invoker")
    with pytest.raises(StorageError, match="db migrate"):
        asyncio.run(read(owner, "select current_user"))
    # And were it weakened just after it was checked:
    with psycopg.connect(owner) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege, match="changed"):
        connection.execute("select * from research.read_only('select current_user', 1)")


async def _migrate(dsn: str) -> None:
    async with open_pool(dsn, embedded=True):
        pass


def test_several_processes_at_once_get_one_password(home: Home) -> None:
    children = [home.client(code=STARTER.format(quiet=1)) for _ in range(6)]
    dsns = {dsn_of(child) for child in children}
    assert len(dsns) == 1
    assert psql(home, dsns.pop(), "select 1").stdout == "1\n"


@needs_root
def test_it_is_the_same_for_an_ordinary_user(home: Home, nobody: str) -> None:  # noqa: F811
    home.give_to(nobody)
    dsn = start(home, quiet=3, user=nobody)
    assert psql(home, dsn, "select current_user").stdout == "research_reader\n"
    assert (home.root / "pgpass").stat().st_uid != os.geteuid()


@pytest.mark.parametrize("lost", ["role", "password", "pgpass", "pgpass is old"])
def test_whatever_a_kill_or_an_older_version_left_undone_is_done(lost: str, home: Home) -> None:
    server = home.server()
    dsn = server.reader_dsn()
    kept = json.loads((home.root / "secrets.json").read_text())
    if lost in ("role", "password"):
        secret = kept.pop("research_reader")
        assert secret
        (home.root / "secrets.json").write_text(json.dumps(kept))
    if lost == "role":
        with psycopg.connect(_superuser(home, dsn), autocommit=True) as superuser:
            superuser.execute("drop role research_reader")
    if lost == "pgpass is old":
        (home.root / "pgpass").write_text("*:5432:research:research_reader:old\n")
    elif lost != "password":
        (home.root / "pgpass").unlink()
    server.ensure()
    assert psql(home, dsn, "select 1").stdout == "1\n"
    assert json.loads((home.root / "secrets.json").read_text()).keys() >= {"research", "postgres", "research_reader"}


def test_a_superuser_with_another_password_stops_no_run_and_is_named(home: Home) -> None:
    server = home.server()
    dsn = server.reader_dsn()
    with psycopg.connect(_superuser(home, dsn), autocommit=True) as superuser:
        superuser.execute("alter role postgres password 'changed'")
    kept = json.loads((home.root / "secrets.json").read_text())
    del kept["research_reader"]
    (home.root / "secrets.json").write_text(json.dumps(kept))
    assert server.ensure()
    with pytest.raises(StorageError, match="the password of postgres in") as error:
        server.reader_dsn()
    assert not any(password in str(error.value) for password in kept.values())


def _superuser(home: Home, dsn: str) -> str:
    secret = cluster.password(home.root, "postgres")
    return psycopg.conninfo.make_conninfo(dsn, user="postgres", password=secret)
