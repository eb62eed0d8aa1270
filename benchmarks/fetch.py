"""How close does the client come to what its concurrency allows? 100 pages that each take 200 ms to answer.

They lie on 20 hosts, five on each. The physical limit is the time that the same requests would take if a free
place were always used at once: requests / places * latency. With robots.txt each host costs one request more. The
third row has the distance between two requests to one host that the agent keeps on the web.

    python benchmarks/fetch.py [--pages 100] [--latency 0.2] [--places 10]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import time
from pathlib import Path
from typing import Any

from _data import table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from research_agent.web.client import GuardedClient
from tests.support.fake_web import FakeWeb, running_web

HOSTS = 20
TEXT = "A paragraph of an ordinary page that says something about tides and mills. " * 200


async def measure(web: FakeWeb, urls: list[str], places: int, latency: float, **options: Any) -> list[Any]:
    """Wall seconds, the limit, their ratio, milliseconds of CPU a page, most requests at once."""
    web.requests.clear()
    web.most_under_way = 0
    allow = [url.split("/")[2] for url in urls]
    async with GuardedClient(allow_hosts=allow, resolver=web.resolver, concurrency=places, **options) as client:
        began, cpu = time.perf_counter(), time.thread_time()
        await asyncio.gather(*(client.get_page(url) for url in urls))
        seconds, cpu = time.perf_counter() - began, time.thread_time() - cpu
    limit = math.ceil(len(web.requests) / places) * latency
    return [len(web.requests), seconds, limit, seconds / limit, 1000 * cpu / len(urls), web.most_under_way]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--places", type=int, default=10)
    given = parser.parse_args()
    rows = []
    with running_web(faults=False, latency=given.latency) as web:
        web.article("/page", TEXT)
        urls = [web.url(f"/page?n={n}", host=f"h{n % HOSTS}.test") for n in range(given.pages)]
        for name, options in {
            "no robots, no distance": {"respect_robots": False, "spacing": 0.0},
            "robots": {"spacing": 0.0},
            "as on the web": {},
        }.items():
            rows.append([name, *await measure(web, urls, given.places, given.latency, **options)])
    table(["how", "requests", "seconds", "limit", "ratio", "CPU ms/page", "at once"], rows)


if __name__ == "__main__":
    asyncio.run(main())
