"""The extractive writer: what it picks, and that its own check accepts it."""

from __future__ import annotations

import pytest

from research_agent.evidence.check.support import check_support
from research_agent.evidence.claims import parse_claims
from research_agent.evidence.selection import select_sentences
from tests.unit.evidence.corruption import corpus_sources

TOPICS = {
    "Prompt injection and human approval": "en",
    "ReAct-Agenten: Anwendungen und Fehler": "de",
    "ReActエージェントの失敗": "ja",
    "Tác nhân ReAct: ứng dụng và lỗi": "vi",
}


@pytest.mark.parametrize("topic", TOPICS)
def test_every_sentence_it_picks_is_in_the_topics_language_and_supported(topic: str) -> None:
    sources = {s.number: s for s in corpus_sources() if s.language == TOPICS[topic]}
    chosen = select_sentences(topic, [(n, s.passages) for n, s in sources.items()])
    assert len(chosen) >= 6
    for sentence in chosen:
        [claim] = parse_claims(f"- {sentence.text} [{sentence.source}]")
        assert check_support(claim.text, [(n, sources[n].passages) for n in claim.sources]).level == "supported"


def test_a_page_about_the_topic_comes_before_pages_that_mention_a_word_of_it() -> None:
    sources = corpus_sources()
    chosen = select_sentences("Leases and fencing", [(s.number, s.passages) for s in sources])
    [about] = [s.number for s in sources if any("fencing token is a number" in p["text"] for p in s.passages)]
    assert [sentence.source for sentence in chosen][:2] == [about, about]


def test_nothing_is_picked_for_a_topic_that_no_source_is_about() -> None:
    evidence = [(s.number, s.passages) for s in corpus_sources()]
    assert select_sentences("history of the Zyblorian treaty of 1843", evidence) == []
    assert select_sentences("", evidence) == []
