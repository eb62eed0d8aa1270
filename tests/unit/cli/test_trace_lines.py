"""How a trace fits a terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from research_agent.cli.commands.trace import _block

LONG = ["潮汐发电站自一九六六年以来一直在发电。" * 20, "https://example.org/" + "a" * 500, "word " * 200]


@pytest.mark.parametrize("line", LONG)
def test_a_long_line_is_cut_and_not_lost(line: str) -> None:
    [shown] = _block("  ← ", line, full=False)
    assert shown.startswith(f"  ← {line[:20]}")
    assert shown.endswith("…")
    assert 100 <= cell_len(shown) <= 110


@pytest.mark.parametrize("line", LONG)
def test_in_full_nothing_is_missing(line: str) -> None:
    shown = list(_block("  ← ", line, full=True))
    assert max(map(cell_len, shown)) <= 110
    assert "".join(each[4:] for each in shown).replace(" ", "") == line.replace(" ", "")


def test_the_first_lines_stand_for_many() -> None:
    shown = list(_block("  ", "\n\n".join(f"line {n}" for n in range(9)), full=False))
    assert shown == [*(f"  line {n}" for n in range(5)), "  … 4 more lines"]
