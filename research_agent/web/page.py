"""A page as the rest of the system knows it: clean text and what is known about it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import date
from typing import Literal
from urllib.parse import unquote, urlsplit

from research_agent.errors import SourceError
from research_agent.text import clean

MAX_TEXT = 2_000_000  # characters kept of one document
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")


@dataclass(frozen=True, slots=True)
class Page:
    """A document that was read with success.

    `text` is clean (see `research_agent.text.clean`) and never changes: passages and quotes are offsets into it.
    """

    url: str
    title: str
    text: str
    kind: Literal["page", "document"] = "page"
    media_type: str = "text/plain"
    author: str = ""
    site: str = ""
    published: str = ""  # ISO date, "" when unknown
    language: str = ""  # BCP 47, "" when unknown
    requested_url: str = ""  # what was asked for, where redirects led to another `url`
    canonical_url: str = ""  # what the page itself gives as its address, "" when it does not say
    fetched_at: str = ""  # ISO time in UTC, "" for what did not come from the web
    links: tuple[str, ...] = ()  # http(s) addresses that the page leads to, in order, each once
    truncated: bool = False  # only the first part was read

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text in hex: the same text at two addresses is one source."""
        return hashlib.sha256(self.text.encode()).hexdigest()


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
