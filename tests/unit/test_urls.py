"""When two addresses are one page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.urls import canonical_url, find_urls, short_address, url_host
from tests.support.places import SHARED

PAIRS = SHARED / "fixtures" / "url_pairs.json"
SAME = [
    ("https://www.example.org/a?x=1&a=2&utm_source=n", "http://example.org/a/?a=2&x=1#top"),
    ("https://mobile.example.org/a", "https://amp.example.org/a"),
    ("https://example.org/story.amp.html", "https://example.org/story.html"),
    ("https://example.org/2024/05/story/amp/", "https://example.org/2024/05/story"),
    ("https://www-example-org.cdn.ampproject.org/c/s/www.example.org/story?id=3", "https://example.org/story?id=3"),
    ("https://www.google.com/amp/s/www.example.org/story", "https://example.org/story"),
    ("https://arxiv.org/pdf/2101.00001v3.pdf", "https://arxiv.org/pdf/2101.00001"),
    ("http://export.arxiv.org/abs/hep-th/9901001v2", "https://arxiv.org/abs/hep-th/9901001"),
    ("https://dx.doi.org/10.1000/ABC.1", "https://doi.org/10.1000/abc.1"),
    ("https://youtu.be/abcDEF123?si=x&feature=share", "https://www.youtube.com/watch?si=x&v=abcDEF123"),
    ("https://en.m.wikipedia.org/wiki/New%20York", "https://en.wikipedia.org/wiki/New_York"),
    ("https://example.org/a?gclid=1&gbraid=2&wbraid=3&srsltid=4", "https://example.org/a"),
    ("https://example.org/%E6%97%A5%e6%9c%ac", "https://example.org/日本"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example"),
    ("https://example.org/a\n/b", "https://example.org/a/b"),
    ("https://example.org/#/docs/start", "https://www.example.org/#/docs/start"),
]
DIFFERENT = [
    ("https://example.org/a?id=1", "https://example.org/a?id=2"),
    ("https://example.org/a?tag=x&tag=y", "https://example.org/a?tag=y&tag=x"),
    ("https://example.org/a?q=A", "https://example.org/a?q=a"),
    ("https://example.org/amp", "https://example.org/"),
    ("https://example.org/lamp", "https://example.org/l"),
    ("https://example.org/#/docs/start", "https://example.org/#/docs/end"),
    ("https://m.com/a", "https://com/a"),
    ("https://github.com/a/b/contents?ref=main", "https://github.com/a/b/contents?ref=dev"),
    ("https://arxiv.org/abs/2101.00001", "https://arxiv.org/pdf/2101.00001"),
    ("https://arxiv.org/abs/2101.00001", "https://arxiv.org/abs/2101.00002"),
    ("https://en.wikipedia.org/wiki/Cat", "https://de.wikipedia.org/wiki/Cat"),
    ("https://example.org/a+b", "https://example.org/a%20b"),
    ("https://example.org/a?x=1%26y=2", "https://example.org/a?x=1&y=2"),
    ("https://example.org/a", "ftp://example.org/a"),
    ("https://blog.example.org/", "https://example.org/"),
    ("file:///home/a.md", "file:///home/A.md"),
]


@pytest.mark.skipif(not PAIRS.is_file(), reason=f"no pairs at {PAIRS}")
def test_all_shared_pairs_are_judged_right() -> None:
    pairs = json.loads(PAIRS.read_text(encoding="utf-8"))
    wrong = [pair for pair in pairs if (canonical_url(pair["a"]) == canonical_url(pair["b"])) != pair["same"]]
    assert wrong == []


@pytest.mark.parametrize(("a", "b"), SAME)
def test_two_addresses_of_one_page_are_the_same(a: str, b: str) -> None:
    assert canonical_url(a) == canonical_url(b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_addresses_of_two_pages_differ(a: str, b: str) -> None:
    assert canonical_url(a) != canonical_url(b)


@pytest.mark.parametrize(
    "url", ["file:///home/x/a%20b.md", "", "no address", "mailto:a@b.org", "http://[::1", "https://"]
)
def test_what_is_not_http_stays_itself(url: str) -> None:
    assert canonical_url(url) == url


@given(st.one_of(st.text(max_size=50), st.from_regex(r"https?://[^\s]{0,40}", fullmatch=True)))
def test_any_text_has_one_stable_form(text: str) -> None:
    once = canonical_url(text)
    assert canonical_url(once) == once
    url_host(text)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.Example.org/a", "example.org"),
        ("http://example.org:8080/", "example.org:8080"),
        ("https://bücher.example", "xn--bcher-kva.example"),
        ("http://[::1]:80/", "[::1]"),
        ("file:///a", ""),
        ("junk", ""),
        ("http://[", ""),
    ],
)
def test_the_host_of_an_address(url: str, host: str) -> None:
    assert url_host(url) == host


def test_addresses_in_text_are_found_without_what_surrounds_them() -> None:
    text = """See https://a.org/x_(y), [t](https://b.org/z?q=1&r=2). <http://c.org>; "https://d.org/d"
    | https://e.org/e | (https://f.org/f) *HTTPS://G.org/g* [https://h.org](https://h.org/1) ftp://no.org https://a.org/x_(y)
    见https://i.org/i。（https://j.org/j）https://k.org/日本, https:// http://. https://l.org/l…"""
    assert find_urls(text) == [
        "https://a.org/x_(y)", "https://b.org/z?q=1&r=2", "http://c.org", "https://d.org/d", "https://e.org/e",
        "https://f.org/f", "HTTPS://G.org/g", "https://h.org", "https://h.org/1", "https://i.org/i", "https://j.org/j",
        "https://k.org/日本", "https://l.org/l",
    ]  # fmt: skip


def test_finding_addresses_takes_linear_time() -> None:
    for hostile in ("https://a.org/" + ")" * 50_000, "https://" * 20_000, "https://a.org/" + "](" * 20_000):
        find_urls(hostile)


@pytest.mark.parametrize(
    ("url", "short"),
    [
        ("https://a.example/x?y=1", "a.example/x"),
        ("file:///home/ann/my%20notes.md", "my notes.md"),
        ("http://[", "http://["),
        ("[a link](https://a.example)", "[a link](https://a.example)"),
        ("", ""),
    ],
)
def test_what_a_person_is_shown_of_an_address_whatever_it_is(url: str, short: str) -> None:
    assert short_address(url) == short
