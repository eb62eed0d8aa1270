"""The program as a subprocess, in an environment that nothing of the developer's machine leaks into."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.places import REPOSITORY

_PREFIXES = ("RESEARCH_", "GEMINI_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "PG")


def isolate(environment: MutableMapping[str, str]) -> None:
    """Remove what would steer a run, keys first of all."""
    for name in list(environment):
        if name == "DATABASE_URL" or (name.startswith(_PREFIXES) and not name.startswith("RESEARCH_TEST_")):
            del environment[name]


@dataclass
class Agent:
    """Runs ``python -m …`` with its own cache and database; `events` is where the driver writes what it sees."""

    home: Path
    database_url: str = ""
    module: str = "research_agent"
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def events(self) -> Path:
        return self.home / "events.log"

    def environment(self, **more: str) -> dict[str, str]:
        environment = dict(os.environ)
        isolate(environment)
        environment |= {"RESEARCH_CACHE_DIR": str(self.home / "cache"), "PYTHONPATH": str(REPOSITORY)}
        environment |= {"TEST_EVENTS": str(self.events)} | self.variables | more
        if self.database_url:
            environment["DATABASE_URL"] = self.database_url
        return environment

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """Start it and return at once; output goes to pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            cwd=self.home,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *arguments: str, timeout: float = 60, **more: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def seen(self, kind: str = "end") -> list[str]:
        """What the driver saw of one kind (start, end, pause), in order."""
        return [what for which, what in self.log() if which == kind]

    def log(self) -> list[tuple[str, str]]:
        """Everything that the driver saw: pairs of kind and call."""
        if not self.events.exists():
            return []
        lines = self.events.read_text(encoding="utf-8").splitlines()
        return [(kind, what) for kind, _, what in (line.partition(" ") for line in lines)]


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error line of a failed command; fails the test if there is a traceback or more than one line."""
    assert "Traceback" not in result.stderr, result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("research-agent: ")]
    assert len(lines) == 1, result.stderr
    return lines[0]


def without_times(brief: dict[str, Any]) -> dict[str, Any]:
    """A brief without what may differ between two equal runs."""
    return {key: value for key, value in brief.items() if key not in ("started_at", "finished_at")}
