"""What ``langgraph dev`` opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research_agent.runs.studio import make_graph
from tests.support.documents import TOPIC
from tests.support.places import REPOSITORY


def test_langgraph_json_names_the_factory() -> None:
    file, _, name = json.loads((REPOSITORY / "langgraph.json").read_text())["graphs"]["research"].partition(":")
    assert (REPOSITORY / file).is_file()
    assert name == make_graph.__name__


async def test_the_graph_of_the_studio_runs(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_CORPUS", str(corpus))
    monkeypatch.setenv("RESEARCH_CACHE_DIR", str(tmp_path / "cache"))
    async with make_graph() as graph:
        state = await graph.ainvoke({"topic": TOPIC})
    assert state["outcome"] == "complete"
