"""Is the answer in what the model is shown? Questions of XQuAD (English) over long documents.

Each document has the five paragraphs of one article somewhere between paragraphs of other articles, about 30,000
characters in all. The passages are chosen for the question alone; the answer counts only where it stands in the
paragraph that the question is about. The baseline shows the first characters of the document.

    python benchmarks/passages.py [--paragraphs 40]
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from typing import Any

from _data import load_jsonl, table

from research_agent.evidence.passages import choose_passages

BUDGETS = (1000, 2000, 4000)


def long_document(own: list[str], others: list[str], paragraphs: int, chance: random.Random) -> list[str]:
    """`own` in one piece at a random place between `others`."""
    around = chance.sample(others, max(0, min(len(others), paragraphs - len(own))))
    place = chance.randint(0, len(around))
    return [*around[:place], *own, *around[place:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paragraphs", type=int, default=40)
    count = parser.parse_args().paragraphs
    texts = {row["id"]: row["text"] for row in load_jsonl("xquad_en/corpus.jsonl")}
    articles: dict[str, list[str]] = defaultdict(list)
    for row in load_jsonl("xquad_en/corpus.jsonl"):
        articles[row["title"]].append(row["id"])
    article_of = {name: title for title, names in articles.items() for name in names}
    questions = load_jsonl("xquad_en/questions.jsonl")
    chance = random.Random(1)
    chosen_hits, first_hits, shown, length, seconds = (dict.fromkeys(BUDGETS, 0.0) for _ in range(5))
    for question in questions:
        (gold,) = question["gold_docs"]
        own = articles[article_of[gold]]
        names = long_document(own, [name for name in texts if name not in own], count, chance)
        text = "\n\n".join(texts[name] for name in names)
        start = sum(len(texts[name]) + 2 for name in names[: names.index(gold)]) + question["answer_start"][0]
        end = start + len(question["answers"][0])
        assert text[start:end] == question["answers"][0]
        for budget in BUDGETS:
            began = time.process_time()
            passages = choose_passages(text, question["question"], budget)
            seconds[budget] += time.process_time() - began
            chosen_hits[budget] += any(p["start"] <= start and end <= p["end"] for p in passages)
            first_hits[budget] += end <= budget
            shown[budget] += sum(len(p["text"]) for p in passages)
            length[budget] += len(text)
    n = len(questions)
    rows: list[list[Any]] = [
        [b, chosen_hits[b] / n, first_hits[b] / n, round(shown[b] / n), round(length[b] / n), 1000 * seconds[b] / n]
        for b in BUDGETS
    ]
    table(["budget", "answer shown", "first characters", "shown", "of", "CPU ms"], rows)


if __name__ == "__main__":
    main()
