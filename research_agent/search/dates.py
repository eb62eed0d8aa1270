"""Days a search is limited to, in the forms that services take."""

from __future__ import annotations

from datetime import UTC, date, datetime

from research_agent.search.base import SearchError

FIRST_DAY = "1900-01-01"


def check_day(text: str) -> str:
    """`text` when it is a day as ``YYYY-MM-DD`` or empty; else `SearchError` that says so."""
    if text:
        _parse(text)
    return text


def span(since: str, until: str) -> tuple[str, str]:
    """Both ends of the days asked for: an open start is 1900, an open end is today."""
    return check_day(since) or FIRST_DAY, check_day(until) or _today().isoformat()


def recency(since: str, today: date | None = None) -> str:
    """The smallest of ``day``, ``week``, ``month``, ``year`` that reaches back to `since`; "" for none of them."""
    if not since:
        return ""
    age = ((today or _today()) - _parse(since)).days
    return next((word for word, days in (("day", 1), ("week", 7), ("month", 31), ("year", 366)) if age <= days), "")


def _parse(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise SearchError(f"{text[:40]!r} is no day; give it as YYYY-MM-DD", "rejected")
    return day


def _today() -> date:
    return datetime.now(UTC).date()
