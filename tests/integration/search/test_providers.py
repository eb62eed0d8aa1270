"""Each provider against its documented answers, sent by a real server to the real client."""

from __future__ import annotations

from typing import Any

import pytest

from research_agent.documents import SearchHit
from research_agent.errors import SourceError, UsageError
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
from research_agent.web.client import GuardedClient
from tests.support.fake_search import FakeSearch

KEY = "tvly-SECRET/key+1"


async def test_tavily_gives_hits_and_sends_its_key_as_a_header(service: FakeSearch, client: GuardedClient) -> None:
    service.tell(
        {
            "query": "x",
            "answer": None,
            "results": [
                {
                    "title": "Coffee",
                    "url": "https://a.example/c%2Fd?x=1#y",
                    "content": "vector<int> and\ncoffee",
                    "score": 0.9,
                    "published_date": "Tue, 05 Nov 2024 10:00:00 GMT",
                },
                {"title": None, "url": "https://b.example/page", "content": None},
                {"title": "no address"},
                "not an object",
            ],
            "response_time": "1.2",
        }
    )
    found = await Tavily(client, KEY, service.base).search("coffee  history", 5)
    assert found == [
        SearchHit("https://a.example/c%2Fd?x=1#y", "Coffee", "vector<int> and coffee", "2024-11-05", "tavily"),
        SearchHit("https://b.example/page", "https://b.example/page", "", "", "tavily"),
    ]
    asked = service.asked[0]
    assert (asked.method, asked.path, asked.headers["authorization"]) == ("POST", "/search", f"Bearer {KEY}")
    assert asked.json == {"query": "coffee history", "max_results": 5, "search_depth": "basic"}


async def test_tavily_works_without_a_key_and_says_how_to_get_more(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"error": {"code": "keyless_limit", "window": "day", "retry_after_seconds": 1800}}, 429)
    with pytest.raises(SearchError, match="TAVILY_API_KEY") as caught:
        await Tavily(client, "", service.base).search("coffee", 5)
    assert service.asked[0].headers["x-tavily-access-mode"] == "keyless"
    assert "authorization" not in service.asked[0].headers
    assert (caught.value.trouble, caught.value.wait) == ("limited", 1800)


@pytest.mark.parametrize("status", [432, 433])
async def test_tavily_plan_limits_are_refusals(service: FakeSearch, client: GuardedClient, status: int) -> None:
    service.tell({"detail": {"error": "This request exceeds your plan's set usage limit."}}, status)
    with pytest.raises(SearchError, match="no searches left") as caught:
        await Tavily(client, KEY, service.base).search("coffee", 5)
    assert caught.value.trouble == "refused"


async def test_days_are_sent_in_each_providers_own_form(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"results": [], "web": {}, "message": {"items": []}})
    days = {"since": "2024-01-31", "until": "2024-02-29"}
    await Tavily(client, KEY, service.base).search("q", 5, **days)
    await Brave(client, KEY, service.base).search("q", 5, **days)
    await Brave(client, KEY, service.base).search("q", 5, until="2024-02-29")
    await Exa(client, KEY, service.base).search("q", 5, **days)
    await Crossref(client, base=service.base).search("q", 5, **days)
    await Crossref(client, base=service.base).search("q", 5, until="2024-02-29")
    await OpenAlex(client, base=service.base).search("q", 5, **days)
    tavily, brave, brave_until, exa, crossref, crossref_until, openalex = service.asked
    assert (tavily.json["start_date"], tavily.json["end_date"]) == ("2024-01-31", "2024-02-29")
    assert brave.params["freshness"] == "2024-01-31to2024-02-29"
    assert brave_until.params["freshness"] == "1900-01-01to2024-02-29"
    assert exa.json["startPublishedDate"] == "2024-01-31T00:00:00.000Z"
    assert exa.json["endPublishedDate"] == "2024-02-29T23:59:59.999Z"
    assert crossref.params["filter"] == "from-pub-date:2024-01-31,until-pub-date:2024-02-29"
    assert crossref_until.params["filter"] == "until-pub-date:2024-02-29"
    assert openalex.params["filter"] == "from_publication_date:2024-01-31,to_publication_date:2024-02-29"


async def test_a_hit_dated_outside_the_days_is_left_out(service: FakeSearch, client: GuardedClient) -> None:
    dates = ["2023-12-31", "2024-06-01T10:00:00", None, "2025-01-01", "2024"]
    service.tell({"results": [{"url": f"https://a.example/{n}", "publishedDate": d} for n, d in enumerate(dates)]})
    found = await Exa(client, KEY, service.base).search("q", 9, since="2024-01-01", until="2024-12-31")
    assert [(hit.url[-1], hit.published) for hit in found] == [("1", "2024-06-01"), ("2", ""), ("4", "2024")]


@pytest.mark.parametrize("day", ["last week", "2024-1-1", "2024-13-01", "20240101"])
async def test_a_day_that_is_none_is_an_observation(service: FakeSearch, client: GuardedClient, day: str) -> None:
    providers: list[SearchProvider] = [
        Tavily(client, KEY, service.base),
        Brave(client, KEY, service.base),
        Exa(client, KEY, service.base),
        SearXNG(client, service.base),
        Arxiv(client, service.base),
        Crossref(client, base=service.base),
        OpenAlex(client, base=service.base),
    ]
    for provider in providers:
        with pytest.raises(SearchError, match="YYYY-MM-DD"):
            await provider.search("q", 5, since=day)
    assert not service.asked


async def test_brave_strips_html(service: FakeSearch, client: GuardedClient) -> None:
    service.tell(
        {
            "type": "search",
            "query": {"more_results_available": True},
            "web": {
                "results": [
                    {
                        "title": "C &amp; <strong>Py</strong>thon",
                        "url": "https://a.example/",
                        "description": "x<br>y &lt;b&gt; 5 < 6",
                        "page_age": "2024-03-04T05:06:07",
                        "age": "2 days ago",
                        "extra_snippets": ["a"],
                    }
                ]
            },
        }
    )
    assert await Brave(client, KEY, service.base).search("q", 30) == [
        SearchHit("https://a.example/", "C & Python", "x y <b> 5 < 6", "2024-03-04", "brave")
    ]
    asked = service.asked[0]
    assert (asked.params["count"], asked.headers["x-subscription-token"]) == ("20", KEY)


async def test_brave_tells_the_wait_of_the_window_that_is_used_up(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"error": {}}, 429, x_ratelimit_remaining="1, 0", x_ratelimit_reset="1, 1419704")
    with pytest.raises(SearchError) as caught:
        await Brave(client, KEY, service.base).search("q", 5)
    assert (caught.value.trouble, caught.value.wait) == ("limited", 86_400)


async def test_a_short_wait_is_sat_out_once(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({}, 429, x_ratelimit_remaining="0, 100", x_ratelimit_reset="0, 1419704")
    service.tell({"web": {"results": [{"url": "https://a.example/"}]}})
    assert len(await Brave(client, KEY, service.base).search("q", 5)) == 1
    assert len(service.asked) == 2


async def test_brave_without_results_found_nothing(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"type": "search", "web": None})
    assert await Brave(client, KEY, service.base).search("q", 5) == []


async def test_exa_takes_highlights_for_the_snippet(service: FakeSearch, client: GuardedClient) -> None:
    service.tell(
        {
            "requestId": "r",
            "results": [
                {
                    "id": "https://a.example/",
                    "url": "https://a.example/",
                    "title": "A",
                    "publishedDate": "2023-11-16T01:36:32.547Z",
                    "author": None,
                    "highlights": ["one", 2, "three"],
                },
                {"url": "https://b.example/", "title": "B", "text": "whole text"},
            ],
            "costDollars": {"total": 0.005},
        }
    )
    found = await Exa(client, KEY, service.base).search("q", 5)
    assert [(hit.snippet, hit.published) for hit in found] == [("one … three", "2023-11-16"), ("whole text", "")]
    assert service.asked[0].json["contents"] == {"highlights": True}
    assert service.asked[0].headers["x-api-key"] == KEY


async def test_searxng_may_be_private_and_have_a_path_and_a_login(service: FakeSearch) -> None:
    service.tell(
        {
            "query": "q",
            "number_of_results": 0,
            "results": [
                {
                    "url": "https://a.example/",
                    "title": "A",
                    "content": "about <b>a</b>",
                    "engines": ["x"],
                    "publishedDate": "2024-01-02T00:00:00",
                },
                {"url": "magnet:?xt=1", "title": "no page"},
            ],
            "answers": [{"answer": "42"}],
            "infoboxes": [],
            "unresponsive_engines": [["google", "CAPTCHA"]],
        }
    )
    base = service.base.replace("://", "://me:p%40ss@") + "/searx/search/"
    async with GuardedClient() as strict:
        found = await SearXNG(strict, base, "de").search("q", 5)
    assert found == [SearchHit("https://a.example/", "A", "about a", "2024-01-02", "searxng")]
    asked = service.asked[0]
    assert (asked.path, asked.params) == ("/searx/search", {"q": "q", "format": "json", "language": "de"})
    assert asked.headers["authorization"] == "Basic bWU6cEBzcw=="


async def test_searxng_with_json_disabled_says_where_to_enable_it(service: FakeSearch, client: GuardedClient) -> None:
    for status, body in ((403, b"<html>Forbidden"), (200, b"\n<!DOCTYPE html><html>results")):
        service.tell(body, status, content_type="text/html")
    for _ in range(2):
        with pytest.raises(
            SearchError, match=r"add json to search\.formats in the settings\.yml.*SEARXNG_URL"
        ) as caught:
            await SearXNG(client, service.base).search("q", 5)
        assert caught.value.trouble == "refused"


async def test_searxng_names_the_engines_that_are_blocked(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["brave", "too many requests"]]})
    with pytest.raises(SearchError, match="brave, google"):
        await SearXNG(client, service.base).search("q", 5)


@pytest.mark.parametrize("base", ["localhost:8080", "ftp://x/", "http://", "http://x:port/", "http://[::1", " "])
def test_a_searxng_url_that_is_none_is_a_usage_error(client: GuardedClient, base: str) -> None:
    with pytest.raises(UsageError, match="SEARXNG_URL"):
        SearXNG(client, base)


async def test_wikipedia_ranks_by_index_and_puts_disambiguation_last(
    service: FakeSearch, client: GuardedClient
) -> None:
    def page(index: int | None, title: str, **more: Any) -> dict[str, Any]:
        url = f"https://en.wikipedia.org/wiki/{title}"
        return {"pageid": 1, "ns": 0, "title": title, "index": index, "fullurl": url, **more}

    service.tell(
        {
            "batchcomplete": True,
            "query": {
                "pages": [
                    page(3, "Third", extract="3\n\n3"),
                    page(1, "Meanings", pageprops={"disambiguation": ""}),
                    page(2, "Second", description="short"),
                    page(None, "Odd"),
                ]
            },
        }
    )
    found = await Wikipedia(client, base=service.base).search("coffee", 4)
    assert [(hit.title, hit.snippet) for hit in found] == [
        ("Second", "short"),
        ("Third", "3 3"),
        ("Odd", ""),
        ("Meanings", ""),
    ]
    assert service.asked[0].params["gsrsearch"] == "coffee"


async def test_wikipedia_asks_in_the_language_of_the_query_then_in_english(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell({"batchcomplete": True})
    base = service.base + "/{language}"
    assert await Wikipedia(client, base=base).search("Lịch sử cà phê Việt Nam", 4) == []
    assert await Wikipedia(client, "pt_BR", base=base).search("coffee", 4) == []
    assert await Wikipedia(client, base=base).search("history of coffee", 4) == []
    assert [asked.path.split("/")[1] for asked in service.asked] == ["vi", "en", "pt", "en", "en"]


@pytest.mark.parametrize(
    ("code", "trouble"),
    [("ratelimited", "limited"), ("maxlag", "limited"), ("badvalue", "rejected"), ("internal_api_error", "failed")],
)
async def test_wikipedia_errors_come_with_status_200(
    service: FakeSearch, client: GuardedClient, code: str, trouble: str
) -> None:
    service.tell({"error": {"code": code, "info": "…"}})
    with pytest.raises(SearchError) as caught:
        await Wikipedia(client, base=service.base).search("coffee", 4)
    assert caught.value.trouble == trouble


def test_a_language_can_not_name_another_host(client: GuardedClient) -> None:
    with pytest.raises(UsageError, match="language"):
        Wikipedia(client, "evil.example/")


async def test_instant_answers_flatten_topics_and_skip_duckduckgos_own_pages(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell(
        {
            "Heading": "Python",
            "AbstractText": "Python is a language.",
            "AbstractURL": "https://en.wikipedia.org/wiki/Python",
            "AbstractSource": "Wikipedia",
            "Answer": {"id": "calculator"},
            "Definition": "",
            "DefinitionURL": "",
            "Infobox": "",
            "ImageWidth": "",
            "Type": "A",
            "Results": [{"FirstURL": "https://python.org/", "Text": "Official site - Python", "Result": "<a>"}],
            "RelatedTopics": [
                {"FirstURL": "https://duckduckgo.com/c/Languages", "Text": "Languages"},
                {"Name": "Snakes", "Topics": [{"FirstURL": "https://snakes.example/", "Text": "Snakes <b>x</b>"}]},
            ],
        },
        content_type="application/x-javascript",
    )
    found = await InstantAnswer(client, service.base).search("python", 5)
    assert [(hit.url, hit.title, hit.snippet) for hit in found] == [
        ("https://en.wikipedia.org/wiki/Python", "Python (Wikipedia)", "Python is a language."),
        ("https://python.org/", "Official site", "Official site - Python"),
        ("https://snakes.example/", "Snakes x", "Snakes x"),
    ]


async def test_an_instant_answer_that_is_empty_found_nothing(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"AbstractText": "", "AbstractURL": "", "Heading": "", "Type": "", "RelatedTopics": [], "Results": []})
    assert await InstantAnswer(client, service.base).search("why is the sky blue", 5) == []


def feed(*entries: str, total: int | None = None) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"<opensearch:totalResults>{len(entries) if total is None else total}</opensearch:totalResults>"
        + "".join(f"<entry>{entry}</entry>" for entry in entries)
        + "</feed>"
    ).encode()


PAPER = """<id>http://arxiv.org/abs/2301.00001v2</id><title>On\n  Coffee &amp; Tea</title><summary> We drink. </summary>
<published>2023-01-01T17:00:00Z</published><author><name>A. One</name></author><author><name>B. Two</name></author>
<link href="http://arxiv.org/abs/2301.00001v2" rel="alternate" type="text/html"/>
<link title="pdf" href="http://arxiv.org/pdf/2301.00001v2" rel="related" type="application/pdf"/>"""


async def test_arxiv_gives_papers_and_keeps_operators_out_of_the_query(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell(feed(PAPER, "<id>no address</id>"))
    found = await Arxiv(client, service.base).search('coffee ANDNOT ti:"tea" AND', 5, since="2023-01-01")
    assert found == [
        SearchHit(
            "http://arxiv.org/abs/2301.00001v2", "On Coffee & Tea", "A. One, B. Two. We drink.", "2023-01-01", "arxiv"
        )
    ]
    assert (
        service.asked[0]
        .params["search_query"]
        .startswith("(all:coffee AND all:ANDNOT AND all:ti AND all:tea) AND submittedDate:[202301010000 TO 2")
    )


async def test_arxiv_asks_for_any_word_when_all_give_nothing_and_keeps_its_pace(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell(feed())
    service.tell(feed(PAPER))
    assert len(await Arxiv(client, service.base, spacing=0.05).search("coffee tea", 5)) == 1
    queries = [asked.params["search_query"] for asked in service.asked]
    assert queries == ["(all:coffee AND all:tea)", "(all:coffee OR all:tea)"]


@pytest.mark.parametrize(
    ("body", "trouble", "says"),
    [
        (feed("<id>http://arxiv.org/api/errors#x</id><title>Error</title>"), "rejected", "fewer and plainer"),
        (feed(total=7), "failed", "try again"),
        (b"Rate exceeded.", "failed", "can't be read"),
        (b"<html/>", "failed", "can't be read"),
        (feed(PAPER).replace(b"<feed", b'<!DOCTYPE feed [<!ENTITY b "x">]><feed'), "failed", "can't be read"),
    ],
)
async def test_arxiv_problems(service: FakeSearch, client: GuardedClient, body: bytes, trouble: str, says: str) -> None:
    service.tell(body)
    with pytest.raises(SearchError, match=says) as caught:
        await Arxiv(client, service.base).search("coffee", 5)
    assert caught.value.trouble == trouble


async def test_arxiv_is_not_asked_when_there_is_no_word(service: FakeSearch, client: GuardedClient) -> None:
    assert await Arxiv(client, service.base).search("“?” — the", 5) == []
    assert not service.asked


async def test_crossref_gives_works_with_the_precision_of_their_date(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell(
        {
            "status": "ok",
            "message": {
                "items": [
                    {
                        "DOI": "10.1/a",
                        "URL": "https://doi.org/10.1/a",
                        "title": ["On <i>Coffea</i>"],
                        "author": [{"given": "Ann", "family": "One"}, {"name": "Group"}, {"family": "Two"}],
                        "container-title": ["Journal"],
                        "issued": {"date-parts": [[2020, 5]]},
                        "abstract": "<jats:title>Why</jats:title><jats:p>Bean<jats:italic>s</jats:italic></jats:p>",
                    },
                    {"DOI": "10.1/b<c>", "title": [], "issued": {"date-parts": [[None]]}},
                ]
            },
        }
    )
    assert await Crossref(client, "me@a.example", service.base).search("q", 5) == [
        SearchHit("https://doi.org/10.1/a", "On Coffea", "Ann One, Two. Journal. Why Beans", "2020-05", "crossref"),
        SearchHit("https://doi.org/10.1/b%3Cc%3E", "https://doi.org/10.1/b%3Cc%3E", "", "", "crossref"),
    ]
    assert service.asked[0].params["mailto"] == "me@a.example"


async def test_openalex_rebuilds_abstracts_and_prefers_the_open_version(
    service: FakeSearch, client: GuardedClient
) -> None:
    service.tell(
        {
            "meta": {"count": 1},
            "results": [
                {
                    "id": "https://openalex.org/W1",
                    "doi": "https://doi.org/10.1/a",
                    "display_name": "On coffee",
                    "publication_date": "2020-05-06",
                    "authorships": [{"author": {"display_name": "Ann One"}}, {"author": None}],
                    "primary_location": {"landing_page_url": "https://j.example/a", "source": None},
                    "open_access": {"oa_url": "https://oa.example/a.pdf"},
                    "abstract_inverted_index": {"roast": [1, 3], "Beans": [0], "and": [2], "odd": "x"},
                },
                {"id": "https://openalex.org/W2", "doi": None, "open_access": None, "display_name": None},
            ],
        }
    )
    assert await OpenAlex(client, KEY, service.base).search("q", 5) == [
        SearchHit("https://oa.example/a.pdf", "On coffee", "Ann One. Beans roast and roast", "2020-05-06", "openalex"),
        SearchHit("https://openalex.org/W2", "https://openalex.org/W2", "", "", "openalex"),
    ]
    assert service.asked[0].params["api_key"] == KEY


async def test_openalex_without_a_key_says_how_to_get_more(service: FakeSearch, client: GuardedClient) -> None:
    service.tell({"error": "Rate limit exceeded"}, 429)
    with pytest.raises(SourceError, match="OPENALEX_API_KEY"):
        await OpenAlex(client, base=service.base).search("q", 5)
