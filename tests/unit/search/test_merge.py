"""Several providers at once, or one after the other."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from research_agent.documents import SearchHit
from research_agent.errors import SourceError
from research_agent.search.base import SearchError
from research_agent.search.merge import Chain, Merged, fuse
from tests.support.fake_search import Scripted, hits

A, B, C, D = (f"https://{name}.example/page" for name in "abcd")


def urls(found: list[SearchHit]) -> list[str]:
    return [hit.url for hit in found]


def test_a_page_that_two_found_comes_first_and_once() -> None:
    found = fuse([hits("x", A, B), hits("y", C, B)], 5)
    assert urls(found) == [B, A, C]
    assert found[0].source == "x+y"


def test_variants_of_one_address_are_one_hit_shown_as_the_best_ranked_was_given() -> None:
    spelled = "http://www.a.example/page?utm_source=x#part"
    assert urls(fuse([hits("x", B, A), hits("y", spelled)], 5)) == [spelled, B]


def test_one_provider_has_one_vote_for_a_page() -> None:
    assert urls(fuse([hits("x", B, A, A + "#1", A + "#2"), hits("y", C)], 5)) == [B, C, A]


def test_what_the_best_hit_lacks_comes_from_the_others() -> None:
    bare = SearchHit(A, "A", "", "", "x")
    full = SearchHit(A, "Other", "some text", "2024-05-01", "y")
    assert fuse([[bare], hits("z", B), [full]], 1) == [SearchHit(A, "A", "some text", "2024-05-01", "x+y")]


def test_the_order_does_not_depend_on_chance() -> None:
    rankings = [hits("x", A, B, C), hits("y", D, A), hits("z", C, D)]
    first = fuse(rankings, 9)
    assert all(fuse(rankings, 9) == first for _ in range(5))
    for mixed in itertools.permutations(rankings):
        assert {hit.url for hit in fuse(mixed, 9)} == {A, B, C, D}
    assert fuse([], 5) == fuse([[], []], 5) == []


async def test_all_are_asked_at_once_and_the_slowest_decides_nothing() -> None:
    providers = [Scripted("x", hits("x", A), delay=0.05), Scripted("y", hits("y", B))]
    found = await Merged(providers).search("q", 5)
    assert urls(found) == [A, B]


async def test_a_failing_provider_does_not_fail_the_others_but_is_reported() -> None:
    problems: list[str] = []
    providers = [Scripted("x", SourceError("x is down")), Scripted("y", hits("y", A))]
    assert urls(await Merged(providers, problems.append).search("q", 5)) == [A]
    assert problems == ["x is down"]


async def test_nothing_found_and_one_failed_is_said_and_not_taken_for_nothing() -> None:
    for together in (Merged, Chain):
        with pytest.raises(SourceError, match="x is down"):
            await together([Scripted("x", SourceError("x is down")), Scripted("y", [])]).search("q", 5)
        assert await together([Scripted("x", []), Scripted("y", [])]).search("q", 5) == []


async def test_when_all_failed_each_problem_is_told_once() -> None:
    providers = [
        Scripted("x", SourceError("down")),
        Scripted("y", SourceError("down")),
        Scripted("z", SourceError("no")),
    ]
    with pytest.raises(SearchError, match=r"^down; no$"):
        await Merged(providers).search("q", 5)


async def test_cancelling_a_merged_search_cancels_all() -> None:
    providers = [Scripted("x", hits("x", A), delay=60), Scripted("y", hits("y", B), delay=60)]
    task = asyncio.create_task(Merged(providers).search("q", 5))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_chain_stops_at_the_first_that_finds_something() -> None:
    problems: list[str] = []
    failing, empty = Scripted("x", SourceError("x is down")), Scripted("y", [])
    good, never = Scripted("z", hits("z", A)), Scripted("w", hits("w", B))
    chain = Chain([failing, empty, good, never], problems.append)
    assert urls(await chain.search("q", 5)) == [A]
    assert (chain.name, problems, never.asked) == ("x>y>z>w", ["x is down"], 0)
