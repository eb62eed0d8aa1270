"""Bytes of a page or document in, a `Page` out. Pure: no network, no files.

Hostile input can keep the parsers inside busy for minutes, so HTML and PDF go through
`research_agent.web.worker`, which runs this module in a process that can be killed.
"""

from __future__ import annotations

import re

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.text import clean
from research_agent.web.extract.charset import decode
from research_agent.web.extract.feeds import looks_like_feed, read_feed
from research_agent.web.extract.html import read_html
from research_agent.web.extract.markdown import read_markdown
from research_agent.web.extract.media import (
    HTML_TYPES,
    MARKDOWN_TYPES,
    PDF_TYPES,
    VAGUE_TYPES,
    charset_of,
    essence_of,
    is_json,
    is_pdf,
    is_text,
    is_xml,
)
from research_agent.web.extract.page import MAX_TEXT, make_page
from research_agent.web.extract.pdf import read_pdf
from research_agent.web.extract.records import render_json

__all__ = ["MAX_TEXT", "extract", "is_pdf"]

_LOOKS_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)


def extract(data: bytes, *, url: str, media_type: str) -> Page:
    """The clean text of `data` and what is known about it.

    `media_type` is what the caller was told, parameters such as ``charset`` included. PDF is recognised by
    its first bytes whatever the type says, HTML where the type is vague. `url` gives the name and is kept.
    Raises `SourceError` when there is no text to be had.
    """
    charset = charset_of(media_type)
    kind = _sniff(data, essence_of(media_type))
    if kind in PDF_TYPES:
        return read_pdf(data, url)
    if kind in HTML_TYPES:
        return read_html(decode(data, declared=charset, html=True), url)
    if is_xml(kind):
        text = decode(data, declared=charset, html=True)
        return read_feed(text, url, kind) if looks_like_feed(text) else make_page(url, _without_tags(text), kind)
    if is_json(kind):
        return make_page(url, render_json(decode(data, declared=charset)), kind)
    if kind in MARKDOWN_TYPES:
        return read_markdown(decode(data, declared=charset), url)
    if is_text(kind):
        return make_page(url, decode(data, declared=charset), kind)
    raise SourceError(f"it is {clean(kind)[:60]}, which has no readable text; use another source")


def _without_tags(xml: str) -> str:
    text = re.sub(r"<[^<>]*>", "\n", xml[: 2 * MAX_TEXT])
    return "\n".join(line for line in map(str.strip, text.split("\n")) if line) or xml


def _sniff(data: bytes, essence: str) -> str:
    if is_pdf(data):
        return "application/pdf"
    start = data[:1024]
    vague = essence in VAGUE_TYPES
    if essence in HTML_TYPES or ((vague or essence in PDF_TYPES) and _LOOKS_HTML.search(start)):
        return "text/html"
    if (vague or essence == "text/plain") and looks_like_feed(start.decode("latin-1")):
        return "application/xml"
    return "text/plain" if vague else essence
