"""A topic in, a short brief out in which every sentence stands on a passage that was really read.

Public: `research`, `build_graph`, `Brief`, `Limits`, and the error tree in `research_agent.errors`. They are
imported when first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research_agent.brief.brief import Brief
    from research_agent.graph.graph import build_graph
    from research_agent.limits import Limits
    from research_agent.runs.app import research

__all__ = ["Brief", "Limits", "build_graph", "research"]

_HOMES = {
    "Brief": "research_agent.brief.brief",
    "Limits": "research_agent.limits",
    "build_graph": "research_agent.graph.graph",
    "research": "research_agent.runs.app",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
