"""Which sentences come into a brief? Over sentences as people and strong models write them, with their own sources.

    python benchmarks/claims.py [FILE …]

Default: written_claims (each sentence labelled by a person) and scholarqa_briefs (expert-written, cited, no labels:
taken as true). Other files of the form of the first work as well. Judges are played: one that knows the labels, one
that obeys a page and says yes to all, none, one that answers no JSON, one whose answer breaks off. Kept are sentences
before any repair. Exit 1 when a target is missed.

Experts write figures that the snippets kept with their briefs do not have. Such a sentence is not said
by what it cites, whatever its author knew: it is counted apart, as "figure or quotation absent".
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _data import SHARED, load_jsonl, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from research_agent.documents import Citation, Passage
from research_agent.evidence.check.rulings import by_rulings
from research_agent.evidence.check.verdicts import by_program
from research_agent.evidence.check.vetoes import shown_of, veto
from research_agent.evidence.claims import DraftClaim, parse_claims
from research_agent.evidence.passages import split_passages
from research_agent.models.judge import read_rulings

MOST_VETOED = 0.02  # of true sentences
LEAST_KEPT = 0.98  # of true sentences, with a judge that knows the labels
MOST_FALSE = 0.02  # of false ones, with the same


@dataclass(frozen=True)
class Draft:
    """One brief with its sources; `true` has the label of each sentence."""

    topic: str
    ledger: list[Citation]
    sentences: list[DraftClaim]
    true: list[bool]


def main() -> None:
    names = [Path(name) for name in sys.argv[1:]] or [
        SHARED / "written_claims/claims.jsonl",
        SHARED / "scholarqa_briefs/human_briefs.jsonl",
    ]
    missed = [line for name in names for line in measure(name)]
    for line in missed:
        print(f"missed: {line}")
    sys.exit(1 if missed else 0)


def measure(file: Path) -> list[str]:
    """Print the figures of one file; the targets that it misses."""
    drafts = [draft for row in load_jsonl(str(file)) if (draft := read(row)).sentences]
    count = {truth: sum(label is truth for draft in drafts for label in draft.true) for truth in (True, False)}
    print(
        f"\n{file.parent.name}/{file.name}: {len(drafts)} briefs, {count[True]} true, {count[False]} false sentences\n"
    )
    refused = [(d, s) for d in drafts for s, truth in pairs(d) if truth and veto(s, d.ledger, d.topic)]
    absent = sum(has_absent(sentence, draft) for draft, sentence in refused)
    print(f"vetoed of true: {len(refused)}, of them figure or quotation absent from what is cited: {absent}")
    rows, kept = [], {}
    for name, decide in JUDGES.items():
        verdicts = [(truth, ok) for d in drafts for truth, ok in zip(d.true, decide(d), strict=True)]
        kept[name] = {truth: sum(ok for label, ok in verdicts if label is truth) for truth in (True, False)}
        rows.append([name, *(share(kept[name][truth], count[truth]) for truth in (True, False))])
    print()
    table(["judge", "true kept", "false kept"], rows)
    missed = []
    if len(refused) - absent > MOST_VETOED * count[True]:
        missed.append(f"{file.name}: {len(refused) - absent} of {count[True]} true sentences vetoed")
    if kept["knows the labels"][True] < LEAST_KEPT * (count[True] - absent):
        missed.append(f"{file.name}: {kept['knows the labels'][True]} of {count[True]} true sentences kept")
    if kept["knows the labels"][False] > MOST_FALSE * count[False]:
        missed.append(f"{file.name}: {kept['knows the labels'][False]} false sentences kept")
    return missed


def pairs(draft: Draft) -> list[tuple[DraftClaim, bool]]:
    return list(zip(draft.sentences, draft.true, strict=True))


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def has_absent(sentence: DraftClaim, draft: Draft) -> bool:
    """Whether a run of digits, or a quotation, stands nowhere in what the sentence cites: read letter by letter."""
    shown = " ".join([draft.topic, *shown_of([draft.ledger[n - 1] for n in sentence.sources])]).replace(",", "")
    digits = re.findall(r"\d+(?:\.\d+)?", sentence.text.replace(",", ""))
    quoted = re.findall(r"[“\"]([^”\"]+)[”\"]", sentence.text)
    return any(run not in shown for run in digits) or any(q.casefold() not in shown.casefold() for q in quoted)


def judged(answer: Callable[[Draft], str]) -> Callable[[Draft], list[bool]]:
    def decide(draft: Draft) -> list[bool]:
        claims = by_rulings(draft.sentences, read_rulings(answer(draft)), draft.ledger, draft.topic, "played")
        return [claim["verdict"] == "supported" for claim in claims]

    return decide


def labels(draft: Draft) -> str:
    return answers({f"s{n}": "yes" if truth else "no" for n, truth in enumerate(draft.true, start=1)})


def answers(given: Mapping[str, str]) -> str:
    return json.dumps({name: {"v": said, "p": []} for name, said in given.items()})


JUDGES: dict[str, Callable[[Draft], list[bool]]] = {
    "knows the labels": judged(labels),
    "obeys, yes to all": judged(lambda draft: answers({f"s{n + 1}": "yes" for n in range(len(draft.true))})),
    "absent": judged(lambda draft: ""),
    "garbled": judged(lambda draft: "I think { that s1: probably, s2 is [fine} yes"),
    "breaks off": judged(lambda draft: labels(draft)[: len(labels(draft)) // 2]),
    "the program": lambda draft: [c["verdict"] == "supported" for c in by_program(draft.sentences, draft.ledger)],
}


def read(row: dict[str, Any]) -> Draft:
    """A row of either form."""
    if "sentences" in row:
        ledger = [citation(s["title"], s["text"], s["shown"]) for s in row["sources"]]
        sentences = [DraftClaim(n, s["text"], tuple(s["cites"])) for n, s in enumerate(row["sentences"], start=1)]
        return Draft(row["topic"], ledger, sentences, [s["true"] for s in row["sentences"]])
    ledger = [citation(str(c["title"]), str(c["text"]), []) for c in row["ctxs"]]
    # This set counts sources from 0.
    text = re.sub(r"\[(\d+)\]", lambda match: f"[{int(match[1]) + 1}]", row["output"])
    claims = [claim for claim in parse_claims(text) if claim.sources]
    return Draft(row["input"], ledger, claims, [True] * len(claims))


def citation(title: str, text: str, shown: Sequence[Sequence[int]]) -> Citation:
    spans = [(start, end) for start, end in shown] or [(p["start"], p["end"]) for p in split_passages(text)]
    return Citation(
        url="https://a.example/",
        also_at=[],
        title=title,
        kind="page",
        content_hash="",
        author="",
        site="",
        published="",
        language="",
        passages=[Passage(start=start, end=end, text=text[start:end]) for start, end in spans],
    )


if __name__ == "__main__":
    main()
