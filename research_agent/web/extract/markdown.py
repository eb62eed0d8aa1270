"""Markdown as a page: its front matter and first heading say what it is, its text is what a reader sees."""

from __future__ import annotations

import re

from research_agent.documents import Page
from research_agent.text import clean
from research_agent.web.extract.page import MAX_TEXT, iso_date, make_page

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){1,60}?)---[ \t]*(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}#[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_CODE = re.compile(r"(^```.*?^```[ \t]*$|`[^`\n]{1,200}`)", re.MULTILINE | re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*|__|\*|_)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1(?![\w*])")
_TARGET = re.compile(r"\]\((https?://[^()\s]{1,2000})\)")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}\)")


def read_markdown(text: str, url: str) -> Page:
    text = clean(text[: 2 * MAX_TEXT]).lstrip("\n")
    known: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        known = _front_matter(front[1])
        text = text[front.end() :]
    title = known.get("title") or _first_heading(text)
    links = tuple(dict.fromkeys(match[1] for match in _TARGET.finditer(text)))[:300]
    return make_page(
        url,
        _as_read(text),
        "text/markdown",
        title=title,
        links=links,
        author=known.get("author", ""),
        published=iso_date(known.get("date", "")),
    )


def _as_read(text: str) -> str:
    """`text` without the marks of links and emphasis, as a reader sees it; code blocks stay as they are."""
    parts = _CODE.split(text)
    for index in range(0, len(parts), 2):
        parts[index] = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", parts[index]))
    return "".join(parts)


def _front_matter(block: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip().lower(), value.strip().strip("[]\"'"))
    return found


def _first_heading(text: str) -> str:
    fence = ""
    for line in text[:50_000].splitlines():
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence and len(line) < 1000 and (heading := _HEADING.fullmatch(line)):
            return re.sub(r"[*`]+", "", _LINK.sub(r"\1", heading[1]))
    return ""
