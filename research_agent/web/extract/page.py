"""A page is made here: clean, capped, with what is known about it."""

from __future__ import annotations

import re
from datetime import date
from urllib.parse import unquote, urlsplit

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.text import clean

MAX_TEXT = 2_000_000  # characters kept of one document
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")


def make_page(
    url: str,
    text: str,
    media_type: str,
    *,
    title: str = "",
    author: str = "",
    site: str = "",
    published: str = "",
    language: str = "",
    canonical_url: str = "",
    links: tuple[str, ...] = (),
    truncated: bool = False,
    empty: str = "it is empty",
) -> Page:
    """A page with everything cleaned and capped. Raises `SourceError` when there is no text; `empty` says why."""
    whole = clean(text[: 2 * MAX_TEXT]).strip()
    kept = whole[:MAX_TEXT].rstrip()
    if not kept:
        raise SourceError(f"no text in it: {empty}; use another source")
    return Page(
        url=url,
        title=one_line(title) or _file_name(url),
        text=kept,
        media_type=media_type,
        author=one_line(author),
        site=one_line(site),
        published=published,
        language=language,
        canonical_url=canonical_url,
        links=links,
        truncated=truncated or len(whole) > MAX_TEXT or len(text) > 2 * MAX_TEXT,
    )


def one_line(text: str) -> str:
    """`text` clean, on one line, and no longer than a title may be."""
    return " ".join(clean(text[:2000]).split())[:300]


def iso_date(text: str) -> str:
    """The ISO date that `text` begins with, if the calendar has that day; else ""."""
    found = _ISO_DATE.match(text.strip())
    if not found:
        return ""
    try:
        date.fromisoformat((found[0] + "-01-01")[:10])
    except ValueError:
        return ""
    return found[0]


def _file_name(url: str) -> str:
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace") or parts.netloc or url
    return one_line(name)
