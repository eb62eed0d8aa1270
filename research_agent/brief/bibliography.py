"""The sources of a brief for reference managers: BibTeX, and CSL-JSON (citation-style-language schema 1.0.2)."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any
from urllib.parse import urlsplit

from research_agent.brief.brief import Brief, Source
from research_agent.brief.words import day, one_line, safe_url, title

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_AUTHORS = re.compile(r"\s*(?:;|\band\b|\bund\b|&)\s*")
_KEY_WORD = re.compile(r"[^\W_]{3,}")


def to_bibtex(brief: Brief) -> str:
    """One ``@online`` entry (biblatex) for each cited source. Keys depend on the source alone, so they are stable."""
    keys = _keys(brief.sources)
    return "\n".join(_entry(keys[source.number], source, day(brief.finished_at)) for source in brief.sources)


def to_csl_json(brief: Brief) -> str:
    """A CSL-JSON array, one item for each cited source."""
    keys = _keys(brief.sources)
    items = [_item(keys[source.number], source, day(brief.finished_at)) for source in brief.sources]
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def _entry(key: str, source: Source, accessed: str) -> str:
    fields = {
        "title": f"{{{_tex(title(source))}}}",  # double braces: capitals stay
        "author": " and ".join(f"{{{_tex(name)}}}" for name in _authors(source)),
        "organization": _tex(one_line(source.site)),
        "date": "-".join(_date(source.published)),
        "url": _verbatim(source.url),
        "urldate": "-".join(_date(accessed)),
        "langid": _tex(source.language),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@online{{{key},\n" + ",\n".join(lines) + "\n}\n"


def _item(key: str, source: Source, accessed: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": key,
        "type": "webpage" if source.kind == "page" else "document",
        "title": title(source),
    }
    if authors := _authors(source):
        # A name as written: which part is the family name can't be known.
        item["author"] = [{"literal": name} for name in authors]
    if site := one_line(source.site):
        item["container-title"] = site
    for name, stamp in (("issued", source.published), ("accessed", accessed)):
        if date := _date(stamp):
            item[name] = {"date-parts": [[int(part) for part in date]]}
    if url := safe_url(source.url):
        item["URL"] = url
    if source.language:
        item["language"] = source.language
    return item


def _authors(source: Source) -> list[str]:
    return [name for name in map(one_line, _AUTHORS.split(source.author)) if name]


def _date(stamp: str) -> list[str]:
    """Year, month and day as far as the stamp gives them."""
    match = _DATE.match(stamp)
    return [part for part in match.groups() if part] if match else []


def _keys(sources: list[Source]) -> dict[int, str]:
    """A key for each source: who or where, year, first word; the content hash where two would be the same."""
    keys = {source.number: _key(source) for source in sources}
    twice = {key for key in keys.values() if list(keys.values()).count(key) > 1}
    hashes = {source.number: re.sub(r"[^0-9a-z]", "", source.content_hash.lower())[-8:] for source in sources}
    return {n: f"{key}-{hashes[n] or n}" if key in twice else key for n, key in keys.items()}


def _key(source: Source) -> str:
    who = (_authors(source) or [""])[0].split()[-1:] or [source.site or urlsplit(source.url).hostname or "source"]
    year = (_date(source.published) or ["nd"])[0]
    word = _KEY_WORD.search(title(source))
    return _ascii(who[0]) + year + (_ascii(word[0]) if word else "")


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^0-9a-z]", "", plain.lower())[:24]


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def _verbatim(url: str) -> str:
    """An address as biblatex takes it: only what would end the field is written as its percent code."""
    return safe_url(url).replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")
