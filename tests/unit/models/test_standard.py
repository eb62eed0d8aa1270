"""LangChain's own standard tests for our two chat models."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

pytest.importorskip("langchain_tests")
from langchain_tests.unit_tests import ChatModelUnitTests

from research_agent.models.extractive import ExtractiveChatModel
from research_agent.models.text.react import TextReactModel
from tests.support.scripted import ScriptedChatModel


class TestExtractive(ChatModelUnitTests):
    """The built-in model."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ExtractiveChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {}

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        return {}


class TestTextReact(ChatModelUnitTests):
    """The text wrapper."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return TextReactModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"inner": ScriptedChatModel(script=["Final Answer: DONE"])}

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        return {}
