"""Where sentences begin and end, in prose of any script, hard-wrapped lines, lists and tables.

A stop is found first and judged afterwards, so that each expression here always matches: hostile runs of
stops, brackets or digits cost linear time.
"""

from __future__ import annotations

import re

from research_agent.evidence.check.lexicon import BEFORE_NAME, BEFORE_NUMBER, GERMAN_MONTHS, OPENERS, SOMETIMES_LAST

# Stops of Latin, Greek, Cyrillic and Arabic scripts need white space after them; the others end a sentence at once:
# CJK, Devanagari danda, Urdu, Armenian, Ethiopic, Burmese, Khmer. Closing quotes and footnote marks belong to it.
_CLOSING = r"[\"'”’»)\]」』）】〉》*_]"
_STOP = re.compile(
    rf"(?P<spaced>[.!?…؟]++{_CLOSING}*+(?:\[\d{{1,3}}\])*+)"
    rf"|(?P<full>[。！？｡।॥۔։።။។]++{_CLOSING}*+)"
    r"|(?P<line>\n)"
)
_LINE_OPENS = re.compile(r"[ \t]*(?:\n|[-*+•◦‣–#|>]|\d{1,3}[.)][ \t]|\[\d{1,3}\][ \t])")
_BLOCK_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\||[=\-_*]{3,}[ \t]*$)")
_WORD_BEFORE = re.compile(r"([^\s(\[“\"'„«]*)$")
_NEXT = re.compile(r"[\s\"'“„«(\[*_¿¡]*([^\s]*)")
_GLUED = re.compile(r"[A-Z][^\W\d_A-Z]*[ ,][^\W\d_]")
_LOOK = 24  # characters before a stop that can matter
_LOOK_LINE = 400  # characters of a line that are measured

# Japanese carries on after a quotation that ends in a stop: 「…。」と述べた.
_QUOTE_GOES_ON = frozenset("とがはをのにでもやって")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Spans of the sentences of ``text[start:end]``, in order and trimmed of white space."""
    end = len(text) if end is None else end
    spans: list[tuple[int, int]] = []
    begin = start
    for match in _STOP.finditer(text, start, end):
        if _ends(text, begin, match, end):
            spans.append((begin, match.end()))
            begin = match.end()
    spans.append((begin, end))
    return [span for span in (trim(text, *span) for span in spans) if span[0] < span[1]]


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _ends(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    if match.lastgroup == "line":
        return _line_ends(text, begin, match.start(), end)
    if match.lastgroup == "full":
        closed = match[0][-1] in "」』”）"
        return not (closed and text[match.end() : match.end() + 1] in _QUOTE_GOES_ON)
    if match.end() >= end:
        return True
    if not text[match.end()].isspace():  # "the end.Then": paragraphs that an extractor glued together
        before = _WORD_BEFORE.search(text, max(begin, match.start() - _LOOK), match.start())
        lower = bool(before and len(before[1]) > 2 and before[1].isalpha() and before[1].islower())
        return lower and match[0] == "." and bool(_GLUED.match(text, match.end(), min(end, match.end() + _LOOK)))
    return _stop_ends(text, begin, match, end)


def _stop_ends(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Whether a stop that white space follows ends a sentence: the words on both sides decide."""
    following = _NEXT.match(text, match.end(), min(end, match.end() + 2 * _LOOK))
    word = following[1] if following else ""
    if word[:1].islower() and "\n\n" not in text[match.end() : match.end() + 3]:
        return False
    if match[0][0] != "." or match[0].startswith(".."):
        return True
    before = _WORD_BEFORE.search(text, max(begin, match.start() - _LOOK), match.start())
    last = before[1].casefold() if before else ""
    if not last or len(last) >= _LOOK:
        return True  # a closing quote or bracket stands before the stop, or something too long to be short for anything
    following_word = word.casefold().strip(".,;:!?’'\"”)")
    if last.isdigit():
        # "am 3. Oktober"; and the number of a list item, which stands at the beginning.
        at_start = len(last) <= 3 and not text[begin : match.start() - len(last)].strip()
        return not at_start and not (len(last) <= 2 and following_word in GERMAN_MONTHS)
    if last in BEFORE_NAME:
        return False
    if last in BEFORE_NUMBER:
        return not word[:1].isdigit()
    if last in SOMETIMES_LAST or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", last):
        return following_word in OPENERS
    # An initial: "J. Smith". A single letter that ends a sentence ("vitamin C. The") has an opener after it.
    return not (len(last) == 1 and last.isalpha() and before and before[1].isupper()) or following_word in OPENERS


def _line_ends(text: str, begin: int, newline: int, end: int) -> bool:
    """Whether a line end ends a sentence too: text may be hard-wrapped, as that of PDF files is.

    It does before a blank line, a list item, a heading or a table row, after a heading or a row, and where the
    line was ended although the next word would still have fitted: nothing but a paragraph ends so.
    """
    if _LINE_OPENS.match(text, newline + 1, end):
        return True
    line_start = max(begin, text.rfind("\n", max(0, newline - _LOOK_LINE), newline) + 1)
    if _BLOCK_LINE.match(text, line_start, newline):
        return True
    stop = text.find("\n", newline + 1, min(end, newline + 1 + _LOOK_LINE))
    following = text[newline + 1 : stop if stop >= 0 else min(end, newline + 1 + _LOOK_LINE)].strip()
    if not following or following[0].islower():
        return False
    unspaced = ord(following[0]) >= 0x3040
    needed = 1 if unspaced else 1 + len(following.split(None, 1)[0])
    line = text[line_start:newline].strip()
    return not line.endswith(("-", ",", "，", "、")) and len(line) + needed < 0.8 * len(following)
