"""``research-agent delete``: remove a run and all that belongs to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from research_agent.cli.arguments import thread_parser
from research_agent.cli.commands.base import count, on_database, print_json, say
from research_agent.errors import UsageError

if TYPE_CHECKING:
    from research_agent.storage.retention import Remains


def main(words: Sequence[str]) -> int:
    """Delete a run, after asking where there is somebody to ask; 1 if the answer was no."""
    parser = thread_parser(
        "delete",
        "Remove a run: journal, checkpoints, and pages that no other run has read. Its forks keep working.",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="say what was removed as JSON")
    arguments = parser.parse_args(words)
    from research_agent.storage.retention import delete_thread, find_remains

    # Asked outside of any event loop: there Ctrl-C would only be noted, and the question would go on waiting.
    if not arguments.yes:
        remains = on_database(lambda pool: find_remains(pool, arguments.thread))
        if not _agreed(arguments.thread, remains):
            say("nothing was deleted")
            return 1
    deleted = on_database(lambda pool: delete_thread(pool, arguments.thread))
    if arguments.json:
        print_json({"thread_id": arguments.thread, **asdict(deleted)})
    else:
        removed = f"{count(deleted.checkpoints, 'checkpoint')}, {count(deleted.pages, 'page')}"
        sys.stdout.write(f"deleted {arguments.thread}: {removed} that no other run has read\n")
    return 0


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
    from research_agent.text import one_line

    checkpoints = count(remains.checkpoints, "checkpoint")
    if not remains.topic:
        return f"no run of this program: {checkpoints}, of another one perhaps"
    found = f"{remains.outcome or 'unfinished'}, {count(remains.sentences, 'sentence')}, {checkpoints}"
    return f'"{one_line(remains.topic)}", {found}'
