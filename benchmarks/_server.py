"""A private PostgreSQL for benchmarks, in a temporary directory."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research_agent.storage.server.embedded import EmbeddedServer


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
        deadline = time.monotonic() + 15
        while any(folder.rglob("postmaster.pid")) and time.monotonic() < deadline:
            time.sleep(0.05)  # until then the server still writes into it
        shutil.rmtree(folder, ignore_errors=True)
