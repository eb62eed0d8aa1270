"""The HTML brief: complete, self-contained, and inert whatever pages and models say."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from research_agent.brief.html import to_html
from research_agent.documents import OtherQuote
from tests.unit.brief.briefs import HOSTILE, a_source, brief, claim, hostile


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["title"]):
            self.words += data


def test_each_further_source_shows_its_own_quote() -> None:
    other = OtherQuote(source=2, start=5, end=17, text="They do loop")
    page = Reader(to_html(brief(claims=[claim("Agents loop.", 1, 2, quote="Agents do loop.", others=[other])])))
    assert page.words.count("They do loop") == page.words.count("Agents do loop.") == 2
    assert "characters 5–17" in page.words
    assert "Also cited" not in page.words


def test_each_number_opens_its_passage_with_a_link() -> None:
    page = Reader(to_html(brief()))
    notes = {attrs["id"] for tag, attrs in page.tags if tag == "span" and "popover" in attrs}
    targets = [attrs["popovertarget"] for tag, attrs in page.tags if tag == "button"]
    assert set(targets) == notes and len(targets) == len(notes) == 4
    assert "They crash." in page.words
    assert page.open == []
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert "https://example.org/1" in links


def test_claims_status_sources_and_what_is_open_are_all_there() -> None:
    words = Reader(to_html(brief(outcome="partial", stop_reason="max_steps", writer="extractive"))).words
    for part in (
        "How do agents fail?",
        "Agents loop.",
        "Partial",
        "chosen from the sources by program",
        "Agents sing. its sources do not say this: sing",
        "How agents end.",
        "Title 2",
    ):
        assert part in words
    assert "2026-12-01" in words and "2 sources cited of 3 read" in words


def test_without_evidence_the_page_says_so() -> None:
    words = Reader(to_html(brief(outcome="no_evidence", claims=[], sources=[], open=[], left_out=[]))).words
    assert "No evidence was found" in words and "Sources" not in words


def test_the_page_needs_nothing_from_elsewhere_and_its_policy_allows_only_its_style() -> None:
    page = to_html(brief())
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page and "default-src 'none'" in page
    assert not re.search(r"<script|<link|\bsrc=|url\(|@import|\bstyle=|\son\w+=", page)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_ever_text(text: str) -> None:
    ours = Reader(to_html(hostile("nothing")))
    page = Reader(to_html(hostile(text)))
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in ours.tags} | {"p"}
    assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]
    assert " ".join(text.split()) in page.words


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,<b>",
        "vbscript:x",
        " https://x.org",
        "https://x.org/\n",
        "//x.org",
        "http://[",
    ],
)
def test_only_web_and_file_addresses_become_links(url: str) -> None:
    page = Reader(to_html(brief(sources=[a_source(1, url=url), a_source(2)])))
    assert url not in [attrs.get("href") for _, attrs in page.tags]


def test_a_source_address_stays_byte_for_byte() -> None:
    url = "file:///a/" + "0123456789abcdef" * 4 + "?q=a&b=%20ü"
    assert url in [attrs.get("href") for _, attrs in Reader(to_html(brief(sources=[a_source(1, url=url)]))).tags]
