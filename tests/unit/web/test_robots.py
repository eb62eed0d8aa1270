"""robots.txt as RFC 9309 has it, without a network."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_agent.web.errors import RobotsDenied, Unreachable
from research_agent.web.robots import Robots


def robots(text: str | bytes, status: int = 200) -> Robots:
    async def fetch(url: str) -> tuple[int, bytes]:
        return status, text.encode() if isinstance(text, str) else text

    return Robots(fetch)


async def allowed(rules: Robots, path: str) -> bool:
    try:
        await rules.check(httpx.URL(f"https://example.org{path}"))
    except RobotsDenied:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "path", "may"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow:\n", "/a", True),
        ("User-agent: *\nDisallow: /\n", "/a", False),
        ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", "/a/b", False),
        ("User-agent: *\nDisallow: /\nAllow: /public\n", "/public/x", True),
        ("User-agent: *\nDisallow: /*?print=\n", "/a?print=1", False),
        ("User-agent: *\nDisallow: /*.pdf$\n", "/a.pdf?x", True),
        ("User-agent: other\nDisallow: /\n", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: research-agent\nAllow: /\n", "/a", True),
        ("User-agent: *\nAllow: /\n\nUser-agent: Research-Agent\nDisallow: /a\n", "/a", False),
        ("User-agent: *\nDisallow: /caf%C3%A9\n", "/café", False),
        ("<!DOCTYPE html><html><body>Not found</body></html>", "/a", True),
    ],
)
async def test_rules(text: str, path: str, may: bool) -> None:
    assert await allowed(robots(text), path) is may


@pytest.mark.parametrize(
    ("status", "may"), [(404, True), (401, True), (403, True), (429, True), (500, False), (503, False)]
)
async def test_a_missing_file_allows_and_a_failing_one_does_not(status: int, may: bool) -> None:
    assert await allowed(robots("User-agent: *\nDisallow: /", status), "/a") is may


async def test_the_wished_for_distance_is_told() -> None:
    assert await robots("User-agent: *\nCrawl-delay: 2.5\n").check(httpx.URL("https://example.org/")) == 2.5
    assert await robots("User-agent: *\nCrawl-delay: soon\n").check(httpx.URL("https://example.org/")) == 0.0


async def test_each_site_is_asked_once_even_by_many_at_once() -> None:
    asked: list[str] = []

    async def fetch(url: str) -> tuple[int, bytes]:
        asked.append(url)
        await asyncio.sleep(0.01)
        return 404, b""

    rules = Robots(fetch)
    sites = ["https://a.org/x", "https://a.org/y", "http://a.org/", "https://a.org:8443/", "https://b.org/"]
    await asyncio.gather(*(rules.check(httpx.URL(site)) for site in sites * 3))
    assert sorted(asked) == [
        "http://a.org/robots.txt", "https://a.org/robots.txt", "https://a.org:8443/robots.txt", "https://b.org/robots.txt",
    ]  # fmt: skip


async def test_a_site_that_could_not_be_reached_is_asked_again() -> None:
    failures = [Unreachable("down")]

    async def fetch(url: str) -> tuple[int, bytes]:
        if failures:
            raise failures.pop()
        return 404, b""

    rules = Robots(fetch)
    with pytest.raises(Unreachable):
        await rules.check(httpx.URL("https://a.org/"))
    assert await rules.check(httpx.URL("https://a.org/")) == 0.0


@given(st.binary(max_size=200))
def test_any_file_gives_an_answer(data: bytes) -> None:
    asyncio.run(allowed(robots(b"User-agent: *\nDisallow: " + data), "/a?b=%20"))
