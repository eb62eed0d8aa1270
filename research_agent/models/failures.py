"""What went wrong with a model call, in our own words, whichever client library said it.

Client libraries disagree on everything: where the status stands, whether a time-out is wrapped, which class says
"the key is wrong". `read_failure` looks at the facts (status, body, headers) first and at classes last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

# Of errors, then of answers. `ModelError.kind` is one of these.
Kind = Literal[
    "auth",
    "quota",
    "rate_limit",
    "context_overflow",
    "model_not_found",
    "invalid_request",
    "server",
    "timeout",
    "connection",
    "bad_response",
    "unknown",
    "truncated",
    "refused",
    "prompt_blocked",
    "empty",
    "incomplete",
    "bad_call",
]
TRANSIENT: frozenset[Kind] = frozenset({"rate_limit", "server", "timeout", "connection", "bad_response", "incomplete"})

# What providers' keys look like, wherever an error text repeats one.
_SECRET = re.compile(
    r"\bAIza[\w-]{10,}|\bAQ\.[\w-]{10,}|\bsk-[\w*-]{10,}|\bBearer\s+\S+|(?<=key=)[^\s&\"']+|(?<=key: )[^\s\"']{8,}"
    r"|(?<=://)[^\s/@]+:[^\s/@]+(?=@)",
    re.IGNORECASE,
)
_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")
_OVERFLOW = re.compile(
    r"maximum number of tokens|context[ _]length|context window|maximum context|prompt is too long|too many tokens|"
    r"exceeds? the available context|input token count",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"api[ _-]?key not valid|invalid api[ _-]?key|incorrect api key|api key (?:expired|not found)", re.I
)
_OUT_OF_QUOTA = re.compile(r"insufficient_quota|credit balance is too low|\blimit: 0\b|PerDay", re.IGNORECASE)
_RETRY_IN = re.compile(r"(?:retry|try again) in ([\d.]+) ?(ms|s)\b", re.IGNORECASE)
_OF_STATUS: dict[int, Kind] = {
    404: "model_not_found",
    408: "timeout",
    413: "context_overflow",
    429: "rate_limit",
}
_IN_WORDS: dict[Kind, str] = {
    "rate_limit": "too many requests",
    "context_overflow": "the prompt is too long",
    "invalid_request": "the request was refused",
    "server": "the provider is down or overloaded",
    "connection": "no connection to the provider",
}
_UNREADABLE = {"UnknownApiResponseError", "JSONDecodeError", "ValidationError", "APIResponseValidationError"}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no usable answer. `text` is one line without secrets."""

    kind: Kind
    text: str
    retry_after: float | None = None  # seconds, where the server asked for a wait


def read_failure(error: BaseException) -> Failure:
    """`error` of any client library as a `Failure`."""
    source, status = _facts(error)
    body = _body(source)
    said = " ".join([str(error), json.dumps(body, default=str) if body else ""])
    kind = _kind(error, status, said)
    return Failure(kind, _explain(kind, status, error, body), _retry_after(source, body, said))


def redact(text: str) -> str:
    """`text` without keys: what looks like one, and the value of each variable that holds one."""
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_VARIABLE.search(name):
            text = text.replace(value, "[redacted]")
    return _SECRET.sub("[redacted]", text)


def _facts(error: BaseException) -> tuple[BaseException, int | None]:
    """The exception of the chain that knows the HTTP status, and that status."""
    link: BaseException | None = error
    seen = 0
    while link is not None and seen < 5:
        for attribute in ("status_code", "code"):
            value = getattr(link, attribute, None)
            if isinstance(value, int) and 100 <= value <= 599:
                return link, value
        link, seen = link.__cause__, seen + 1
    return error, None


def _body(source: BaseException) -> Any:
    """The error object of the answer's body, or None."""
    for attribute in ("details", "body"):
        value = getattr(source, attribute, None)
        if isinstance(value, Mapping):
            inner = value.get("error", value)
            return inner if isinstance(inner, Mapping) else value
    return None


def _kind(error: BaseException, status: int | None, said: str) -> Kind:
    names = {cls.__name__ for cls in type(error).__mro__}
    if "API_KEY_INVALID" in said or _BAD_KEY.search(said) or status in (401, 403):
        return "auth"
    if "ContextOverflowError" in names or (status in (400, 413) and _OVERFLOW.search(said)):
        return "context_overflow"
    if status == 402 or (status in (400, 429) and _OUT_OF_QUOTA.search(said)):
        return "quota"
    if status is not None:
        return _OF_STATUS.get(status) or ("server" if status >= 500 else "invalid_request")
    return _kind_without_status(error, names, said)


def _kind_without_status(error: BaseException, names: set[str], said: str) -> Kind:
    families = {cls.__module__.split(".")[0] for cls in type(error).__mro__}
    if isinstance(error, TimeoutError) or names & {"TimeoutException", "APITimeoutError", "ServerTimeoutError"}:
        return "timeout"
    if isinstance(error, ConnectionError) or names & {"TransportError", "APIConnectionError", "ClientError"}:
        return "connection"
    if isinstance(error, ValueError) and (names & _UNREADABLE or "No generation chunks" in said):
        return "bad_response"
    if "ModelAPIError" in names or (families & {"openai", "anthropic"} and "APIError" in names):
        return "server"  # an error object in the middle of a stream has no status
    return "unknown"


def _retry_after(source: BaseException, body: Any, said: str) -> float | None:
    for detail in body.get("details") or [] if isinstance(body, Mapping) else []:
        if isinstance(detail, Mapping) and str(detail.get("@type", "")).endswith("RetryInfo"):
            return _seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    headers = getattr(getattr(source, "response", None), "headers", None) or {}
    if milliseconds := _seconds(headers.get("retry-after-ms")):
        return milliseconds / 1000
    if header := headers.get("retry-after") or headers.get("Retry-After"):
        return _seconds(header) or _seconds_until(header)
    if match := _RETRY_IN.search(said):
        amount = _seconds(match[1])
        return amount / 1000 if amount and match[2].lower() == "ms" else amount
    return None


def _seconds(text: object) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _seconds_until(date: object) -> float | None:
    try:
        moment = parsedate_to_datetime(str(date))
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds()) if moment.tzinfo else None


def _explain(kind: Kind, status: int | None, error: BaseException, body: Any) -> str:
    http = f" (HTTP {status})" if status else ""
    match kind:
        case "auth":  # nothing of the server's text: it may repeat the key
            return f"the key was refused{http}: check the key and what it may be used for"
        case "quota":
            return f"the quota or credit of the key is used up{http}: try tomorrow, or with another key or model"
        case "model_not_found":
            return f"the provider has no such model{http}: check its name"
        case "timeout":
            return f"no answer in time{http}"
        case "bad_response":
            return f"the answer could not be read ({type(error).__name__})"
    message = body.get("message") if isinstance(body, Mapping) else None
    text = " ".join(str(message or error).split())
    said = text if message else f"{type(error).__name__}: {text}".removesuffix(": ")
    return f"{_IN_WORDS.get(kind, 'an unexpected error')}{http}: {redact(said)[:300]}"
