"""A few reading processes, so that one heavy page does not keep the others waiting."""

from __future__ import annotations

import asyncio

from research_agent.documents import Page
from research_agent.web.worker import MEMORY, ExtractionWorker


class ExtractionPool:
    """`size` workers; each process starts when it is first needed. `deadline` is in seconds for one document."""

    def __init__(self, size: int = 2, *, deadline: float = 15.0, memory: int = MEMORY) -> None:
        self._workers = [ExtractionWorker(deadline=deadline, memory=memory) for _ in range(size)]
        # The one that was used last is the first to be used again: few documents need one process only.
        self._free = asyncio.LifoQueue[ExtractionWorker]()
        for worker in reversed(self._workers):
            self._free.put_nowait(worker)

    async def extract(self, data: bytes, *, url: str, media_type: str) -> Page:
        """What `ExtractionWorker.extract` gives, from the first worker that is free."""
        worker = await self._free.get()
        try:
            return await worker.extract(data, url=url, media_type=media_type)
        finally:
            self._free.put_nowait(worker)

    async def close(self) -> None:
        """End all processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))
