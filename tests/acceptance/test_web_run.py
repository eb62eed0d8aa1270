"""Whole runs over a web on loopback: SearXNG's form of search, real fetching, the built-in model. No network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.support.commands import Agent
from tests.support.documents import DOCUMENTS, TOPIC
from tests.support.fake_web import Answer, FakeWeb, Request, running_web


class SearchableWeb:
    """Articles and fault pages that a search finds by the words in their titles."""

    def __init__(self, web: FakeWeb) -> None:
        self.web = web
        self.listed: list[dict[str, str]] = []
        web.route("/search", self._search)

    def add(self, path: str, title: str, text: str) -> str:
        url = self.web.article(path, text, title=title)
        self.list(url, title)
        return url

    def list(self, url: str, title: str) -> None:
        self.listed.append({"url": url, "title": title, "content": f"About {title}.", "engine": "test"})

    def _search(self, request: Request) -> Answer:
        words = parse_qs(urlsplit(request.path).query)["q"][0].lower().split()
        found = sorted(self.listed, key=lambda hit: -sum(word in hit["title"].lower() for word in words))
        return Answer(json.dumps({"results": found, "query": " ".join(words)}).encode(), "application/json")


@pytest.fixture
def web() -> Iterator[SearchableWeb]:
    with running_web() as fake:
        yield SearchableWeb(fake)


@pytest.fixture
def agent(tmp_path: Path, empty_database: str, web: SearchableWeb) -> Agent:
    variables = {"SEARXNG_URL": web.web.url(""), "RESEARCH_ALLOW_HOSTS": ",".join(web.web.allow)}
    return Agent(tmp_path, empty_database, variables=variables)


def add_articles(web: SearchableWeb) -> dict[str, str]:
    """Our documents as web pages, long enough to be articles; address by name."""
    urls = {}
    for name, text in DOCUMENTS.items():
        title, _, body = text.lstrip("# ").partition("\n\n")
        urls[name] = web.add(f"/{name.partition('.')[0]}", f"{title} and the tide", body)
    return urls


def run(agent: Agent, *arguments: str) -> tuple[int, dict[str, Any], str]:
    result = agent.run("--topic", TOPIC, "--json", "--search", "searxng", *arguments, timeout=90)
    return result.returncode, json.loads(result.stdout), result.stderr


def test_a_topic_becomes_a_brief_from_the_web(agent: Agent, web: SearchableWeb) -> None:
    urls = add_articles(web)
    code, brief, stderr = run(agent)
    assert code == 0, stderr
    assert {source["url"] for source in brief["sources"]} <= set(urls.values())
    assert any("La Rance" in claim["text"] for claim in brief["claims"])
    with psycopg.connect(agent.database_url) as connection:
        rows = connection.execute(
            "select substr(p.text, c.quote_start + 1, c.quote_end - c.quote_start) = c.quote from research.claims c "
            "join research.citations s on s.thread_id = c.thread_id and s.number = c.quote_source "
            "join research.pages p using (content_hash)"
        ).fetchall()
    assert rows
    assert all(same for (same,) in rows)


def test_faulty_pages_are_reported_and_never_cited(agent: Agent, web: SearchableWeb) -> None:
    urls = add_articles(web)
    for path in ("/blocked", "/403", "/redirect-loop", "/double-gzip"):
        web.list(web.web.url(path), "How is the tide used for power, and what causes the tide")
    code, brief, stderr = run(agent)
    assert code == 0, stderr
    assert {source["url"] for source in brief["sources"]} <= set(urls.values())
    with psycopg.connect(agent.database_url) as connection:
        errors = connection.execute(
            "select tool_call_arguments ->> 'url', tool_call_result from research.tool_calls where status = 'error'"
        ).fetchall()
    assert any(url.endswith("/403") for url, _ in errors), errors
    assert all("Traceback" not in content for _, content in errors)


def test_pages_are_reused_by_another_run_while_they_are_young(agent: Agent, web: SearchableWeb) -> None:
    add_articles(web)
    run(agent)
    fetched = len(web.web.asked("/power"))
    assert fetched == 1
    run(agent, "--fresh")
    assert len(web.web.asked("/power")) == fetched
    run(agent, "--fresh", "--cache-age", "0")
    assert len(web.web.asked("/power")) == fetched + 1


def test_corpus_and_web_are_merged(agent: Agent, web: SearchableWeb, corpus: Path) -> None:
    text = "The dam at La Rance carries a road across the river for power. " * 8
    web.add("/la-rance", "Tidal power at La Rance", text)
    code, _, stderr = run(agent, "--corpus", str(corpus), "--search", "corpus,searxng")
    assert code == 0, stderr
    with psycopg.connect(agent.database_url) as connection:
        kinds = connection.execute("select distinct kind from research.citations order by 1").fetchall()
    assert kinds == [("document",), ("page",)]


def test_a_corpus_alone_leaves_the_machine_alone(agent: Agent, web: SearchableWeb, corpus: Path) -> None:
    add_articles(web)
    result = agent.run("--topic", TOPIC, "--corpus", str(corpus))
    assert result.returncode == 0
    assert web.web.requests == []


def test_a_search_that_finds_nothing_ends_without_a_brief(agent: Agent, web: SearchableWeb) -> None:
    code, brief, _ = run(agent)
    assert code == 4
    assert brief["claims"] == brief["sources"] == []


def test_a_run_that_reached_no_source_is_failed_and_the_same_command_tries_again(
    agent: Agent, web: SearchableWeb
) -> None:
    web.web.route("/search", Answer(b"no", status=503))
    result = agent.run("--topic", TOPIC, "--search", "searxng", timeout=90)
    assert result.returncode == 1
    assert "searxng" in result.stderr.lower()
    assert "Failed: nothing could be searched or read" in result.stdout
    web.web.route("/search", web._search)
    add_articles(web)
    code, brief, stderr = run(agent)
    assert code == 0, stderr
    assert brief["edition"] == 2
