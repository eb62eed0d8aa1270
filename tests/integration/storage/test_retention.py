"""What is old goes, what can be read stays, and no run that is under way notices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from research_agent.documents import Page
from research_agent.limits import Limits
from research_agent.storage import retention
from research_agent.storage.database import Pool, fetch, fetch_on, open_pool
from research_agent.storage.journal import PostgresJournal, ToolCall
from research_agent.storage.lease import hold_lease
from research_agent.storage.retention import Pruned, prune, vacuum
from research_agent.storage.runs import Run, finish_run, new_run, start_run
from tests.support.commands import Agent, one_line
from tests.support.documents import TOPIC
from tests.support.runs import query, run_topic

NOW = timedelta(0)
DAY = timedelta(days=1)
CHECKPOINTS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
JOURNAL = ("runs", "starts", "steps", "model_calls", "tool_calls", "citations", "claims", "pages")


def counts(url: str, tables: tuple[str, ...]) -> list[int]:
    return [int(query(url, f"select count(*) from {table}")[0][0]) for table in tables]


def journal_of(url: str) -> list[list[tuple[Any, ...]]]:
    hidden = "to_jsonb(t) - 'pruned_at'"
    return [query(url, f"select {hidden} from research.{table} t order by 1") for table in JOURNAL]


def age(url: str, thread_id: str, days: float) -> None:
    """As if the run had ended so long ago."""
    query(
        url,
        "update research.runs set finished_at = now() - make_interval(secs => %s) where thread_id = %s",
        days * 86_400,
        thread_id,
    )


async def stored_run(pool: Pool, topic: str, *, finished: bool = True) -> Run:
    """A run with a checkpoint of its own, without having been run."""
    run = await new_run(pool, topic)
    async with hold_lease(pool, run.thread_id) as token:
        await start_run(pool, run, model="m", limits=Limits(), token=token)
        async with pool.connection() as connection:
            await connection.execute(
                b"insert into checkpoints (thread_id, checkpoint_id, checkpoint) values (%s, 'c', '{}')",
                (run.thread_id,),
            )
        if finished:
            brief = {"outcome": "complete", "stop_reason": "done"}
            await finish_run(pool, run, token=token, finished_at=datetime.now(UTC), brief=brief, claims=[])
    return run


async def test_a_pruned_run_can_be_read_but_not_continued(agent: Agent, corpus: Path) -> None:
    url, command = agent.database_url, ["--topic", TOPIC, "--corpus", str(corpus), "--json"]
    first = agent.run(*command, "--max-steps", "2")
    thread_id = json.loads(first.stdout)["thread_id"]
    before, (checkpoints, blobs, writes) = journal_of(url), counts(url, CHECKPOINTS)
    async with open_pool(url, embedded=True) as pool:
        counted = await prune(pool, NOW, dry_run=True)
        assert (counted.runs, counted.rows) == (1, checkpoints + blobs + writes)
        assert counted.bytes > 1000
        assert counts(url, CHECKPOINTS) == [checkpoints, blobs, writes]
        assert await prune(pool, NOW) == counted
        assert await prune(pool, NOW) == Pruned(0, 0, 0, 0)
    assert counts(url, CHECKPOINTS) == [0, 0, 0]
    assert journal_of(url) == before
    [(pruned,)] = query(url, "select pruned_at > now() - interval '1 minute' from research.run_summary")
    assert pruned

    same = agent.run(*command)
    assert (same.returncode, same.stdout) == (3, first.stdout)
    more = agent.run(*command, "--max-steps", "6")
    assert (more.returncode, more.stdout) == (3, first.stdout)
    assert f"already finished as {thread_id}, its checkpoints are pruned; --fresh starts a new edition" in more.stderr
    assert agent.run("verify", thread_id).returncode == 0
    assert json.loads(agent.run("export", thread_id).stdout)["run"]["brief"] == json.loads(first.stdout)
    for words in (["history", thread_id], ["fork", thread_id, "--step", "1"]):
        result = agent.run(*words)
        assert result.returncode == 2
        assert f"the checkpoints of {thread_id} are pruned" in one_line(result)
    fresh = agent.run(*command, "--fresh")
    assert json.loads(fresh.stdout)["edition"] == 2
    assert agent.run("delete", thread_id, "--yes").returncode == 0
    assert query(url, "select edition from research.runs") == [(2,)]


async def test_only_what_ended_before_then_is_pruned(empty_database: str) -> None:
    url = empty_database
    async with open_pool(url, embedded=True) as pool:
        old, young = await stored_run(pool, "old"), await stored_run(pool, "young")
        open_run = await stored_run(pool, "open", finished=False)
        age(url, old.thread_id, 3)
        age(url, young.thread_id, 0.5)
        query(url, "insert into checkpoints (thread_id, checkpoint_id, checkpoint) values ('other', 'c', '{}')")
        assert (await prune(pool, DAY)).runs == 1
        assert query(url, "select thread_id from research.runs where pruned_at is not null") == [(old.thread_id,)]
        assert (await prune(pool, NOW)).runs == 1
    left = query(url, "select thread_id from checkpoints order by 1")
    assert left == sorted([("other",), (open_run.thread_id,)]), "unfinished runs and other programs' threads stay"


async def test_a_run_that_is_being_taken_up_is_skipped(empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        run = await stored_run(pool, "topic")
        async with hold_lease(pool, run.thread_id):
            assert (await prune(pool, NOW)).runs == 0
        async with pool.connection() as connection, connection.transaction():
            await connection.execute(b"select from research.leases for update")  # as who is just acquiring it
            assert (await prune(pool, NOW)).runs == 0
        assert (await prune(pool, NOW)).runs == 1


async def test_who_takes_a_run_up_while_it_is_pruned_finds_it_pruned(empty_database: str, corpus: Path) -> None:
    first = await run_topic(empty_database, corpus, max_steps=2)
    async with open_pool(empty_database, embedded=True) as pool, pool.connection() as connection:
        async with connection.transaction():
            [removed] = await fetch_on(connection, "prune_runs", before=datetime.now(UTC), batch=10)
            assert removed["runs"] == 1
            second = asyncio.create_task(run_topic(empty_database, corpus, max_steps=6))
            await asyncio.sleep(0.5)
            assert not second.done()
        assert await second == first
    assert counts(empty_database, CHECKPOINTS) == [0, 0, 0]
    assert query(empty_database, "select outcome, pruned_at is null from research.runs") == [("partial", False)]


async def test_it_goes_in_batches_each_of_them_whole(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_RUNS_AT_ONCE", 2)
    done = 0

    async def dying(pool: Pool, name: str, **values: Any) -> Any:
        nonlocal done
        if name == "prune_runs":
            done += 1
            if done == 3:
                raise KeyboardInterrupt
        return await fetch(pool, name, **values)

    async with open_pool(empty_database, embedded=True) as pool:
        for number in range(5):
            await stored_run(pool, f"topic {number}")
        monkeypatch.setattr(retention, "fetch", dying)
        with pytest.raises(KeyboardInterrupt):
            await prune(pool, NOW)
        rows = query(
            empty_database,
            "select r.pruned_at is null, c.thread_id is not null "
            "from research.runs r left join checkpoints c using (thread_id)",
        )
        assert sorted(rows) == [(False, False)] * 4 + [(True, True)]
        assert (await prune(pool, NOW)).runs == 1


async def test_runs_under_way_do_not_notice(empty_database: str, corpus: Path) -> None:
    topics = [TOPIC, "What causes the tide?", "tide mills and harbours", "life on the shore"]
    alone = [without_ids((await run_topic(empty_database, corpus, topic)).to_dict()) for topic in topics]
    async with open_pool(empty_database, embedded=True) as pool:
        for run in query(empty_database, "select thread_id from research.runs"):
            await retention.delete_thread(pool, run[0])
        work = asyncio.gather(*(run_topic(empty_database, corpus, topic) for topic in topics))
        rounds = 0
        while not work.done():
            await prune(pool, NOW)
            await vacuum(pool)
            rounds += 1
        assert [without_ids(brief.to_dict()) for brief in await work] == alone
    assert rounds > 1


def without_ids(brief: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in brief.items() if key not in ("started_at", "finished_at")}


# --- pages ---


@asynccontextmanager
async def a_run(url: str) -> AsyncIterator[tuple[Pool, PostgresJournal]]:
    async with open_pool(url, embedded=True) as pool:
        run = await new_run(pool, "topic")
        async with hold_lease(pool, run.thread_id) as token:
            await start_run(pool, run, model="m", limits=Limits(), token=token)
            yield pool, PostgresJournal(pool, run.thread_id, token)


def reading(url: str, step: int = 1, text: str = "the text") -> ToolCall:
    """A tool call that read a page at `url`, to which another address had led."""
    seen = ToolMessage("seen", tool_call_id="c1", name="fetch_url", status="success")
    page = Page(url, "T", text, requested_url="https://x.example/z")
    return ToolCall(step, {"url": url}, seen, datetime.now(UTC), 7, page=page)


UNUSED = """
    insert into research.pages
        (content_hash, url, title, kind, media_type, author, site, published, language, text, fetched_at)
    select encode(sha256(t::bytea), 'hex'), 'https://x.example/' || t, '', 'page', '', '', '', '', '', t,
        now() - interval '2 days'
    from unnest(array['the text', 'another']) t
"""


async def test_pages_go_that_nothing_refers_to_and_no_address_gave_lately(empty_database: str) -> None:
    async with a_run(empty_database) as (pool, journal):
        query(empty_database, UNUSED)
        await journal.save_tool_call(reading("https://x.example/a"))
        statement = "select text from research.pages order by 1"
        query(
            empty_database,
            "insert into research.page_addresses "
            "select 'other', url, content_hash, now() from research.pages where text = 'another'",
        )
        assert (await prune(pool, DAY)).pages == 0
        query(empty_database, "update research.page_addresses set fetched_at = now() - interval '2 days'")
        assert (await prune(pool, DAY, dry_run=True)).pages == 1
        assert (await prune(pool, timedelta(days=3))).pages == 0
        assert (await prune(pool, DAY)).pages == 1
        assert query(empty_database, statement) == [("the text",)]
        addresses = query(empty_database, "select url_key from research.page_addresses order by 1")
        assert addresses == [("https://x.example/a",), ("https://x.example/z",)]


async def test_a_call_is_stored_though_its_page_is_being_removed(empty_database: str) -> None:
    async with a_run(empty_database) as (pool, journal):
        query(empty_database, UNUSED)
        async with pool.connection() as connection, connection.transaction():
            locked = await fetch_on(connection, "lock_unused_pages", before=datetime.now(UTC), after="", batch=10)
            hashes = [row["content_hash"] for row in locked]
            assert len(hashes) == 2
            saving = asyncio.create_task(journal.save_tool_call(reading("https://x.example/a")))
            await asyncio.sleep(0.3)
            assert not saving.done()
            assert len(await fetch_on(connection, "delete_pages", hashes=hashes)) == 2
        await saving
    assert query(empty_database, "select text from research.pages") == [("the text",)]


async def test_a_call_is_stored_though_its_page_was_removed_since_it_began(empty_database: str) -> None:
    async with a_run(empty_database) as (pool, journal):
        query(empty_database, UNUSED)
        async with pool.connection() as connection, connection.transaction():
            await connection.execute(b"select from research.leases for update")  # its statement has to wait
            saving = asyncio.create_task(journal.save_tool_call(reading("https://x.example/a")))
            await asyncio.sleep(0.3)
            assert not saving.done()
            assert (await prune(pool, NOW)).pages == 2
        await saving
    assert query(empty_database, "select text from research.pages") == [("the text",)]


async def test_a_page_is_not_removed_while_a_call_is_stored_that_read_it(empty_database: str) -> None:
    async with a_run(empty_database) as (pool, journal):
        query(empty_database, UNUSED)
        address = (
            "select 'https://x.example/a', url, content_hash, fetched_at from research.pages where text = 'another'"
        )
        query(empty_database, f"insert into research.page_addresses {address}")
        async with pool.connection() as connection, connection.transaction():
            # It has found its page, and has to wait for the address.
            await connection.execute(b"select from research.page_addresses for update")
            saving = asyncio.create_task(journal.save_tool_call(reading("https://x.example/a")))
            await asyncio.sleep(0.3)
            assert not saving.done()
            pruning = asyncio.create_task(prune(pool, NOW))
            await asyncio.sleep(0.3)
            assert not pruning.done(), "it waits for the address of the other page"
        await saving
        assert (await pruning).pages == 1
    assert query(empty_database, "select text from research.pages") == [("the text",)]
    assert query(empty_database, "select count(*) from research.page_addresses") == [(2,)]


async def test_calls_and_removals_in_great_number_never_collide(empty_database: str) -> None:
    """Three runs read the same two texts at the same two addresses and forget them, while both kinds of removal run."""
    enough = asyncio.Event()

    async def read_and_forget(topic: str) -> None:
        async with open_pool(empty_database, embedded=True) as pool:
            run = await new_run(pool, topic)
            async with hold_lease(pool, run.thread_id) as token:
                await start_run(pool, run, model="m", limits=Limits(), token=token)
                journal, step = PostgresJournal(pool, run.thread_id, token), 0
                while not enough.is_set():
                    step += 1
                    await journal.save_tool_call(reading("https://x.example/a", step, text=f"text {step % 2}"))
                    async with pool.connection() as connection:
                        await connection.execute(
                            b"delete from research.tool_calls where thread_id = %s", (run.thread_id,)
                        )

    async def prune_on(pool: Pool) -> None:
        pruned = 0
        while pruned < 60:
            pruned += (await prune(pool, NOW)).pages
            run = await stored_run(pool, "short")
            await PostgresJournal(pool, run.thread_id, await _token(pool, run)).save_tool_call(
                reading("https://x.example/a")
            )
            pruned += (await retention.delete_thread(pool, run.thread_id)).pages
        enough.set()

    async with open_pool(empty_database, embedded=True) as pool, asyncio.timeout(60):
        await asyncio.gather(*(read_and_forget(f"topic {number}") for number in range(3)), prune_on(pool))


async def _token(pool: Pool, run: Run) -> int:
    return int((await fetch(pool, "show_lease", thread_id=run.thread_id))[0]["token"])


@pytest.mark.parametrize("full", [False, True])
async def test_vacuum_does_all_our_tables(full: bool, empty_database: str) -> None:
    async with open_pool(empty_database, embedded=True) as pool:
        await vacuum(pool, full=full)
        named = set(await _vacuumed(pool, full=full))
    tables = query(
        empty_database,
        "select schemaname || '.' || relname from pg_stat_user_tables where relname <> 'checkpoint_migrations'",
    )
    assert named == {table for (table,) in tables}
    if not full:
        [(left,)] = query(
            empty_database,
            "select count(*) from pg_stat_user_tables where last_vacuum is null and relname <> 'checkpoint_migrations'",
        )
        assert left == 0


async def _vacuumed(pool: Pool, *, full: bool) -> list[str]:
    from research_agent.storage.database import queries

    text = queries()["vacuum_full" if full else "vacuum"].decode().split(")", 1)[1]
    names = [name.strip() for name in text.split(",")]
    return [name if "." in name else f"public.{name}" for name in names]
