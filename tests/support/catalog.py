"""What the schema `research` says of itself, as Markdown: columns, types, comments, keys and indexes."""

from __future__ import annotations

import re
from typing import Any

import psycopg

_RELATIONS = """
select c.relname, obj_description(c.oid, 'pg_class') as comment
from pg_class c where c.relnamespace = 'research'::regnamespace and c.relkind = %s
order by array_position('{runs,starts,steps,model_calls,tool_calls,citations,claims,pages}', c.relname::text), c.oid
"""
_COLUMNS = """
select a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull, col_description(a.attrelid, a.attnum)
from pg_attribute a where a.attrelid = ('research.' || %s)::regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""
_KEYS = """
select contype, pg_get_constraintdef(oid) from pg_constraint
where conrelid = ('research.' || %s)::regclass and contype in ('p', 'u', 'f')
order by array_position('{p,u,f}'::"char"[], contype), pg_get_constraintdef(oid)
"""
_INDEXES = """
select c.relname, pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = ('research.' || %s)::regclass
  and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
order by c.relname
"""
_NAMED = """
select c.relname, a.attname, col_description(a.attrelid, a.attnum)
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'research'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
order by c.oid, a.attnum
"""
_ATTRIBUTE = re.compile(r"\b(?:gen_ai(?:\.\w+)+|error\.type)")


def tables(connection: psycopg.Connection) -> str:
    """Every table with its columns, keys and indexes."""
    return "".join(_relation(connection, *row, keys=True) for row in _rows(connection, _RELATIONS, "r"))


def views(connection: psycopg.Connection) -> str:
    """Every view with its columns."""
    return "".join(_relation(connection, *row, keys=False) for row in _rows(connection, _RELATIONS, "v"))


def names(connection: psycopg.Connection) -> str:
    """The attributes of the GenAI conventions that the comments name, and the columns that hold them."""
    columns: dict[str, list[str]] = {}
    for table, column, comment in _rows(connection, _NAMED):
        for attribute in _ATTRIBUTE.findall(comment or ""):
            columns.setdefault(attribute, []).append(f"`{table}.{column}`")
    lines = ["| attribute | column |", "| --- | --- |"]
    for attribute, places in columns.items():
        shown = "`thread_id` of every table" if attribute == "gen_ai.conversation.id" else ", ".join(places)
        lines.append(f"| `{attribute}` | {shown} |")
    return "\n".join(lines) + "\n"


def _relation(connection: psycopg.Connection, name: str, comment: str, *, keys: bool) -> str:
    lines = [f"### {name}", "", comment, "", "| column | type | |", "| --- | --- | --- |"]
    for column, kind, required, meaning in _rows(connection, _COLUMNS, name):
        optional = " or null" if keys and not required else ""
        lines.append(f"| `{column}` | {_short(kind)}{optional} | {meaning} |")
    if keys:
        lines += ["", *_keys(connection, name)]
    return "\n".join(lines) + "\n\n"


def _keys(connection: psycopg.Connection, name: str) -> list[str]:
    lines = []
    for _, definition in _rows(connection, _KEYS, name):
        lines.append(f"* {definition.replace('research.', '')}")
    for index, definition in _rows(connection, _INDEXES, name):
        lines.append(f"* INDEX `{index}` {definition.partition(' USING btree ')[2]}")
    return lines


def _short(kind: str) -> str:
    return kind.replace("timestamp with time zone", "timestamptz").replace("double precision", "float8")


def _rows(connection: psycopg.Connection, query: str, *values: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), values or None).fetchall()
