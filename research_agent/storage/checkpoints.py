"""The checkpointer: LangGraph's own, with a serializer that builds nothing but messages and plain data."""

from __future__ import annotations

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from research_agent.storage.database import Pool


def make_saver(pool: Pool) -> AsyncPostgresSaver:
    """A saver for one run. One each, since a saver has one lock; the pool is shared.

    The stock serializer calls whatever a hostile row names; the strict one returns it as data.
    """
    return AsyncPostgresSaver(pool, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
