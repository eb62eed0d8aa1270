"""A brief as one HTML file: no script, no request; each [n] opens the passage that the sentence stands on.

Notes are popovers of the browser itself (``popover`` with ``popovertarget``). Where a browser has none, and on paper,
the passages stand in a list at the end. A content security policy forbids whatever is not in the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import count

from research_agent.brief.brief import Brief, Source
from research_agent.brief.labels import labels_of
from research_agent.brief.style import CSS
from research_agent.brief.words import (
    Section,
    about,
    day,
    notes,
    one_line,
    reason_in_words,
    safe_url,
    sections,
    title,
)
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
    body = [_said(brief, sources), _open(brief), _left_out(brief), _sources(brief), _passages(brief, sources)]
    return _PAGE.format(
        language=_text(brief.language) or "und",
        style=CSS,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        topic=_text(brief.topic),
        facts=" · ".join(_facts(brief)),
        notes="".join(f'<p class="note">{_text(note)}</p>\n' for note in notes(brief)),
        body="".join(body),
    )


def _facts(brief: Brief) -> list[str]:
    cited_count = len(brief.sources)
    cited = f"{cited_count} source{'' if cited_count == 1 else 's'} cited of {brief.sources_read} read"
    when = day(brief.finished_at)
    stamp = f'<time datetime="{_text(when)}">{_text(when)}</time>' if when else ""
    written = f"written by {_text(brief.writer)}" if brief.writer else ""
    return [part for part in (stamp, cited, written) if part]


def _said(brief: Brief, sources: dict[int, Source]) -> str:
    place = count()  # of a sentence in the brief, for the ids of its notes
    return "".join(_section(section, place, sources) for section in sections(brief))


def _section(section: Section, place: Iterator[int], sources: dict[int, Source]) -> str:
    heading = f'<h2 class="question" dir="auto">{_text(section.heading)}</h2>\n' if section.heading else ""
    if section.columns is not None:
        return heading + _table(section.columns, [row[0] for row in section.bullets], place, sources)
    said = [" ".join(_sentence(next(place), claim, sources) for claim in bullet) for bullet in section.bullets]
    if section.lead:
        return heading + "".join(f'<p class="lead" dir="auto">{each}</p>\n' for each in said)
    items = "".join(f'<li dir="auto">{each}</li>\n' for each in said)
    return f'{heading}<ul class="brief">\n{items}</ul>\n'


def _table(columns: Sequence[str], rows: Sequence[Claim], place: Iterator[int], sources: dict[int, Source]) -> str:
    head = "".join(f'<th scope="col" dir="auto">{_text(name)}</th>' for name in columns)
    body = ""
    for row in rows:
        markers = _markers(next(place), row, sources)
        first, *rest = [*map(_text, row["cells"][:-1]), f"{_text(row['cells'][-1])}\u2060{markers}"]
        body += (
            f'<tr><th scope="row" dir="auto">{first}</th>'
            + "".join(f'<td dir="auto">{c}</td>' for c in rest)
            + "</tr>\n"
        )
    return (
        '<div class="wide"><table>\n'
        + (f"<thead><tr>{head}</tr></thead>\n" if head else "")
        + f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _sentence(position: int, claim: Claim, sources: dict[int, Source]) -> str:
    return f"{_text(claim['text'])}\u2060{_markers(position, claim, sources)}"


def _markers(position: int, claim: Claim, sources: dict[int, Source]) -> str:
    return "".join(_marker(position, claim, sources[number]) for number in claim["sources"] if number in sources)


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


def _open(brief: Brief) -> str:
    items = "".join(f'<li dir="auto">{_text(line)}</li>\n' for line in brief.open)
    heading = _text(labels_of(brief.language).open)
    return f'<section class="open">\n<h2>{heading}</h2>\n<ul>\n{items}</ul>\n</section>\n' if items else ""


def _left_out(brief: Brief) -> str:
    items = "".join(
        f'<li dir="auto">{_text(each["text"])} <i>{_text(reason)}</i></li>\n'
        for each in brief.left_out
        for reason in [reason_in_words(each["code"], each["detail"], brief.language)]
    )
    summary = f"{_text(labels_of(brief.language).left_out)} ({len(brief.left_out)})"
    head = f"<summary>{summary}</summary>"
    return f'<details class="left-out">\n{head}\n<ul>\n{items}</ul>\n</details>\n' if items else ""


def _sources(brief: Brief) -> str:
    if not brief.sources:
        return ""
    items = "".join(
        f'<li value="{source.number}" id="source-{source.number}" dir="auto">{_link(source, title(source))}'
        f"{f' <i>{_text(said)}</i>' if (said := about(source)) else ''}"
        f'<span class="address" dir="ltr">{_text(source.url)}</span></li>\n'
        for source in brief.sources
    )
    heading = _text(labels_of(brief.language).sources)
    return f'<section>\n<h2>{heading}</h2>\n<ol class="sources">\n{items}</ol>\n</section>\n'


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
