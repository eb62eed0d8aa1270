"""Rows as text: what people see is aligned and harmless, what programs read is exact."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from rich.cells import cell_len

from research_agent.cli.table import Form, render_rows
from research_agent.text import clean

HOSTILE = "\x1b[31mred\x07\x9b31m \u202eevil\u2066\x00\ufeff\U000e0041\ud800 \x7f"


def test_a_table_is_aligned_with_numbers_to_the_right() -> None:
    rows = [["tides", 7, None], ["a longer name", 1200, True]]
    assert render_rows(["topic", "n", "done"], rows, "table") == (
        "topic             n  done\n-------------  ----  ----\ntides             7\na longer name  1200  true\n"
    )


def test_cells_are_one_line_each_and_structures_compact_json() -> None:
    rows = [["a\n\tb\r\nc\u2028d", {"x": [1, None, "é"]}]]
    lines = render_rows(["text", "data"], rows, "table").splitlines()
    assert lines[2] == 'a b c d  {"x":[1,null,"é"]}'


@pytest.mark.parametrize("width", [None, 20, 80])
def test_nothing_in_a_table_steers_the_terminal(width: int | None) -> None:
    text = render_rows([HOSTILE, "b"], [[HOSTILE, {HOSTILE: HOSTILE}]], "table", width=width)
    assert clean(text) == text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_programs_read_is_exact(form: Form) -> None:
    rows = [["x", HOSTILE, 'say "a,b"\r\n'], ["", "潮汐 \U0001f30a", "  "]]
    text = render_rows(["a", "b", "c"], rows, form)
    if form == "csv":
        assert list(csv.reader(io.StringIO(text, newline=""))) == [["a", "b", "c"], *rows]
    else:
        assert [list(row.values()) for row in json.loads(text)] == rows
        assert clean(text) == text, "JSON can spell what a terminal must not see"


def test_without_a_width_a_cell_has_at_most_60_columns() -> None:
    text = render_rows(["a", "b"], [["x" * 61, "y" * 60]], "table")
    assert text.splitlines()[2] == "x" * 59 + "…  " + "y" * 60


@pytest.mark.parametrize("width", [30, 41, 80, 200])
def test_a_table_fits_the_width_and_cuts_the_longest_cells_first(width: int) -> None:
    rows = [["short", "w" * 300, 123456, "潮" * 100]] * 3
    lines = render_rows(["name", "long", "number", "wide"], rows, "table", width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(line.startswith("short  w") and "123456" in line for line in lines[2:])


def test_many_columns_are_cut_as_narrow_as_they_may_be() -> None:
    names = [f"column{i}" for i in range(1600)]
    line = render_rows(names, [list(range(100_000, 101_600))], "table", width=80).splitlines()[0]
    assert set(line.split()) == {"co…"}


def test_wide_characters_keep_the_columns_in_line() -> None:
    rows = [["潮汐发电", 1], ["e\u0301te\u0301", 2], ["\U0001f30a", 3], ["ascii", 4], ["潮" * 40, 5]]
    lines = render_rows(["name", "n"], rows, "table").splitlines()
    assert len({cell_len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("form", "text"), [("table", "a  b\n-  -\n"), ("csv", "a,b\n"), ("json", "[]\n")], ids=["table", "csv", "json"]
)
def test_no_rows_give_the_header_only(form: Form, text: str) -> None:
    assert render_rows(["a", "b"], [], form) == text


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_rows_without_columns_are_no_error(form: Form) -> None:
    assert render_rows([], [[], []], form).endswith("\n")


def test_json_is_indented_and_keeps_the_digits_of_numbers() -> None:
    rows = [[Decimal("12345678901234567890.120"), Decimal("0E-8"), Decimal("1E+999999"), 2**70, 0.1, [{}], {"k": []}]]
    assert render_rows(["a", "b", "c", "d", "e", "f", "g"], rows, "json") == (
        '[\n  {\n    "a": 12345678901234567890.120,\n    "b": 0.00000000,\n    "c": 1E+999999,\n'
        '    "d": 1180591620717411303424,\n    "e": 0.1,\n    "f": [\n      {}\n    ],\n'
        '    "g": {\n      "k": []\n    }\n  }\n]\n'
    )


def test_names_that_occur_twice_become_unique_in_json() -> None:
    [row] = json.loads(render_rows(["a", "a", "a_2", "a", "b"], [[1, 2, 3, 4, 5]], "json"))
    assert row == {"a": 1, "a_3": 2, "a_2": 3, "a_4": 4, "b": 5}


@pytest.mark.parametrize(
    ("value", "plain", "in_json"),
    [
        (None, "", None),
        (False, "false", False),
        (float("nan"), "nan", "nan"),
        (Decimal("Infinity"), "Infinity", "Infinity"),
        (Decimal("1.50"), "1.50", 1.5),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02", "2026-01-02"),
        (timedelta(seconds=61), "0:01:01", "0:01:01"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
        (b"\x00\xff", "\\x00ff", "\\x00ff"),
        (["a", 1], '["a",1]', ["a", 1]),
    ],
)
def test_every_value_of_a_database_can_be_written(value: Any, plain: str, in_json: Any) -> None:
    assert next(csv.reader(io.StringIO(render_rows(["x"], [[value]], "csv").split("\n", 1)[1])), [""]) == [plain]
    assert json.loads(render_rows(["x"], [[value]], "json")) == [{"x": in_json}]
    assert render_rows(["x"], [[value]], "table").splitlines()[2].strip() == plain


def test_a_cell_of_many_megabytes_is_cut_at_once() -> None:
    text = render_rows(["x"], [["word \u0301" * 5_000_000]], "table")
    assert len(text) < 1000
    assert text.rstrip().endswith("…")
