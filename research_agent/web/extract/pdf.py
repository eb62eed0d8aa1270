"""PDF as a page: PDFium reads it, pypdf where PDFium fails or finds next to nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.web.extract.page import MAX_TEXT, iso_date, make_page

MAX_PAGES = 300  # read of one document
_MAX_SLOW_PAGES = 60  # pypdf takes ten times as long
_MIN_PAGE = 20  # characters a page; less means pictures, or fonts that PDFium can't map
_ENCRYPTED = "it is encrypted: remove its password, or use another source"
_BROKEN = "it is a broken PDF: save it again, or use another source"


@dataclass(slots=True)
class _Contents:
    text: str = ""
    pages: int = 0
    known: dict[str, str] = field(default_factory=dict)
    cut: bool = False


def read_pdf(data: bytes, url: str) -> Page:
    """The text of a PDF, a blank line between two pages. Raises `SourceError` for encrypted and broken ones."""
    try:
        found = _with_pdfium(data)
    except _Failed:
        found = _Contents()
    if len(found.text.strip()) < _MIN_PAGE * max(1, min(found.pages, MAX_PAGES)):
        found = _better(found, data)
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", found.known.get("CreationDate", ""))
    return make_page(
        url,
        found.text,
        "application/pdf",
        title=re.sub(r"^(?:Microsoft \w+ - |untitled$)", "", found.known.get("Title", ""), flags=re.IGNORECASE),
        author=found.known.get("Author", ""),
        published=iso_date("-".join(created.groups())) if created else "",
        truncated=found.cut,
        empty=f"its {found.pages} page(s) hold only pictures, run text recognition (OCR) on it",
    )


class _Failed(Exception):
    """This library can't read it."""


def _better(found: _Contents, data: bytes) -> _Contents:
    """What pypdf finds, if that is more."""
    try:
        other = _with_pypdf(data)
    except _Failed:
        if not found.pages:
            raise SourceError(_BROKEN) from None
        return found
    if len(other.text.strip()) <= len(found.text.strip()):
        return found if found.pages else other
    return _Contents(other.text, other.pages, found.known or other.known, other.cut)


def _with_pdfium(data: bytes) -> _Contents:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
        try:
            count = len(document)
            text, cut = _pdfium_text(document, min(count, MAX_PAGES))
            return _Contents(text, count, document.get_metadata_dict(skip_empty=True), cut or count > MAX_PAGES)
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceError(_ENCRYPTED) from None
        raise _Failed from None


def _pdfium_text(document: Any, pages: int) -> tuple[str, bool]:
    """Text of the first `pages` pages, and whether it was cut; broken pages are left out."""
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
            return "\n\n".join(parts), index + 1 < pages
    return "\n\n".join(parts), False


def _with_pypdf(data: bytes) -> _Contents:
    import pypdf

    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(_ENCRYPTED)
        count = len(reader.pages)
        parts: list[str] = []
        for page in reader.pages[:_MAX_SLOW_PAGES]:
            parts.append(page.extract_text())
            if sum(map(len, parts)) > MAX_TEXT:
                break
        known = {str(key).lstrip("/"): str(value) for key, value in (reader.metadata or {}).items()}
    except (SourceError, MemoryError):
        raise
    except Exception:  # broken files raise all kinds of errors in it, of Python's own as well
        raise _Failed from None
    return _Contents("\n\n".join(parts), count, known, len(parts) < count)
