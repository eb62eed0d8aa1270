"""Writers that make things up: at most 2 % of their sentences pass, while what the sources say does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from research_agent.evidence.check.support import check_support
from research_agent.evidence.claims import has_url, parse_claims
from tests.support.places import DATA
from tests.unit.evidence.corruption import Case, Source, corpus_sources, false_claims, source, true_claims

# The weak points of a check without a grammar: splices of neighbouring sentences, and other words in a long one.
WEAK = {"merged neighbours": 0.35, "swapped names": 0.1, "other words": 0.15}
KIND_LIMIT = 0.06


def sources_of(name: str) -> list[Source]:
    if name == "corpus":
        return corpus_sources()
    path = DATA / name / "corpus.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here: a clone has no shared data sets")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [source(number, row["text"]) for number, row in enumerate(rows[::5], start=1)]


def levels(case: Case, sources: Sequence[Source]) -> list[str]:
    """What becomes of a writer's bullet: the level of each of its sentences."""
    passages = {each.number: each.passages for each in sources}
    drafts = parse_claims(f"- {case.text} {''.join(f'[{number}]' for number in case.cites)}")
    return [
        "not" if has_url(d.text) else check_support(d.text, [(n, passages[n]) for n in d.sources]).level for d in drafts
    ]


def rates(cases: Iterable[Case], sources: Sequence[Source], passes: object) -> tuple[Counter[str], Counter[str]]:
    seen: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for case in cases:
        found = levels(case, sources)
        seen[case.kind] += 1
        passed[case.kind] += passes(level == "supported" for level in found) if found else False  # type: ignore[operator]
    return seen, passed


@pytest.mark.parametrize("name", ["corpus", "xquad_en"])
def test_of_corrupted_claims_at_most_two_percent_pass(name: str) -> None:
    sources = sources_of(name)
    seen, passed = rates(false_claims(sources), sources, any)
    assert seen.total() >= 500
    assert passed.total() <= 0.02 * seen.total(), passed
    for kind, count in seen.items():
        assert passed[kind] <= max(2, WEAK.get(kind, KIND_LIMIT) * count), (kind, passed[kind], count)


@pytest.mark.parametrize("name", ["corpus", "xquad_en"])
def test_of_verbatim_and_lightly_paraphrased_claims_95_percent_pass(name: str) -> None:
    sources = sources_of(name)
    seen, passed = rates(true_claims(sources), sources, all)
    assert seen.total() >= 400
    assert passed.total() >= 0.95 * seen.total(), seen - passed
    assert passed["verbatim"] >= 0.99 * seen["verbatim"]


def test_a_corrupted_claim_never_passes_by_citing_more_sources() -> None:
    sources = corpus_sources()
    cases = [case for case in false_claims(sources) if case.kind in ("changed number", "invented address")][:150]
    doubled = [Case(case.kind, case.text, (*case.cites, case.cites[0] % len(sources) + 1)) for case in cases]
    assert not any("supported" in levels(case, sources) for case in doubled)
