"""What storage, search, web and evidence share: leads, pages, and what a brief stands on.

`research_agent.urls` beside this module says when two addresses are the same page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One lead: a place worth reading. A hit is no evidence until its page was read."""

    url: str
    title: str
    snippet: str
    published: str = ""  # ISO date where the provider knows one, also "2024" or "2024-05"
    source: str = ""  # name of the provider; several joined by "+"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a piece of a text belongs to: from `start` on, until the next mark of its kind.

    Attributes:
        start: offset in the text of the page.
        label: what a person is shown: the title of a heading, ``p. 17``, ``slide 3``, ``row 12``, ``00:01:30``.
        level: of a heading, from 1; 0 for what has none.
        anchor: what stands behind ``#`` in an address that leads there, ``page=17`` or ``collapse``; "" for none.
    """

    start: int
    kind: Literal["heading", "page", "slide", "sheet", "row", "chapter", "cell", "line", "time"]
    label: str
    level: int = 0
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A document that was read with success.

    `text` is clean (see `research_agent.text.clean`) and never changes: passages and quotes are offsets into it.
    """

    url: str
    title: str
    text: str
    kind: Literal["page", "document"] = "page"
    media_type: str = "text/plain"
    author: str = ""
    site: str = ""
    published: str = ""  # ISO date, "" when unknown
    language: str = ""  # BCP 47, "" when unknown
    requested_url: str = ""  # what was asked for, where redirects led to another `url`
    canonical_url: str = ""  # what the page itself gives as its address, "" when it does not say
    fetched_at: str = ""  # ISO time in UTC, "" for what did not come from the web
    links: tuple[str, ...] = ()  # http(s) addresses that the page leads to, in order, each once
    truncated: bool = False  # only the first part was read
    marks: tuple[Mark, ...] = ()  # headings and places, by their start

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text in hex: the same text at two addresses is one source."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Passage(TypedDict):
    """A piece of a source that the model was shown: offsets into the stored text, and that text."""

    start: int
    end: int
    text: str
    heading: NotRequired[str]  # path of headings above it, joined by " › "
    place: NotRequired[str]  # page, line, cell …, as its mark names it
    anchor: NotRequired[str]  # see `Mark`


class Question(TypedDict):
    """One part of the topic, as the plan names it. Its number is its position + 1."""

    text: str


class Citation(TypedDict):
    """One source of the ledger. Its number is its position + 1 and never changes."""

    url: str  # as it was fetched, byte for byte
    also_at: list[str]  # other addresses that gave the same text
    title: str
    kind: Literal["page", "document"]
    content_hash: str
    author: str
    site: str
    published: str
    language: str
    passages: list[Passage]


class OtherQuote(TypedDict):
    """What a further cited source says: ``text == stored[start:end]`` in the stored text of source `source`."""

    source: int
    start: int
    end: int
    text: str


Code = Literal[
    "",  # it stands
    "unsaid",  # the cited sources do not say it
    "part",  # they say a part of it
    "doubt",  # they have its words, in another sense: a name, a role or a negation differs
    "figure",  # a figure or date stands nowhere in them
    "quotation",  # the words in quotation marks stand nowhere in them
    "no_source",  # it cites none, or one that does not exist
    "address",  # it writes an address itself
    "instruction",  # it gives an order, to a reader or to a machine
    "off_topic",  # it says nothing on the topic
    "leaning",  # it leans on a sentence that was left out
    "too_long",  # it is too long to be one sentence
    "unchecked",  # nobody was there to judge it
]
"""Why a sentence was left out. Words are made of it in one place, `research_agent.brief.words`."""


Part = Literal["lead", "body", "disagree"]
"""Where in a brief a sentence stands: what answers the topic, a section, or what the sources disagree on."""

Basis = Literal["", "stated", "combined", "computed"]
"""What a kept sentence rests on: one source says it, it follows from several, or a figure in it was worked out."""


class Claim(TypedDict):
    """One sentence of a draft, or one row of a table, with what it stands on.

    `start` and `end` are offsets of `quote` in the stored text of source `quote_source`. `others` has one quote for
    each further source that it cites. `bullet` counts the bullets, paragraphs and rows of the draft from 1.
    """

    bullet: int
    part: Part
    heading: str  # of its section, "" for none
    columns: list[str]  # of the table that it is a row of
    cells: list[str]  # of that row, without numbers of sources; [] for a sentence
    text: str
    sources: list[int]
    verdict: Literal["supported", "partly", "not"]
    code: Code
    detail: str  # the words, number or name that `code` is about, "" for none
    basis: Basis
    judge: str  # the model that judged its meaning, "" where the program decided
    score: float
    quote: str
    quote_source: int
    start: int
    end: int
    others: list[OtherQuote]
