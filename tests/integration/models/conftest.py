"""The real Gemini client in front of a scripted server, and the shared response shapes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from research_agent.models.load import ModelOptions, open_model
from tests.support.fake_gemini import FakeGemini, researcher
from tests.support.places import SHARED

KEY = "not-a-real-key-0123456789"
GEMINI = "google_genai:gemini-3.5-flash-lite"


@pytest.fixture
def api() -> Iterator[FakeGemini]:
    with FakeGemini(researcher) as fake:
        yield fake


@pytest.fixture
async def gemini(api: FakeGemini) -> AsyncIterator[BaseChatModel]:
    async with open_model(GEMINI, gemini_options(api)) as model:
        yield model


def gemini_options(api: FakeGemini, **more: Any) -> ModelOptions:
    return ModelOptions(**{"timeout": 10.0, "google_api_key": SecretStr(KEY), "base_url": api.url, **more})


def shared_file(name: str) -> Path:
    """A file of the shared sets; the test is skipped where they are absent, as in a user's clone."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the shared set {name} is not here")
    return path


def shared_shapes() -> dict[str, Any]:
    """The 46 measured shapes with our tool's name; {} where the shared sets are absent."""
    path = SHARED / "fixtures/gemini_shapes.json"
    if not path.exists():
        return {}
    shapes = json.loads(path.read_text(encoding="utf-8").replace("web_search", "search_web"))
    return {name: shape["json"] for name, shape in shapes.items()}
