"""The process behind `research_agent.search.duckduckgo`: one request on stdin, one answer on stdout, both JSON.

Answer: ``{"hits": [{"href", "title", "body"}]}`` or ``{"trouble": "limited" | "missing" | "failed", "why": text}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

_ENGINE_SECONDS = 5  # for one request
# Not asked: wikipedia, which is a provider of its own, and grokipedia, whose pages a machine wrote.
_FIRST = "duckduckgo"
_OTHERS = "brave,mojeek,startpage,yahoo"
_OTHERS_BY_AGE = "brave,startpage,yahoo"  # mojeek can't limit by age


def main() -> None:
    """Read the request, search, write the answer, end at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide on
    request = json.loads(sys.stdin.buffer.read())
    if hasattr(signal, "setitimer"):  # a parent that died can't kill
        signal.setitimer(signal.ITIMER_REAL, request["deadline"] + 1)
    answers = os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr
    answers.write(json.dumps(answer(request)).encode())
    answers.close()
    os._exit(0)  # threads of ddgs that still wait for an engine are not waited for


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What ``ddgs`` finds for `request`: DuckDuckGo first, the other engines when it gives nothing."""
    give_up = time.monotonic() + request["deadline"] - 1
    try:
        from ddgs import DDGS

        statuses: list[int] = []
        _mend(statuses)
        search: Callable[..., list[dict[str, Any]]] = DDGS(timeout=_ENGINE_SECONDS).text
    except ImportError:
        return {"trouble": "missing"}
    by_age = bool(request["recency"])
    others = _OTHERS_BY_AGE if by_age else _OTHERS
    why = ""
    for engines, timelimit in ((_FIRST, request["days"]), (others, request["recency"])):
        if time.monotonic() > give_up:
            break
        try:
            # "wt-wt" is no region: the words of the query decide about the language.
            found = search(
                request["query"],
                region="wt-wt",
                safesearch="moderate",
                timelimit=timelimit or None,
                max_results=request["limit"],
                backend=engines,
            )
        except Exception as error:  # of any kind: it reads foreign pages with little care
            why = str(error) or type(error).__name__
            continue
        if hits := [_direct(hit) for hit in found]:
            return {"hits": hits}
    if 200 in statuses or (not statuses and "No results" in why):
        return {"hits": []}
    if statuses:  # asked, and nobody let it in
        return {"trouble": "limited"}
    return {"trouble": "failed", "why": why or "no answer in time"}


def _mend(statuses: list[int]) -> None:
    """Learn the HTTP statuses, which ddgs hides, and keep addresses as they are: it unquotes %2F and %20.

    These are insides of ddgs 9; where they are gone, the search works without.
    """
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        from ddgs.results import BaseResult

        BaseResult._normalizers = {**BaseResult._normalizers, "href": str.strip}
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        from ddgs.http_client import HttpClient

        request = HttpClient.request

        def noting(client: Any, *args: Any, **kwargs: Any) -> Any:
            response = request(client, *args, **kwargs)
            statuses.append(response.status_code)
            return response

        HttpClient.request = noting  # type: ignore[method-assign, assignment]


def _direct(hit: dict[str, Any]) -> dict[str, Any]:
    """`hit` with the address of the page, where DuckDuckGo gave one that leads to it through itself."""
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
        parts = urlsplit(hit["href"])
        if (parts.hostname or "").endswith("duckduckgo.com") and parts.path == "/l/":
            return {**hit, "href": parse_qs(parts.query)["uddg"][0]}
    return hit


if __name__ == "__main__":
    main()
