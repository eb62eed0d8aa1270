"""What makes a sentence of a draft certainly wrong, whoever judges its meaning.

A veto needs no reading: the number of a source that does not exist, an address, an order to whoever reads, a quotation
whose words no cited source has, a figure or date that stands nowhere in them and does not follow from figures that
the sentence names. Everything else, from names to negations, is a doubt that is put to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from research_agent.documents import Citation, Code, Passage
from research_agent.evidence.check.computed import is_computed, is_rounded
from research_agent.evidence.check.figures import Figure, Quantities, date_missing, quantities
from research_agent.evidence.check.instructions import orders_in, speaks_to_model
from research_agent.evidence.check.verbatim import missing_verbatim
from research_agent.evidence.claims import DraftClaim, has_url
from research_agent.text import content_words

_LONGEST = 2000  # characters of a sentence
_TERM = 2  # words in quotation marks that may only name something, not quote it
_SHORTEST_ORDER = 20  # letters: a shorter piece of an order stands in honest sentences too


_IN_NAME = re.compile(r"(?<![\d.,])[^\W\d_][-‐‑^]{0,2}\d[\d.,-]*|\^[(-]{0,2}\d+[\d)-]*|^\s*\(?\d{1,2}[.)]\s")


@dataclass(frozen=True, slots=True)
class Veto:
    """Why a sentence cannot stand; `detail` has the words or numbers that it is about."""

    code: Code
    detail: str = ""


def veto(draft: DraftClaim, ledger: Sequence[Citation], topic: str) -> Veto | None:
    """The first thing that is certainly wrong with `draft`, or None. What the topic says may be said again."""
    if len(draft.text) > _LONGEST:
        return Veto("too_long")
    if repeats_order(draft.text, ledger):
        return Veto("instruction")
    if has_url(draft.text):
        return Veto("address")
    if unknown := [number for number in draft.sources if not 1 <= number <= len(ledger)]:
        return Veto("no_source", str(unknown[0]))
    if not draft.sources:
        return Veto("no_source")
    shown = [topic, *shown_of([ledger[number - 1] for number in draft.sources])]
    if missing := [q for q in missing_verbatim(draft.text, ["\n".join(shown)]) if len(content_words(q)) > _TERM]:
        return Veto("quotation", missing[0])
    if missing := unfounded_figures(draft.text, shown):
        return Veto("figure", ", ".join(missing[:3]))
    return None


def shown_of(citations: Sequence[Citation]) -> list[str]:
    """Everything of `citations` that a writer was shown: titles, dates, headings, passages."""
    return [
        piece
        for citation in citations
        for piece in (
            citation["title"],
            citation["published"],
            *(text for p in citation["passages"] for text in (p.get("heading", ""), p["text"])),
        )
        if piece
    ]


def unfounded_figures(text: str, shown: Sequence[str]) -> list[str]:
    """Figures and dates of `text` that neither stand in `shown` nor follow from those of `text` that do."""
    stated, known = quantities(_unnamed(text)), quantities("\n".join(shown))
    held = [figure for figure in stated.figures if _stands(figure, known)]
    open_figures = [figure for figure in stated.figures if figure not in held and _is_written_in_digits(figure)]
    founded = Quantities(tuple(held), tuple(date for date in stated.dates if not date_missing(date, known)))
    missing = [figure.written for figure in open_figures if not is_computed(figure, founded, text)]
    return missing + [date.written for date in stated.dates if date_missing(date, known)]


def computed_figures(text: str, shown: Sequence[str]) -> bool:
    """Whether a figure of `text` stands nowhere in `shown` but follows from others that do."""
    stated, known = quantities(_unnamed(text)), quantities("\n".join(shown))
    held = tuple(figure for figure in stated.figures if _stands(figure, known))
    rest = [figure for figure in stated.figures if figure not in held and _is_written_in_digits(figure)]
    return any(is_computed(figure, Quantities(held, stated.dates), text) for figure in rest)


def repeats_order(text: str, ledger: Sequence[Citation]) -> bool:
    """Whether `text` gives an order to whoever reads it, or repeats one that a page gives to the model."""
    if speaks_to_model(text):
        return True
    said = " ".join(text.split()).rstrip(".!").casefold()
    return len(said) >= _SHORTEST_ORDER and any(
        said in " ".join(order["text"].split()).casefold() for citation in ledger for order in orders_of(citation)
    )


def orders_of(citation: Citation) -> list[Passage]:
    """What a source says to the model, sentence by sentence."""
    return [
        Passage(start=passage["start"] + start, end=passage["start"] + end, text=passage["text"][start:end])
        for passage, spans in zip(citation["passages"], orders_in(citation["passages"]), strict=True)
        for start, end in spans
    ]


def _stands(figure: Figure, known: Quantities) -> bool:
    """Whether the number stands there in any unit, as a year of a date, or less rounded."""
    if any(figure.values & other.values for other in known.figures):
        return True
    years = {date.year for date in known.dates} | {date.day for date in known.dates}
    if any(value in years for value in figure.values):
        return True
    return any(is_rounded(figure, other) for other in known.figures)


def _unnamed(text: str) -> str:
    """`text` without digits that are a part of a name, as in GPT-4, T7 and λ0, or number an item."""
    return _IN_NAME.sub(" ", text)


def _is_written_in_digits(figure: Figure) -> bool:
    """Two crises: a word may count what the sentence speaks of; whether it does is for the judge."""
    return any(letter.isdigit() for letter in figure.written)
