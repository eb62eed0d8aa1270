"""What every provider has in common: each way of not answering is one short observation without a key."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_agent.errors import SourceError, UsageError
from research_agent.search.answers import make_hit, short_query
from research_agent.search.arxiv import Arxiv
from research_agent.search.base import SearchError, SearchProvider
from research_agent.search.brave import Brave
from research_agent.search.crossref import Crossref
from research_agent.search.exa import Exa
from research_agent.search.instant_answer import InstantAnswer
from research_agent.search.openalex import OpenAlex
from research_agent.search.searxng import SearXNG
from research_agent.search.tavily import Tavily
from research_agent.search.wikipedia import Wikipedia
from research_agent.web.client import GuardedClient, Response
from tests.support.fake_search import FakeSearch

KEY = "sk-SECRET/key+1"

Make = Callable[[Any, str], SearchProvider]
KEYED: dict[str, Make] = {
    "tavily": lambda client, base: Tavily(client, KEY, base),
    "brave": lambda client, base: Brave(client, KEY, base),
    "exa": lambda client, base: Exa(client, KEY, base),
    "openalex": lambda client, base: OpenAlex(client, KEY, base),
}
ALL: dict[str, Make] = {
    **KEYED,
    "searxng": lambda client, base: SearXNG(client, base),
    "wikipedia": lambda client, base: Wikipedia(client, "en", base),
    "instant_answer": lambda client, base: InstantAnswer(client, base),
    "arxiv": lambda client, base: Arxiv(client, base, spacing=0.0),
    "crossref": lambda client, base: Crossref(client, base=base),
}
every_provider = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


async def problem(provider: SearchProvider) -> SearchError:
    with pytest.raises(SearchError) as caught:
        await provider.search("coffee", 5)
    text = str(caught.value)
    assert len(text) < 300 and "\n" not in text
    assert "SECRET" not in text and quote_plus(KEY) not in text
    return caught.value


@every_provider
@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (301, "failed"),
        (400, "rejected"),
        (401, "refused"),
        (402, "refused"),
        (404, "failed"),
        (422, "rejected"),
        (429, "limited"),
        (500, "failed"),
        (503, "failed"),
    ],
)
async def test_every_status_is_an_observation(
    service: FakeSearch, client: GuardedClient, make: Make, status: int, trouble: str
) -> None:
    service.tell(f"<h1>{KEY}</h1>".encode(), status)
    error = await problem(make(client, service.base))
    assert error.trouble == trouble
    assert str(status) in str(error)


@pytest.mark.parametrize("make", KEYED.values(), ids=KEYED)
async def test_a_wrong_key_is_named_by_its_variable(service: FakeSearch, client: GuardedClient, make: Make) -> None:
    service.tell({"detail": {"error": f"Unauthorized: {KEY}"}}, 401)
    error = await problem(make(client, service.base))
    assert "_API_KEY" in str(error)


@every_provider
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"results": {"a": 1}, "message": 3}',
        b"1" * 5000,
    ],
    ids=lambda body: repr(body[:12]),
)
async def test_an_unreadable_answer_is_an_observation(
    service: FakeSearch, client: GuardedClient, make: Make, body: bytes
) -> None:
    service.tell(body)
    provider = make(client, service.base)
    if body.startswith(b"{") and provider.name in ("brave", "wikipedia", "instant_answer") and len(body) > 1:
        assert await provider.search("coffee", 5) == []  # nothing of theirs is in it: the same as nothing found
    else:
        assert (await problem(provider)).trouble == "failed"


@every_provider
async def test_retry_after_is_passed_on(service: FakeSearch, client: GuardedClient, make: Make) -> None:
    service.tell(b"", 429, retry_after="120")
    error = await problem(make(client, service.base))
    assert (error.trouble, error.wait) == ("limited", 120)
    assert len(service.asked) == 1


@every_provider
async def test_a_server_that_is_not_there_is_an_observation(client: GuardedClient, make: Make) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{closed.getsockname()[1]}"
        async with GuardedClient(allow_hosts=(host,)) as reaching:
            assert (await problem(make(reaching, f"http://{host}"))).trouble == "failed"


async def test_only_a_configured_address_may_be_private(service: FakeSearch) -> None:
    service.tell({"results": []})
    async with GuardedClient() as strict:
        assert (await problem(Tavily(strict, KEY, service.base))).trouble == "failed"
        assert await SearXNG(strict, service.base).search("q", 5) == []
    assert len(service.asked) == 1


async def test_an_answer_that_is_too_long_is_refused(service: FakeSearch) -> None:
    service.tell(b'{"web": "' + b"x" * 5000 + b'"}')
    async with GuardedClient(allow_hosts=(service.host,), max_bytes=1000) as small:
        assert "too long" in str(await problem(Brave(small, KEY, service.base)))


async def test_no_exception_on_the_way_keeps_the_key(client: GuardedClient) -> None:
    class Leaking:
        async def call_api(self, *args: Any, **kwargs: Any) -> Response:
            raise SourceError(f"no answer from https://x.example/?api_key={quote_plus(KEY)} or {KEY}")

    error: BaseException | None = await problem(KEYED["openalex"](Leaking(), "https://x.example"))
    while error is not None:
        assert "SECRET" not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("key", ["two words", "naïve", "line\nbreak", "x\x00"])
def test_a_key_that_can_be_none_is_a_usage_error_without_the_key(client: GuardedClient, key: str) -> None:
    with pytest.raises(UsageError, match="BRAVE_API_KEY") as caught:
        Brave(client, key)
    assert key not in str(caught.value)


def test_keys_are_not_in_representations(client: GuardedClient) -> None:
    for make in KEYED.values():
        provider = make(client, "https://x.example")
        assert "SECRET" not in repr(provider) + repr(provider._api)  # type: ignore[attr-defined]


# Names that the parsers look for, so that what is drawn gets past their first step.
_NAMES = st.sampled_from(
    """results web title url content published_date description page_age highlights publishedDate text query pages
    fullurl index pageprops disambiguation extract error code AbstractURL Heading Results RelatedTopics Topics FirstURL
    Text message items DOI URL author given family issued date-parts abstract container-title id doi display_name
    publication_date authorships primary_location landing_page_url source open_access oa_url abstract_inverted_index
    unresponsive_engines retry_after_seconds hits href body""".split()  # noqa: SIM905
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [
            "https://a.example/x",
            "http://[::1",
            "//x",
            "https://é.example/?q=1",
            "2024-01-02",
            "<b>x</b>",
            "https://a.example/\ud800",
            "\ud800\0 x",
        ]
    )
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=5))


def _shaped(inner: Any) -> st.SearchStrategy[Any]:
    """The outer layers as documented, so that the inner ones are reached."""
    item = st.dictionaries(_NAMES, inner, max_size=8)
    items = st.lists(item | inner, max_size=4)
    return st.fixed_dictionaries(
        {},
        optional={
            "results": items,
            "Results": items,
            "RelatedTopics": items,
            "web": st.fixed_dictionaries({"results": items}),
            "query": st.fixed_dictionaries({"pages": items}),
            "message": st.fixed_dictionaries({"items": items}),
            "unresponsive_engines": items,
            "AbstractURL": inner,
        },
    )


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(answer=_VALUES | _shaped(_VALUES), status=st.sampled_from([200, 200, 200, 429, 400]))
def test_no_json_makes_a_parser_fail_otherwise(answer: Any, status: int) -> None:
    class Canned:
        async def call_api(self, *args: Any, **kwargs: Any) -> Response:
            return Response(status, "", {}, json.dumps(answer).encode(), "application/json", False)

    async def ask_all() -> None:
        for make in ALL.values():
            try:
                found = await make(Canned(), "https://x.example").search("coffee", 5, since="2020-01-01")
            except SourceError as error:
                assert 0 < len(str(error)) < 500
            else:
                assert len(found) <= 5
                for hit in found:
                    assert hit.url.startswith("http") and hit.title
                    "".join((hit.url, hit.title, hit.snippet, hit.published)).encode()

    asyncio.run(ask_all())


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=300) | st.text(alphabet="<>/&;!? aefdnitry\"'=:", max_size=200).map(str.encode))
def test_no_xml_makes_arxiv_fail_otherwise(body: bytes) -> None:
    class Canned:
        async def call_api(self, *args: Any, **kwargs: Any) -> Response:
            return Response(200, "", {}, body, "application/atom+xml", False)

    with pytest.raises(SourceError):
        asyncio.run(Arxiv(Canned(), spacing=0.0).search("coffee", 5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "javascript:alert(1)",
        "//a.example/",
        "https://",
        "https:///path",
        "https://user@a.example/",
        "https://a.example/ b",
        "https://a.example/\n",
        "https://a.example/\u202ex",
        "https://a.example/" + "x" * 5000,
        None,
        7,
    ],
)
def test_what_can_not_be_fetched_is_no_hit(url: Any) -> None:
    assert make_hit("x", url, "title") is None


@pytest.mark.parametrize(
    "url", ["https://a.example/%2F%20?a=b&utm_source=x#y", "HTTP://A.example/é/日本", "http://1.2.3.4"]
)
def test_an_address_stays_byte_for_byte(url: str) -> None:
    hit = make_hit("x", url, "title")
    assert hit and hit.url == url


def test_a_long_query_is_cut_between_words() -> None:
    assert short_query("word " * 200, 23) == "word word word word"
    assert len(short_query("日本" * 400)) == 300
    assert short_query(" a\n b ") == "a b"
