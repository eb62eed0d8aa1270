"""An emulator by other people passes a verdict on how we call it. Runs where ``llmock`` 0.2 is installed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.models.call import CallSite, call_model
from research_agent.models.load import ModelOptions, open_model
from tests.integration.models.conftest import GEMINI, KEY, SecretStr
from tests.support.scripted import MemoryJournal, library_tools


def command() -> str | None:
    """``llmock`` beside this Python, on the path, or where RESEARCH_TEST_LLMOCK says (it may live in its own venv)."""
    beside = Path(sys.executable).with_name("llmock")
    return os.environ.get("RESEARCH_TEST_LLMOCK") or (str(beside) if beside.exists() else shutil.which("llmock"))


class LLMock:
    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def fail(self, **behaviour: Any) -> None:
        self.ask("/_llmock/scenario", {"behaviors": [{"type": "fail", "times": 1, **behaviour}]})


@pytest.fixture(scope="module")
def llmock() -> Iterator[LLMock]:
    program = command()
    if not program:
        pytest.skip("llmock is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "serve", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        mock = LLMock(f"http://127.0.0.1:{port}")
        for _ in range(200):
            try:
                mock.ask("/_llmock/verdict")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield mock
    finally:
        process.terminate()
        process.wait(10)


async def test_the_happy_path_and_the_verdict_on_retries(llmock: LLMock) -> None:
    journal = MemoryJournal()
    context = ResearchContext(journal=journal, model_name=GEMINI)
    tools = frozenset({"search_web", "fetch_url"})
    options = ModelOptions(timeout=10.0, google_api_key=SecretStr(KEY), base_url=f"{llmock.url}/gemini")

    async with open_model(GEMINI, options) as model:

        async def write(step: int) -> str:
            site, message = CallSite(step, "write"), HumanMessage(f"hello {step}")
            return str((await call_model(model, [message], site, context, lambda event: None)).text)

        bound = model.bind_tools(library_tools())
        history: list[Any] = [SystemMessage("You research."), HumanMessage("Topic: tide power")]
        asked = await call_model(bound, history, CallSite(1, "reason", tools), context, lambda event: None)
        assert asked.tool_calls
        history += [asked, *(ToolMessage("found", tool_call_id=c["id"], name=c["name"]) for c in asked.tool_calls)]
        assert (await call_model(bound, history, CallSite(2, "reason", tools), context, lambda event: None)).text

        llmock.fail(status=429, retry_after=1)
        began = time.monotonic()
        assert await write(3)
        assert time.monotonic() - began >= 1
        llmock.fail(status=503)
        assert await write(4)
        for step, status in ((5, 401), (6, 400), (7, 404)):
            llmock.fail(status=status)
            with pytest.raises(ModelError):
                await write(step)
    verdict = llmock.ask("/_llmock/verdict")
    assert verdict["findings"] == []
    assert (verdict["passed"], verdict["attempts"]) == (True, len(journal.model_calls))
