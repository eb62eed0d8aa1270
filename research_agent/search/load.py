"""Names → a provider that can be searched. A new provider is a file here and its name in `NAMES`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from research_agent.errors import UsageError
from research_agent.search.base import SearchProvider, Setup
from research_agent.search.breaker import Breaker

if TYPE_CHECKING:
    from research_agent.search.merge import Report
    from research_agent.web.client import GuardedClient

# Each is a module of this package with a function ``make(setup: Setup) -> SearchProvider``.
NAMES = (
    "arxiv",
    "brave",
    "crossref",
    "duckduckgo",
    "exa",
    "instant_answer",
    "openalex",
    "searxng",
    "tavily",
    "wikipedia",
)
DEFAULT = "default"
_KEYLESS = ("duckduckgo", "wikipedia", "instant_answer")


def load_search(
    names: Sequence[str],
    client: GuardedClient,
    *,
    environment: Mapping[str, str],
    language: str = "",
    corpus: SearchProvider | None = None,
    report: Report | None = None,
) -> SearchProvider:
    """The provider called `names`; several are merged. Nothing is sent yet.

    ``default`` (also when `names` is empty) is a chain: SearXNG when ``SEARXNG_URL`` is set, then DuckDuckGo,
    then Wikipedia, then Instant Answers. ``corpus`` is the provider given as `corpus`.

    Args:
        environment: where keys and addresses are looked up.
        language: ISO 639-1 code for those who can use it; "" lets each query decide.
        report: told each problem of a provider, also when others found something.

    Raises:
        UsageError: a name is unknown, or a key is missing; the message names what there is, or the variable.
    """
    from research_agent.search.merge import Chain, Merged, ignore_problem

    setup = Setup(client, environment, language)
    tell = report or ignore_problem
    made: dict[str, SearchProvider] = {}

    def one(name: str) -> SearchProvider:
        if name not in made:  # one breaker for each provider, however often it is named
            made[name] = Breaker(_make(name, setup))
        return made[name]

    chosen: dict[str, SearchProvider] = {}
    for name in [cleaned for name in names if (cleaned := name.strip().lower())] or [DEFAULT]:
        if name == DEFAULT:
            first = ("searxng",) if setup.get("SEARXNG_URL") else ()
            chosen[name] = Chain([one(each) for each in (*first, *_KEYLESS)], tell)
        elif name == "corpus":
            if corpus is None:
                raise UsageError("search in the corpus needs a folder of documents: give one with --corpus DIR")
            chosen[name] = corpus
        else:
            chosen[name] = one(name)
    providers = list(chosen.values())
    return providers[0] if len(providers) == 1 else Merged(providers, tell)


def _make(name: str, setup: Setup) -> SearchProvider:
    if name not in NAMES:
        raise UsageError(
            f"no search provider is called {name[:40]!r}: choose from {', '.join((DEFAULT, 'corpus', *NAMES))}"
        )
    module = importlib.import_module(f"research_agent.search.{name}")
    return cast(SearchProvider, module.make(setup))
