"""Reading foreign answers: nothing is where, or what, its documentation says, until looked at."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from email.utils import parsedate_to_datetime
from typing import Any

from research_agent.documents import SearchHit
from research_agent.text import clean

MAX_TITLE = 300  # characters
MAX_SNIPPET = 500
MAX_URL = 4000
_MAX_RAW = 20_000  # of one field that is looked at

# Both are linear in the length of what they read: no `<` is scanned past the next one.
_INLINE = re.compile(
    r"</?(?:jats:)?(?:b|strong|em|i|u|a|mark|span|sub|sup|italic|bold|sc)(?:\s[^<>]*)?>", re.IGNORECASE
)
_TAG = re.compile(r"<[/!?a-zA-Z][^<>]*>")
_WEB = re.compile(r"https?://[^/\s?#@]+(?:[/?#]|\Z)", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?=$|[T ])")


def dig(value: Any, *path: str | int) -> Any:
    """What is at `path` inside nested JSON, or ``None`` when the way there ends."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def objects(value: Any, *path: str | int) -> list[dict[str, Any]]:
    """The JSON objects in the list at `path`; whatever else is in it is left out."""
    found = dig(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def strings(value: Any) -> list[str]:
    """The strings in `value` when it is a list, or itself when it is one, as single lines, empty ones left out."""
    many = value if isinstance(value, list) else [value]
    return [line for item in many if (line := text(item))]


def text(value: Any) -> str:
    """`value` as one clean line, or "" when it is no string."""
    return " ".join(clean(value[:_MAX_RAW]).split()) if isinstance(value, str) else ""


def plain(value: Any) -> str:
    """The text of a piece of HTML or JATS as one clean line, or "" when it is no string."""
    if not isinstance(value, str):
        return ""
    return text(html.unescape(_TAG.sub(" ", _INLINE.sub("", value[:_MAX_RAW]))))


def iso_date(value: Any) -> str:
    """A date in any of the forms providers use, as ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; "" when it is none."""
    written = text(value)[:40]
    if match := _DAY.match(written):
        with suppress(ValueError):
            date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
            return match[0]
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(written).date().isoformat()
    return ""


def cut(line: str, most: int) -> str:
    """`line`, at most `most` characters, cut between words where it can be."""
    if len(line) <= most:
        return line
    head = line[: most - 1]
    whole = head.rsplit(" ", 1)[0]
    return (whole if len(whole) > most // 2 else head).rstrip(" ,;:.") + "…"


def short_query(query: str, most: int = 300, most_words: int = 40) -> str:
    """`query` on one line and within what search services take; a topic of 900 characters is cut, not refused."""
    line = " ".join(clean(query).split()[:most_words])
    if len(line) <= most:
        return line
    head = line[: most + 1]
    return head.rsplit(" ", 1)[0] if " " in head else head[:most]


def make_hit(source: str, url: Any, title: str, snippet: str = "", published: str = "") -> SearchHit | None:
    """A hit of cleaned parts; ``None`` when `url` is no address that can be fetched. It is kept byte for byte."""
    if not isinstance(url, str) or len(url) > MAX_URL or not _WEB.match(url):
        return None
    if any(character.isspace() for character in url) or clean(url) != unicodedata.normalize("NFC", url):
        return None
    return SearchHit(url, cut(title, MAX_TITLE) or url, cut(snippet, MAX_SNIPPET), published, source)


def choose(found: Iterable[SearchHit | None], limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
    """The first `limit` usable hits, each address once, without those that are dated outside the days asked for."""
    chosen: dict[str, SearchHit] = {}
    for hit in found:
        if len(chosen) >= limit:
            break
        if hit and _within(hit.published, since, until):
            chosen.setdefault(hit.url, hit)
    return list(chosen.values())


def _within(published: str, since: str, until: str) -> bool:
    """Whether `published`, to the precision it has, may lie within the days. Undated may."""
    known = len(published)
    return not known or ((not since or published >= since[:known]) and (not until or published <= until[:known]))
