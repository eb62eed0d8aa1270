"""The extraction process: what it answers, and what it does when it can't."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from research_agent.documents import Page
from research_agent.errors import SourceError
from research_agent.web.worker import ExtractionWorker

# One tag; the quoted "<" keep it from being recognised as one and dropped.
FLOOD = b"<html><body><p " + b" ".join(b'a%d="<"' % i for i in range(40_000)) + b">lost</p></body></html>"
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")


@pytest.fixture
async def worker() -> AsyncIterator[ExtractionWorker]:
    async with ExtractionWorker() as running:
        yield running


async def read(worker: ExtractionWorker, text: str) -> Page:
    return await worker.extract(text.encode(), url="https://example.org/x.txt", media_type="text/plain")


def pid(worker: ExtractionWorker) -> int:
    assert worker._process is not None
    return worker._process.pid


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


async def test_pages_come_back_whole(worker: ExtractionWorker) -> None:
    text = "Ünïcode 中文 🎉\n" * 50_000
    page = await read(worker, text)
    assert page == Page("https://example.org/x.txt", "x.txt", text.strip())


async def test_one_process_serves_many_documents_in_turn(worker: ExtractionWorker) -> None:
    texts = [f"text number {i}" for i in range(20)]
    pages = await asyncio.gather(*(read(worker, text) for text in texts))
    assert [page.text for page in pages] == texts
    before = pid(worker)
    await read(worker, "again")
    assert pid(worker) == before


async def test_errors_of_extraction_are_passed_on(worker: ExtractionWorker) -> None:
    with pytest.raises(SourceError, match="no text in it"):
        await read(worker, "")
    assert (await read(worker, "still there")).text == "still there"


async def test_a_document_over_its_deadline_is_cut_and_the_next_one_read() -> None:
    async with ExtractionWorker(deadline=0.7) as worker:
        await read(worker, "warm")
        first = pid(worker)
        with pytest.raises(SourceError, match=r"longer than 0\.7 s"):
            await worker.extract(FLOOD, url="https://example.org/", media_type="text/html")
        assert not alive(first)
        assert (await read(worker, "next")).text == "next"


async def test_cancelling_leaves_no_answer_for_the_next_document(worker: ExtractionWorker) -> None:
    await read(worker, "warm")
    first = pid(worker)
    task = asyncio.create_task(worker.extract(FLOOD, url="https://example.org/", media_type="text/html"))
    waiting = asyncio.create_task(read(worker, "second"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await waiting).text == "second"
    assert not alive(first)


async def test_cancelling_while_the_process_starts(worker: ExtractionWorker) -> None:
    task = asyncio.create_task(read(worker, "first"))
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await read(worker, "second")).text == "second"


@posix
async def test_a_killed_process_is_replaced(worker: ExtractionWorker) -> None:
    await read(worker, "warm")
    task = asyncio.create_task(worker.extract(FLOOD, url="https://example.org/", media_type="text/html"))
    await asyncio.sleep(0)
    os.kill(pid(worker), signal.SIGKILL)
    with pytest.raises(SourceError, match="crashed"):
        await task
    assert (await read(worker, "next")).text == "next"


@posix
async def test_memory_is_limited() -> None:
    async with ExtractionWorker(memory=400 * 1024 * 1024) as worker:
        await read(worker, "warm")
        with pytest.raises(SourceError, match="400 MB of memory"):
            # The last character makes each one take four bytes.
            data = b"a" * 60_000_000 + "🎉".encode()
            await worker.extract(data, url="https://example.org/", media_type="text/plain")
        assert (await read(worker, "next")).text == "next"


@posix
async def test_interrupts_are_left_to_the_parent(worker: ExtractionWorker) -> None:
    await read(worker, "warm")
    before = pid(worker)
    os.kill(before, signal.SIGINT)
    assert (await read(worker, "next")).text == "next"
    assert pid(worker) == before


async def test_close_ends_the_process_and_can_be_repeated() -> None:
    worker = ExtractionWorker()
    await read(worker, "text")
    number = pid(worker)
    await worker.close()
    await worker.close()
    assert not alive(number)


async def test_the_child_is_given_no_secrets(monkeypatch: pytest.MonkeyPatch, worker: ExtractionWorker) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "not-for-children")
    await read(worker, "text")
    if sys.platform == "linux":
        with open(f"/proc/{pid(worker)}/environ", "rb") as environ:  # noqa: PTH123
            assert b"not-for-children" not in environ.read()


@posix
def test_the_child_ends_with_its_parent_and_writes_nothing() -> None:
    program = """
import asyncio, os, signal
from research_agent.web.worker import ExtractionWorker
async def main():
    worker = ExtractionWorker()
    await worker.extract(b"text", url="https://example.org/", media_type="text/plain")
    print(worker._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    child = int(done.stdout)
    for _ in range(200):
        if not alive(child) or _is_zombie(child):
            return
        subprocess.run(["true"], check=True)
    pytest.fail("the child outlived its parent")


def _is_zombie(number: int) -> bool:
    """Ended, but nobody has collected it: in a container the first process may never do so."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True)
    return shown.stdout.strip().startswith("Z") or not shown.stdout.strip()
