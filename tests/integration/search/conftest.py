"""A scripted search service and a real client that may reach it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from research_agent.web.client import GuardedClient
from tests.support.fake_search import FakeSearch


@pytest.fixture
async def service() -> AsyncIterator[FakeSearch]:
    async with FakeSearch() as running:
        yield running


@pytest.fixture
async def client(service: FakeSearch) -> AsyncIterator[GuardedClient]:
    async with service.client() as made:
        yield made
