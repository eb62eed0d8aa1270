"""How the server would run a query: which of the large tables it would read from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

LARGE = frozenset({"steps", "model_calls", "tool_calls", "pages", "citations", "claims"})  # they grow with each turn


def read_whole(connection: psycopg.Connection[Any], query: str) -> set[str]:
    """The large tables that the plan of `query` scans without an index."""
    return {node["Relation Name"] for node in _nodes(connection, query) if node["Node Type"] == "Seq Scan"} & LARGE


def indexes_used(connection: psycopg.Connection[Any], query: str) -> set[str]:
    """The indexes that the plan of `query` reads."""
    return {node["Index Name"] for node in _nodes(connection, query) if "Index Name" in node}


def _nodes(connection: psycopg.Connection[Any], query: str) -> Iterator[dict[str, Any]]:
    row = connection.execute(f"explain (format json) {query}".encode()).fetchone()
    assert row
    waiting = [row[0][0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        yield node
