"""Bytes of a page or document in, a `Page` out. Pure: no network, no files.

Hostile input can keep the parsers inside busy for minutes, so HTML and PDF go through
`research_agent.web.worker`, which runs this module in a process that can be killed.
"""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

from research_agent.errors import SourceError
from research_agent.text import clean
from research_agent.web.charset import decode
from research_agent.web.page import Page

MAX_TEXT = 2_000_000  # characters kept of one document
MAX_HTML = 3_000_000  # characters of markup that are parsed; the rest is cut off
MAX_PAGES = 300  # pages read of one PDF
_MIN_ARTICLE = 250  # characters; less from the article finder means that it may have lost the text

_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-ndjson"})
_LOOKS_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_LANG = re.compile(r"<html\b[^>]{0,500}?\slang\s*=\s*[\"']?([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)", re.IGNORECASE)
# Embedded images, and floods of attributes that take a parser quadratic time.
_HUGE_TAG = re.compile(r"<[^<>]{50000,}>")


def extract(data: bytes, *, url: str, media_type: str) -> Page:
    """The clean text of `data` and what is known about it.

    `media_type` is what the caller was told, parameters such as ``charset`` included. PDF is recognised by
    its first bytes whatever the type says, HTML where the type is vague. `url` gives the name and is kept.
    Raises `SourceError` when there is no text to be had.
    """
    essence, charset = _split_media_type(media_type)
    kind = _sniff(data, essence)
    if kind == "application/pdf":
        return _extract_pdf(data, url)
    if kind == "text/html":
        return _extract_html(decode(data, declared=charset, html=True), url)
    if not (kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(("+json", "+xml"))):
        raise SourceError(f"it is {clean(kind)[:60]}, which has no readable text; use another source")
    text = decode(data, declared=charset)
    if kind == "text/markdown":
        return _extract_markdown(text, url)
    return _page(url, text, kind)


def is_pdf(data: bytes) -> bool:
    """Whether these are the first bytes of a PDF."""
    return data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"%PDF-")


def _split_media_type(media_type: str) -> tuple[str, str]:
    essence, _, parameters = media_type.partition(";")
    found = re.search(r"charset\s*=\s*[\"']?([\w.:+-]+)", parameters, re.IGNORECASE)
    return essence.strip().lower(), found[1] if found else ""


def _sniff(data: bytes, essence: str) -> str:
    start = data[:1024]
    if is_pdf(data):
        return "application/pdf"
    vague = essence in _VAGUE or essence == "application/pdf"
    if essence in _HTML_TYPES or (vague and _LOOKS_HTML.search(start)):
        return "text/html"
    return "text/plain" if essence in _VAGUE else essence


def _page(
    url: str,
    text: str,
    media_type: str,
    *,
    title: str = "",
    author: str = "",
    site: str = "",
    published: str = "",
    language: str = "",
    empty: str = "it is empty",
) -> Page:
    text = clean(text[: 2 * MAX_TEXT]).strip()[:MAX_TEXT].rstrip()
    if not text:
        raise SourceError(f"no text in it: {empty}; use another source")
    return Page(
        url=url,
        title=_one_line(title) or _file_name(url),
        text=text,
        media_type=media_type,
        author=_one_line(author),
        site=_one_line(site),
        published=published,
        language=language,
    )


def _one_line(text: str) -> str:
    return " ".join(clean(text[:2000]).split())[:300]


def _file_name(url: str) -> str:
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace") or parts.netloc or url
    return _one_line(name)


# --- Markdown -----------------------------------------------------------------------------------------------

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){1,60}?)---[ \t]*(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}#[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}\)")
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")


def _extract_markdown(text: str, url: str) -> Page:
    text = clean(text[: 2 * MAX_TEXT]).lstrip("\n")
    known: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        known = _front_matter(front[1])
        text = text[front.end() :]
    return _page(
        url,
        text,
        "text/markdown",
        title=known.get("title") or _first_heading(text),
        author=known.get("author", ""),
        published=_iso_date(known.get("date", "")),
    )


def _front_matter(block: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip().lower(), value.strip().strip("[]\"'"))
    return found


def _first_heading(text: str) -> str:
    fence = ""
    for line in text[:50_000].splitlines():
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence and len(line) < 1000 and (heading := _HEADING.fullmatch(line)):
            return re.sub(r"[*`]+", "", _LINK.sub(r"\1", heading[1]))
    return ""


def _iso_date(text: str) -> str:
    """The ISO date that `text` begins with, if the calendar has that day."""
    found = _ISO_DATE.match(text.strip())
    if not found:
        return ""
    try:
        date.fromisoformat((found[0] + "-01-01")[:10])
    except ValueError:
        return ""
    return found[0]


# --- HTML ---------------------------------------------------------------------------------------------------


def _extract_html(html: str, url: str) -> Page:
    html = _HUGE_TAG.sub(" ", html.replace("\0", "")[:MAX_HTML])
    language = _LANG.search(html[:8192])
    known = _article(html, url)
    text = known.pop("text")
    if len(text) < _MIN_ARTICLE:
        plain = _plain_text(html)
        # Menus and footers come along, so it has to be clearly more.
        if len(plain) > 2 * len(text):
            text = plain
    return _page(
        url,
        text,
        "text/html",
        empty="it may be built by scripts only",
        language=language[1] if language else "",
        **known,
    )


def _article(html: str, url: str) -> dict[str, str]:
    from trafilatura import bare_extraction

    document: Any = bare_extraction(
        html,
        url=url,
        fast=True,
        include_comments=False,
        include_formatting=True,
        include_tables=True,
        with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    found = {
        "text": getattr(document, "text", None),
        "title": getattr(document, "title", None) or _title_tag(html),
        "author": getattr(document, "author", None),
        "site": getattr(document, "sitename", None),
        "published": _iso_date(getattr(document, "date", None) or ""),
    }
    return {name: value or "" for name, value in found.items()}


def _title_tag(html: str) -> str:
    from html import unescape

    found = re.search(r"<title\b[^>]{0,200}>([^<]{1,500})", html[:100_000], re.IGNORECASE)
    return unescape(found[1]) if found else ""


class _TextOnly(HTMLParser):
    """All text of a page in order. Builds no tree: libxml2 loses everything below 255 unclosed tags."""

    _HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "title"})
    _INLINE = frozenset(
        "a abbr b bdi cite code em font i kbd mark q s small span strong sub sup u wbr".split()  # noqa: SIM905
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self.hidden and tag in self._HIDDEN:
            self.hidden = tag
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def _plain_text(html: str) -> str:
    parser = _TextOnly()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


# --- PDF ----------------------------------------------------------------------------------------------------


def _extract_pdf(data: bytes, url: str) -> Page:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
        try:
            known = document.get_metadata_dict(skip_empty=True)
            count = len(document)
            text = _pdf_text(document, min(count, MAX_PAGES))
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceError("it is encrypted: remove its password, or use another source") from None
        raise SourceError("it is a broken PDF: save it again, or use another source") from None
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", known.get("CreationDate", ""))
    return _page(
        url,
        text,
        "application/pdf",
        title=re.sub(r"^(?:Microsoft \w+ - |untitled$)", "", known.get("Title", ""), flags=re.IGNORECASE),
        author=known.get("Author", ""),
        published=_iso_date("-".join(created.groups())) if created else "",
        empty=f"its {count} page(s) hold only pictures, run text recognition (OCR) on it",
    )


def _pdf_text(document: Any, pages: int) -> str:
    """Text of the first `pages` pages, a blank line between two of them; broken pages are left out."""
    import pypdfium2

    parts: list[str] = []
    size = 0
    for index in range(pages):
        try:
            page = document[index]
            text = page.get_textpage().get_text_bounded()
            page.close()
        except pypdfium2.PdfiumError:
            continue
        # U+FFFE and U+0002 stand for the hyphen of a word that goes on in the next line.
        parts.append(re.sub("[\ufffe\x02](?:\r?\n)?", "", text))
        size += len(text)
        if size > MAX_TEXT:
            break
    return "\n\n".join(parts)
