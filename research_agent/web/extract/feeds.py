"""RSS and Atom feeds as readable text: one paragraph an entry."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

from research_agent.documents import Page
from research_agent.web.extract.html import plain_text
from research_agent.web.extract.page import iso_date, make_page

MAX_ENTRIES = 300
_ROOT = re.compile(r"<(?:rss|feed|rdf:RDF)[\s>]")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")


def looks_like_feed(text: str) -> bool:
    """Whether the first element of `text` is that of RSS or Atom."""
    start = re.sub(r"<[?!][^>]{0,500}>", "", text[:4000])
    return bool(_ROOT.match(start.lstrip("\ufeff \t\r\n")))


def read_feed(text: str, url: str, media_type: str) -> Page:
    """The title of a feed and of each entry, its address, date and summary. Broken XML gives what can be read."""
    from lxml import etree

    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=False)
    root = etree.fromstring(_XML_DECLARATION.sub("", text.lstrip("\ufeff")).encode(), parser)
    if root is None:
        return make_page(url, "", media_type, empty="it is broken XML")
    channel = _child(root, "channel")
    head = root if channel is None else channel
    entries = [node for node in root.iter() if _name(node) in ("item", "entry")][:MAX_ENTRIES]
    blocks: list[str] = [_text(head, "title"), _text(head, "description", "subtitle")]
    links: list[str] = []
    for entry in entries:
        link = _link(entry, url)
        links += [link] if link else []
        published = _date(entry)
        lines = [
            f"## {_text(entry, 'title')}",
            link,
            published,
            _text(entry, "description", "encoded", "content", "summary"),
        ]
        blocks.append("\n".join(line for line in lines if line.strip("# ")))
    return make_page(
        url,
        "\n\n".join(block for block in blocks if block),
        media_type,
        title=_text(head, "title"),
        links=tuple(dict.fromkeys(links)),
        empty="the feed has no entries",
    )


def _name(node: Any) -> str:
    return str(node.tag).rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _child(node: Any, *names: str) -> Any:
    """The first child with one of these names; earlier names are preferred."""
    for name in names:
        for child in node:
            if _name(child) == name and (child.text or len(child) or child.attrib):
                return child
    return None


def _text(node: Any, *names: str) -> str:
    child = _child(node, *names)
    return plain_text("".join(child.itertext())).strip() if child is not None else ""


def _link(entry: Any, base: str) -> str:
    for child in entry:
        if _name(child) == "link" and child.get("rel", "alternate") == "alternate":
            found: str = urljoin(base, str(child.get("href") or child.text or "").strip())
            if found.startswith(("http://", "https://")):
                return found
    return ""


def _date(entry: Any) -> str:
    from email.utils import parsedate_to_datetime

    text = _text(entry, "published", "updated", "date", "pubdate")
    if found := iso_date(text):
        return found
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
