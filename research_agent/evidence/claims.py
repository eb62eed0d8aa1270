"""The text of a brief → claims: one for each sentence, with the source numbers it cites.

Writers are asked for bullets with [n]; what they send may be HTML, tables, footnotes or prose. Markers are taken
out first and remembered by position, so that sentences are cut in text that has none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from research_agent.evidence.draft import DraftPart, Unit, units
from research_agent.evidence.sentences import split_sentences

# One group of numbers: 1  1, 2  1; 2  1-3  ^1  Source 1  1†source. No expression here can backtrack far: each
# repetition is bounded or possessive.
_NUMBERS = (
    r"\s{0,3}(?:sources?\s|quelle\s|ref\.?\s)?\s{0,3}\^?\d{1,3}"
    r"(?:\s{0,3}(?:[,;、]|[-–—]|and|und)\s{0,3}\d{1,3}){0,20}+(?:†[^\]】]{0,40})?\s{0,3}"
)
_ONE = rf"(?:\[{_NUMBERS}\](?!\()|【{_NUMBERS}】|［{_NUMBERS}］)"
_MARKER = re.compile(rf"[ \t]{{0,8}}{_ONE}(?:\s{{0,3}}[-–—]\s{{0,3}}(?=\[\d)|)", re.IGNORECASE)
# (1) is a citation only right at the end of a sentence, and superscript digits only right after its stop.
_ROUND = re.compile(
    r"[ \t]{0,8}[(（](\d{1,2}(?:\s{0,3}[,;]\s{0,3}\d{1,2}){0,9})[)）](?=\s{0,3}[.。!?！？](?:\s|$)|\s{0,3}$)"
)
_RAISED = re.compile(r"(?<=[.。!?])[¹²³⁰⁴-⁹]{1,2}(?=\s|$)")
_RANGE = re.compile(r"(\d{1,3})\s*[-–—]\s*(\d{1,3})")
_LONGEST_RANGE = 20
MOST_OPEN = 6  # lines on what is still open

_ADDRESS = re.compile(
    r"\b(?:https?|ftps?|file|javascript|data):(?://)?[^\s\d]|https?\s{0,3}:\s{0,3}/|(?<!\d)//[^\s\d/]|www\.[a-z0-9]|\bdoi(?:\.org/|:\s?)10\.|\b10\.\d{4,9}/[^\s]"
    r"|://[^\s\d]|\]\([^)\s]|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}\.(?:com|org|net|edu|gov|io|info|de|fr|uk|eu|jp|cn|vn)/[^\s)]",
    re.IGNORECASE,
)
_WHOLE_ADDRESS = re.compile(rf"(?:{_ADDRESS.pattern}|\bhttps?:/)\S*", re.IGNORECASE)
_EMPHASIS = re.compile(
    r"(\*\*|__|~~|`{1,3})(?=\S)([^*_~`]{1,2000})\1|(?<![\w*])\*(?=\S)([^*\n]{1,2000})(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_(?=\S)([^_\n]{1,2000})(?<=\S)_(?!\w)"
)


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """One sentence, or one row of a table, as the writer gave it, without its markers; `bullet` counts from 1."""

    bullet: int
    text: str
    sources: tuple[int, ...]
    part: DraftPart = "body"
    heading: str = ""
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()


def parse_claims(brief: str) -> list[DraftClaim]:
    """The sentences of `brief` in order. A sentence without a marker gets those of the next one in its bullet."""
    return [claim for number, unit in enumerate(units(brief), start=1) for claim in _claims_of(number, unit)]


def limited(drafts: Sequence[DraftClaim], most: int) -> list[DraftClaim]:
    """`drafts` with at most so many bullets and rows beside the lead: a writer that can't stop is cut."""
    counted = dict.fromkeys(draft.bullet for draft in drafts if draft.part in ("body", "disagree"))
    kept = set(list(counted)[:most])
    opens = list(dict.fromkeys(draft.bullet for draft in drafts if draft.part == "open"))[:MOST_OPEN]
    return [draft for draft in drafts if draft.part == "lead" or draft.bullet in kept or draft.bullet in opens]


def has_url(text: str) -> bool:
    """Whether the sentence writes an address or DOI itself: only code may put addresses into a brief."""
    return bool(_ADDRESS.search(text))


def without_addresses(text: str) -> str:
    """`text` with each address in it named as one: a sentence that was dropped is shown, but leads nowhere."""
    return _WHOLE_ADDRESS.sub("(address)", text)


def _claims_of(number: int, unit: Unit) -> list[DraftClaim]:
    text, markers = _take_markers(unit.text)
    about = (unit.part, _without_emphasis(_take_markers(unit.heading)[0]).strip())
    if unit.cells:
        numbers = tuple(dict.fromkeys(number for _, group in markers for number in group))
        columns, cells = (tuple(_plain(cell) for cell in row) for row in (unit.columns, unit.cells))
        said = _without_emphasis(text)
        return [DraftClaim(number, said, numbers, *about, columns, cells)] if any(map(str.isalnum, said)) else []
    spans = [span for span in split_sentences(text) if any(map(str.isalnum, text[slice(*span)]))]
    if not spans:
        return []
    cited: list[list[int]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for position, numbers_there in markers:
        # A marker after the stop stands where the next sentence begins, and belongs to the one that it follows.
        cited[max(0, bisect_left(starts, position) - 1)].extend(numbers_there)
    claims: list[DraftClaim] = []
    following: tuple[int, ...] = ()
    for (start, end), numbers_there in zip(reversed(spans), reversed(cited), strict=True):
        following = tuple(dict.fromkeys(numbers_there)) or following
        claims.append(DraftClaim(number, _without_emphasis(text[start:end]), following, *about))
    return claims[::-1]


def _plain(cell: str) -> str:
    return _without_emphasis(_take_markers(cell)[0]).strip()


def _take_markers(bullet: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """The text without its markers, and for each the place where it stood with its numbers."""
    patterns = [_MARKER, _RAISED]
    if not _MARKER.search(bullet):
        patterns.append(_ROUND)
    found = sorted((match for pattern in patterns for match in pattern.finditer(bullet)), key=lambda m: m.start())
    pieces: list[str] = []
    markers: list[tuple[int, list[int]]] = []
    length = end = 0
    span_open = False
    for match in found:
        if match.start() < end:
            continue
        piece = bullet[end : match.start()]
        # "[1]Next" needs a space where the marker was; "end [1]." does not.
        if pieces and piece[:1].isalnum():
            piece = f" {piece}"
        pieces.append(piece)
        length += len(piece)
        numbers = _numbers(match[0])
        if span_open and not piece and markers:
            numbers = _through(markers[-1][1][-1:], numbers)
        span_open = match[0].rstrip()[-1:] in "-–—"
        markers.append((length, numbers))
        end = match.end()
    rest = bullet[end:]
    pieces.append(f" {rest}" if pieces and rest[:1].isalnum() else rest)
    return "".join(pieces), markers


def _numbers(marker: str) -> list[int]:
    """The numbers of one marker, ranges written out."""
    marker = marker.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
    marker = marker.partition("†")[0]
    found: list[int] = []
    end = 0
    for match in _RANGE.finditer(marker):
        found += map(int, re.findall(r"\d+", marker[end : match.start()]))
        found += _through([int(match[1])], [int(match[2])])
        end = match.end()
    return found + [int(n) for n in re.findall(r"\d+", marker[end:])]


def _through(first: list[int], last: list[int]) -> list[int]:
    """1 and 4 as 1, 2, 3, 4; what is no plausible range stays as it is."""
    if first and last and first[0] < last[0] <= first[0] + _LONGEST_RANGE:
        return [*range(first[0], last[0]), *last]
    return first + last


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub(lambda match: match[2] or match[3] or match[4], text).strip().rstrip(" ,;")
