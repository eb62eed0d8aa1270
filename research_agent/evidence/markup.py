"""What a writer sent → plain lines: HTML undone, fences and quotation marks of Markdown taken away."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_BLOCK = (
    "p|div|ul|ol|li|br|hr|h[1-6]|table|thead|tbody|tr|td|th|section|article|header|footer|html|body|head|title|"
    "blockquote|pre|dl|dt|dd"
)
_INLINE = (
    "a|b|i|em|strong|span|sup|sub|u|s|code|cite|mark|small|font|img|figure|figcaption|script|style|iframe|svg|link|"
    "meta|q|abbr|time|form|input|button|object|embed|video|audio"
)
# Tags are bounded in length and cannot contain each other, so that a page of "<" costs linear time.
_TAG = re.compile(
    rf"<(/?)({_BLOCK}|{_INLINE})\b((?:[^<>\"']|\"[^\"<>]{{0,400}}\"|'[^'<>]{{0,400}}'){{0,200}}+)/?>", re.IGNORECASE
)
_HIDDEN = re.compile(r"<(script|style|head|svg|iframe|object)\b[^<>]{0,400}>", re.IGNORECASE)
_COMMENT_OPEN, _COMMENT_CLOSE = "<!--", "-->"
_HREF = re.compile(r"\bhref\s{0,3}=\s{0,3}[\"']?([^\"'\s<>]{1,2000})", re.IGNORECASE)
_BARE_SUP = re.compile(r"^\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_QUOTED = re.compile(r"^\s*(?:>\s?)+")


def plain_lines(text: str) -> Iterator[str]:
    """The lines of `text` without HTML, code fences and marks of block quotes."""
    for line in _without_html(text).splitlines():
        if not _FENCE.match(line):
            yield _QUOTED.sub("", line)


def _without_html(text: str) -> str:
    if "<" not in text:
        return html.unescape(text) if "&" in text else text
    text = _without_hidden(text)
    pieces: list[str] = []
    end = 0
    link = ""
    for tag in _TAG.finditer(text):
        closing, name = bool(tag[1]), tag[2].lower()
        between = text[end : tag.start()]
        if name == "sup" and closing and _BARE_SUP.match(between):
            between = f"[{between.strip()}]"
        pieces.append(between)
        end = tag.end()
        if name == "li" and not closing:
            pieces.append("\n- ")
        elif name in ("td", "th"):
            pieces.append("" if closing else " | ")
        elif name == "tr":
            pieces.append(" |\n" if closing else "\n")
        elif re.fullmatch(_BLOCK, name):
            pieces.append("\n")
        elif name == "a" and not closing and (href := _HREF.search(tag[3])):
            link = href[1]
            pieces.append("[")
        elif name == "a" and closing and link:
            # A link stays visible as one: an address that a writer gives must be seen to be refused.
            pieces.append(f"]({link})")
            link = ""
    pieces.append(text[end:])
    return html.unescape("".join(pieces))


def _without_hidden(text: str) -> str:
    """Without comments, and without elements whose content is not for readers."""
    pieces: list[str] = []
    at = 0
    lower = text.lower()
    while at < len(text):
        opening = _HIDDEN.search(text, at)
        comment = text.find(_COMMENT_OPEN, at)
        if opening and (comment < 0 or opening.start() < comment):
            start, closing = opening.start(), f"</{opening[1].lower()}>"
        elif comment >= 0:
            start, closing = comment, _COMMENT_CLOSE
        else:
            break
        pieces.append(text[at:start])
        stop = lower.find(closing, start)
        if stop < 0:
            return "".join(pieces)
        at = stop + len(closing)
    return "".join([*pieces, text[at:]])
