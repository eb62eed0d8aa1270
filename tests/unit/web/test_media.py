"""Which bodies may have text in them."""

from __future__ import annotations

import pytest

from research_agent.web.extract.media import charset_of, essence_of, is_pdf, is_readable


@pytest.mark.parametrize(
    ("media_type", "readable"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/HTML,text/html", True),
        ("application/pdf", True),
        ("", True),
        ("application/octet-stream", True),
        ("application/ld+json", True),
        ("application/atom+xml", True),
        ("text/markdown", True),
        ("image/svg+xml", False),
        ("image/png", False),
        ("video/mp4", False),
        ("application/zip", False),
        ("text/css", False),
        ("application/javascript", False),
        ("multipart/x-mixed-replace", False),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", False),
    ],
)
def test_types(media_type: str, readable: bool) -> None:
    assert is_readable(essence_of(media_type)) is readable


def test_charset_is_read_from_its_parameter() -> None:
    assert charset_of("text/html; Charset = 'gb18030'") == "gb18030"
    assert charset_of("text/html") == ""


def test_pdf_is_known_by_its_start() -> None:
    assert is_pdf(b"\xef\xbb\xbf\r\n%PDF-1.7")
    assert not is_pdf(b"see %PDF-1.7")
