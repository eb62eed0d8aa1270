"""What a media type and the first bytes say about a body."""

from __future__ import annotations

import re

# These say nothing: the first bytes decide.
VAGUE_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
PDF_TYPES = frozenset({"application/pdf", "application/x-pdf"})
MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "application/markdown"})
_XML_TYPES = frozenset({"application/xml", "text/xml", "application/rss", "application/atom"})
_JSON_TYPES = frozenset({"application/json", "text/json"})
_TEXT_TYPES = frozenset({"application/yaml", "application/x-yaml", "application/x-ndjson"})
_NO_PROSE = frozenset({"text/css", "text/javascript", "text/ecmascript"})
_PDF_START = re.compile(rb"[\xef\xbb\xbf \t\r\n\0]*%PDF-")


def essence_of(media_type: str) -> str:
    """A ``Content-Type`` without parameters, in lower case."""
    return media_type.partition(";")[0].partition(",")[0].strip().lower()


def charset_of(media_type: str) -> str:
    """The ``charset`` parameter of a ``Content-Type``, "" when there is none."""
    found = re.search(r";\s*charset\s*=\s*[\"']?([\w.:+-]+)", media_type, re.IGNORECASE)
    return found[1] if found else ""


def is_pdf(data: bytes) -> bool:
    """Whether these are the first bytes of a PDF."""
    return bool(_PDF_START.match(data[:1024]))


def is_xml(essence: str) -> bool:
    """XML that is neither HTML nor a picture."""
    return essence in _XML_TYPES or (essence.endswith("+xml") and not essence.startswith("image/"))


def is_json(essence: str) -> bool:
    """JSON of any kind."""
    return essence in _JSON_TYPES or essence.endswith("+json")


def is_text(essence: str) -> bool:
    """Other text that can be shown as it is."""
    return (
        (essence.startswith("text/") and essence not in _NO_PROSE)
        or essence in _TEXT_TYPES
        or essence.endswith("+yaml")
    )


def is_readable(essence: str) -> bool:
    """Whether a body of this type may have text in it."""
    known = VAGUE_TYPES | HTML_TYPES | PDF_TYPES | MARKDOWN_TYPES
    return essence in known or is_xml(essence) or is_json(essence) or is_text(essence)
