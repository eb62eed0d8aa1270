"""How long a person waits: --help, a first run on a fresh data directory, a finished topic on a warm server.

python benchmarks/startup.py [--repeat 10]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _data import table

from research_agent.storage.server.embedded import EmbeddedServer

CORPUS = Path(__file__).resolve().parents[1] / "examples" / "corpus"


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "research_agent", *arguments]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10)
    repeat = parser.parse_args().repeat
    folder = Path(tempfile.mkdtemp(prefix="ra-bench-", dir="/tmp"))  # short, for the socket
    folder.chmod(0o711)
    environment = os.environ | {"RESEARCH_DATA_DIR": str(folder), "RESEARCH_CACHE_DIR": str(folder / "cache")}
    for name in ("DATABASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "RESEARCH_MODEL"):
        environment.pop(name, None)
    run = ["--corpus", str(CORPUS), "--quiet"]
    bare = [time_of_python() for _ in range(repeat)]
    first = seconds(run, environment)
    server = EmbeddedServer(folder / "pg")
    server.ensure()  # keeps it warm
    rows = [["python -c pass", *spread(bare)], ["first run, initdb included", first, first, first]]
    for name, arguments in (("--help", ["--help"]), ("finished topic, warm server", run)):
        rows.append([name, *spread([seconds(arguments, environment) for _ in range(repeat)])])
    rows.append(["new topic, warm server", *spread([seconds([*run, "--fresh"], environment) for _ in range(repeat)])])
    server.release()
    table(["seconds", "median", "best", "worst"], rows)
    shutil.rmtree(folder, ignore_errors=True)


def time_of_python() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def spread(times: list[float]) -> list[float]:
    return [statistics.median(times), min(times), max(times)]


if __name__ == "__main__":
    main()
