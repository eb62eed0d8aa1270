"""The checkpointer: LangGraph's own, with a serializer that builds nothing but messages and plain data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import DictRow

from research_agent.storage.database import Pool


def make_saver(pool: Pool | psycopg.AsyncConnection[DictRow]) -> AsyncPostgresSaver:
    """A saver for one run. One each, since a saver has one lock; the pool is shared.

    Over one connection it takes part in the transaction of that connection. The stock serializer calls whatever a
    hostile row names; the strict one returns it as data.
    """
    return AsyncPostgresSaver(pool, serde=_strict())


def make_history_saver(pool: Pool) -> AsyncPostgresSaver:
    """A saver to read the whole past of one thread with."""
    return _ReadOnce(pool, serde=_strict())


class _ReadOnce(AsyncPostgresSaver):
    """Keeps what it listed: the growing lists of each checkpoint are replayed from it, not fetched anew each time."""

    def __init__(self, conn: Pool, **options: Any) -> None:
        super().__init__(conn, **options)
        self._read: dict[str, CheckpointTuple] = {}

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        async for found in super().alist(config, **options):
            self._read[found.config["configurable"]["checkpoint_id"]] = found
            yield found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._read.get(get_checkpoint_id(config) or "") or await super().aget_tuple(config)

    # The general one walks from parent to parent by `aget_tuple`.
    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history


def _strict() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=None)
