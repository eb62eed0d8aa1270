"""The scripted server as an OpenAI-compatible one, of the kind that people run at home."""

from __future__ import annotations

import re
from typing import Any

from tests.support import judges
from tests.support.fake_gemini import Body, FakeGemini, Reply


class FakeOpenAI(FakeGemini):
    """`brain` gets the request and gives a text, a message, or a `Reply`."""

    def answer(self, path: str, headers: dict[str, str], body: Body) -> Reply:
        self.requests.append(body)
        self.paths.append(path)
        self.headers.append(headers)
        given: Any = self.script.pop(0) if self.script else self.brain
        given = given(body) if callable(given) else given
        if isinstance(given, Reply):
            return given
        return Reply(given if "choices" in given else completion(given))


def completion(message: Any, finish: str = "stop") -> Body:
    """A chat completion with `message` (a text, or a message with ``tool_calls``)."""
    if isinstance(message, str):
        message = {"content": message}
    calls = message.get("tool_calls")
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, **message},
                "finish_reason": "tool_calls" if calls else finish,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def tool_call(name: str, arguments: str, call_id: str = "call_0") -> Body:
    return {"tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]}


def shown(body: Body) -> str:
    """Everything that was said in a request."""
    return "\n".join(str(message.get("content") or "") for message in body["messages"])


def small_researcher(body: Body) -> str:
    """A small model that works in text: one search, one page, a brief of sentences from the evidence."""
    text = shown(body)
    if judges.ASKED in text:
        return judges.yes_to_all(text)
    if "<evidence>" in text:
        sources = re.findall(r'<source n="(\d+)">\n.*?\n\n(?:#.*?\n\n)?([^.]+\.)', text, re.DOTALL)
        return "\n".join(f"- {' '.join(sentence.split())} [{n}]" for n, sentence in sources)
    if "\n<page>\n" in text:
        return "Thought: I have what I need.\nFinal Answer: DONE"
    if urls := re.findall(r"^   (https?\S+)$", text, re.MULTILINE):
        return f"Thought: the first one.\nAction: fetch_url[{urls[0]}]"
    return "Thought: I know nothing yet.\nAction: search_web\nAction Input: tide power\n"
