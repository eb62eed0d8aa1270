"""A brief as Markdown: bullets with [n], what was not established, and the sources that code fills in."""

from __future__ import annotations

import re
from itertools import groupby

from research_agent.evidence.brief import Brief, Source
from research_agent.limits import STOP_REASONS

_SPECIAL = re.compile(r"([\\`*_\[\]<>])")


def to_markdown(brief: Brief) -> str:
    """The brief for people. Without evidence there is no brief, only that sentence."""
    parts = [f"# {_plain(brief.topic)}", _status(brief)]
    if brief.claims:
        parts.append(
            "\n".join(
                "- " + " ".join(f"{_no_tags(claim['text'])} {_markers(claim['sources'])}" for claim in bullet)
                for _, bullet in groupby(brief.claims, key=lambda claim: claim["bullet"])
            )
        )
    if brief.not_established:
        parts.append("## Not established\n\n" + "\n".join(f"- {_plain(line)}" for line in brief.not_established))
    if brief.sources:
        parts.append("## Sources\n\n" + "\n".join(_source_line(source) for source in brief.sources))
    return "\n\n".join(part for part in parts if part) + "\n"


def _status(brief: Brief) -> str:
    reason = STOP_REASONS.get(brief.stop_reason, brief.stop_reason)
    notes = []
    if brief.outcome == "no_evidence":
        read = f"{brief.sources_read} source{'' if brief.sources_read == 1 else 's'} read"
        notes.append(f"No evidence was found for this topic ({read}), so there is no brief.")
    elif brief.outcome == "partial":
        notes.append(f"Partial: {reason}.")
    if brief.claims and brief.writer != brief.model:
        notes.append("The model could not write; these sentences were chosen from the sources by program.")
    return f"*{' '.join(notes)}*" if notes else ""


def _source_line(source: Source) -> str:
    about = ", ".join(part for part in (source.author, source.site, source.published) if part)
    title = _plain(source.title) or "Untitled"
    return f"{source.number}. {title}{f' ({_plain(about)})' if about else ''}  \n   <{source.url}>"


def _markers(numbers: list[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def _plain(text: str) -> str:
    """Titles come from pages: one line, and nothing in them is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _no_tags(text: str) -> str:
    return text.replace("<", "\\<")
