"""``research-agent delete``: remove a run and all that belongs to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from research_agent.arguments import Parser
from research_agent.commands.base import count, run_async, say, settings_here
from research_agent.errors import UsageError

if TYPE_CHECKING:
    from research_agent.storage.retention import Deleted, Remains


def main(words: Sequence[str]) -> int:
    """Delete a run, after asking where there is somebody to ask; 1 if the answer was no."""
    parser = Parser(
        prog="research-agent delete",
        description="Remove a run: journal, checkpoints, and pages that no other run has read. Its forks keep working.",
    )
    parser.add_argument("thread", metavar="THREAD", help="thread id of the run")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="say what was removed as JSON")
    arguments = parser.parse_args(words)
    # Asked outside of any event loop: there Ctrl-C would only be noted, and the question would go on waiting.
    if not arguments.yes and not _agreed(arguments.thread, run_async(_look(arguments.thread))):
        say("nothing was deleted")
        return 1
    deleted = run_async(_delete(arguments.thread))
    if arguments.json:
        from research_agent.export.table import to_json

        sys.stdout.write(to_json({"thread_id": arguments.thread, **asdict(deleted)}) + "\n")
    else:
        removed = f"{count(deleted.checkpoints, 'checkpoint')}, {count(deleted.pages, 'page')}"
        sys.stdout.write(f"deleted {arguments.thread}: {removed} that no other run has read\n")
    return 0


async def _look(thread_id: str) -> Remains:
    from research_agent.storage.database import open_database
    from research_agent.storage.retention import find_remains

    async with open_database(settings_here()) as pool:
        return await find_remains(pool, thread_id)


async def _delete(thread_id: str) -> Deleted:
    from research_agent.storage.database import open_database
    from research_agent.storage.retention import delete_thread

    async with open_database(settings_here()) as pool:
        return await delete_thread(pool, thread_id)


def _agreed(thread_id: str, remains: Remains) -> bool:
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is nobody to ask: delete needs --yes where no terminal is")
    question = f"delete {thread_id} ({_describe(remains)})? [y/N] "
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip().casefold() in ("y", "yes")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return False


def _describe(remains: Remains) -> str:
    from research_agent.text import clean

    checkpoints = count(remains.checkpoints, "checkpoint")
    if not remains.topic:
        return f"no run of this program: {checkpoints}, of another one perhaps"
    found = f"{remains.outcome or 'unfinished'}, {count(remains.sentences, 'sentence')}, {checkpoints}"
    return f'"{clean(remains.topic)}", {found}'
