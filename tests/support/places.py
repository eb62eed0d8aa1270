"""Where the project is, and the shared sets beside it; a user's clone has no shared sets."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared"
DATA = Path(os.environ.get("RESEARCH_TEST_DATA", SHARED / "data"))
