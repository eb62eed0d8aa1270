"""JSON as text that can be read and cut into passages: one `key: value` a line, a blank line between records."""

from __future__ import annotations

import json
from typing import Any

_MAX_DEPTH = 40


def render_json(text: str) -> str:
    """`text` in that form; as it stands when it is not whole or not JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict | list):
        return str(value)
    parts = value.values() if isinstance(value, dict) else value
    separator = "\n\n" if any(isinstance(part, dict | list) for part in parts) else "\n"
    if isinstance(value, dict):
        return separator.join("\n".join(_pair(str(key), part, 0)) for key, part in value.items())
    return separator.join("\n".join(_lines(part, 0)) for part in value)


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if depth > _MAX_DEPTH:
        return [pad + json.dumps(value, ensure_ascii=False)[:1000]]
    if isinstance(value, dict):
        return [line for key, part in value.items() for line in _pair(str(key), part, depth)]
    if isinstance(value, list):
        return [line for part in value for line in _item(part, depth)]
    return [pad + _scalar(value)]


def _pair(key: str, value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, dict | list) and value:
        return [f"{pad}{key}:", *_lines(value, depth + 1)]
    return [f"{pad}{key}: {_scalar(value)}"]


def _item(value: Any, depth: int) -> list[str]:
    lines = _lines(value, depth + 1) or [""]
    return ["  " * depth + "- " + lines[0].lstrip(), *lines[1:]]


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
