"""Statements of users against the journal: reading works, and nothing else does, whoever connects."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from research_agent.errors import StorageError, UsageError
from research_agent.storage.connection import connect
from research_agent.storage.database import open_pool
from research_agent.storage.statements import Rows, read, set_up_reader
from tests.conftest import temporary_database

SECONDS = 1.0
PATIENCE = 20  # on a machine that is busy with other tests
CANARY = Path("/tmp") / f"{Path(os.environ['RESEARCH_TEST_SERVER_ROOT']).name}-canary"  # the server could write there

_STATE = f"""
select array(select row(c.oid, relname, relfilenode, relacl, relowner)::text from pg_class c order by c.oid),
       array(select row(p.oid, proname, proacl, prosecdef)::text from pg_proc p where p.oid > 16383 order by p.oid),
       array(select row(n.oid, nspname, nspacl)::text from pg_namespace n order by n.oid),
       (select count(*) from pg_type), (select count(*) from pg_trigger),
       (select count(*) from pg_largeobject_metadata),
       (select row(last_value, is_called)::text from public.numbers), (select array_agg(word) from public.secret),
       array(select row(m.*)::text from research.migrations m), array(select row(p.*)::text from research.pages p),
       (select count(*) from pg_prepared_xacts where database = current_database()),
       array(select setconfig::text from pg_db_role_setting s join pg_database d on d.oid = setdatabase
             where datname = current_database()),
       array(select rolname from pg_roles where rolname like 'evil%'),
       (select count(*) from pg_locks l join pg_database d on d.oid = l.database
        where locktype = 'advisory' and datname = current_database()),
       pg_stat_file('{CANARY}', true) is null
"""


@dataclass
class Target:
    """A database with a journal; `dsn` is what `read` gets, `admin` a superuser's session, `victim` somebody else's."""

    dsn: str
    admin: psycopg.Connection[Any]
    victim: psycopg.Connection[Any]

    def state(self) -> Any:
        """All that a statement must not change."""
        return self.admin.execute(_STATE.encode()).fetchone()

    def read(self, statement: str, limit: int = 100, seconds: float = SECONDS) -> Rows:
        return asyncio.run(read(self.dsn, statement, limit=limit, seconds=seconds))


@pytest.fixture(scope="module", params=["owner", "superuser"])
def target(request: pytest.FixtureRequest, server: str) -> Iterator[Target]:
    with ExitStack() as stack:
        url = stack.enter_context(temporary_database(server))
        superuser = make_conninfo(server, dbname=psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        dsn = url if request.param == "owner" else superuser
        asyncio.run(_migrate(dsn))
        admin = stack.enter_context(psycopg.connect(superuser, autocommit=True))
        admin.execute(
            "create sequence public.numbers; grant all on sequence public.numbers to public;"
            "create table public.secret as select 'hunter2'::text as word;"
            "insert into research.pages (content_hash, url, title, kind, media_type, author, site, published, language,"
            " text) values ('h', 'https://example.org/', 'Tides', 'page', 'text/html', '', '', '', 'en', 'High water')"
        )
        victim = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        victim.execute("listen attack")
        yield Target(dsn, admin, victim)


async def _migrate(dsn: str) -> None:
    async with open_pool(dsn, embedded=False):
        pass


# --- what must work ---

HARMLESS = [
    ("select 1;", [[1]]),
    ("select 1 -- x", [[1]]),
    ("select 1; -- x", [[1]]),
    ("select 1 /* a /* nested */ ; drop table research.runs; */", [[1]]),
    ("-- first\n/* second */ select 1", [[1]]),
    (";; select 1 ;;", [[1]]),
    ("select 'a;b', $$c;d$$, $x$ $$ $x$", [["a;b", "c;d", " $$ "]]),
    ("with x as (select 1 as a union select 2) select a from x order by a", [[1], [2]]),
    ("values (1, 'a'), (2, null)", [[1, "a"], [2, None]]),
    ("(select 1)", [[1]]),
    ("select title, text from research.pages", [["Tides", "High water"]]),
    ("select title from pages", [["Tides"]]),
    ("table research.runs", []),
    ("select * from trace order by step", []),
    ("select topic, status from research.run_summary", []),
    ("show server_encoding", [["UTF8"]]),
    ("select 1 where false", []),
    ("select", [[]]),
    ("select '' as \"\u6f6e\u6c50 \U0001f30a\"", [[""]]),
    ("select array[1, null], row(1, 'a'), '{\"k\": [1]}'::jsonb", [[[1, None], {"f1": 1, "f2": "a"}, {"k": [1]}]]),
    ("select 'NaN'::float8, '\\xff'::bytea, true", [["NaN", "\\xff", True]]),
    ("select sum(n) from generate_series(1, 100000) n", [[5000050000]]),
]


@pytest.mark.parametrize(("statement", "rows"), HARMLESS, ids=[statement[:40] for statement, _ in HARMLESS])
def test_statements_that_read_give_their_rows(statement: str, rows: list[list[Any]], target: Target) -> None:
    assert target.read(statement, seconds=20).rows == rows


def test_explain_gives_a_plan(target: Target) -> None:
    result = target.read("explain select * from runs", seconds=20)
    assert result.columns == ["QUERY PLAN"]
    assert "Scan" in result.rows[0][0]


def test_columns_have_their_names_with_and_without_rows(target: Target) -> None:
    for condition in ("true", "false"):
        result = target.read(f'select 1 as a, 2 as a, 3 as "B c", 4 where {condition}')
        assert result.columns == ["a", "a", "B c", "?column?"]
        assert result.rows == ([[1, 2, 3, 4]] if condition == "true" else [])


def test_numbers_keep_their_digits(target: Target) -> None:
    statement = "select 1.500, 12345678901234567890123, 1e300::float8, 9223372036854775807, -7, 10::numeric ^ 5000"
    [row] = target.read(statement).rows
    assert row[:5] == [Decimal("1.500"), 12345678901234567890123, Decimal("1e300"), 9223372036854775807, -7]
    assert str(row[0]) == "1.500"
    assert str(row[5]).startswith("1000") and len(str(row[5]).split(".")[0]) == 5001


@pytest.mark.parametrize("number", ["1e999999999999999999999", "-0", "-1", "0.10"])
def test_any_number_that_json_allows_is_read(number: str, target: Target) -> None:
    [[[value]]] = target.read(f"select json '[{number}]'").rows
    assert str(value) == number.replace("-0", "0") or str(value) == number


@pytest.mark.parametrize(("limit", "more"), [(9, True), (10, False), (11, False)])
def test_rows_end_at_the_limit_and_it_is_said_that_there_are_more(limit: int, more: bool, target: Target) -> None:
    result = target.read("select n from generate_series(1, 10) n", limit=limit)
    assert result.rows == [[n] for n in range(1, min(limit, 10) + 1)]
    assert result.more is more


def test_an_endless_result_is_read_up_to_the_limit(target: Target) -> None:
    result = target.read("with recursive r as (select 1 as n union all select n + 1 from r) select n from r", limit=3)
    assert (result.rows, result.more) == ([[1], [2], [3]], True)


def test_many_columns_and_a_long_statement_are_no_problem(target: Target) -> None:
    columns = ", ".join(f"{n} as c{n}" for n in range(1600))
    assert target.read(f"select {columns}", seconds=20).rows == [list(range(1600))]
    text = "x" * 1_000_000
    assert target.read(f"select '{text}'", seconds=20).rows == [[text]]


def test_a_large_cell_is_read_whole(target: Target) -> None:
    [[cell]] = target.read("select repeat('x', 20000000)", seconds=20).rows
    assert len(cell) == 20_000_000


def test_a_value_nested_beyond_measure_is_refused_in_one_line(target: Target) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        target.read("select (repeat('[', 5000) || repeat(']', 5000))::json", seconds=20)


# --- what must not ---

ONLY = "only one statement that reads"
READ_ONLY = "read-only transaction"
DENIED = "permission denied"
SECURITY = "security-definer"
STOPPED = "stopped after 1 s"
FAILED = "the statement failed"
WRITE = "insert into research.migrations (version) values (77)"
SNEAK = "query_to_xml('insert into research.migrations (version) values (77) returning 1', true, true, '')"

REFUSED = [
    # writing
    (WRITE, ONLY),
    (f"{WRITE} returning version", READ_ONLY),
    ("update research.pages set title = 'x'", ONLY),
    ("update research.pages set title = 'x' returning 1", READ_ONLY),
    ("delete from research.pages returning 1", READ_ONLY),
    ("merge into research.pages p using (select 1) s on true when matched then delete", ONLY),
    (f"with x as ({WRITE} returning 1) select * from x", READ_ONLY),
    (f"select 1 /* */ where length(({SNEAK})::text) > 0", FAILED),
    (f"select {SNEAK}", FAILED),
    (f"explain analyze {WRITE}", READ_ONLY),
    ("explain analyze create table research.t as select 1", DENIED),
    ("explain analyze create table public.t as select 1", FAILED),
    ("truncate research.pages", ONLY),
    ("select nextval('public.numbers')", READ_ONLY),
    ("select setval('public.numbers', 99)", READ_ONLY),
    ("select * from public.secret", DENIED),
    ("select * from public.checkpoints", DENIED),
    ("select * from public.secret for update", FAILED),
    ("select * from research.pages for update", READ_ONLY),
    ("select * from research.pages for share", READ_ONLY),
    # schema
    ("create table t (x int)", ONLY),
    ("create temporary table t (x int)", ONLY),
    ("select 1 as x into temporary t", ONLY),
    ("select 1 as x into public.t", ONLY),
    ("create temporary table t as select 1", ONLY),
    ("create function f() returns int language sql as 'select 1'", ONLY),
    ("drop table research.pages cascade", ONLY),
    ("drop schema research cascade", ONLY),
    ("alter function research.read_only(text, integer) security invoker", ONLY),
    ("alter role research_reader superuser", ONLY),
    ("create role evil", ONLY),
    ("grant all on all tables in schema research to public", ONLY),
    ("create extension dblink", ONLY),
    ("vacuum", ONLY),
    ("refresh materialized view m", ONLY),
    ("comment on table research.pages is 'x'", ONLY),
    # more than one statement, or none
    (f"select 1; {WRITE}", ONLY),
    (f"select 1; -- harmless\n{WRITE}", ONLY),
    (f"select 1 /* ; */ ; {WRITE} /* ; */", ONLY),
    (f"select $$;$$; {WRITE}", ONLY),
    (f"select 'a\\'; {WRITE}; --'", ONLY),
    ("select 1; select 2", ONLY),
    ("commit; select 1", ONLY),
    ("", "there is no statement"),
    (" ;; ", ONLY),
    ("-- nothing", ONLY),
    ("/* nothing */", ONLY),
    ("selec 1", 'syntax error at or near "selec" at character 1'),
    ("select 'unfinished", FAILED),
    ("select /* unfinished", FAILED),
    ("select $x$ unfinished", FAILED),
    ("select $1", "no parameter"),
    ("select * from no_such_table", 'relation "no_such_table" does not exist at character 15'),
    # session and transaction
    ("begin", ONLY),
    ("commit", ONLY),
    ("rollback", ONLY),
    ("savepoint x", ONLY),
    ("set role none", ONLY),
    ("set local role postgres", ONLY),
    ("set session authorization postgres", ONLY),
    ("set transaction read write", ONLY),
    ("reset role", ONLY),
    ("reset all", ONLY),
    ("discard all", ONLY),
    ("prepare p as select 1", ONLY),
    ("execute p", ONLY),
    ("declare c cursor with hold for select 1", ONLY),
    ("fetch all from c", ONLY),
    ("do $$ begin perform 1; end $$", ONLY),
    ("call research.f()", FAILED),
    ("listen attack", ONLY),
    ("notify attack", ONLY),
    ("lock table research.pages", ONLY),
    ("load 'dblink'", ONLY),
    ("checkpoint", ONLY),
    ("select set_config('role', 'none', true)", SECURITY),
    ("select set_config('role', 'postgres', false)", SECURITY),
    ("select set_config('session_authorization', 'postgres', true)", SECURITY),
    (f"select set_config('role', 'none', true), {SNEAK}", SECURITY),
    (f"select set_config('session_authorization', 'default', true), {SNEAK}", SECURITY),
    ("select query_to_xml('select set_config(''role'', ''none'', true)', true, true, '')", SECURITY),
    ("select * from research.read_only('select set_config(''role'', ''none'', true)', 1)", SECURITY),
    ("select set_config('transaction_read_only', 'off', true)", "read-write mode"),
    (f"select set_config('transaction_read_only', 'off', false), {SNEAK}", "read-write mode"),
    ("select set_config('temp_file_limit', '-1', true)", DENIED),
    ("select set_config('session_replication_role', 'replica', true)", DENIED),
    ("select set_config('log_statement', 'all', false)", DENIED),
    ("update pg_settings set setting = 'none' where name = 'role'", ONLY),
    ("update pg_settings set setting = 'none' where name = 'role' returning 1", FAILED),
    # files, programs, secrets, other servers
    (f"copy (select 1) to '{CANARY}'", ONLY),
    (f"copy (select 1) to program 'touch {CANARY}'", ONLY),
    ("copy research.pages to stdout", ONLY),
    ("copy research.pages from '/etc/passwd'", ONLY),
    ("select pg_read_file('/etc/passwd')", DENIED),
    ("select pg_read_binary_file('PG_VERSION')", DENIED),
    ("select pg_ls_dir('.')", DENIED),
    ("select * from pg_ls_logdir()", DENIED),
    ("select pg_stat_file('PG_VERSION')", DENIED),
    ("select lo_import('/etc/passwd')", DENIED),
    (f"select lo_export(1, '{CANARY}')", DENIED),
    ("select query_to_xml('select pg_read_file(''/etc/passwd'')', true, true, '')", DENIED),
    ("select * from pg_authid", DENIED),
    ("select * from pg_shadow", DENIED),
    ("select * from pg_hba_file_rules", DENIED),
    ("select current_setting('hba_file')", FAILED),
    ("show data_directory", FAILED),
    ("select * from dblink('host=/tmp', 'select 1') as t(x int)", "does not exist"),
    ("select pg_reload_conf()", DENIED),
    ("select pg_promote()", DENIED),
    ("select pg_switch_wal()", DENIED),
    ("select pg_create_physical_replication_slot('evil')", FAILED),
    ("select pg_stat_reset()", DENIED),
    # other sessions
    ("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()", FAILED),
    ("select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database()", FAILED),
    # time and space
    ("select pg_sleep(600)", STOPPED),
    ("select set_config('statement_timeout', '0', false), pg_sleep(600)", STOPPED),
    (
        "select set_config('statement_timeout', '0', true), query_to_xml('select pg_sleep(600)', true, true, '')",
        STOPPED,
    ),
    ("select pg_sleep(0.1) from generate_series(1, 1000000)", STOPPED),
    ("select count(*) from generate_series(1, 1000000000000)", STOPPED),
    ("select * from generate_series(1, 1000000000000) a, generate_series(1, 1000000000000) b order by 1", STOPPED),
    ("with recursive r as (select 1 as n union all select n + 1 from r) select count(*) from r", STOPPED),
    ("select count(*) from pg_class a, pg_class b, pg_class c, pg_class d", STOPPED),
    ("select pg_advisory_lock(n) from generate_series(1, 3) n, pg_sleep(600)", STOPPED),
    ("select repeat('x', 80000000)", "more than 64 MB; Select less of it"),
    ("select repeat('x', 10000000) from generate_series(1, 20)", "more than 64 MB"),
    ("select repeat('x', 2000000000)", FAILED),
    (f"select {', '.join('1' for _ in range(1700))}", "1664"),
    (f"select {'(' * 500_000}1{')' * 500_000}", FAILED),
    ("select 'a\0b'", "NUL"),
    ("\0", "NUL"),
    ("select '\ud800'", "lone surrogates"),
    (f"select '{chr(27)}[31m'::int", 'invalid input syntax for type integer: "[31m"'),
]


@pytest.mark.parametrize(("statement", "says"), REFUSED, ids=[repr(statement[:50]) for statement, _ in REFUSED])
def test_statements_that_do_more_than_read_are_refused_and_change_nothing(
    statement: str, says: str, target: Target
) -> None:
    before, began = target.state(), time.monotonic()
    with pytest.raises(UsageError) as refusal:
        target.read(statement, seconds=SECONDS if says == STOPPED else 30)
    assert time.monotonic() - began < PATIENCE
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value) and "\x1b" not in str(refusal.value)
    assert target.state() == before
    assert target.victim.execute("select 1").fetchone() == (1,)
    assert list(target.victim.notifies(timeout=0)) == []


UNDONE = [
    "explain analyze create temporary table t as select 1",
    f"select 1 where exists (select {SNEAK})",
    "select set_config('local_preload_libraries', '/tmp/x', false)",
    "select pg_notify('attack', 'x')",
    "select pg_advisory_lock(1), pg_advisory_lock_shared(2), pg_try_advisory_lock(3), pg_advisory_xact_lock(4)",
    "select set_config('statement_timeout', '0', false), set_config('search_path', 'public', false)",
    "select set_config('default_transaction_read_only', 'off', false)",
    "select set_config('client_min_messages', 'debug5', false), set_config('row_security', 'off', false)",
    "select set_config('client_encoding', 'LATIN1', false), 'é'",
    "select set_config('client_encoding', 'SQL_ASCII', false), 'é'",
    "select pg_export_snapshot(), pg_current_xact_id()",
    "select * from ts_stat('select to_tsvector(title) from research.pages')",
    "select pg_logical_emit_message(false, 'x', 'y')",
    "select repeat('x', 100000) ~ '(x+x+)+y', repeat('a', 26) ~ '^(a?){26}a{26}$'",
    "select 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' ~ '^((a+)+)+$', repeat('ab', 2000) ~ '(.*)(.*)(.*)\\1\\2\\3c'",
    "select pg_terminate_backend(999999)",
    "select lo_creat(-1)",
    "select lo_create(0), lo_from_bytea(0, 'x')",
    "select current_setting('is_superuser'), current_user",
    "select usename, query from pg_stat_activity",
]


@pytest.mark.parametrize("statement", UNDONE, ids=[statement[:50] for statement in UNDONE])
def test_what_a_statement_may_do_leaves_nothing_behind(statement: str, target: Target) -> None:
    """Some of these are refused by some versions of PostgreSQL; either way nothing is left."""
    before, began = target.state(), time.monotonic()
    try:
        target.read(statement)
    except UsageError as error:
        assert "\n" not in str(error)
    assert time.monotonic() - began < PATIENCE
    assert target.state() == before
    assert list(target.victim.notifies(timeout=0)) == []
    assert target.read("select 1").rows == [[1]]


def test_a_statement_sees_no_text_of_other_sessions(target: Target) -> None:
    target.victim.execute("select 'hunter2'")
    result = target.read("select query from pg_stat_activity", seconds=20)
    assert "hunter2" not in str(result.rows)


def test_the_check_of_a_domain_cannot_use_the_moment_of_parsing(target: Target) -> None:
    """Anybody may have left such a domain in the database; after a mere SET ROLE this one becomes the caller."""
    target.admin.execute(
        "create schema if not exists trap; grant usage on schema trap to public;"
        "create or replace function trap.check(n int) returns boolean language plpgsql as "
        "$$ begin perform set_config('role', 'none', true); return current_user <> 'research_reader'; end $$;"
        "drop domain if exists trap.domain; create domain trap.domain as int check (trap.check(value))"
    )
    with pytest.raises(UsageError, match="security-definer"):
        target.read("select '{1}'::trap.domain[]")


def test_our_own_calls_cannot_be_hijacked_by_functions_of_others(target: Target) -> None:
    target.admin.execute(
        "create or replace function public.set_config(text, text, boolean) returns text language plpgsql as "
        "$$ begin raise exception 'hijacked'; end $$"
    )
    assert target.read("select 1").rows == [[1]]


def test_a_function_that_somebody_weakened_is_not_used_until_it_is_mended(server: str) -> None:
    with temporary_database(server) as url:
        asyncio.run(_migrate(url))
        superuser = make_conninfo(server, dbname=psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        for change in ("security invoker", "owner to research"):
            with psycopg.connect(superuser, autocommit=True) as admin:
                admin.execute(f"alter function research.read_only(text, integer) {change}".encode())
            with pytest.raises(StorageError, match="research-agent db migrate"):
                asyncio.run(read(url, "select 1"))
            asyncio.run(_set_up_again(url))
            assert asyncio.run(read(url, "select 1")).rows == [[1]]


async def _set_up_again(dsn: str) -> None:
    async with await connect(dsn) as connection:
        await set_up_reader(connection)


def test_a_server_that_hangs_is_given_up(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own deadline, should the server's fail: here it comes first."""
    monkeypatch.setattr("research_agent.storage.statements._GRACE_SECONDS", -0.5)
    began = time.monotonic()
    with pytest.raises(UsageError, match="stopped after"):
        target.read("select pg_sleep(600)", seconds=2)
    assert time.monotonic() - began < PATIENCE


def test_a_lock_of_somebody_else_is_not_waited_for_long(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research_agent.storage.statements._LOCK_SECONDS", 0.2)
    with target.admin.transaction():
        target.admin.execute("lock table research.pages in access exclusive mode")
        with pytest.raises(UsageError, match="lock timeout"):
            target.read("select * from pages", seconds=60)


def test_a_database_that_is_not_there_is_one_line_without_the_password(target: Target) -> None:
    with pytest.raises(StorageError) as error:
        asyncio.run(read("postgresql://u:hunter2@127.0.0.1:1/x", "select 1"))
    assert "hunter2" not in str(error.value)
