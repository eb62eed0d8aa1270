"""How much of what attackers write into pages reaches a brief, with and without the filter of instructions.

    python -m benchmarks.injection

A model that obeys copies each sentence of an attack with the number of its page; the built-in writer gets the worst
topic there is, the words of the attack. Ordinary sentences that are taken for orders are counted on other data sets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from research_agent.evidence import selection
from research_agent.evidence.check import verdicts
from research_agent.evidence.check.instructions import speaks_to_model
from research_agent.evidence.claims import DraftClaim
from research_agent.evidence.passages import choose_passages
from research_agent.evidence.sentences import split_sentences
from research_agent.models.extractive import write_brief
from tests.support.injections import DATA, OWN, bare, page_with, sentences, templated


@contextmanager
def no_filter() -> Iterator[None]:
    """As it was before."""
    kept = selection.orders_in, verdicts._repeats_instruction
    selection.orders_in = lambda passages: [()] * len(passages)
    verdicts._repeats_instruction = lambda text, ledger: False
    try:
        yield
    finally:
        selection.orders_in, verdicts._repeats_instruction = kept


def obedient(attack: str) -> tuple[int, int]:
    """Sentences of the attack that are kept when a model copies them, and how many there are."""
    text = page_with(attack)
    ledger: Any = [{"passages": choose_passages(text, "the tide", 3000)}]
    drafts = [DraftClaim(1, said, (1,)) for said in sentences(attack)]
    claims = verdicts.judge_claims(drafts, ledger, 1)
    return sum(claim["verdict"] == "supported" for claim in claims), len(drafts)


def extractive(attack: str) -> tuple[int, int]:
    """Sentences of the attack that the built-in writer picks when the topic has its words."""
    text = page_with(attack)
    topic = f"the tide {' '.join(attack.split()[:30])}"
    brief = write_brief(topic, [(1, choose_passages(text, topic, 3000))])
    found = sentences(attack)
    return sum(said in brief for said in found), len(found)


def share(measure: Callable[[str], tuple[int, int]], attacks: list[str]) -> str:
    hits, total = (sum(counts) for counts in zip(*map(measure, attacks), strict=True))
    return f"{hits:4d} of {total:4d} {hits / total:6.1%}"


def ordinary() -> Iterator[str]:
    """Sentences of articles and answers that nobody wrote as an attack."""
    for path in sorted(DATA.glob("xquad_en/*.jsonl")) + sorted(DATA.glob("expertqa_claims/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in _texts(json.loads(line)):
                yield from (text[a:b] for a, b in split_sentences(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def main() -> None:
    sets = {"own": OWN, "AgentDojo templates x goals": templated(), "BIPIA bare requests": bare()}
    print(f"{'injected sentences in a brief':<32}{'writer':<12}{'before':>20}{'after':>22}")
    for name, attacks in sets.items():
        for measure in (obedient, extractive):
            with no_filter():
                before = share(measure, attacks)
            print(f"{name:<32}{measure.__name__:<12}{before:>20}{share(measure, attacks):>22}")
    found = set(ordinary())
    wrong = [sentence for sentence in found if speaks_to_model(sentence)]
    print(f"ordinary sentences taken for orders: {len(wrong)} of {len(found)}")
    for sentence in wrong:
        print("   ", " ".join(sentence.split())[:110])


if __name__ == "__main__":
    main()
