"""A brief for the exporters, and the same one full of hostile text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from research_agent.brief.brief import Brief, LeftOut, Source
from research_agent.documents import Claim, OtherQuote, Part

HOSTILE = [
    "<script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "](javascript:alert(1)) [click](http://evil.example)",
    "line\nbreak\r\n\r\n# heading\n- item",
    "quote \" and ' and &lt; &amp; `code` *bold* _it_ ~~gone~~ \\",
    "{braces} $money$ 100% #1 a_b ^~ \\end{document}",
    "\u202eright to left\u202c \u2067rtl\u2069",
    "<!-- comment --> ]]> <https://evil.example>",
    "1. looks like a list",
    "| a | b |",
    "see https://evil.example/x and www.evil.example",
]


def claim(
    text: str,
    *sources: int,
    bullet: int = 1,
    quote: str = "A quote.",
    start: int = 10,
    others: list[OtherQuote] | None = None,
    part: Part = "body",
    heading: str = "",
    columns: list[str] | None = None,
    cells: list[str] | None = None,
) -> Claim:
    return Claim(
        bullet=bullet, part=part, heading=heading, columns=columns or [], cells=cells or [], text=text,
        sources=list(sources), verdict="supported", code="", detail="", basis="stated", judge="", score=1.0,
        quote=quote, quote_source=sources[0], start=start, end=start + len(quote), others=others or [],
    )  # fmt: skip


def a_source(number: int, **changes: Any) -> Source:
    source = Source(
        number=number, url=f"https://example.org/{number}", title=f"Title {number}", kind="page", author="Ada Lovelace",
        site="Example", published="2026-11-30T10:00:00+00:00", language="en", content_hash=f"sha256:{number:064x}",
    )  # fmt: skip
    return replace(source, **changes)


def brief(**changes: Any) -> Brief:
    base = Brief(
        topic="How do agents fail?", thread_id="research-0", edition=1, outcome="complete", stop_reason="done",
        claims=[
            claim("Agents loop.", 1),
            claim("Agents crash.", 2, 1, quote="They crash."),
            claim("So it is.", 2, bullet=2),
        ],
        open=["How agents end."],
        left_out=[LeftOut(text="Agents sing.", sources=[1], code="unsaid", detail="sing")],
        sources=[a_source(1), a_source(2)],
        sources_read=3, steps=4, model="m", writer="m", finished_at="2026-12-01T08:00:00Z",
    )  # fmt: skip
    return replace(base, **changes)


def hostile(text: str, url: str = "https://example.org/1") -> Brief:
    source = a_source(1, title=text, author=text, site=text, published=text, language=text, url=url)
    return brief(
        topic=text,
        claims=[
            claim(text, 1, quote=text, part="lead"),
            claim(text, 1, quote=text, heading=text, bullet=2),
            claim(text, 1, quote=text, heading=text, bullet=3, columns=[text, text], cells=[text, text]),
        ],
        open=[text],
        left_out=[LeftOut(text=text, sources=[1], code="part", detail=text)],
        sources=[source],
        writer=text,
        finished_at=text,
    )
