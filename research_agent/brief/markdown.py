"""A brief as Markdown: lead, sections and tables with [n], and the sources that code fills in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research_agent.brief.brief import Brief, Source
from research_agent.brief.labels import labels_of
from research_agent.brief.words import Section, about, notes, one_line, reason_in_words, safe_url, sections, title
from research_agent.documents import Claim

# Only what could begin markup, an entity or a tag: a brief is read in terminals too.
_SPECIAL = re.compile(r"[\\`*\[\]]|(?<!\w)_|_(?!\w)|<(?=[\w/!?])|~(?=~)|(?<=~)~|&(?=#?\w{1,32};)")
_LINE_START = re.compile(r"^(\d{1,9})([.)])|^([-+=#>|])")
_BARE_LINK = re.compile(r"\b(https?|ftp)://|\bwww\.", re.IGNORECASE)


def to_markdown(brief: Brief, *, left_out: bool = False) -> str:
    """The brief for people. Without evidence there is no brief, only that sentence.

    `left_out` adds the sentences that were drafted and could not be kept, each with the reason.
    """
    labels = labels_of(brief.language)
    parts = [f"# {_plain(brief.topic)}"]
    if said := notes(brief):
        parts.append(f"*{_plain(' '.join(said))}*")
    for section in sections(brief):
        if section.heading:
            parts.append(f"## {_plain(section.heading)}")
        parts.append(_section(section))
    if brief.open:
        parts.append(f"## {labels.open}\n\n" + "\n".join(f"- {_plain(line)}" for line in brief.open))
    if left_out and brief.left_out:
        lines = (f"- {_plain(each['text'])}{' — ' if each['text'] else ''}" for each in brief.left_out)
        reasons = (_plain(reason_in_words(each["code"], each["detail"], brief.language)) for each in brief.left_out)
        parts.append(f"## {labels.left_out}\n\n" + "\n".join(map("".join, zip(lines, reasons, strict=True))))
    if brief.sources:
        parts.append(f"## {labels.sources}\n\n" + "\n".join(_source(source) for source in brief.sources))
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    if section.columns is not None:
        return _table(section)
    said = [" ".join(_sentence(claim) for claim in bullet) for bullet in section.bullets]
    return "\n\n".join(said) if section.lead else "\n".join(f"- {each}" for each in said)


def _table(section: Section) -> str:
    rows = [row[0] for row in section.bullets]
    width = max(len(row["cells"]) for row in rows)
    head = [*(section.columns or ()), *([""] * width)][:width]
    lines = [_row(head), "|" + " --- |" * width]
    for row in rows:
        cells = [*map(_cell, row["cells"]), *([""] * width)][:width]
        cells[-1] = f"{cells[-1]} {_markers(row['sources'])}".strip()
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _sentence(claim: Claim) -> str:
    return f"{_plain(claim['text'])} {_markers(claim['sources'])}"


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
