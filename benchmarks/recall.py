"""Does the loop find what a question needs? Share of gold documents in the ledger, on HotpotQA.

The extractive model researches each of 100 two-hop questions over 994 passages; beside it one BM25 query (the
question itself, the corpus' own search) with as many documents as the run had read.

    python benchmarks/recall.py [--steps 4 6 10]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from _data import load_jsonl, table

from research_agent.context import ResearchContext
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.search.corpus.provider import Corpus
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web


async def measure(corpus: Corpus, questions: list[dict[str, Any]], steps: int) -> list[Any]:
    """One row: steps allowed and used, documents read, recall of the run and of the single query."""
    graph = build_graph(ExtractiveChatModel(), [make_search_web(corpus), make_fetch_url(corpus)])
    used = read = 0
    recall = single = both = both_single = 0.0
    for question in questions:
        gold = set(question["gold_docs"])
        context = ResearchContext(Limits(max_steps=steps, max_calls_per_minute=10**6))
        state = await graph.ainvoke({"topic": question["question"]}, context=context)
        found = {Path(citation["url"]).stem for citation in state.get("citations", [])}
        hits = await corpus.search(question["question"], len(found))
        used, read = used + state["step_count"], read + len(found)
        recall += len(gold & found) / len(gold)
        both += gold <= found
        plain = {Path(hit.url).stem for hit in hits}
        single += len(gold & plain) / len(gold)
        both_single += gold <= plain
    n = len(questions)
    return [steps, used / n, read / n, recall / n, single / n, both / n, both_single / n]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 4, 6, 10])
    steps = parser.parse_args().steps
    questions = load_jsonl("hotpot100/questions.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        for document in load_jsonl("hotpot100/corpus.jsonl"):
            text = f"# {document['title']}\n\n{document['text']}\n"
            Path(folder, f"{document['id']}.md").write_text(text, encoding="utf-8")
        corpus = await Corpus.open(Path(folder), Path(folder, ".cache"))
        rows = [await measure(corpus, questions, n) for n in steps]
        await corpus.close()
    table(["max steps", "used", "read", "recall", "one query", "all gold", "all gold, one query"], rows)


if __name__ == "__main__":
    asyncio.run(main())
