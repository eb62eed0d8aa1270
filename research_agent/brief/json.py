"""A brief as JSON; the schema is `Brief.to_dict`, versioned by `schema_version`."""

from __future__ import annotations

import json

from research_agent.brief.brief import Brief


def to_json(brief: Brief) -> str:
    """The whole brief, readable by people too."""
    return json.dumps(brief.to_dict(), ensure_ascii=False, indent=2) + "\n"
