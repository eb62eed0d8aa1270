"""What the schema promises to those who read it: comments, keys, times, and its two functions."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]

# References that cannot be keys, and why.
NO_KEYS = {
    ("runs", "base_thread_id"): "the first edition may have been deleted",
    ("runs", "forked_from"): "the origin may have been deleted",
    ("citations", "read_thread_id"): "the origin of a fork may have been deleted",
    ("citations", "tool_call_id"): "a call of read_thread_id; empty for sources from before it was recorded",
    ("leases", "thread_id"): "a lease is taken before its run has a row, and outlives it",
    ("tool_calls", "lead_thread_id"): "of a fork's origin, which may have been deleted",
    ("tool_calls", "lead_call_id"): "in that run",
    ("model_calls", "response_id"): "the provider's own",
}


def rows_of(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_every_relation_column_and_function_has_a_comment(many_runs: Connection) -> None:
    silent = rows_of(
        many_runs,
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'research'::regnamespace and c.relkind in ('r', 'v', 'm', 'p') "
        "and a.attnum > 0 and not a.attisdropped and coalesce(col_description(c.oid, a.attnum), '') = '' "
        "union all select relname, '' from pg_class where relnamespace = 'research'::regnamespace "
        "and relkind in ('r', 'v', 'm', 'p') and coalesce(obj_description(oid, 'pg_class'), '') = '' "
        "union all select proname, '()' from pg_proc where pronamespace = 'research'::regnamespace "
        "and coalesce(obj_description(oid, 'pg_proc'), '') = ''",
    )
    assert silent == []
    assert rows_of(many_runs, "select obj_description('research'::regnamespace, 'pg_namespace') is not null") == [
        (True,)
    ]


def test_all_times_know_their_zone(many_runs: Connection) -> None:
    assert (
        rows_of(
            many_runs,
            "select table_name, column_name from information_schema.columns "
            "where table_schema = 'research' and data_type like 'time% without time zone'",
        )
        == []
    )


def test_every_reference_that_can_be_a_key_is_one(many_runs: Connection) -> None:
    found = rows_of(
        many_runs,
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'research'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped "
        "and (a.attname ~ '_(id|hash|from|source|step|call_id)$') "
        "and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' "
        "                and a.attnum = any (k.conkey)) "
        # The one column that names a row is no reference: of a run, of a page, of a call within its step.
        "and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p' "
        "                and a.attnum = k.conkey[cardinality(k.conkey)] and c.relname <> 'leases')",
    )
    # Of runs that may have been deleted.
    steps = {("citations", "first_step"), ("runs", "forked_at_step"), ("tool_calls", "lead_step")}
    assert set(found) - steps == set(NO_KEYS)


def test_every_foreign_key_can_be_followed_backwards_by_an_index(many_runs: Connection) -> None:
    unindexed = rows_of(
        many_runs,
        "select k.conrelid::regclass::text, k.conname from pg_constraint k "
        "where k.connamespace = 'research'::regnamespace and k.contype = 'f' and not exists ("
        "  select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = k.conkey[1])",
    )
    assert unindexed == []


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://example.org/a?b#c", "example.org"),
        ("http://www.Example.ORG", "example.org"),
        ("HTTPS://EXAMPLE.org:8443/x", "example.org"),
        ("https://user:pass@example.org/", "example.org"),
        ("https://user@mail:pass@example.org:80/x@y", "example.org"),
        ("https://example.org/@someone", "example.org"),
        ("https://example.org?next=https://other.example/", "example.org"),
        ("http://[2001:DB8::1]:8080/", "[2001:db8::1]"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("https://www.www.example.org/", "www.example.org"),
        ("https://bücher.example/", "bücher.example"),
        ("https://example.org./x", "example.org"),
        (" https://example.org/ ", "example.org"),
        ("file:///home/ann/www.txt", None),
        ("file://server/share.txt", None),
        ("mailto:ann@example.org", None),
        ("example.org/x", None),
        ("https://", None),
        ("not an address", None),
        ("", None),
        (None, None),
    ],
)
def test_the_host_of_an_address(url: str | None, domain: str | None, many_runs: Connection) -> None:
    assert many_runs.execute("select research.domain_of(%s)", (url,)).fetchone() == (domain,)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        ("", ""),
        ([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "one two"),
        (["plain ", {"type": "text", "text": "block"}], "plain block"),
        (
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "reasoning", "reasoning": "hm"},
                {"type": "text", "text": "so"},
            ],
            "so",
        ),
        ([{"type": "thinking", "thinking": "hm"}], None),
        ([{"type": "tool_use", "id": "c", "name": "f", "input": {}}], None),
        ([], None),
        (None, None),
    ],
)
def test_the_text_of_a_message(content: Any, text: str | None, many_runs: Connection) -> None:
    message = Jsonb({"type": "ai", "data": {"content": content}})
    assert many_runs.execute("select research.message_text(%s)", (message,)).fetchone() == (text,)


def test_no_message_has_no_text(many_runs: Connection) -> None:
    assert rows_of(many_runs, "select research.message_text(null), research.message_text('{}')") == [(None, None)]
