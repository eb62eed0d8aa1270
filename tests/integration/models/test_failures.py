"""Every way in which a call can fail is told apart, whichever client library says it; no key is ever repeated."""

from __future__ import annotations

import asyncio
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from research_agent.models.failures import read_failure, redact
from research_agent.models.load import open_model
from tests.integration.models.conftest import GEMINI, KEY, gemini_options
from tests.support.fake_gemini import FakeGemini, Reply, error, retry_info

REFUSED_KEY = error(
    400,
    "INVALID_ARGUMENT",
    f"API key not valid. Please pass a valid API key: {KEY}",
    details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
)
DAILY = retry_info("22s", "GenerateRequestsPerDayPerProjectPerModel-FreeTier")

# answer → kind, seconds that the server asks for
GEMINI_ERRORS: dict[str, tuple[Reply, str, float | None]] = {
    "429": (error(429, "RESOURCE_EXHAUSTED", "Slow down.", details=retry_info("22.5s")), "rate_limit", 22.5),
    "429, header": (error(429, "RESOURCE_EXHAUSTED", "Slow down.", headers={"Retry-After": "7"}), "rate_limit", 7.0),
    "429, in words": (error(429, "RESOURCE_EXHAUSTED", "Please retry in 350ms."), "rate_limit", 0.35),
    "429, bare": (error(429, "RESOURCE_EXHAUSTED", "Slow down."), "rate_limit", None),
    "429, daily": (error(429, "RESOURCE_EXHAUSTED", "Quota.", details=DAILY), "quota", 22.0),
    "429, none": (error(429, "RESOURCE_EXHAUSTED", "Quota exceeded, limit: 0, model: x"), "quota", None),
    "500": (error(500, "INTERNAL", "An internal error has occurred."), "server", None),
    "502": (Reply(raw=b"<html>Bad gateway</html>", status=502), "server", None),
    "503": (error(503, "UNAVAILABLE", "Overloaded.", headers={"Retry-After": "3"}), "server", 3.0),
    "504": (error(504, "DEADLINE_EXCEEDED", "Too late."), "server", None),
    "400": (error(400, "INVALID_ARGUMENT", "function call turn comes immediately after"), "invalid_request", None),
    "400, key": (REFUSED_KEY, "auth", None),
    "400, place": (error(400, "FAILED_PRECONDITION", "User location is not supported."), "invalid_request", None),
    "400, long": (
        error(400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed"),
        "context_overflow",
        None,
    ),
    "401": (error(401, "UNAUTHENTICATED", "No."), "auth", None),
    "403": (error(403, "PERMISSION_DENIED", f"Your key {KEY} was reported as leaked."), "auth", None),
    "404": (error(404, "NOT_FOUND", "models/x is not found"), "model_not_found", None),
    "413": (error(413, "INVALID_ARGUMENT", "Too large."), "context_overflow", None),
    "499": (error(499, "CANCELLED", "Cancelled."), "invalid_request", None),
    "dropped": (Reply(drop=True), "connection", None),
    "HTML with 200": (Reply(raw=b"<html>Please log in</html>"), "bad_response", None),
    "broken JSON": (Reply(raw=b'{"candidates": [{"con'), "bad_response", None),
}


@pytest.mark.parametrize("name", GEMINI_ERRORS)
async def test_gemini_errors(name: str, api: FakeGemini, gemini: BaseChatModel) -> None:
    reply, kind, wait = GEMINI_ERRORS[name]
    api.push(reply)
    with pytest.raises(Exception) as raised:
        await gemini.ainvoke("hello")
    failure = read_failure(raised.value)
    assert (failure.kind, failure.retry_after) == (kind, wait)
    assert failure.text
    assert "\n" not in failure.text
    assert KEY not in failure.text
    assert len(api.requests) == 1  # the client itself never tries again


async def test_a_server_that_is_not_there_and_one_that_is_slow(api: FakeGemini) -> None:
    api.push(Reply({}, delay=0.4))
    async with open_model(GEMINI, gemini_options(api, timeout=0.05)) as slow:
        with pytest.raises(Exception) as late:
            await slow.ainvoke("hello")
    assert read_failure(late.value).kind == "timeout"
    async with open_model(GEMINI, gemini_options(api, base_url="http://127.0.0.1:9")) as absent:
        with pytest.raises(Exception) as refused:
            await absent.ainvoke("hello")
    assert read_failure(refused.value).kind == "connection"


class StatusError(Exception):
    """As openai, anthropic and ollama raise them."""

    def __init__(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"Error code: {status} - {body}")
        self.status_code, self.body = status, body
        self.response = SimpleNamespace(headers=headers or {})


def named(module: str, *names: str) -> Exception:
    """An exception whose class has these names, the last one outermost, in `module`."""
    base: type[BaseException] = Exception
    for name in names:
        base = type(name, (base,), {"__module__": module})
    return base("broken")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("raised", "kind", "wait"),
    [
        (StatusError(429, {"error": {"code": "rate_limit_exceeded"}}, {"retry-after-ms": "1500"}), "rate_limit", 1.5),
        (StatusError(429, {"error": {"message": "Quota.", "code": "insufficient_quota"}}), "quota", None),
        (StatusError(400, {"error": {"message": "Your credit balance is too low"}}), "quota", None),
        (StatusError(402, {"error": {"message": "pay"}}), "quota", None),
        (StatusError(400, {"error": {"code": "context_length_exceeded"}}), "context_overflow", None),
        (StatusError(400, {"error": {"message": "prompt is too long: 210000 tokens"}}), "context_overflow", None),
        (StatusError(401, {"error": {"message": "Incorrect API key provided: sk-abcdefghijkl"}}), "auth", None),
        (StatusError(529, {"error": {"type": "overloaded_error"}}), "server", None),
        (StatusError(408), "timeout", None),
        (named("openai", "APIError", "APIConnectionError", "APITimeoutError"), "timeout", None),
        (named("openai", "APIError", "APIConnectionError"), "connection", None),
        (named("openai", "APIError"), "server", None),
        (named("aiohttp.client_exceptions", "ClientError", "ServerTimeoutError"), "timeout", None),
        (named("aiohttp.client_exceptions", "ClientError", "ServerDisconnectedError"), "connection", None),
        (named("httpx", "TransportError", "ReadError"), "connection", None),
        (TimeoutError(), "timeout", None),
        (ConnectionRefusedError(111, "refused"), "connection", None),
        (ValueError("No generation chunks were returned"), "bad_response", None),
        (ValueError("something else"), "unknown", None),
        (RuntimeError("Event loop is closed"), "unknown", None),
    ],
)
def test_errors_of_other_clients(raised: Exception, kind: str, wait: float | None) -> None:
    failure = read_failure(raised)
    assert (failure.kind, failure.retry_after) == (kind, wait)
    assert "sk-abc" not in failure.text


def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wait = read_failure(StatusError(503, headers={"retry-after": date})).retry_after
    assert wait is not None
    assert 25 < wait <= 30


def test_keys_are_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain-words-as-key")
    said = (
        "bad AIzaSyA1234567890abc, sk-proj-1234567890, Bearer abc.def, ?key=sesame12 plain-words-as-key "
        "AQ.Ab8RN6Jxxxxxxxxxx postgresql://me:secret@host/db"
    )
    cleaned = redact(said)
    for secret in ("AIza", "sk-proj", "abc.def", "sesame", "plain-words", "AQ.Ab8", "secret"):
        assert secret not in cleaned


async def test_no_key_in_what_a_run_raises_or_logs(
    api: FakeGemini, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    from research_agent.context import ResearchContext
    from research_agent.errors import ModelError
    from research_agent.models.call import CallSite, call_model
    from tests.support.scripted import MemoryJournal, Waits

    caplog.set_level("DEBUG")
    for reply, _, _ in GEMINI_ERRORS.values():
        api.script = [reply] * 5
        journal = MemoryJournal()
        context = ResearchContext(journal=journal, model_name=GEMINI, sleep=Waits())
        async with open_model(GEMINI, gemini_options(api)) as model:
            with pytest.raises(ModelError) as raised:
                await call_model(model, [], CallSite(1, "reason"), context, lambda event: None)
        shown = "".join(traceback.format_exception(raised.value))
        assert KEY not in shown
        assert "Traceback (most recent call last)" not in shown.split("ModelError", 1)[1]
        assert not any(KEY in str(call) for call in journal.model_calls)
    await asyncio.sleep(0)
    assert KEY not in caplog.text + "".join(capsys.readouterr())
