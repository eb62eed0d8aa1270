"""The text of a brief → claims: one for each sentence, with the source numbers it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass

from research_agent.evidence.passages import split_sentences

# [1]  [1, 2]  [1][2]  【1】  with or without a space before. A link [text](url) is none.
_MARKER = re.compile(r"\s*(?:\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?!\()|【(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)】)")
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d{1,2}[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")
# What code writes itself; a writer that adds it anyway is cut there.
_OWN_SECTION = re.compile(r"^\W*(?:sources|references|not established|quellen|fuentes|sources?)\W*$", re.IGNORECASE)
_BARE_URL = re.compile(r"\b(?:https?|file|ftp)://\S+|\bwww\.\S+")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """One sentence as the writer gave it, without its markers; `bullet` counts from 1."""

    bullet: int
    text: str
    sources: tuple[int, ...]


def parse_claims(brief: str) -> list[DraftClaim]:
    """The sentences of `brief` in order. A sentence without a marker gets those of the next one in its bullet."""
    claims: list[DraftClaim] = []
    for number, bullet in enumerate(_bullets(brief), start=1):
        claims.extend(_claims_of_bullet(number, bullet))
    return claims


def has_url(text: str) -> bool:
    """Whether the sentence writes an address itself: only code may put addresses into a brief."""
    return bool(_BARE_URL.search(text))


def _bullets(brief: str) -> list[str]:
    bullets: list[str] = []
    open_bullet = False
    for line in brief.splitlines():
        if _OWN_SECTION.match(line):
            break
        if not line.strip() or _HEADING.match(line):
            open_bullet = False
        elif open_bullet and not _BULLET.match(line):
            bullets[-1] += " " + line.strip()
        else:
            bullets.append(_BULLET.sub("", line).strip())
            open_bullet = True
    return bullets


def _claims_of_bullet(number: int, bullet: str) -> list[DraftClaim]:
    pieces: list[tuple[str, tuple[int, ...]]] = []
    for start, end in split_sentences(bullet):
        sentence = bullet[start:end]
        # A marker may stand before the full stop or after it: then it opens the next piece and belongs to this one.
        while pieces and (lead := _MARKER.match(sentence)):
            text, sources = pieces[-1]
            pieces[-1] = (text, sources + _numbers(lead))
            sentence = sentence[lead.end() :].lstrip()
        if not re.search(r"\w", sentence):
            continue
        sources = tuple(n for marker in _MARKER.finditer(sentence) for n in _numbers(marker))
        pieces.append((_EMPHASIS.sub(r"\2", _MARKER.sub("", sentence)).strip(), sources))
    claims: list[DraftClaim] = []
    following: tuple[int, ...] = ()
    for text, sources in reversed(pieces):
        following = tuple(dict.fromkeys(sources)) or following
        claims.append(DraftClaim(number, text, following))
    return claims[::-1]


def _numbers(marker: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", marker[1] or marker[2]))
