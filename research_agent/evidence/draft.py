"""The text of a draft → its units: the lead, bullets and rows of tables under their headings.

Writers are asked for a lead, sections, tables and two sections with set names; what they send may be HTML, bare prose
or one list. What code adds itself, a list of sources, ends a draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from research_agent.evidence.markup import plain_lines

DraftPart = Literal["lead", "body", "disagree", "open"]

_BULLET = re.compile(r"^\s*(?:[-*+•◦‣▪–—]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^\s*(?:#{1,6}(?:\s|$)|(?:\*\*|__)[^*_]{1,200}(?:\*\*|__):?\s*$|[=\-_*]{3,}\s*$)")
_TITLE = re.compile(r"^\s*#(?!#)")
_RULE = re.compile(r"^\s*[=\-_*]{3,}\s*$")
_AROUND_HEADING = re.compile(r"^[\s#*_]+|[\s#*_:：]+$")
_DISAGREE = re.compile(r"^(?:disagree|sources disagree|(?:what )?(?:the )?sources disagree(?: on)?)$", re.IGNORECASE)
_OPEN = re.compile(r"^(?:open|open questions?|still open)$", re.IGNORECASE)
_LEAD_IN = re.compile(r"[:：]\s*(?:\*\*|__)?\s*$")
# What code writes itself; a writer that adds it anyway is cut there.
_OWN_SECTION = re.compile(
    r"^\W*(?:\d+\.\s*)?(?:sources?|references|bibliography|works cited|citations|footnotes|not established"
    r"|quellen(?:angaben|verzeichnis)?|literatur|nicht belegt|fuentes|referencias|références|bibliographie|fonti|fontes"
    r"|referências|nguồn|tài liệu tham khảo|出典|参考文献|情報源|来源|參考資料|参考资料|출처|참고문헌"
    r"|источники|المصادر|स्रोत)\W*$",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(
    r"^\s*(?:\[\^?\d{1,3}\]:|\[\^?\d{1,3}\]\s.{0,400}?(?:https?://|www\.)|\^?\d{1,3}\.?\s+<?https?://)"
)
_TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|){1,50}(?:\s*:?-{2,}:?\s*)?$")
_LONGEST_HEADING = 200  # characters
_MARKED = re.compile(r"[\[【［]\s?\d")


@dataclass(frozen=True, slots=True)
class Unit:
    """A paragraph, a bullet or a row (`cells`, under `columns`); `text` still has its markers."""

    part: DraftPart
    heading: str
    text: str
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = field(default=())


def units(draft: str) -> list[Unit]:
    """The units of `draft` in order."""
    found = [unit for unit in _read(draft) if unit.text]
    # "There are three kinds:" only leads to what follows; it says nothing that a source could say.
    found = [unit for unit in found if not (_LEAD_IN.search(unit.text[-8:]) and not _MARKED.search(unit.text))]
    leads = [number for number, unit in enumerate(found) if unit.part == "lead"]
    return [replace(unit, part="body") if number in leads[1:] else unit for number, unit in enumerate(found)]


def _read(draft: str) -> Iterator[Unit]:
    part: DraftPart = "lead"
    heading = ""
    columns: tuple[str, ...] = ()
    pending: Unit | None = None
    lines = list(plain_lines(draft))
    for position, line in enumerate(lines):
        if _OWN_SECTION.match(line[:80]):
            break
        following = lines[position + 1] if position + 1 < len(lines) else ""
        is_rule, is_head = bool(_TABLE_RULE.match(line)), "|" in line and bool(_TABLE_RULE.match(following))
        is_heading, is_bullet = bool(_HEADING.match(line)), bool(_BULLET.match(line))
        is_row = line.lstrip().startswith("|") and line.count("|") > 1
        plain = not (is_rule or is_head or is_heading or is_row or not line.strip() or _FOOTNOTE.match(line))
        if pending and plain and not is_bullet:
            pending = replace(pending, text=f"{pending.text} {line.strip()}")
            continue
        if pending:
            yield pending
            pending = None
        if is_head:
            columns = tuple(_cells(line))
        elif is_heading and not is_rule:
            part, heading = _section(line, part, heading)
            columns = ()
        elif is_row and not is_rule:
            cells = tuple(_cells(line))
            yield Unit("body" if part == "lead" else part, heading, _row(columns, cells), columns, cells)
        elif plain:
            part = "body" if part == "lead" and is_bullet else part
            pending = Unit(part, heading, _BULLET.sub("", line).strip())
    if pending:
        yield pending


def _section(line: str, part: DraftPart, heading: str) -> tuple[DraftPart, str]:
    """The part and heading that a line of heading begins; a title over all begins none."""
    name = _AROUND_HEADING.sub("", line)[:_LONGEST_HEADING]
    if _RULE.match(line) or not name or (_TITLE.match(line) and part == "lead"):
        return part, heading
    if _DISAGREE.match(name):
        return "disagree", ""
    return ("open", "") if _OPEN.match(name) else ("body", name)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _row(columns: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """A row as a sentence: the first cell names what the others are about, each under the name of its column."""
    head, *rest = cells
    named = [
        f"{columns[at]}: {cell}" if at < len(columns) and columns[at] else cell
        for at, cell in enumerate(rest, start=1)
        if cell
    ]
    said = "; ".join(named) if columns else ", ".join(named)
    joint = " — " if columns else ": "
    return f"{head}{joint}{said}" if head and said else head or said
