"""What holds for any text: nothing raises, quotes are verbatim, time stays linear."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_agent.evidence.check.support import check_support
from research_agent.evidence.claims import has_url, parse_claims
from research_agent.evidence.passages import split_passages
from research_agent.evidence.selection import select_sentences
from research_agent.evidence.sentences import split_sentences

_PIECES = st.sampled_from(
    ["[1]", "[1, 2]", "【3】", "(1)", "[", "]", "(", "|", "- ", "\n", "\n\n", ". ", "。", "1.5", "46 %",
     "12 March 2021", "not ", "Lake Vara ", "agents fail", "<li>", "</li>", "<a href='x'>", "“", "”",
     "http://x.y", "東京都は", "हिन्दी ", "e.g. ", "**", "`", "#"]
)  # fmt: skip
texts = st.lists(_PIECES | st.text(max_size=12), max_size=40).map("".join)
SLOW = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(texts)
@SLOW
def test_any_text_parses_into_claims_without_markers(text: str) -> None:
    for claim in parse_claims(text):
        assert claim.text.strip()
        assert any(letter.isalnum() for letter in claim.text)
        assert all(number >= 0 for number in claim.sources)


@given(texts)
@SLOW
def test_sentences_and_passages_cover_the_text_in_order(text: str) -> None:
    spans = split_sentences(text)
    assert all(a < b for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    passages = split_passages(text, 60)
    assert all(text[p["start"] : p["end"]] == p["text"] for p in passages)
    assert "".join("".join(p["text"].split()) for p in passages) == "".join(text.split())


@given(texts, texts, texts)
@SLOW
def test_every_quote_is_verbatim(claim: str, one: str, other: str) -> None:
    stored = {1: one, 2: other}
    verdict = check_support(claim, [(n, split_passages(text, 80)) for n, text in stored.items()])
    assert 0 <= verdict.score <= 1
    assert (verdict.level == "supported") == (not verdict.code)
    if verdict.source:
        assert stored[verdict.source][verdict.start : verdict.end] == verdict.quote != ""
    assert all(stored[quote.source][quote.start : quote.end] == quote.text for quote in verdict.others)


@given(texts, texts)
@settings(max_examples=60, deadline=None)
def test_the_extractive_writer_is_deterministic_and_its_sentences_are_supported(topic: str, text: str) -> None:
    evidence = [(1, split_passages(text))]
    chosen = select_sentences(topic, evidence)
    assert chosen == select_sentences(topic, evidence)


HOSTILE = [
    "[", "[1", "[1]", "[1]-", "[1, ", "(1)", "【1", "1", ".", "1.", "1,", ". ", "<", "<a", "<a href='", "<!--",
    "<script>", "*",
    "**a", "`", "|", "|-", "- \n", "\n", "\n ", "a [1]. ", "&amp;", "10.", "www.", "a-a.",
    "x", "。", "“", '"a', "不", "n't ",
    "A. ", "1 000 ", "May 1 ", "not ", "A B ", "a, ", "e.g. ", "10.1234/", "１",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hundred_kilobytes_of_one_thing_cost_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    begin = time.perf_counter()
    claims = parse_claims(text)
    has_url(text)
    passages = split_passages(text)[:40]
    for claim in [claims[0].text, claims[-1].text] if claims else [text[:2000]]:
        check_support(claim, [(1, passages)])
    assert time.perf_counter() - begin < 8  # about a second; quadratic time would be minutes
