"""Sources for reference managers."""

from __future__ import annotations

import json
import re

import pytest

from research_agent.brief.bibliography import to_bibtex, to_csl_json
from tests.unit.brief.briefs import HOSTILE, a_source, brief, hostile


def test_bibtex_has_an_entry_for_each_cited_source() -> None:
    assert to_bibtex(brief(sources=[a_source(1)])) == (
        "@online{lovelace2026title,\n  title = {{Title 1}},\n  author = {{Ada Lovelace}},\n  "
        "organization = {Example},\n"
        "  date = {2026-11-30},\n  url = {https://example.org/1},\n  urldate = {2026-12-01},\n  langid = {en}\n}\n"
    )


def test_csl_has_an_item_for_each_cited_source() -> None:
    [item] = json.loads(to_csl_json(brief(sources=[a_source(1)])))
    assert item == {
        "id": "lovelace2026title", "type": "webpage", "title": "Title 1",
        "author": [{"literal": "Ada Lovelace"}],
        "container-title": "Example",
        "issued": {"date-parts": [[2026, 11, 30]]}, "accessed": {"date-parts": [[2026, 12, 1]]},
        "URL": "https://example.org/1", "language": "en",
    }  # fmt: skip


def test_keys_are_different_and_depend_on_the_source_alone() -> None:
    one, two = a_source(1, title="Same"), a_source(2, title="Same")
    keys = re.findall(r"@online\{([^,]+),", to_bibtex(brief(sources=[one, two])))
    assert len(set(keys)) == 2
    assert re.findall(r"@online\{([^,]+),", to_bibtex(brief(sources=[two, one]))) == keys[::-1]
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys)


@pytest.mark.parametrize("published", ["", "yesterday", "2026", "2026-05", "2026-05-01T00:00:00Z"])
def test_dates_as_far_as_they_are_known(published: str) -> None:
    text = to_bibtex(brief(sources=[a_source(1, published=published)]))
    assert ("  date = {" in text) == published.startswith("2026")
    json.loads(to_csl_json(brief(sources=[a_source(1, published=published)])))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_titles_cannot_leave_their_field(text: str) -> None:
    entry = to_bibtex(hostile(text))
    depth, escaped = 0, False
    for position, letter in enumerate(entry):
        if not escaped and letter in "{}":
            depth += 1 if letter == "{" else -1
            assert depth > 0 or position == len(entry) - 2
        escaped = letter == "\\" and not escaped
    assert depth == 0
    assert len(re.findall(r"^@", entry, re.MULTILINE)) == 1
    [item] = json.loads(to_csl_json(hostile(text)))
    assert item["title"] == " ".join(text.split())


def test_several_authors_and_other_scripts() -> None:
    text = to_bibtex(brief(sources=[a_source(1, author="Ada Lovelace and Grace Hopper; 山田", title="东京 city")]))
    assert "author = {{Ada Lovelace} and {Grace Hopper} and {山田}}" in text


def test_addresses_that_are_no_links_are_left_out() -> None:
    assert "url =" not in to_bibtex(brief(sources=[a_source(1, url="javascript:alert(1)")]))
