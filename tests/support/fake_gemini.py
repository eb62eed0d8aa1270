"""A scripted server that speaks Gemini's REST wire format, on loopback, and checks the turns of each request."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support import judges

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    delay: float = 0.0
    drop: bool = False  # close the connection without an answer
    chunks: list[Any] | None = None  # of a stream; plain `body` becomes one chunk
    cut_after: int | None = None  # close the stream after so many chunks


Answer = Reply | Body
Brain = Callable[[Body], Answer]


class FakeGemini:
    """Answers with `brain`, or what `script` still holds. `requests` keeps every body, `illegal` each complaint."""

    def __init__(self, brain: Brain | None = None) -> None:
        self.brain: Brain = brain or (lambda body: error(500, "INTERNAL", "script exhausted"))
        self.script: list[Answer | Brain] = []
        self.requests: list[Body] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.illegal: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self) -> FakeGemini:
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def push(self, *steps: Answer | Brain) -> FakeGemini:
        self.script.extend(steps)
        return self

    def reset(self) -> None:
        for kept in (self.script, self.requests, self.paths, self.headers, self.illegal):
            kept.clear()

    def answer(self, path: str, headers: dict[str, str], body: Body) -> Reply:
        with self._lock:
            self.requests.append(body)
            self.paths.append(path)
            self.headers.append(headers)
            step = self.script.pop(0) if self.script else self.brain
        if complaint := check_turns(body, model_of(path)):
            self.illegal.append(complaint)
            return error(400, "INVALID_ARGUMENT", complaint)
        given = step(body) if callable(step) else step
        return given if isinstance(given, Reply) else Reply(given)

    def _handler(outer) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # one packet: head and body apart would each wait for an acknowledgement
            disable_nagle_algorithm = True

            def log_message(self, *args: object) -> None: ...

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = outer.answer(self.path, headers, json.loads(raw))
                time.sleep(reply.delay)
                try:
                    self._send(reply)
                except OSError:
                    self.close_connection = True  # the client was faster

            def _send(self, reply: Reply) -> None:
                if reply.drop:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                elif "stream" in self.path and reply.status == 200 and reply.raw is None:
                    self._send_stream([reply.body] if reply.chunks is None else reply.chunks, reply.cut_after)
                else:
                    body = json.dumps(reply.body).encode() if reply.raw is None else reply.raw
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json; charset=UTF-8")
                    self.send_header("Content-Length", str(len(body)))
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            def _send_stream(self, chunks: Iterable[Any], cut_after: int | None) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for position, chunk in enumerate(chunks):
                    if position == cut_after:
                        break
                    data = b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.write(b"0\r\n\r\n")

        return Handler


def model_of(path: str) -> str:
    match = re.search(r"/models/([^:]+):", path)
    return match[1] if match else ""


def candidate(*parts: Body, finish: str | None = "STOP", model: str = "gemini-3.5-flash-lite", **more: Any) -> Body:
    """A whole answer with one candidate of `parts`."""
    inner: Body = {"index": 0, "content": {"parts": list(parts), "role": "model"}}
    if finish:
        inner["finishReason"] = finish
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 10, "totalTokenCount": 130}
    return {"candidates": [inner], "usageMetadata": usage, "modelVersion": model, "responseId": "r-1", **more}


def calls(*pairs: tuple[str, Body], signature: str = "") -> Body:
    """An answer that calls tools; the first call carries the thought signature, as Gemini 3 does it."""
    parts: list[Body] = [{"functionCall": {"name": name, "args": args}} for name, args in pairs]
    if signature:
        parts[0]["thoughtSignature"] = signature
    return candidate(*parts)


def error(
    status: int, name: str, message: str, *, details: list[Body] | None = None, headers: dict[str, str] | None = None
) -> Reply:
    inner: Body = {"code": status, "message": message, "status": name}
    if details:
        inner["details"] = details
    return Reply({"error": inner}, status, headers or {})


def retry_info(seconds: str, quota: str = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier") -> list[Body]:
    return [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds},
    ]


def check_turns(body: Body, model: str = "") -> str | None:
    """What the real server says to these turns, or None: rules from public reports of its 400s (facts/gemini.md)."""
    contents = body.get("contents") or []
    if not contents:
        return "contents is not specified"
    turns = []
    for number, content in enumerate(contents):
        parts = content.get("parts")
        if not parts or any(not (set(part) - {"thought", "thoughtSignature"}) for part in parts):
            return f"contents[{number}].parts must not be empty"
        made = [part["functionCall"] for part in parts if "functionCall" in part]
        answered = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if any(not call.get("name") for call in made):
            return f"contents[{number}]: function call without a name"
        turns.append((content.get("role", "user"), made, answered))
    if turns[0][0] == "model":
        return "the first turn must be a user turn"
    for before, (_, made, answered), after in zip([None, *turns], turns, [*turns[1:], None], strict=False):
        if made and (before is None or before[0] == "model"):
            return "function call turn comes immediately after a user turn or after a function response turn"
        if made and (after is None or [c["name"] for c in made] != [a["name"] for a in after[2]]):
            return "the number of function response parts is equal to the number of function call parts"
        if answered and (before is None or not before[1]):
            return "function response turn comes immediately after a function call turn"
    if turns[-1][0] == "model":
        return "requests end with a user role"
    return _missing_signature(contents, turns) if model.startswith("gemini-3") else None


def _missing_signature(contents: list[Body], turns: list[Any]) -> str | None:
    """Gemini 3: the first call of each step of the current turn needs its signature."""
    start = max(number for number, (role, _, answered) in enumerate(turns) if role == "user" and not answered)
    for number, content in enumerate(contents[start:], start=start):
        made = [part for part in content["parts"] if "functionCall" in part]
        if made and not made[0].get("thoughtSignature"):
            return f"function call is missing a thought_signature, position {number}"
    return None


_SOURCE = re.compile(r'<source n="(\d+)">\n.*?\n\n(?:#.*?\n\n)?([^.]+\.)', re.DOTALL)
SIGNATURE = "b3BhcXVlLXNpZ25hdHVyZS3//i0x"


def researcher(body: Body) -> Answer:
    """A brain that works well: one search, two pages, a brief of real sentences."""
    texts = [part.get("text", "") for content in body["contents"] for part in content["parts"]]
    if not body.get("tools"):
        if judged := next((text for text in texts if judges.ASKED in text), ""):
            return candidate({"text": judges.yes_to_all(judged)})
        evidence = next(text for text in texts if "<evidence>" in text)
        return candidate(
            {"text": "\n".join(f"- {' '.join(s.split())} [{n}]" for n, s in _SOURCE.findall(evidence))},
        )
    results = [
        part["functionResponse"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    urls = re.findall(r"^   (\S+)$", "\n".join(str(r["response"].get("output")) for r in results), re.MULTILINE)
    if not urls:
        return calls(("search_web", {"query": "tide power"}), signature=SIGNATURE)
    if not any("<page>" in str(result["response"].get("output")) for result in results):
        return calls(*[("fetch_url", {"url": url}) for url in urls[:2]], signature=SIGNATURE)
    return candidate({"text": "DONE", "thoughtSignature": SIGNATURE})
