"""What a piece of text from outside is made of: clean characters, and words that can be compared.

Everything that enters (topics, pages, documents, model output) passes `clean` once; search, ranking and
the support check all compare `words`, so that they agree on what a word is.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from typing import Any

import snowballstemmer

# C0/C1 controls except tab and newline, NUL included (PostgreSQL refuses it), lone surrogates (not UTF-8),
# and characters that show a reader another order or nothing at all: bidi overrides, BOM, tag characters.
# Zero-width joiners stay: Persian and Indic scripts are spelled with them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)

# Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer, Burmese. Hangul has spaces, but
# glues particles to nouns, so pairs of letters compare better there as well.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)

_STOPWORDS = frozenset(
    """a about above after again all also am an and any are as at be been before being below between both but by can
    could did do does doing during each etc every few for from further had has have having he her here hers him
    his how i if in into is it its itself just many may me might more most much must my no nor not now of off on
    once only or other our ours out over own same shall she should so some such than that the their theirs them
    then there these they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your yours""".split()  # noqa: SIM905 - a list of 150 quoted words is not readable
)


def clean(text: str) -> str:
    """`text` without characters that break storage or deceive a reader; line ends become ``\\n``, form is NFC."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n")
    text = _UNSAFE.sub("", text)
    if text.isascii():
        return text
    # Normalisation sorts the marks on a letter in quadratic time: 80,000 of them take seconds, a million hours.
    return unicodedata.normalize("NFC", _endless_marks().sub(r"\1", text))


def one_line(text: str) -> str:
    """`text` cleaned, on one line: topics, titles, addresses and errors from outside cannot steer a terminal."""
    return " ".join(clean(text).split())


def words(text: str) -> list[str]:
    """Comparable words of `text` in order: case-folded and stemmed; pairs of letters in unspaced scripts."""
    found: list[str] = []
    for match in _word().finditer(unicodedata.normalize("NFKC", text).casefold()):
        found.extend(_forms(match[0]))
    return found


def content_words(text: str) -> list[str]:
    """`words` without English function words, which say nothing about the subject."""
    return [word for word in words(text) if word not in _STEMMED_STOPWORDS]


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    """Letters with their marks (without them Hindi and Thai fall to pieces), and numbers such as 2,500.5."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(rf"[^\W_](?:[^\W_]|[{marks}\u200c\u200d])*(?:[.,][0-9]+)*")


@lru_cache(maxsize=1)
def _endless_marks() -> re.Pattern[str]:
    """More combining marks in a row than any writing has: 30, as in Unicode's stream-safe text (UAX 15)."""
    marks = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x1F000))))
    return re.compile(f"([{marks}]{{30}})[{marks}]+")


@lru_cache(maxsize=65536)
def _forms(token: str) -> tuple[str, ...]:
    forms: list[str] = []
    rest = 0
    for run in _UNSPACED.finditer(token):
        if before := token[rest : run.start()]:
            forms.append(_stem(before))
        letters = run[0]
        forms.extend(letters[i : i + 2] for i in range(max(1, len(letters) - 1)))
        rest = run.end()
    if after := token[rest:]:
        forms.append(_stem(after))
    return tuple(forms)


def _stem(token: str) -> str:
    # The stemmer object keeps its word inside, so a shared one is not safe for threads.
    return str(snowballstemmer.stemmer("english").stemWord(token)) if token.isascii() else token


def clean_json(value: Any) -> Any:
    """`value` (plain JSON types) with every string cleaned and numbers that JSON does not know as ``None``."""
    match value:
        case str():
            return clean(value)
        case float() if not math.isfinite(value):
            return None
        case list() | tuple():
            return [clean_json(item) for item in value]
        case dict():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case _:
            return value


_STEMMED_STOPWORDS = frozenset(_stem(word) for word in _STOPWORDS) | _STOPWORDS
