"""How well is the article of a page found? Precision, recall and F1 on 181 pages, through the real fetch path.

The pages of scrapinghub/article-extraction-benchmark are served on loopback and read as the agent reads them:
guarded client, reading process. Beside it plain trafilatura and a stripper of tags. The score is the data set's own:
4-grams of words as multisets, one value a page, averaged; F1 of the averages.

    python benchmarks/extraction.py
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

from _data import SHARED, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from research_agent.errors import SourceError
from research_agent.web.client import GuardedClient
from research_agent.web.extract.charset import decode
from research_agent.web.fetch import WebReader
from research_agent.web.pool import ExtractionPool
from tests.support.fake_web import Answer, FakeWeb

FOLDER = SHARED / "article_extraction"
WORKERS = 2


def score(pairs: list[tuple[str, str]]) -> tuple[float, float, float]:
    """Precision, recall and F1 of (what should be, what was found)."""
    precision, recall = [], []
    for truth, found in pairs:
        wanted, given = grams(truth), grams(found)
        common = (wanted & given).total()
        if given:
            precision.append(common / given.total())
        if wanted:
            recall.append(common / wanted.total())
    p, r = statistics.mean(precision), statistics.mean(recall)
    return p, r, 2 * p * r / (p + r)


def grams(text: str, n: int = 4) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1)) if words)


def strip_tags(data: bytes) -> str:
    text = re.sub(r"(?is)<(script|style|noscript)\b.*?</\1>", " ", decode(data, html=True))
    return unescape(re.sub(r"(?s)<[^>]*>", " ", text))


def plain_trafilatura(data: bytes) -> str:
    from trafilatura import extract

    return extract(data, include_comments=False) or ""


async def through_the_client(pages: dict[str, bytes]) -> tuple[dict[str, str], dict[str, str], float]:
    """Text of each page, what was refused, and seconds of wall time."""
    found: dict[str, str] = {}
    refused: dict[str, str] = {}
    async with FakeWeb(faults=False) as web:
        for name, data in pages.items():
            web.route(f"/{name}", Answer(data, "text/html"))
        client = GuardedClient(allow_hosts=web.allow, spacing=0.0, per_host=4)
        reader = WebReader(client, ExtractionPool(WORKERS))

        async def read(name: str) -> None:
            try:
                found[name] = (await reader.read(web.url(f"/{name}"))).text
            except SourceError as error:
                found[name], refused[name] = "", str(error)

        await asyncio.gather(*(read(name) for name in list(pages)[:4]))  # the processes are up now
        began = time.perf_counter()
        await asyncio.gather(*(read(name) for name in pages))
        seconds = time.perf_counter() - began
        await reader.close()
    return found, refused, seconds


def in_process(pages: dict[str, bytes], extract: Callable[[bytes], str]) -> tuple[dict[str, str], float]:
    began = time.perf_counter()
    found = {name: extract(data) for name, data in pages.items()}
    return found, time.perf_counter() - began


def main() -> None:
    if not FOLDER.exists():
        sys.exit(f"{FOLDER} is not here: this benchmark needs the shared data sets")
    truth: dict[str, Any] = json.loads((FOLDER / "ground-truth.json").read_text(encoding="utf-8"))
    pages = {name: gzip.decompress((FOLDER / "html" / f"{name}.html.gz").read_bytes()) for name in truth}
    rows: list[list[Any]] = []

    def row(what: str, found: dict[str, str], seconds: float) -> None:
        pairs = [(truth[name]["articleBody"], found[name]) for name in truth]
        length = statistics.mean(len(text) for text in found.values())
        rows.append([what, *score(pairs), len(pages) / seconds, round(length)])

    found, refused, seconds = asyncio.run(through_the_client(pages))
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    row(f"fetched, {WORKERS} reading processes", found, seconds)
    row("plain trafilatura", *in_process(pages, plain_trafilatura))
    row("tags stripped", *in_process(pages, strip_tags))
    table(["how", "precision", "recall", "F1", "pages/s", "chars/page"], rows)
    print(f"\npeak memory: agent and fake web {ours} MB, largest reading process {workers} MB")
    for name, reason in refused.items():
        print(f"refused {name[:12]}: {reason}")


if __name__ == "__main__":
    main()
