"""What every form of a brief says in the same words: how the run ended, who wrote, what a source is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from urllib.parse import unquote, urlsplit

from research_agent.brief.brief import Brief, Source
from research_agent.brief.labels import labels_of
from research_agent.documents import Claim, Code
from research_agent.limits import STOP_REASONS
from research_agent.settings import EXTRACTIVE


@dataclass(frozen=True, slots=True)
class Section:
    """A run of sentences under one heading ("" goes on under the last): the lead, bullets, or the rows of a table."""

    lead: bool
    heading: str
    columns: tuple[str, ...] | None  # of a table, also where it has no head; None for sentences
    bullets: list[list[Claim]]  # sentences by bullet; a row is a bullet of one


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
    labels = labels_of(brief.language)
    if brief.claims and brief.writer == EXTRACTIVE != brief.model:
        found.append("The model could not write; these sentences were chosen from the sources by program.")
    elif brief.claims and brief.rewritten:
        found.append(labels.rewritten)
    if brief.claims and brief.checked == "unchecked":
        found.append(labels.unchecked)
    return found


def reason_in_words(code: Code, detail: str, language: str = "en") -> str:
    """Why a sentence was left out, in a few words of the reader's language, with what it is about."""
    reason = labels_of(language).reasons.get(code, "")  # briefs of before codes have only words
    return ": ".join(part for part in (reason, one_line(detail)) if part)


def sections(brief: Brief) -> list[Section]:
    """What a brief says, in order: the lead, then its sections, then what the sources disagree on."""
    found: list[Section] = []
    for (part, heading), group in groupby(brief.claims, key=lambda claim: (claim["part"], claim["heading"])):
        claims = list(group)
        title_ = labels_of(brief.language).disagree if part == "disagree" else heading
        for columns, rows in groupby(claims, key=lambda claim: tuple(claim["columns"]) if claim["cells"] else None):
            bullets = [list(bullet) for _, bullet in groupby(rows, key=lambda claim: claim["bullet"])]
            found.append(Section(part == "lead", title_, columns, bullets))
            title_ = ""
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
