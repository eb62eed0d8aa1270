"""Check a stored brief again: against the stored pages, and against the web as it is now."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from research_agent.errors import SourceError, UsageError
from research_agent.evidence.support import check_support
from research_agent.settings import Settings
from research_agent.sources import open_sources
from research_agent.state import Passage
from research_agent.storage.database import Pool, fetch, open_database
from research_agent.storage.runs import find_thread

State = Literal["ok", "wrong", "changed", "unreachable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of a brief, or one source of it, and how it stands."""

    what: str
    state: State
    detail: str = ""


async def verify(thread_id: str, settings: Settings, *, live: bool = False) -> list[Finding]:
    """How each kept sentence of `thread_id` stands; with `live` also whether each source still says it.

    Raises:
        UsageError: there is no such run, or it has no brief.
    """
    async with open_database(settings) as pool:
        run, options, _ = await find_thread(pool, thread_id)
        if not run.brief:
            raise UsageError(f"{thread_id} has no brief yet: run its topic to the end first")
        rows = await fetch(pool, "claims_with_pages", thread_id=thread_id)
        findings = [await _check(pool, thread_id, row) for row in rows]
        if live:
            findings += await _check_live(rows, settings, options)
    return findings


async def _check(pool: Pool, thread_id: str, row: dict[str, Any]) -> Finding:
    what = f"[{row['quote_source']}] {row['claim']}"
    if hashlib.sha256(row["text"].encode()).hexdigest() != row["content_hash"]:
        return Finding(what, "wrong", "the stored page was altered")
    if row["text"][row["quote_start"] : row["quote_end"]] != row["quote"]:
        return Finding(what, "wrong", "its passage does not stand at its offsets")
    evidence = []
    for source in await fetch(pool, "cited_passages", thread_id=thread_id, numbers=row["sources"]):
        passages = [
            Passage(start=p["start"], end=p["end"], text=source["text"][p["start"] : p["end"]])
            for p in source["passages"]
        ]
        evidence.append((source["number"], passages))
    verdict = check_support(row["claim"], evidence)
    return Finding(what, "ok" if verdict.level == "supported" else "wrong", verdict.reason)


async def _check_live(rows: list[dict[str, Any]], settings: Settings, options: dict[str, Any]) -> list[Finding]:
    """One finding for each source: all quotes must still stand in what it says now."""
    quotes: dict[str, list[str]] = {}
    for row in rows:
        quotes.setdefault(row["url"], []).append(row["quote"])
    found = []
    async with open_sources(settings.model_copy(update=options), lambda progress: None) as sources:
        for url, said in quotes.items():
            try:
                now = " ".join((await sources.reader.read(url)).text.split())
            except SourceError as error:
                found.append(Finding(url, "unreachable", str(error)))
                continue
            gone = sum(" ".join(quote.split()) not in now for quote in said)
            detail = (
                f"{gone} of {len(said)} passages are gone" if gone else f"all {len(said)} passages still stand there"
            )
            found.append(Finding(url, "changed" if gone else "ok", detail))
    return found
