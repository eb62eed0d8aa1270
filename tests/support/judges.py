"""What judges answer in tests."""

from __future__ import annotations

import json
import re

ASKED = "<claim id="  # what only a judge's request has


def yes_to_all(request: str) -> str:
    """The worst of judges, and the most obedient one: yes to every sentence, by the first passage of what it cites."""
    asked = re.findall(r'<claim id="(s\d+)" cites="([^"]*)"', request)
    given = {name: {"v": "yes", "p": [f"{n}.1" for n in cites.split() if n.isdigit()]} for name, cites in asked}
    return json.dumps(given)
