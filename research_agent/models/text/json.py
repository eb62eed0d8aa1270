"""JSON as models write it: in the middle of text, cut off, with doubled braces or full-width marks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

# Repair takes time; a call is short.
_MAX_CHARS = 20_000  # of a text that are searched
_MAX_REPAIR_CHARS = 8_000
# Full-width punctuation of East Asian keyboards, and typographic quotes.
_ASCII = str.maketrans("：［］（）｛｝“”‘’，", ':[](){}""' + "'',")


def to_ascii_marks(text: str) -> str:
    """`text` with the punctuation that JSON and calls are made of in its ASCII form."""
    return text.translate(_ASCII)


def objects_in(text: str) -> Iterator[Mapping[str, Any]]:
    """Every outermost JSON object in `text`, repaired where it is broken."""
    text = text[:_MAX_CHARS]
    position = text.find("{")
    while position >= 0:
        end = _end_of_object(text, position)
        raw = text[position:end]
        value = parse_json(raw)
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping))
        position = text.find("{", end)


def _end_of_object(text: str, start: int) -> int:
    """Where the object that begins at `start` ends; at the end of the text if it is cut off."""
    depth, quoted, position = 0, False, start
    while position < len(text):
        letter = text[position]
        if quoted:
            if letter == "\\":
                position += 1
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if not depth:
                return position + 1
        elif letter == "\n" and text[position + 1 : position + 2] == "{" and depth == 1:
            return position  # the next line begins another object: this one lacks its brace
        position += 1
    return len(text)


def parse_json(raw: str) -> Any:
    """`raw` as JSON, with the usual faults of models repaired; None if nothing can be made of it. Never raises."""
    text = raw.strip()
    if text.startswith("{{") and not text.startswith('{{"{'):  # braces doubled as in a Python template
        text = text.replace("{{", "{").replace("}}", "}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        from json_repair import repair_json

        return repair_json(to_ascii_marks(text[:_MAX_REPAIR_CHARS]), return_objects=True)
    except Exception:  # a repair of what can't be repaired may fail in any way
        return None
