"""Where the shared data sets lie, for benchmarks only."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def load_jsonl(name: str) -> list[dict[str, Any]]:
    """Rows of a data set; ends the benchmark where the sets are absent (a user's clone has none)."""
    path = SHARED / name
    if not path.exists():
        sys.exit(f"{path} is not here: this benchmark needs the shared data sets")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(header: list[str], rows: list[list[Any]]) -> None:
    """Print a small table."""
    cells = [header, *[[f"{c:.3f}" if isinstance(c, float) else str(c) for c in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
