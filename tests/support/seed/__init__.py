"""A journal full of made-up runs, for tests, the documents and the benchmark: the same rows for the same arguments.

All times are relative to the UTC day of `now`, and no run lies on a boundary of "last week", so that what a query
says does not depend on the hour at which it is asked.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql

from research_agent.urls import canonical_url
from tests.support.seed.crowd import add_run
from tests.support.seed.rows import Tables
from tests.support.seed.stories import STORIES

__all__ = ["seed"]

_ORDER = ("leases", "runs", "starts", "steps", "model_calls", "pages", "tool_calls", "citations", "claims")
_FENCED = ("runs", "starts", "steps", "model_calls", "tool_calls", "citations", "claims")
_BATCH = 100  # runs whose rows are held in memory


def seed(dsn: str, *, runs: int, now: datetime, random_seed: int = 1) -> None:
    """Fill the schema of `dsn`, which must be there and empty, with `runs` runs (at least those told by hand).

    The role must own the tables: rows of earlier starts carry old tokens, which the fence would refuse.
    """
    addresses: dict[str, dict[str, Any]] = {}
    stored: set[str] = set()
    with psycopg.connect(dsn) as connection:
        for table in _FENCED:
            connection.execute(sql.SQL("alter table research.{} disable trigger fence").format(sql.Identifier(table)))
        for tables in _batches(runs, now, random_seed):
            tables["pages"] = [_noted(row, addresses) for row in _first(tables["pages"], stored)]
            for table in _ORDER:
                _copy(connection, table, tables[table])
        _copy(connection, "page_addresses", list(addresses.values()))
        for table in _FENCED:
            connection.execute(sql.SQL("alter table research.{} enable trigger fence").format(sql.Identifier(table)))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("analyze")


def _batches(runs: int, now: datetime, random_seed: int) -> Iterator[Tables]:
    rng = random.Random(random_seed)
    day = _calendar(now)
    tables: Tables = defaultdict(list)
    for story in STORIES:
        story(tables, rng, day, now)
    count = len(tables["runs"])
    for index in range(max(0, runs - count)):
        # Days 6 to 9 stay empty: "last week" means the same in the morning and in the evening.
        days_ago = rng.randrange(1, 6) if rng.random() < 0.25 else rng.randrange(10, 90)
        add_run(tables, index, day(days_ago + rng.random()), days_ago, random_seed)
        if index % _BATCH == _BATCH - 1:
            yield tables
            tables = defaultdict(list)
    yield tables


def _calendar(now: datetime) -> Callable[[float], datetime]:
    """A moment in working hours, so many days ago: 2.5 is the middle of the day before yesterday."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    def day(ago: float) -> datetime:
        days, part = divmod(ago, 1)
        return midnight - timedelta(days=days) + (timedelta(hours=8 + 8 * part) if days else timedelta(minutes=1))

    return day


def _first(pages: Iterable[dict[str, Any]], stored: set[str]) -> Iterator[dict[str, Any]]:
    """Each content once, as the journal stores it."""
    for page in pages:
        if page["content_hash"] not in stored:
            stored.add(page["content_hash"])
            yield page


def _noted(page: dict[str, Any], addresses: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """`page`, and its address with what it gave last."""
    key = canonical_url(page["url"])
    if page["kind"] == "page" and (key not in addresses or addresses[key]["fetched_at"] < page["fetched_at"]):
        addresses[key] = {name: page[name] for name in ("url", "content_hash", "fetched_at")} | {"url_key": key}
    return page


def _copy(connection: psycopg.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    names = list(rows[0])
    statement = sql.SQL("copy research.{} ({}) from stdin").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([row[name] for name in names])
