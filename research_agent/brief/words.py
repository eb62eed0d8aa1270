"""What every form of a brief says in the same words: how the run ended, who wrote, what a source is."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import unquote, urlsplit

from research_agent.brief.brief import Brief, Source
from research_agent.limits import STOP_REASONS

_SCHEMES = ("http", "https", "file")


def notes(brief: Brief) -> list[str]:
    """What a reader must know before the first sentence."""
    reason = STOP_REASONS.get(brief.stop_reason, brief.stop_reason)
    found = []
    if brief.outcome == "no_evidence":
        read = f"{brief.sources_read} source{'' if brief.sources_read == 1 else 's'} read"
        found.append(f"No evidence was found for this topic ({read}), so there is no brief.")
    elif brief.outcome == "partial":
        found.append(f"Partial: {reason}.")
    elif brief.outcome == "failed":
        found.append(f"Failed: {reason}.")
    if brief.claims and brief.writer != brief.model:
        found.append("The model could not write; these sentences were chosen from the sources by program.")
    return found


def about(source: Source) -> str:
    """Author, site and date of a source, as far as they are known."""
    return ", ".join(part for part in map(one_line, (source.author, source.site, day(source.published))) if part)


def title(source: Source) -> str:
    """The title on one line; the last part of the address where a page has none."""
    return one_line(source.title) or unquote(urlsplit(source.url).path.rstrip("/").rpartition("/")[2]) or "Untitled"


def one_line(text: str) -> str:
    """`text` with white space folded: titles come from pages."""
    return " ".join(text.split())


def day(stamp: str) -> str:
    """The day of a time stamp as YYYY-MM-DD; anything else as it is."""
    try:
        return datetime.fromisoformat(stamp).date().isoformat()
    except ValueError:
        return stamp


def safe_url(url: str) -> str:
    """`url` if a browser may open it, else "": pages name addresses of every kind."""
    try:
        scheme = urlsplit(url).scheme.lower()
    except ValueError:
        return ""
    return url if scheme in _SCHEMES and not any(c.isspace() or ord(c) < 32 for c in url) else ""
