"""A private PostgreSQL for benchmarks, in a temporary directory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research_agent.storage.embedded import EmbeddedServer


@contextmanager
def private_server() -> Iterator[tuple[Path, str]]:
    """Data directory and DSN of a server that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ra-bench-", dir="/tmp"))  # short, for the socket
    folder.chmod(0o711)
    server = EmbeddedServer(folder / "pg", linger=0.1)
    try:
        yield folder, server.ensure()
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)
