"""From an address to a page that may be cited, or a reason why not."""

from __future__ import annotations

import asyncio

import pytest

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.web.errors import NotEvidence, TooManyRedirects
from research_agent.web.extract.extract import extract
from research_agent.web.fetch import WebReader
from tests.support.fake_web import Answer, FakeWeb, article_html
from tests.support.faults import MARKER, NOT_EVIDENCE, PROSE, RUSSIAN


async def test_an_article_becomes_a_page(web: FakeWeb, reader: WebReader) -> None:
    url = web.article("/keeper", PROSE, title="The keeper", links=("/next", "https://example.org/x#part"), lang="en-GB")
    page = await reader.read(url)
    assert (page.url, page.title, page.language, page.kind) == (url, "The keeper", "en-GB", "page")
    assert MARKER in page.text
    assert "Imprint" not in page.text
    assert {web.url("/next"), "https://example.org/x"} <= set(page.links)
    assert (page.requested_url, page.truncated) == ("", False)
    assert page.fetched_at.endswith("+00:00")


async def test_the_whole_way_through_reading_processes(web: FakeWeb, whole_reader: WebReader) -> None:
    paths = ["/good", "/paper", "/json", "/blocked", "/wrong-charset"]
    found = await asyncio.gather(*(whole_reader.read(web.url(path)) for path in paths), return_exceptions=True)
    for path, page in zip(paths, found, strict=True):
        if path == "/blocked":
            assert isinstance(page, NotEvidence)
        else:
            assert isinstance(page, Page)
            assert page.url == web.url(path)
    assert isinstance(found[0], Page)
    assert isinstance(found[0].links, tuple)


async def test_after_a_redirect_both_addresses_are_known(web: FakeWeb, reader: WebReader) -> None:
    page = await reader.read(web.url("/moved"))
    assert (page.url, page.requested_url) == (web.url("/good?from=%C3%A9&x=a+b"), web.url("/moved"))


async def test_a_page_that_only_refreshes_is_followed(web: FakeWeb, reader: WebReader) -> None:
    assert (await reader.read(web.url("/refresh"))).url == web.url("/good")
    with pytest.raises(TooManyRedirects):
        await reader.read(web.url("/refresh-loop"))


@pytest.mark.parametrize("path", sorted(NOT_EVIDENCE))
async def test_pages_that_are_not_what_was_asked_for_are_no_evidence(
    web: FakeWeb, reader: WebReader, path: str
) -> None:
    with pytest.raises(NotEvidence, match="another source") as caught:
        await reader.read(web.url(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/blocked", "block page"),
        ("/cookies", "cookie wall"),
        ("/login", "login"),
        ("/shell", "scripts"),
        ("/soft404", "404"),
    ],
)
async def test_the_reason_is_named(web: FakeWeb, reader: WebReader, path: str, reason: str) -> None:
    with pytest.raises(NotEvidence, match=reason):
        await reader.read(web.url(path))


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Captchas", "A captcha asks a reader to show that they are human. " * 60),
        (
            "How cookies work",
            "A cookie is a small text that a site stores. We use cookies every day, and few know how. " * 30,
        ),
        ("Peugeot 404", "The Peugeot 404 is a large family car produced from 1960 to 1975. " * 25),
        ("Log in to a past age", "Loggers in the north cut timber by hand. The river took it down to the mill. " * 3),
        ("A short note", "The mill was built in 1715."),
        ("Forbidden City", "The Forbidden City is a palace complex in Beijing. It was home to 24 emperors. " * 15),
        ("JavaScript", "JavaScript is a language. It can be disabled in most browsers, and few sites then work. " * 9),
        ("Access denied: a history of locks", "Locks are older than doors, says the historian who digs them up. " * 16),
    ],
)
async def test_articles_about_such_pages_are_read(web: FakeWeb, reader: WebReader, title: str, text: str) -> None:
    web.article("/about", text, title=title)
    assert text[:40] in (await reader.read(web.url("/about"))).text


async def test_a_short_article_with_a_cookie_banner_and_a_login_box_is_read(web: FakeWeb, reader: WebReader) -> None:
    html = article_html(PROSE, title="The keeper").replace(
        "<footer>",
        "<div id=cookie-banner><p>We use cookies to improve your experience. Accept all cookies?</p></div>"
        "<form><input type=password><button>Log in</button></form>"
        "<noscript>Please enable JavaScript</noscript><footer>",
    )
    web.route("/banner", Answer(html.encode()))
    assert MARKER in (await reader.read(web.url("/banner"))).text


def test_a_consent_host_is_a_cookie_wall() -> None:
    html = article_html("Yahoo is part of the Yahoo family of brands. " * 9, title="Yahoo").encode()
    with pytest.raises(NotEvidence, match="cookie wall"):
        extract(html, url="https://consent.example.com/collect?session=1", media_type="text/html")


def test_local_files_are_not_judged() -> None:
    title, body = NOT_EVIDENCE["/login"]
    html = f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()
    assert "Log in" in extract(html, url="file:///home/x/login.html", media_type="text/html").text


@pytest.mark.parametrize(
    "path",
    ["/paper", "/paper-untyped", "/paper-as-html", "/untyped", "/text", "/notes", "/json", "/feed", "/nested", "/10mb"],
)
async def test_text_is_found_whatever_it_comes_in(web: FakeWeb, reader: WebReader, path: str) -> None:
    page = await reader.read(web.url(path))
    assert MARKER in page.text
    assert page.truncated == (path in ("/10mb", "/nested"))


async def test_a_wrong_charset_is_seen_through(web: FakeWeb, reader: WebReader) -> None:
    assert RUSSIAN.strip() in (await reader.read(web.url("/wrong-charset"))).text


async def test_encrypted_papers_are_named_so(web: FakeWeb, reader: WebReader) -> None:
    with pytest.raises(SourceError, match="encrypted"):
        await reader.read(web.url("/paper-locked"))
