"""HTML as a page: the article without what stands around it, and what the page says about itself.

trafilatura finds the article. Where it finds next to nothing (libxml2 loses all that is below 255 unclosed tags),
resiliparse looks again, and at the end all text is better than none. No pattern here may take more than linear time.
"""

from __future__ import annotations

import contextlib
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urljoin

from research_agent.documents import Page
from research_agent.web.errors import NotEvidence
from research_agent.web.extract.barriers import barrier
from research_agent.web.extract.page import iso_date, make_page

MAX_HTML = 3_000_000  # characters of markup that are parsed; the rest is cut off
MAX_TAGS = 120_000  # that are parsed; their number is what costs time
MAX_LINKS = 300
_MIN_ARTICLE = 250  # characters; less from the article finder means that it may have lost the text
_MAX_DEPTH = 400  # open tags; beyond that resiliparse can take minutes

_LANG = re.compile(r"<html\b[^>]{0,500}?\slang\s*=\s*[\"']?([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)", re.IGNORECASE)
# Longer ones are embedded images, and floods of attributes that take a parser quadratic time.
_MAX_TAG = 50_000  # characters
_HUGE_TAG = re.compile(rf"<[^<>]{{{_MAX_TAG},}}>")
_HREF = re.compile(
    r"<(a|base|link)\s[^<>]{0,3000}?\bhref\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))[^<>]{0,2000}>", re.I
)
_CANONICAL = re.compile(r"\brel\s*=\s*[\"']?canonical\b", re.IGNORECASE)


def read_html(html: str, url: str) -> Page:
    """The article of a page with its metadata. Raises `SourceError` for pages that are no evidence."""
    html, cut = _bounded(html)
    language = _LANG.search(html[:8192])
    known = _article(html, url)
    article = known.pop("text")
    text = article if len(article) >= _MIN_ARTICLE else _look_again(html, article)
    reason = barrier(html, article or text, _title_tag(html) or known["title"], url)
    if reason and not url.startswith("file:"):  # a person put a local file there
        raise NotEvidence(reason)
    canonical, links = _addresses(html, url)
    return make_page(
        url,
        text,
        "text/html",
        empty="it may be built by scripts only",
        language=language[1] if language else "",
        canonical_url=canonical,
        links=links,
        truncated=cut,
        **known,
    )


def plain_text(html: str) -> str:
    """All text of a page or fragment in order, menus and footers included, one block a line."""
    return _plain(html)[0]


def _bounded(html: str) -> tuple[str, bool]:
    """Markup that a parser can take, and whether some of the end is missing."""
    html = _HUGE_TAG.sub(" ", html.replace("\0", ""))
    kept = "<".join(html[:MAX_HTML].split("<", MAX_TAGS)[:MAX_TAGS])
    cut = len(kept) < len(html)
    end = kept.rfind(">") + 1
    if cut or len(kept) - end > _MAX_TAG:
        kept = kept[:end] + kept[end:].partition("<")[0]  # half a tag would be taken for text
    return kept, cut


def _without_comments(html: str) -> str:
    """Also without all that follows a comment that never ends, as browsers have it; html.parser is slow on those."""
    parts: list[str] = []
    end = 0
    while (start := html.find("<!--", end)) >= 0:
        parts.append(html[end:start])
        end = html.find("-->", start) + 3
        if end < start:
            return "".join(parts)
    return "".join(parts) + html[end:]


def _article(html: str, url: str) -> dict[str, str]:
    from trafilatura import bare_extraction

    document: Any = None
    with contextlib.suppress(Exception):  # odd markup makes it fail in many ways; all text is still to be had
        document = bare_extraction(
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
        "published": iso_date(getattr(document, "date", None) or ""),
    }
    return {name: value or "" for name, value in found.items()}


def _look_again(html: str, article: str) -> str:
    """More text than `article` if there is clearly more: menus and footers may come along."""
    plain, depth = _plain(html)
    if len(plain) <= 2 * len(article):
        return article
    main = _main_text(html) if depth <= _MAX_DEPTH else ""
    return main if len(main) >= max(_MIN_ARTICLE, len(article)) else plain


def _main_text(html: str) -> str:
    try:
        from resiliparse.extract.html2text import extract_plain_text
    except ImportError:  # it has no wheel for some platforms, musl for one
        return ""
    return str(extract_plain_text(html, main_content=True, alt_texts=False))


def _title_tag(html: str) -> str:
    found = re.search(r"<title\b[^>]{0,200}>([^<]{1,500})", html[:100_000], re.IGNORECASE)
    return unescape(found[1]) if found else ""


def _addresses(html: str, url: str) -> tuple[str, tuple[str, ...]]:
    """The address that the page gives for itself, and those that it leads to."""
    base, canonical = url, ""
    links: dict[str, None] = {}
    for match in _HREF.finditer(html):
        found = unescape(match[2] or match[3] or match[4] or "").strip()
        kind = match[1].lower()
        try:
            target = urldefrag(urljoin(base, found))[0]
        except ValueError:
            continue
        if not found or not target.startswith(("http://", "https://")) or len(target) > 2000:
            continue
        if kind == "base":
            base = target
        elif kind == "link":
            canonical = canonical or (target if _CANONICAL.search(match[0]) else "")
        elif target != url:
            links[target] = None
            if len(links) >= MAX_LINKS:
                break
    return canonical, tuple(links)


class _TextOnly(HTMLParser):
    """All text of a page in order. Builds no tree, so that nothing is lost or slow however deep it is nested."""

    _HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "title"})
    _INLINE = frozenset(
        "a abbr b bdi cite code em font i kbd mark q s small span strong sub sup u wbr".split()  # noqa: SIM905
    )
    _VOID = frozenset("area base br col embed hr img input link meta source track wbr p li".split())  # noqa: SIM905

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = ""
        self.depth = self.max_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._VOID:
            self.depth += 1
            self.max_depth = max(self.depth, self.max_depth)
        if not self.hidden and tag in self._HIDDEN:
            self.hidden = tag
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._VOID:
            self.depth -= 1
        if tag == self.hidden:
            self.hidden = ""
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def _plain(html: str) -> tuple[str, int]:
    parser = _TextOnly()
    parser.feed(_without_comments(html))
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line), parser.max_depth
