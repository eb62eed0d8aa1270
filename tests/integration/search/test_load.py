"""Names to providers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import research_agent.search
from research_agent.errors import UsageError
from research_agent.search.load import NAMES, load_search
from research_agent.web.client import GuardedClient
from tests.support.fake_search import FakeSearch, Scripted, hits

KEYS = {"BRAVE_API_KEY": "k", "EXA_API_KEY": "k", "SEARXNG_URL": "http://localhost:8080"}


def test_every_name_can_be_loaded(client: GuardedClient) -> None:
    assert [load_search([name], client, environment=KEYS).name for name in NAMES] == list(NAMES)
    assert load_search([" Brave ", "wikipedia", "brave"], client, environment=KEYS).name == "brave,wikipedia"


def test_every_provider_file_is_listed() -> None:
    folder = Path(research_agent.search.__file__).parent
    assert sorted(file.stem for file in folder.glob("*.py") if "\ndef make(" in file.read_text()) == sorted(NAMES)


def test_the_default_is_keyless_and_puts_searxng_first_where_there_is_one(client: GuardedClient) -> None:
    keyless = "duckduckgo>wikipedia>instant_answer"
    assert load_search([], client, environment={}).name == keyless
    assert load_search(["default"], client, environment=KEYS).name == f"searxng>{keyless}"
    assert load_search(["default", "arxiv"], client, environment={}).name == f"{keyless},arxiv"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("brave", "BRAVE_API_KEY"),
        ("exa", "EXA_API_KEY"),
        ("searxng", "SEARXNG_URL"),
        ("corpus", "--corpus DIR"),
        ("gogle", "choose from default, corpus, arxiv, brave"),
        ("base", "choose from"),
        ("../x", "choose from"),
    ],
)
def test_what_is_missing_or_unknown_is_named(client: GuardedClient, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_search([name], client, environment={"BRAVE_API_KEY": "  "})


def test_another_usual_name_of_a_key_is_taken(client: GuardedClient) -> None:
    assert load_search(["brave"], client, environment={"BRAVE_SEARCH_API_KEY": "k"}).name == "brave"


async def test_the_corpus_is_searched_together_with_the_web(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"results": [{"url": "https://a.example/", "title": "A"}]})
    corpus = Scripted("corpus", hits("corpus", "file:///docs/a.md"))
    problems: list[str] = []
    search = load_search(
        ["corpus", "searxng"], client, environment={"SEARXNG_URL": service.base}, corpus=corpus, report=problems.append
    )
    assert [hit.url for hit in await search.search("q", 5)] == ["file:///docs/a.md", "https://a.example/"]
    assert not problems


async def test_a_provider_that_refuses_is_not_asked_again(service: FakeSearch, client: GuardedClient) -> None:
    service.tell(b"", 403)
    problems: list[str] = []
    corpus = Scripted("corpus", hits("corpus", "file:///docs/a.md"))
    search = load_search(
        ["searxng", "corpus"], client, environment={"SEARXNG_URL": service.base}, corpus=corpus, report=problems.append
    )
    for _ in range(2):
        assert len(await search.search("q", 5)) == 1
    assert len(service.asked) == 1
    assert "settings.yml" in problems[0] and "searxng is resting" in problems[1]


def test_loading_the_registry_loads_no_provider() -> None:
    code = (
        "import sys, research_agent.search.load\n"
        "print(sorted(name for name in sys.modules if name.startswith(('research_agent.search.', 'httpx', 'ddgs'))))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str([f"research_agent.search.{name}" for name in ("base", "breaker", "load")])
