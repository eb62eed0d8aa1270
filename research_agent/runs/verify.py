"""Check a stored brief again: against the stored pages, and against the web as it is now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, cast

from research_agent.brief.brief import Brief
from research_agent.brief.words import reason_in_words
from research_agent.documents import Citation, Claim, Passage
from research_agent.errors import SourceError, UsageError
from research_agent.evidence.check.support import check_support
from research_agent.evidence.check.vetoes import veto
from research_agent.evidence.claims import DraftClaim
from research_agent.runs.sources import open_sources
from research_agent.settings import Settings
from research_agent.storage.database import fetch, open_database
from research_agent.storage.runs import find_thread

State = Literal["ok", "wrong", "changed", "unreachable"]
_Pages = Mapping[int, dict[str, Any]]  # by source number: url, content_hash, passages, text


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of a brief, or one source of it, and how it stands."""

    what: str
    state: State
    detail: str = ""


async def verify(
    thread_id: str, settings: Settings, *, live: bool = False, corpus: Path | None = None
) -> list[Finding]:
    """How each kept sentence of `thread_id` stands; with `live` also whether each source still says it.

    Args:
        live: read the sources again, from the web or from the folder that the run read.
        corpus: that folder, where it has moved.

    Raises:
        UsageError: there is no such run, or it has no brief.
    """
    async with open_database(settings) as pool:
        run, options, _ = await find_thread(pool, thread_id)
        if not run.brief:
            raise UsageError(f"{thread_id} has no brief yet: run its topic to the end first")
        brief = Brief.from_dict(run.brief)
        rows = await fetch(pool, "kept_claims", thread_id=thread_id)
        numbers = sorted({n for claim in brief.claims for n in claim["sources"]} | {s.number for s in brief.sources})
        published = {source.number: source.published for source in brief.sources}
        pages = {
            row["number"]: row | {"published": published.get(row["number"], "")}
            for row in await fetch(pool, "cited_pages", thread_id=thread_id, numbers=numbers)
        }
    findings = [_check(claim, row, pages, brief.topic) for claim, row in zip_longest(brief.claims, rows)]
    for source in brief.sources:
        page = pages.get(source.number, {})
        if (page.get("url"), page.get("content_hash")) != (source.url, source.content_hash):
            findings.append(Finding(source.url, "wrong", f"the ledger has another source as [{source.number}]"))
    if live:
        findings += await _check_live(brief, pages, settings, options, corpus)
    return findings


def _check(claim: Claim | None, row: dict[str, Any] | None, pages: _Pages, topic: str) -> Finding:
    """One sentence. `row` is what the table of claims has of it: SQL must not show another brief than was printed."""
    if claim is None or row is None:
        text = claim["text"] if claim else str(row and row["text"])
        return Finding(text, "wrong", "it stands only in one of brief and table of claims")
    what = f"{claim['text']} {''.join(f'[{number}]' for number in claim['sources'])}"
    if any(row[name] != claim[name] for name in row):  # type: ignore[literal-required]
        return Finding(what, "wrong", "brief and table of claims differ")
    for number in claim["sources"]:
        if number not in pages:
            return Finding(what, "wrong", f"there is no source [{number}]")
        if hashlib.sha256(pages[number]["text"].encode()).hexdigest() != pages[number]["content_hash"]:
            return Finding(what, "wrong", f"the stored page of [{number}] was altered")
    for source, start, end, text in _quotes(claim):
        if source not in claim["sources"] or not text or pages[source]["text"][start:end] != text:
            return Finding(what, "wrong", f"its passage does not stand at its offsets in [{source}]")
    if claim["judge"]:
        # No second judge is asked: what can be computed again must still hold.
        found = veto(_draft(claim), _ledger(pages), topic)
        why = f"judged by {claim['judge']}" if found is None else reason_in_words(found.code, found.detail)
        return Finding(what, "wrong" if found else "ok", why)
    verdict = check_support(claim["text"], [(number, _passages(pages[number])) for number in claim["sources"]])
    why = reason_in_words(verdict.code, verdict.detail)
    return Finding(what, "ok" if verdict.level == "supported" else "wrong", why)


def _draft(claim: Claim) -> DraftClaim:
    return DraftClaim(claim["bullet"], claim["text"], tuple(claim["sources"]))


def _ledger(pages: _Pages) -> list[Citation]:
    """The cited sources at their places in the ledger; nothing is known of the others."""
    nothing: dict[str, Any] = {"title": "", "published": "", "passages": []}
    return [
        cast(Citation, {**nothing, **pages.get(number, {}), "passages": _passages(pages[number])})
        if number in pages
        else cast(Citation, nothing)
        for number in range(1, max(pages, default=0) + 1)
    ]


def _quotes(claim: Claim) -> list[tuple[int, int, int, str]]:
    others = [(other["source"], other["start"], other["end"], other["text"]) for other in claim["others"]]
    return [(claim["quote_source"], claim["start"], claim["end"], claim["quote"]), *others]


def _passages(page: dict[str, Any]) -> list[Passage]:
    spans = [(passage["start"], passage["end"]) for passage in page["passages"]]
    return [Passage(start=start, end=end, text=page["text"][start:end]) for start, end in spans]


async def _check_live(
    brief: Brief, pages: _Pages, settings: Settings, options: dict[str, Any], moved: Path | None
) -> list[Finding]:
    """One finding for each source: all quotes must still stand in what it says now."""
    quotes: dict[int, list[str]] = {}
    for claim in brief.claims:
        for source, _, _, text in _quotes(claim):
            quotes.setdefault(source, []).append(text)
    folder = Path(options["corpus"]) if options.get("corpus") else None
    # Nothing is searched, so no key of a provider is needed; a folder that is gone leaves its documents unreachable.
    corpus = moved or (folder if folder and folder.is_dir() else None)
    found = []
    async with open_sources(settings.model_copy(update={"corpus": corpus, "search": ""})) as sources:
        for number, said in sorted(quotes.items()):
            if number not in pages:
                continue
            url = pages[number]["url"]
            try:
                page = await sources.reader.read(_new_place(url, folder, moved))
            except SourceError as error:
                found.append(Finding(url, "unreachable", str(error)))
                continue
            now = " ".join(page.text.split())
            gone = sum(" ".join(quote.split()) not in now for quote in said)
            detail = (
                f"{gone} of {len(said)} passages are gone" if gone else f"all {len(said)} passages still stand there"
            )
            found.append(Finding(url, "changed" if gone else "ok", detail))
    return found


def _new_place(url: str, folder: Path | None, moved: Path | None) -> str:
    """The address of a document in the folder that it was moved to."""
    before = f"{folder.as_uri()}/" if folder and moved else None
    if before and moved and url.startswith(before):
        return f"{moved.resolve().as_uri()}/{url.removeprefix(before)}"
    return url
