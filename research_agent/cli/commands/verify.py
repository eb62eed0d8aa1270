"""``research-agent verify``: check a stored brief again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from research_agent.cli.arguments import thread_parser
from research_agent.cli.commands.base import print_json, run_async, settings_here


def main(words: Sequence[str]) -> int:
    """How each sentence and each source of the brief stands."""
    parser = thread_parser("verify", "Check a stored brief again. Exit code 3 if it fails.")
    parser.add_argument("--live", action="store_true", help="also read the sources again")
    parser.add_argument("--corpus", metavar="DIR", help="the folder of documents, where it has moved")
    parser.add_argument("--json", action="store_true", help="the findings as JSON")
    arguments = parser.parse_args(words)
    from research_agent.runs.verify import verify

    corpus = Path(arguments.corpus) if arguments.corpus else None
    findings = run_async(verify(arguments.thread, settings_here(), live=arguments.live, corpus=corpus))
    good = sum(finding.state == "ok" for finding in findings)
    code = 0 if good == len(findings) else 3
    if arguments.json:
        print_json([asdict(finding) for finding in findings])
        return code
    for finding in findings:
        sys.stdout.write(f"{finding.state:<11}  {finding.what}{f': {finding.detail}' if finding.detail else ''}\n")
    sys.stdout.write(f"{good} of {len(findings)} hold\n")
    return code
