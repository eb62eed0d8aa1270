"""A brief as one HTML file: no script, no request; each [n] opens the passage that the sentence stands on.

Notes are popovers of the browser itself (``popover`` with ``popovertarget``). Where a browser has none, and on paper,
the passages stand in a list at the end. A content security policy forbids whatever is not in the file.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from itertools import groupby

from research_agent.brief.brief import Brief, Source
from research_agent.brief.style import CSS
from research_agent.brief.words import about, day, notes, one_line, safe_url, title
from research_agent.documents import Claim, OtherQuote

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{topic}</title>
<style>{style}</style>
</head>
<body>
<main>
<header>
<p class="kind">Research brief</p>
<h1 dir="auto">{topic}</h1>
<p class="facts">{facts}</p>
{notes}</header>
{body}</main>
</body>
</html>
"""


def to_html(brief: Brief) -> str:
    """The brief as a page that stands alone."""
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    sources = {source.number: source for source in brief.sources}
    sections = [_bullets(brief, sources), _not_established(brief), _sources(brief), _passages(brief, sources)]
    return _PAGE.format(
        language=_text(next((source.language for source in brief.sources if source.language), "")) or "und",
        style=CSS,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        topic=_text(brief.topic),
        facts=" · ".join(_facts(brief)),
        notes="".join(f'<p class="note">{_text(note)}</p>\n' for note in notes(brief)),
        body="".join(sections),
    )


def _facts(brief: Brief) -> list[str]:
    count = len(brief.sources)
    cited = f"{count} source{'' if count == 1 else 's'} cited of {brief.sources_read} read"
    when = day(brief.finished_at)
    stamp = f'<time datetime="{_text(when)}">{_text(when)}</time>' if when else ""
    written = f"written by {_text(brief.writer)}" if brief.writer else ""
    return [part for part in (stamp, cited, written) if part]


def _bullets(brief: Brief, sources: dict[int, Source]) -> str:
    if not brief.claims:
        return ""
    items = []
    for _, bullet in groupby(enumerate(brief.claims), key=lambda pair: pair[1]["bullet"]):
        items.append('<li dir="auto">' + " ".join(_sentence(n, claim, sources) for n, claim in bullet) + "</li>\n")
    return f'<ul class="brief">\n{"".join(items)}</ul>\n'


def _sentence(position: int, claim: Claim, sources: dict[int, Source]) -> str:
    markers = "".join(_marker(position, claim, sources[number]) for number in claim["sources"] if number in sources)
    return f"{_text(claim['text'])}\u2060{markers}"


def _marker(position: int, claim: Claim, source: Source) -> str:
    note = f"note-{position}-{source.number}"
    label = f"Passage in source {source.number}"
    return (
        f'<sup><button type="button" popovertarget="{note}" aria-label="{label}">{source.number}</button></sup>'
        f'<span class="passage" id="{note}" popover>{_quote(claim, source)}{_reference(source)}</span>'
    )


def _quote(claim: Claim, source: Source) -> str:
    said = next((quote["text"] for quote in _quotes(claim) if quote["source"] == source.number), "")
    if not said:
        return '<span class="quote none">Also cited for this sentence.</span>'
    return f'<q class="quote" dir="auto">{_text(said)}</q>'


def _quotes(claim: Claim) -> list[OtherQuote]:
    """All quotes that a sentence stands on."""
    first = OtherQuote(source=claim["quote_source"], start=claim["start"], end=claim["end"], text=claim["quote"])
    return [first, *claim["others"]]


def _reference(source: Source) -> str:
    said = about(source)
    return (
        f'<span class="reference" dir="auto"><b>{source.number}</b> {_link(source, title(source))}'
        f"{f' <i>{_text(said)}</i>' if said else ''}</span>"
    )


def _not_established(brief: Brief) -> str:
    if not brief.not_established:
        return ""
    items = "".join(f'<li dir="auto">{_text(line)}</li>\n' for line in brief.not_established)
    return f'<section class="open">\n<h2>Not established</h2>\n<ul>\n{items}</ul>\n</section>\n'


def _sources(brief: Brief) -> str:
    if not brief.sources:
        return ""
    items = "".join(
        f'<li value="{source.number}" id="source-{source.number}" dir="auto">{_link(source, title(source))}'
        f"{f' <i>{_text(said)}</i>' if (said := about(source)) else ''}"
        f'<span class="address" dir="ltr">{_text(source.url)}</span></li>\n'
        for source in brief.sources
    )
    return f'<section>\n<h2>Sources</h2>\n<ol class="sources">\n{items}</ol>\n</section>\n'


def _passages(brief: Brief, sources: dict[int, Source]) -> str:
    """All passages once more, for paper and for reading in a row."""
    quoted = [claim for claim in brief.claims if claim["quote"] and claim["quote_source"] in sources]
    if not quoted:
        return ""
    items = "".join(
        f'<li dir="auto">{_unless_quoted(claim)}'
        + "".join(_blockquote(quote) for quote in _quotes(claim) if quote["source"] in sources)
        + "</li>\n"
        for claim in quoted
    )
    head = "<summary>Every sentence with its passage</summary>"
    return f'<details class="passages">\n{head}\n<ol>\n{items}</ol>\n</details>\n'


def _blockquote(quote: OtherQuote) -> str:
    return (
        f'<blockquote>{_text(quote["text"])}<cite><a href="#source-{quote["source"]}">[{quote["source"]}]</a> '
        f"characters {quote['start']}–{quote['end']}</cite></blockquote>"
    )


def _unless_quoted(claim: Claim) -> str:
    """The sentence, unless it is the quote itself."""
    return "" if one_line(claim["text"]) == one_line(claim["quote"]) else f"<p>{_text(claim['text'])}</p>"


def _link(source: Source, words: str) -> str:
    url = safe_url(source.url)
    return f'<a href="{_text(url)}" rel="noopener noreferrer nofollow">{_text(words)}</a>' if url else _text(words)


def _text(text: str) -> str:
    return escape(one_line(text), quote=True)
