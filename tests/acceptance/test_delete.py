"""A deleted run is gone from every table, and takes nothing along that another run needs."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from research_agent.errors import LeaseLost, ThreadBusy
from research_agent.models.extractive import ExtractiveChatModel
from research_agent.storage import retention
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.database import Pool, fetch, open_pool
from research_agent.storage.lease import hold_lease
from research_agent.storage.retention import Deleted, delete_thread
from tests.acceptance.test_resume import run_until_paused
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.runs import query, run_topic, tables_with

ONLY_THE_LEASE = {"research.leases": 1}


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """Watched, and halted where a test wants it."""
    agent.module = "tests.support.driver"
    return agent


def pages(url: str) -> int:
    [(count,)] = query(url, "select count(*) from research.pages")
    return int(count)


async def test_not_one_row_of_it_stays_but_the_lease(empty_database: str, corpus: Path) -> None:
    url = empty_database
    first = await run_topic(url, corpus, max_steps=2)
    await run_topic(url, corpus, max_steps=6)  # let go on: claims of a first brief, several starts
    assert len(tables_with(url, first.thread_id)) == 11
    async with open_pool(url, embedded=True) as pool:
        deleted = await delete_thread(pool, first.thread_id)
    assert (deleted.run, deleted.checkpoints > 15, deleted.pages) == (True, True, 5)
    assert tables_with(url, first.thread_id) == ONLY_THE_LEASE
    assert pages(url) == 0

    again = await run_topic(url, corpus)
    assert (again.thread_id, again.edition) == (first.thread_id, 1)
    tokens = query(url, "select token, (select lease_token from research.runs) from research.leases")
    assert tokens == [(4, 4)], "the token goes on growing"


async def test_pages_stay_as_long_as_a_run_has_read_them(empty_database: str, corpus: Path) -> None:
    url = empty_database
    first, other = await run_topic(url, corpus), await run_topic(url, corpus, "What causes the tide?")
    shared = query(
        url,
        "select content_hash from research.citations where thread_id = %s "
        "intersect select content_hash from research.citations where thread_id = %s order by 1",
        first.thread_id,
        other.thread_id,
    )
    assert shared
    query(
        url,
        "insert into research.page_addresses select 'k' || content_hash, url, content_hash, now() from research.pages",
    )
    async with open_pool(url, embedded=True) as pool:
        await delete_thread(pool, first.thread_id)
        kept = "select distinct content_hash from research.citations order by 1"
        assert query(url, "select content_hash from research.pages order by 1") == query(url, kept)
        assert query(url, "select content_hash from research.page_addresses order by 1") == query(url, kept)
        assert set(shared) <= set(query(url, kept))
        result = Agent(corpus.parent, url).run("verify", other.thread_id)
        assert result.returncode == 0, result.stdout
        await delete_thread(pool, other.thread_id)
    assert pages(url) == 0
    assert query(url, "select count(*) from research.page_addresses") == [(0,)]


async def test_two_deletions_at_once_leave_no_shared_page_behind(empty_database: str, corpus: Path) -> None:
    url = empty_database
    for _ in range(3):
        first, other = await run_topic(url, corpus), await run_topic(url, corpus, "What causes the tide?")
        async with open_pool(url, embedded=True) as pool:
            await asyncio.gather(*(delete_thread(pool, run.thread_id) for run in (first, other)))
        assert pages(url) == 0


def test_a_run_that_is_running_is_not_deleted(agent: Agent, corpus: Path) -> None:
    running = run_until_paused(agent, ["--topic", TOPIC, "--corpus", str(corpus)], "model:3")
    [(thread_id,)] = query(agent.database_url, "select thread_id from research.runs")
    before = tables_with(agent.database_url, thread_id)
    result = agent.run("delete", thread_id, "--yes")
    assert result.returncode == 5
    assert f"process {running.pid} since" in one_line(result)
    assert tables_with(agent.database_url, thread_id) == before
    running.kill()
    running.communicate()
    result = agent.run("delete", thread_id, "--yes", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"thread_id": thread_id, "run": True, "checkpoints": 8, "pages": 3}
    assert tables_with(agent.database_url, thread_id) == ONLY_THE_LEASE


@pytest.mark.parametrize("moment", [2, 3])  # thinking before a turn that reads, and before one that searches
async def test_a_holder_that_wakes_up_after_the_deletion_adds_nothing(
    moment: int, empty_database: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking, go_on = threading.Event(), threading.Event()
    generate, calls = ExtractiveChatModel._generate, []

    def paused(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == moment:
            thinking.set()
            go_on.wait(30)
        return generate(self, *args, **kwargs)

    monkeypatch.setattr(ExtractiveChatModel, "_generate", paused)
    run = asyncio.create_task(run_topic(empty_database, corpus))
    await asyncio.to_thread(thinking.wait, 30)
    [(thread_id,)] = query(empty_database, "select thread_id from research.runs")
    # As after the 30 s that nobody wants to wait for in a test.
    query(empty_database, "update research.leases set expires_at = now() - interval '1 second'")
    async with open_pool(empty_database, embedded=True) as pool:
        await delete_thread(pool, thread_id)
    go_on.set()
    with pytest.raises(LeaseLost):
        await run
    assert tables_with(empty_database, thread_id) == ONLY_THE_LEASE


async def test_late_writes_of_langgraph_are_refused_too(empty_database: str, corpus: Path) -> None:
    brief = await run_topic(empty_database, corpus)
    async with open_pool(empty_database, embedded=True) as pool:
        [(head,)] = query(empty_database, "select max(checkpoint_id) from checkpoints")
        await delete_thread(pool, brief.thread_id)
        key = {"thread_id": brief.thread_id, "checkpoint_ns": "", "checkpoint_id": head}
        with pytest.raises(Exception, match="was deleted or pruned"):
            await make_saver(pool).aput_writes({"configurable": key}, [("messages", [])], "task")
        # Those of other programs in the same tables pass.
        key["thread_id"] = "other"
        await make_saver(pool).aput_writes({"configurable": key}, [("messages", [])], "task")
    assert tables_with(empty_database, brief.thread_id) == ONLY_THE_LEASE
    assert tables_with(empty_database, "other") == {"public.checkpoint_writes": 1}


async def test_a_deletion_that_lost_its_lease_on_the_way_deletes_nothing(
    empty_database: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = await run_topic(empty_database, corpus)
    before = tables_with(empty_database, brief.thread_id)
    fetch_on = retention.fetch_on

    async def taken_over(connection: Any, name: str, **values: Any) -> Any:
        if name == "delete_pages":
            query(empty_database, "update research.leases set token = token + 1")
        return await fetch_on(connection, name, **values)

    monkeypatch.setattr(retention, "fetch_on", taken_over)
    async with open_pool(empty_database, embedded=True) as pool:
        with pytest.raises(LeaseLost):
            await delete_thread(pool, brief.thread_id)
    assert tables_with(empty_database, brief.thread_id) == before
    assert pages(empty_database) == 5


async def test_half_of_a_thread_can_be_deleted_as_well(empty_database: str, corpus: Path) -> None:
    url = empty_database
    without_run, without_checkpoints = (
        await run_topic(url, corpus),
        await run_topic(url, corpus, "What causes the tide?"),
    )
    # As docs/operations.md told people to do it.
    query(url, "delete from research.runs where thread_id = %s", without_run.thread_id)
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
        query(url, f"delete from {table} where thread_id = %s", without_checkpoints.thread_id)
    async with open_pool(url, embedded=True) as pool:
        first = await delete_thread(pool, without_run.thread_id)
        assert (first.run, first.checkpoints > 10) == (False, True)
        second = await delete_thread(pool, without_checkpoints.thread_id)
        assert second == Deleted(run=True, checkpoints=0, pages=second.pages)
        for run in (without_run, without_checkpoints):
            assert tables_with(url, run.thread_id) == ONLY_THE_LEASE


async def test_while_it_is_deleted_nobody_can_take_it_up(empty_database: str, corpus: Path) -> None:
    brief = await run_topic(empty_database, corpus)

    async def is_busy(pool: Pool) -> bool:
        try:
            async with hold_lease(pool, brief.thread_id):
                return False
        except ThreadBusy:
            return True

    async with open_pool(empty_database, embedded=True) as pool, pool.connection() as connection:
        async with connection.transaction():
            # Another run is about to refer to it, as a fork is when it begins.
            await connection.execute(b"select from research.runs for key share")
            deletion = asyncio.create_task(delete_thread(pool, brief.thread_id))
            await asyncio.sleep(0.3)
            assert await is_busy(pool)
            assert not deletion.done()
        assert (await deletion).run
        assert not await is_busy(pool)
        assert await fetch(pool, "find_thread", thread_id=brief.thread_id) == []


def test_what_cannot_be_deleted_is_one_line_and_exit_2(agent: Agent, corpus: Path) -> None:
    brief = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json").stdout)
    before = tables_with(agent.database_url, brief["thread_id"])
    for words, says in (
        (["no-such-thread", "--yes"], "there is no run no-such-thread"),
        ([brief["thread_id"]], "there is nobody to ask: delete needs --yes"),
        ([], "required: THREAD"),
    ):
        result = agent.run("delete", *words)
        assert result.returncode == 2
        assert says in one_line(result)
    assert tables_with(agent.database_url, brief["thread_id"]) == before
    assert tables_with(agent.database_url, "no-such-thread") == {}, "a slip of the pen leaves no lease behind"


def test_on_a_terminal_it_asks_and_only_yes_is_yes(agent: Agent, corpus: Path) -> None:
    brief = json.loads(agent.run("--topic", TOPIC, "--corpus", str(corpus), "--json").stdout)
    thread_id, sentences = brief["thread_id"], len(brief["claims"])
    for reply, code, rows in ((None, 1, 1), (b"\n", 1, 1), (b"no\n", 1, 1), (b"Y\n", 0, 0)):
        asked, done = answer_on_a_terminal(agent, ["delete", thread_id], reply)
        assert f'delete {thread_id} ("{TOPIC}", complete, {sentences} sentences, 19 checkpoints)? [y/N]' in asked
        assert done.returncode == code
        assert query(agent.database_url, "select count(*) from research.runs") == [(rows,)]


def answer_on_a_terminal(agent: Agent, words: list[str], reply: bytes | None) -> tuple[str, subprocess.Popen[bytes]]:
    """What the command asked, and the command after it had the reply; None is Ctrl-C."""
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "research_agent", *words]
    process = subprocess.Popen(
        command, cwd=agent.home, env=agent.environment(), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(person, 4096)
    if reply is None:
        process.send_signal(signal.SIGINT)
    else:
        os.write(person, reply)
    process.communicate(timeout=40)
    os.close(person)
    return seen.decode(), process
