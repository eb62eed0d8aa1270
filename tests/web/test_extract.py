"""Bytes to pages: charsets, titles, dates, and refusals that say what to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_agent.errors import SourceError
from research_agent.text import clean
from research_agent.web.extract import MAX_TEXT, extract
from research_agent.web.page import Page

CHARSETS = Path(__file__).parents[2].parent / "shared" / "fixtures" / "charsets"
RUSSIAN = "Река пересекала долину, где люди построили мельницу и мост, и никто не помнил, кто пришёл первым. "
JAPANESE = "その川は谷を横切っていて、人々はそこに水車小屋と橋を建てた。最初に来たのが誰かは分からない。"
CHINESE = "这条河穿过山谷，人们在那里建造了磨坊和桥梁，据说没有人记得是谁先来到这里的。"


def read(data: bytes | str, media_type: str = "text/html", url: str = "https://example.org/a/notes%20one.txt") -> Page:
    raw = data.encode() if isinstance(data, str) else data
    return extract(raw, url=url, media_type=media_type)


def html(body: str, head: str = "") -> str:
    return f"<html><head>{head}</head><body><article>{body}</article></body></html>"


def pdf(*pages: str, info: str = "", encrypt: str = "") -> bytes:
    """A PDF by hand: one line of Helvetica a page."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, line in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET" if line else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< {info} >>")
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R {encrypt} >>"
    return out + f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode()


LOCK = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<00> <00>]"


@pytest.mark.skipif(not CHARSETS.is_dir(), reason=f"no charset pages at {CHARSETS}")
@pytest.mark.parametrize("path", sorted(CHARSETS.glob("*.html")), ids=lambda path: path.name)
def test_every_charset_page_is_decoded(path: Path) -> None:
    page = read(path.read_bytes())
    marks = ("标记汉字", "標記漢字", "目印の文字", "Маркер-кириллица", "표식글자", "Märkerlatein")
    assert any(mark in page.text for mark in marks)
    assert "\ufffd" not in page.text


@pytest.mark.parametrize(
    ("text", "charset"),
    [(RUSSIAN, "windows-1251"), (JAPANESE, "shift_jis"), (CHINESE, "gb18030"), (JAPANESE, "iso-2022-jp")],
)
def test_declared_charset_is_used(text: str, charset: str) -> None:
    body = html(f"<p>{text * 5}</p>")
    meta = body.replace("<head>", f"<head><meta charset={charset}>").encode(charset)
    assert text.strip() in read(meta).text
    assert text.strip() in read(body.encode(charset), f"text/html; charset={charset}").text
    assert text.strip() in read((text * 5).encode(charset), f"text/plain;charset={charset}").text


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_text_files_are_decoded_with_and_without_mark(charset: str) -> None:
    text = "The plain words of a text file, with a naïve coöperation.\nSecond line."
    assert read(text.encode(charset), "text/plain").text == text


def test_utf8_wins_over_a_wrong_declaration() -> None:
    assert RUSSIAN.strip() in read(html(RUSSIAN * 4, "<meta charset=iso-8859-1>")).text


def test_a_few_broken_bytes_do_not_change_the_charset() -> None:
    data = (RUSSIAN * 20).encode()[:-2] + b"\xff"
    assert RUSSIAN.strip() in read(data, "text/plain").text


@pytest.mark.parametrize("label", ["rot13", "hex", "no-such", "utf-16", "idna", "\u212a", "undefined"])
def test_nonsense_charsets_are_ignored(label: str) -> None:
    assert read("plain", f"text/plain; charset={label}").text == "plain"


def test_binary_content_is_refused() -> None:
    for data in (bytes(range(256)) * 40, b"\x89PNG\r\n\x1a\n" + b"\0\1\2\3" * 400, b"\0" * 5000):
        with pytest.raises(SourceError, match="another source"):
            read(data, "text/plain")
    with pytest.raises(SourceError, match="image/png"):
        read(b"\x89PNG", "image/png")


def test_text_is_clean() -> None:
    page = read("one\0two\r\nthree\u202e\x07 e\u0301", "text/plain")
    assert page.text == "onetwo\nthree é"
    assert (page.title, page.media_type, page.kind) == ("notes one.txt", "text/plain", "page")


def test_endless_combining_marks_cost_no_time() -> None:
    began = time.perf_counter()
    page = read("a" + "\u0315\u0300" * 500_000 + " end", "text/plain")
    assert page.text.endswith(" end")
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html", ""])
@pytest.mark.parametrize("data", [b"", b" \n\t", "\u200b\ufeff".encode()])
def test_empty_content_is_refused(data: bytes, media_type: str) -> None:
    with pytest.raises(SourceError, match="no text in it"):
        read(data, media_type)


def test_text_is_capped() -> None:
    assert len(read(b"word " * 1_000_000, "text/plain").text) <= MAX_TEXT


def test_markdown_title_is_its_first_heading() -> None:
    page = read("text\n\n```sh\n# a comment\n```\n# The *real* [title](http://x) ##\n\n# Other\n", "text/markdown")
    assert page.title == "The real title"
    assert page.text.startswith("text\n\n```sh")
    assert read("no heading #here\n#tag", "text/markdown").title == "notes one.txt"


def test_front_matter_is_metadata_not_text() -> None:
    page = read("---\nTitle: 'A: b'\nauthor: [Ada]\ndate: 2024-02-30\n---\n# H\nbody", "text/markdown")
    assert (page.title, page.author, page.published, page.text) == ("A: b", "Ada", "", "# H\nbody")
    assert read("---\ndate: 2024-02-29T10:00\n---\nbody", "text/markdown").published == "2024-02-29"
    assert read("---\nno end\n", "text/markdown").text == "---\nno end"


def test_html_gives_article_table_and_metadata() -> None:
    head = (
        "<title>On mills</title><meta name=author content='Ada Mill'>"
        "<meta property='article:published_time' content='2023-05-06'>"
    )
    body = (
        "<nav><a href=/>Home</a></nav><h1>On mills</h1>" + "<p>A mill grinds grain by the river.</p>" * 12
        + "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )  # fmt: skip
    page = read(html(body, head).replace("<html", "<html lang='de-AT'"))
    assert (page.title, page.author, page.published, page.language) == ("On mills", "Ada Mill", "2023-05-06", "de-AT")
    assert "| 1 | 2 |" in page.text
    assert "Home" not in page.text


@pytest.mark.parametrize("media_type", ["", "application/octet-stream", "application/xhtml+xml", "application/pdf"])
def test_html_is_recognised_where_the_type_is_vague(media_type: str) -> None:
    page = read("<!DOCTYPE html>" + html("<p>hello there</p>"), media_type)
    assert (page.media_type, page.text) == ("text/html", "hello there")


def test_html_text_lost_by_the_article_finder_is_recovered() -> None:
    body = "<p><b><a href=x>" * 3000 + "<p>The marker sentence is down here.</p>" + "<script>var no = 1;</script>"
    page = read(html(body))
    assert "The marker sentence is down here." in page.text
    assert "var no" not in page.text


def test_huge_tags_are_dropped() -> None:
    flood = " ".join(f"a{i}=1" for i in range(40_000))
    began = time.perf_counter()
    assert "after the flood" in read(html(f"<p {flood}>after the flood</p><img src='data:{'A' * 400_000}'>")).text
    assert time.perf_counter() - began < 5


def test_html_without_text_is_refused() -> None:
    with pytest.raises(SourceError, match="scripts"):
        read(html("<script>render()</script>"))


def test_pdf_is_recognised_by_its_first_bytes() -> None:
    data = pdf(
        "A mill grinds grain.", "Second page.", info="/Title (Mills) /Author (Ada) /CreationDate (D:20230506101112Z)"
    )
    page = read(data, "text/plain")
    assert (page.title, page.author, page.published) == ("Mills", "Ada", "2023-05-06")
    assert (page.media_type, page.text) == ("application/pdf", "A mill grinds grain.\n\nSecond page.")
    assert read(pdf("text", info="/CreationDate (D:20239999)"), "application/pdf").published == ""


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.4\nrubbish", "broken PDF"),
        (pdf("text")[:200], "broken PDF"),
        (b"not a pdf", "broken PDF"),
        (pdf("", ""), r"2 page\(s\) hold only pictures"),
        (pdf("secret", encrypt=LOCK), "password"),
    ],
)
def test_unreadable_pdf_is_refused_with_a_reason(data: bytes, says: str) -> None:
    with pytest.raises(SourceError, match=says) as caught:
        read(data, "application/pdf")
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=300), st.sampled_from(["text/plain", "text/markdown", "text/html", "", "application/pdf"]))
def test_any_bytes_give_a_clean_page_or_a_source_error(data: bytes, media_type: str) -> None:
    try:
        page = read(data, media_type)
    except SourceError:
        return
    assert page.text == clean(page.text).strip() != ""
    assert page.title
    page.text.encode()
