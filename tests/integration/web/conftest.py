"""The fake web and what reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from research_agent.documents import Page
from research_agent.web.client import GuardedClient
from research_agent.web.extract.extract import extract
from research_agent.web.fetch import WebReader
from research_agent.web.pool import ExtractionPool
from tests.support.fake_web import FakeWeb

NewClient = Callable[..., GuardedClient]


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as running:
        yield running


@pytest.fixture
async def new_client(web: FakeWeb) -> AsyncIterator[NewClient]:
    """Clients that may talk to the fake web and do not dawdle; options of `GuardedClient` on top."""
    made: list[GuardedClient] = []

    def make(**options: Any) -> GuardedClient:
        made.append(GuardedClient(**{"allow_hosts": web.allow, "deadline": 5.0, "spacing": 0.0} | options))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


@pytest.fixture
def client(new_client: NewClient) -> GuardedClient:
    return new_client()


@pytest.fixture
def reader(new_client: NewClient) -> WebReader:
    """Reads without a process of its own, which would take a second to start for each test."""
    return WebReader(new_client(), InProcess())


@pytest.fixture
async def whole_reader(new_client: NewClient) -> AsyncIterator[WebReader]:
    """As the agent has it, with reading processes."""
    running = WebReader(new_client(), ExtractionPool(2, deadline=40.0))
    yield running
    await running.close()


class InProcess:
    """An extractor for pages that are known to be harmless."""

    async def extract(self, data: bytes, *, url: str, media_type: str) -> Page:
        return extract(data, url=url, media_type=media_type)

    async def close(self) -> None:
        """Nothing to end."""
