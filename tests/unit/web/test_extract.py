"""Bytes to pages: charsets, titles, dates, and refusals that say what to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.text import clean
from research_agent.web.extract.extract import MAX_TEXT, extract
from tests.support.pdfs import LOCK, pdf
from tests.support.places import SHARED

CHARSETS = SHARED / "fixtures" / "charsets"
RUSSIAN = "Река пересекала долину, где люди построили мельницу и мост, и никто не помнил, кто пришёл первым. "
JAPANESE = "その川は谷を横切っていて、人々はそこに水車小屋と橋を建てた。最初に来たのが誰かは分からない。"
CHINESE = "这条河穿过山谷，人们在那里建造了磨坊和桥梁，据说没有人记得是谁先来到这里的。"


def read(data: bytes | str, media_type: str = "text/html", url: str = "https://example.org/a/notes%20one.txt") -> Page:
    raw = data.encode() if isinstance(data, str) else data
    return extract(raw, url=url, media_type=media_type)


def html(body: str, head: str = "") -> str:
    return f"<html><head>{head}</head><body><article>{body}</article></body></html>"


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


def test_json_is_readable_and_splits_into_records() -> None:
    page = read(
        '[{"name": "La Rance", "year": 1966, "tags": ["tide", "power"]}, {"name": "Ü", "x": {}}]', "application/json"
    )
    assert page.text == "name: La Rance\nyear: 1966\ntags:\n  - tide\n  - power\n\nname: Ü\nx: {}"
    assert read('{"a": null, "b": [[1, 2], []]}', "application/ld+json").text == "a: null\n\nb:\n  - - 1\n    - 2\n  -"
    for odd in ('{"cut": "in the mid', "[" * 100_000, '"text"', "plain"):
        assert read(odd, "application/json").text


def test_a_feed_gives_its_entries() -> None:
    atom = (
        '<?xml version="1.0" encoding="iso-8859-1"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title>'
        '<entry><title>One &amp; two</title><link rel="self" href="/self"/><link href="/one"/>'
        "<updated>2024-05-06T10:00:00Z</updated><summary type='html'>&lt;p&gt;Märkte"
        " &lt;b&gt;open&lt;/b&gt;&lt;/p&gt;</summary>"
        "</entry><entry><title>Broken<entry></feed>"
    ).encode("iso-8859-1")
    for media_type in ("application/atom+xml", "text/xml", ""):
        page = read(atom, media_type, "https://example.org/feed")
        assert page.title == "Tides"
        assert page.text.startswith("Tides\n\n## One & two\nhttps://example.org/one\n2024-05-06\nMärkte open")
        assert page.links == ("https://example.org/one",)


def test_entities_of_a_feed_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    feed = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><channel><title>T</title>'
    page = read(feed + "<item><title>x &l9; &f;</title></item></channel></rss>", "application/rss+xml")
    assert len(page.text) < 1000
    assert "root:" not in page.text


def test_the_page_says_its_address_and_where_it_leads() -> None:
    head = '<base href="/b/"><link rel="stylesheet" href="s.css"><link href="/canonical?a=1&amp;b=2" rel=canonical>'
    body = (
        "<p>text</p><a href='one#part'>1</a><a class=x href=two>2</a><a href='javascript:x()'>3</a>"
        "<a href='mailto:a@b'>4</a>"
        '<a href="https://other.org/?a=1&amp;b=2">5</a><a href="http://[bad">6</a><a href="one">7</a><a name=x>8</a>'
    )
    page = read(html(body, head), url="https://example.org/x/y")
    assert page.canonical_url == "https://example.org/canonical?a=1&b=2"
    assert page.links == ("https://example.org/b/one", "https://example.org/b/two", "https://other.org/?a=1&b=2")


def test_a_pdf_that_pdfium_gives_up_is_read_by_pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypdfium2

    def fail(*args: object) -> None:
        raise pypdfium2.PdfiumError("Data format error")

    monkeypatch.setattr(pypdfium2, "PdfDocument", fail)
    page = read(pdf("A mill grinds grain.", "Second page.", info="/Title (Mills)"), "application/pdf")
    assert (page.title, page.text) == ("Mills", "A mill grinds grain.\n\nSecond page.")


@pytest.mark.parametrize(
    "hostile",
    [
        "<a " * 300_000, "<a href='" * 100_000, "<link " * 200_000, "<noscript>" * 100_000, "<h1>" * 200_000,
        "<!--" * 200_000, "<input type=" * 100_000, '<div id="root">' + " " * 500_000, "<meta " * 200_000,
        "<title>" * 100_000, "<" * 500_000,
    ],
    ids=lambda text: text[:10],
)  # fmt: skip
def test_no_pattern_takes_more_than_linear_time(hostile: str) -> None:
    from research_agent.web.extract.barriers import barrier
    from research_agent.web.extract.html import _addresses, _title_tag

    began = time.perf_counter()
    barrier(hostile, "some text", "A title", "https://example.org/")
    _addresses(hostile, "https://example.org/")
    _title_tag(hostile)
    assert time.perf_counter() - began < 3


def test_code_and_tables_stay_readable() -> None:
    body = (
        "<h1>Locks</h1>" + "".join(f"<p>Lock {n} lifts a boat to the next level of the river.</p>" for n in range(9))
        + "<pre><code>def lift(boat):\n    return boat + 1\n</code></pre><p>Then the gate opens for the boat.</p>"
        + "<table><tr><th>lock</th><th>metres</th></tr><tr><td>Upper</td><td>4.5</td></tr></table><ul><li>one</li></ul>"
    )  # fmt: skip
    text = read(html(body)).text
    assert "def lift(boat):\n    return boat + 1" in text
    assert "| Upper | 4.5 |" in text
    assert "- one" in text


def test_other_xml_is_read_without_its_tags() -> None:
    page = read("<?xml version='1.0'?><doc><title>Mills</title><p a='1'>They <b>grind</b></p></doc>", "application/xml")
    assert page.text == "Mills\nThey\ngrind"


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<p>kept</p>" + "<!-- >" * 100_000, True),
        ("<p>kept</p>" + "<!--" * 200_000, True),
        ("<!--" * 200_000 + "<p>kept</p>", False),  # a comment that never ends hides the rest, as in browsers
        (f"<img src='data:{'A' * 4_000_000}'><p>kept</p>", True),
        ("<p>kept</p><img src='data:" + "A" * 4_000_000, True),
        ("<div>" * 100_000 + "kept", True),
        ("<b i>" * 2000 + "<i i>" * 2000 + "x</b>" * 2000 + "kept", True),
        ("<p>kept</p>" + "<![CDATA[" * 100_000 + ">", True),
        ("kept " + "&" * 500_000, True),
    ],
    ids=["comments >", "comments after", "comments before", "image", "open image", "depth", "misnested", "cdata", "&"],
)
def test_hostile_markup_costs_no_time_and_loses_no_text(markup: str, found: bool) -> None:
    began = time.perf_counter()
    try:
        assert ("kept" in read(f"<html><body>{markup}").text) is found
    except SourceError:
        assert not found
    assert time.perf_counter() - began < 6
