"""Which sentences come into a brief? Over sentences as people and strong models write them, with their own sources.

    python benchmarks/claims.py [FILE …]

Default: written_claims (labelled true, overclaimed or falsified by a person) and scholarqa_briefs (expert-written and
cited; taken as true). Other files of the form of the first work as well. Exit 1 when a target is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _data import SHARED, load_jsonl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from research_agent.documents import Citation, Passage
from research_agent.evidence.check.vetoes import veto
from research_agent.evidence.claims import DraftClaim, parse_claims
from research_agent.evidence.passages import split_passages


@dataclass(frozen=True)
class Draft:
    """One brief with its sources; `true` has the label of each sentence."""

    topic: str
    ledger: list[Citation]
    sentences: list[DraftClaim]
    true: list[bool]


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or [
        SHARED / "written_claims/claims.jsonl",
        SHARED / "scholarqa_briefs/human_briefs.jsonl",
    ]
    for file in files:
        drafts = [draft for row in load_jsonl(str(file)) if (draft := read(row)).sentences]
        print(file.name, len(drafts), sum(len(d.sentences) for d in drafts))
        for truth in (True, False):
            refused = [
                (s.text, s.sources, v)
                for d in drafts
                for s, t in zip(d.sentences, d.true, strict=True)
                if t == truth and (v := veto(s, d.ledger, d.topic))
            ]
            print(truth, len(refused), sum(t == truth for d in drafts for t in d.true))
            for r in refused:
                print("   ", r)


def read(row: dict[str, Any]) -> Draft:
    """A row of either form."""
    if "sentences" in row:
        ledger = [citation(s["title"], s["text"], s["shown"]) for s in row["sources"]]
        sentences = [DraftClaim(n, s["text"], tuple(s["cites"])) for n, s in enumerate(row["sentences"], start=1)]
        return Draft(row["topic"], ledger, sentences, [s["true"] for s in row["sentences"]])
    ledger = [citation(str(c["title"]), str(c["text"]), []) for c in row["ctxs"]]
    claims = [c for c in parse_claims(counted_from_one(row["output"])) if c.sources]
    return Draft(row["input"], ledger, claims, [True] * len(claims))


def counted_from_one(text: str) -> str:
    import re

    return re.sub(r"\[(\d+)\]", lambda m: f"[{int(m[1]) + 1}]", text)


def citation(title: str, text: str, shown: Sequence[Sequence[int]]) -> Citation:
    spans = [(s, e) for s, e in shown] or [(p["start"], p["end"]) for p in split_passages(text)]
    passages = [Passage(start=s, end=e, text=text[s:e]) for s, e in spans]
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
        passages=passages,
    )


if __name__ == "__main__":
    main()
