"""A brief as Markdown: bullets with [n], what was not established, and the sources that code fills in."""

from __future__ import annotations

import re
from itertools import groupby

from research_agent.brief.brief import Brief, Source
from research_agent.brief.words import about, notes, one_line, safe_url, title

# Only what could begin markup, an entity or a tag: a brief is read in terminals too.
_SPECIAL = re.compile(r"[\\`*\[\]]|(?<!\w)_|_(?!\w)|<(?=[\w/!?])|~(?=~)|(?<=~)~|&(?=#?\w{1,32};)")
_LINE_START = re.compile(r"^(\d{1,9})([.)])|^([-+=#>|])")
_BARE_LINK = re.compile(r"\b(https?|ftp)://|\bwww\.", re.IGNORECASE)


def to_markdown(brief: Brief) -> str:
    """The brief for people. Without evidence there is no brief, only that sentence."""
    parts = [f"# {_plain(brief.topic)}"]
    if said := notes(brief):
        parts.append(f"*{_plain(' '.join(said))}*")
    if brief.claims:
        parts.append("\n".join(_bullets(brief)))
    if brief.not_established:
        parts.append("## Not established\n\n" + "\n".join(f"- {_plain(line)}" for line in brief.not_established))
    if brief.sources:
        parts.append("## Sources\n\n" + "\n".join(_source(source) for source in brief.sources))
    return "\n\n".join(parts) + "\n"


def _bullets(brief: Brief) -> list[str]:
    return [
        "- " + " ".join(f"{_plain(claim['text'])} {_markers(claim['sources'])}" for claim in bullet)
        for _, bullet in groupby(brief.claims, key=lambda claim: claim["bullet"])
    ]


def _source(source: Source) -> str:
    said = about(source)
    url = ", also at ".join(_address(url) for url in (source.url, *source.also_at))
    # No ordered list: Markdown would number it anew, and the ledger's numbers have gaps.
    return f"- [{source.number}] {_plain(title(source))}{f' ({_plain(said)})' if said else ''}  \n  {url}"


def _address(url: str) -> str:
    """Byte for byte between angle brackets; an address that could close them is shown as code."""
    return f"<{url}>" if safe_url(url) and not set("<>") & set(url) else _code(url)


def _markers(numbers: list[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def _code(text: str) -> str:
    """Inline code that `text` cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {one_line(text)} {fence}" if longest else f"`{one_line(text)}`"


def _plain(text: str) -> str:
    """Titles and claims come from pages and models: one line, and nothing in them is markup or a link."""
    escaped = _SPECIAL.sub(r"\\\g<0>", one_line(text))
    escaped = _LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", escaped)
    return _BARE_LINK.sub(lambda m: m[0].replace(":", "\\:").replace(".", "\\."), escaped)
