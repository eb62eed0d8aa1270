"""A sentence → tokens that can be compared: stems with their kind, their clause, and negation where it stands.

What a word is, `research_agent.text.words` decides; here each keeps its place, its capital letter and whether it
only holds the sentence together. Scripts without spaces give pairs of letters, so nothing needs a dictionary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from research_agent.evidence.check.figures import canonical, date_spans, is_number_word, is_unit, join_groups
from research_agent.evidence.check.lexicon import (
    CONJUNCTIONS,
    FUNCTION_WORDS,
    IRREGULAR,
    NAMES_TOO,
    NEGATING_PAIRS,
    NEGATIONS,
    NOT_NEGATING,
)
from research_agent.text import content_words, words

NOT = "¬"  # the stem of every negation

Kind = Literal["word", "name", "number", "function", "negation"]

# What separates pieces; quotes and brackets too. A clause ends at these or at a comma, colon or semicolon.
_PIECE = re.compile(r"[^\s()\[\]{}<>|/\"“”„«»「」『』【】（）〈〉《》、。，；：！？｡।؟،؛—–…]+")
_CLAUSE_BREAK = re.compile(r"[,;:.!?]$")
_CLAUSE_GAP = re.compile(r"[()\[\]{}|、。，；：！？｡।؟،؛—–…]")
_PART = re.compile(r"[^\W_][^\s\-‐‑'’.,;:!?]*(?:[.,]\d+)*")
_NT = re.compile(r"^(\w+?)n['’]t$", re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_NEGATING_FIRST = frozenset("不没沒未勿无無")
_NEGATING_PHRASE = re.compile(
    r"\b(?:rather than|instead of|no longer|anything but|anstatt|au lieu de|en lugar de)\b", re.IGNORECASE
)
# "not only A but B" says A; "No. 5" is a number; "no less than 5" is 5.
_POSITIVE = re.compile(
    r"\bnot (?:only|just|merely|least)\b|\bno(?=\.\s?\d)|\bno less than\b|\bnicht nur\b|\bno sólo\b|\bno solo\b"
    r"|\bpas seulement\b|\bkhông chỉ\b|\bkhông khí\b|\bkhông gian\b|だけでなく|のみならず|不仅|不只|不但|かもしれない|"
    r"なければならない|なくてはならない|ざるを得ない",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One comparable word. `clause` counts from 0 in the sentence; ``sentence[start:end]`` is the piece it is of."""

    stem: str
    raw: str
    kind: Kind
    clause: int
    start: int
    end: int

    @property
    def is_content(self) -> bool:
        """Whether the token says something of its own."""
        return self.kind in ("word", "name", "number")


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    clause: int
    start: int
    end: int
    first: bool
    beside_number: bool

    def token(self, stem: str, raw: str, kind: Kind) -> Token:
        return Token(stem, raw, kind, self.clause, self.start, self.end)


@lru_cache(maxsize=8192)
def tokens(sentence: str) -> tuple[Token, ...]:
    """The tokens of one sentence, in order."""
    text = _POSITIVE.sub(lambda match: " " * len(match[0]), join_groups(sentence))
    text = _NEGATING_PHRASE.sub(lambda match: "without".ljust(len(match[0])), text)
    dates = date_spans(text)
    found: list[Token] = []
    clause = end = 0
    for match in _PIECE.finditer(text):
        if found and (_CLAUSE_GAP.search(text, end, match.start()) or match[0].casefold() in CONJUNCTIONS):
            clause += 1
        if any(start <= match.start() and match.end() <= stop + 1 for start, stop in dates):
            # Dates are compared as dates, whatever their form; their parts are no words of their own.
            found.append(Token(match[0].casefold(), match[0], "function", clause, *match.span()))
            end = match.end()
            continue
        beside = (bool(found) and found[-1].kind == "number") or text[match.end() + 1 : match.end() + 2].isdigit()
        found.extend(_of_piece(_Piece(match[0], clause, *match.span(), not found, beside)))
        end = match.end()
        if _CLAUSE_BREAK.search(match[0]):
            clause += 1
    return tuple(found)


def _of_piece(piece: _Piece) -> list[Token]:
    bare = piece.text.strip(".,;:!?'’*_`")
    lower = bare.casefold()
    if match := _NT.match(bare):
        stem = "can" if match[1].casefold() == "ca" else match[1].casefold()
        return [piece.token(stem, stem, "function"), piece.token(NOT, bare, "negation")]
    if lower == "cannot":
        return [piece.token("can", bare, "function"), piece.token(NOT, bare, "negation")]
    if lower in NEGATIONS:
        return [piece.token(NOT, bare, "negation")]
    found: list[Token] = []
    for part in _PART.finditer(bare):
        if len(part[0]) == 1 and found and not part[0].isdigit() and not _UNSPACED.match(part[0]):
            continue  # the s of "agent's"
        if _UNSPACED.search(part[0]):
            found.extend(_of_unspaced(part[0], piece))
            continue
        beside = found[-1].kind == "number" if found else piece.beside_number
        kind = _kind(part[0], first=piece.first and not found, beside_number=beside)
        stems = [canonical(part[0])] if kind == "number" else words(_base_form(part[0], kind))
        found.extend(piece.token(stem, part[0], kind) for stem in stems)
    return found


def _base_form(part: str, kind: Kind) -> str:
    return IRREGULAR.get(part.casefold(), part) if kind == "word" else part


def _of_unspaced(part: str, piece: _Piece) -> list[Token]:
    found: list[Token] = []
    stems = words(part)
    for stem, following in zip(stems, [*stems[1:], ""], strict=True):
        latin = stem.isascii()
        negating = stem in NEGATING_PAIRS or stem[0] in _NEGATING_FIRST or (stem == "なか" and following == "かっ")
        if negating and not latin and stem not in NOT_NEGATING:
            found.append(piece.token(NOT, stem, "negation"))
        kind: Kind = "number" if stem[0].isdigit() else "name" if latin and len(stem) > 1 else "word"
        # Particles and endings are written in hiragana; pairs of them say next to nothing.
        if not latin and (negating or all("\u3040" <= letter <= "\u309f" for letter in stem)):
            kind = "function"
        found.append(piece.token(stem, stem, kind))
    return found


def _kind(part: str, *, first: bool, beside_number: bool) -> Kind:
    lower = part.casefold()
    if part[0].isdigit() or is_number_word(lower):
        return "number"
    if beside_number and is_unit(lower):
        return "function"
    # At the beginning of a sentence a capital says nothing; capitals or digits inside a word do.
    inner = part[0].isupper() and any(letter.isupper() or letter.isdigit() for letter in part[1:])
    if inner or (not first and (lower in NAMES_TOO if len(part) > 1 else part != "I") and part[0].isupper()):
        return "name"
    if lower in FUNCTION_WORDS or len(part) == 1 or not content_words(part):
        return "function"
    return "name" if part[0].isupper() and not first else "word"
