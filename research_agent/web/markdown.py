"""Markdown as a page: its front matter and first heading say what it is, the text stays as it was written."""

from __future__ import annotations

import re

from research_agent.text import clean
from research_agent.web.page import MAX_TEXT, Page, iso_date, make_page

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){1,60}?)---[ \t]*(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}#[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}\)")


def read_markdown(text: str, url: str) -> Page:
    text = clean(text[: 2 * MAX_TEXT]).lstrip("\n")
    known: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        known = _front_matter(front[1])
        text = text[front.end() :]
    return make_page(
        url,
        text,
        "text/markdown",
        title=known.get("title") or _first_heading(text),
        author=known.get("author", ""),
        published=iso_date(known.get("date", "")),
    )


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
