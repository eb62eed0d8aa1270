"""Rows of a query as text: a table for people, CSV and JSON for programs.

The cells come from the web as often as not, so a table and JSON hold no character that steers a terminal.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, Literal

from research_agent.text import one_line

Form = Literal["table", "csv", "json"]

_CELL_WIDTH = 60  # columns of a terminal, where nobody said how wide the table may be
_NARROWEST = 3
_CELL_CHARACTERS = 10_000  # of a cell that are looked at: more is never shown, and a cell can have a gigabyte
_PLAIN_DIGITS = 100  # so far from the point a number is written without an exponent
_GAP = "  "
# As in `clean`, but JSON can say these characters without showing them, so nothing is lost.
_UNSEEN = re.compile("[\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def render_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    form: Form,
    *,
    width: int | None = None,
    whole: Collection[str] = (),
) -> str:
    """`rows` as text that ends in a line end; each row has one value for each of `columns`.

    ``table``: aligned, with numbers to the right; long cells are cut with ``…`` until the table has at most
    `width` terminal columns (as far as cells of three allow), but never those of the columns `whole`; without
    `width` each cell has at most 60.
    ``csv``: RFC 4180 but for line ends, which are plain; values exact, NULL empty.
    ``json``: a list with an object for each row; a column whose name another has as well gets a number
    (``a``, ``a_2``).
    """
    match form:
        case "json":
            names = _unique(columns)
            return to_json([dict(zip(names, row, strict=True)) for row in rows]) + "\n"
        case "csv":
            return _csv(columns, rows)
        case "table":
            return _table(columns, rows, width, whole)


def to_json(value: Any, *, indented: bool = True) -> str:
    """`value` as JSON, indented or in one line; times as ISO 8601, numbers with their own digits."""
    return _json(value, "\n" if indented else "")


def _unique(columns: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    originals = set(columns)
    for column in columns:
        name, number = column, 1
        while name in names or (number > 1 and name in originals):
            number += 1
            name = f"{column}_{number}"
        names[name] = None
    return list(names)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")  # as psql: what a shell cuts out of it must not end in a CR
    writer.writerow(columns)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None, whole: Collection[str]) -> str:
    from rich.cells import cell_len

    right = [_all_numbers([row[i] for row in rows]) for i in range(len(columns))]
    table = [[_shown(name) for name in columns], *([_shown(_plain(value)) for value in row] for row in rows)]
    natural = [max(map(cell_len, cells)) for cells in zip(*table, strict=True)]
    widths = _fit(natural, right, [name in whole for name in columns], width)
    lines = ["  ".join(_align(*cell) for cell in zip(line, widths, right, strict=True)).rstrip() for line in table]
    rule = _GAP.join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def _fit(natural: Sequence[int], numbers: Sequence[bool], whole: Sequence[bool], width: int | None) -> list[int]:
    """Widths of the columns. Text gives way first: of a number that is cut nothing can be learned."""
    if width is None:
        return [min(each, _CELL_WIDTH) for each in natural]
    room = width - len(_GAP) * (len(natural) - 1)
    widths = _shrink(natural, [not (number or keep) for number, keep in zip(numbers, whole, strict=True)], room)
    return widths if sum(widths) <= room else _shrink(widths, [not keep for keep in whole], room)


def _shrink(natural: Sequence[int], flexible: Sequence[bool], room: int) -> list[int]:
    """The flexible widths under one common bound: the largest with which all fit into `room`."""

    def bounded(bound: int) -> list[int]:
        return [min(each, bound) if gives else each for each, gives in zip(natural, flexible, strict=True)]

    low, high = _NARROWEST, max([_NARROWEST, *natural])
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(bounded(middle)) <= room else (low, middle - 1)
    return bounded(low)


def _align(text: str, width: int, right: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def _all_numbers(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, int | float | Decimal) and value is not True and value is not False for value in known
    )


def _shown(text: str) -> str:
    cut = text[:_CELL_CHARACTERS]
    return one_line(cut) + ("…" if len(cut) < len(text) else "")


def _plain(value: Any) -> str:
    """A value as a cell of a table or of CSV."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Decimal() if value.is_finite() and abs(value.adjusted()) < _PLAIN_DIGITS:
            return format(value, "f")
        case date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()  # as PostgreSQL writes it
        case Mapping() | list() | tuple():
            return _json(value)
        case _:
            return str(value)


def _json(value: Any, line: str = "") -> str:
    """JSON with a number's own digits, which the standard library's writer can't give; compact without `line`.

    `line` is what begins a line: a line end, and the indentation so far.
    """
    match value:
        case None:
            return "null"
        case Mapping():
            colon = ": " if line else ":"
            items = [_string(str(key)) + colon + _json(item, line and line + "  ") for key, item in value.items()]
            return _bracket("{}", items, line)
        case list() | tuple():
            return _bracket("[]", [_json(item, line and line + "  ") for item in value], line)
        case int() | float() | Decimal() if _is_finite(value):
            return _plain(value)
        case _:
            return _string(_plain(value))


def _is_finite(value: float | Decimal) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)


def _bracket(pair: str, items: Sequence[str], line: str) -> str:
    if not items or not line:
        return pair[0] + ",".join(items) + pair[1]
    return pair[0] + ",".join(f"{line}  {item}" for item in items) + line + pair[1]


def _string(text: str) -> str:
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(text, ensure_ascii=False))
