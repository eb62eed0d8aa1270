"""One fetch: redirects, retries, status, type, size and time, against real servers on loopback."""

from __future__ import annotations

import asyncio
import ssl
import time
import tracemalloc
from itertools import pairwise

import pytest

from research_agent.errors import SourceError
from research_agent.web.client import GuardedClient
from research_agent.web.errors import (
    AddressRefused,
    HostResting,
    HttpStatus,
    RateLimited,
    RobotsDenied,
    TimedOut,
    TooManyRedirects,
    Unreachable,
    WrongType,
)
from tests.integration.web.conftest import NewClient
from tests.support.fake_web import Answer, FakeWeb
from tests.support.faults import MARKER, in_turn


async def test_a_page_comes_back_as_it_was_sent(web: FakeWeb, client: GuardedClient) -> None:
    url = web.url("/good?q=%c3%a9&x=a+b")
    page = await client.get_page(f"  {url}\n")
    assert (page.status, page.url, page.media_type, page.truncated) == (200, url, "text/html; charset=utf-8", False)
    assert MARKER in page.body.decode()
    assert page.headers["content-length"] == str(len(page.body))


async def test_the_user_agent_is_honest_and_nothing_else_is_told(
    web: FakeWeb, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    await new_client(contact="mailto:me@example.org").get_page(web.url("/good"))
    headers = web.asked("/good")[0].headers
    assert headers["user-agent"].startswith("research-agent/")
    assert "mailto:me@example.org" in headers["user-agent"]
    assert headers["accept-encoding"] == "gzip, deflate"
    assert not {"cookie", "authorization", "referer"} & set(headers)


@pytest.mark.parametrize("path", ["/gzip", "/two-gzips", "/deflate", "/bare-deflate"])
async def test_compressed_pages_are_read(web: FakeWeb, client: GuardedClient, path: str) -> None:
    assert MARKER in (await client.get_page(web.url(path))).body.decode()


async def test_redirects_are_followed_and_the_last_address_is_kept(web: FakeWeb, client: GuardedClient) -> None:
    assert (await client.get_page(web.url("/moved"))).url == web.url("/good?from=%C3%A9&x=a+b")


async def test_a_site_may_ask_for_its_cookie_within_one_page_only(web: FakeWeb, client: GuardedClient) -> None:
    for _ in range(2):
        assert MARKER in (await client.get_page(web.url("/cookie-first"))).body.decode()
    assert [request.headers.get("cookie") for request in web.asked("/cookie-first")] == [None, "seen=1"] * 2


@pytest.mark.parametrize("path", ["/to-private", "/to-metadata", "/to-decimal", "/to-file", "/to-user"])
async def test_redirects_to_refused_addresses_are_not_followed(web: FakeWeb, client: GuardedClient, path: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        await client.get_page(web.url(path))
    assert web.private_connections == 0
    assert "secret" not in str(caught.value)


async def test_a_name_that_moves_to_a_private_address_is_not_followed_there(
    web: FakeWeb, new_client: NewClient
) -> None:
    async def names(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    port = web.port("private")
    client = new_client(resolver=names, allow_hosts=[*web.allow, f"other.test:{port}"])
    with pytest.raises(AddressRefused):
        await client.get_page("http://evil.test/")
    web.route("/away", Answer(status=302, headers={"Location": "https://evil.test/"}))
    with pytest.raises(AddressRefused, match="private address"):
        await client.get_page(web.url("/away"))
    assert web.private_connections == 0


@pytest.mark.parametrize("location", ["http://[::1", "http://a b/", "//", "http://" + "a" * 5000])
async def test_redirects_to_nonsense_are_an_error_for_the_model(
    web: FakeWeb, client: GuardedClient, location: str
) -> None:
    web.route("/nonsense", Answer(status=302, headers={"Location": location}))
    with pytest.raises(SourceError):
        await client.get_page(web.url("/nonsense"))


async def test_a_redirect_loop_ends(web: FakeWeb, client: GuardedClient) -> None:
    with pytest.raises(TooManyRedirects):
        await client.get_page(web.url("/loop"))
    assert len(web.asked("/loop") + web.asked("/loop-back")) == 6


@pytest.mark.parametrize("status", [401, 403, 404, 410, 418, 451, 500])
async def test_errors_of_the_server_are_told_with_what_to_do(web: FakeWeb, client: GuardedClient, status: int) -> None:
    with pytest.raises(HttpStatus, match=f"{status}.*use another source") as caught:
        await client.get_page(web.url(f"/{status}"))
    assert caught.value.status == status
    assert len(web.asked(f"/{status}")) == 1


@pytest.mark.parametrize(("path", "requests"), [("/503-once", 2), ("/429-once", 2), ("/broken-off-once", 2)])
async def test_what_may_pass_is_tried_once_more(web: FakeWeb, client: GuardedClient, path: str, requests: int) -> None:
    assert MARKER in (await client.get_page(web.url(path))).body.decode()
    assert len(web.asked(path)) == requests


async def test_two_attempts_are_all(web: FakeWeb, new_client: NewClient) -> None:
    with pytest.raises(HttpStatus):
        await new_client().get_page(web.url("/503"))
    with pytest.raises(Unreachable, match="broke off"):
        await new_client().get_page(web.url("/broken-off"))
    assert (len(web.asked("/503")), len(web.asked("/broken-off"))) == (2, 2)


async def test_a_long_retry_after_is_told_and_kept_to(web: FakeWeb, client: GuardedClient) -> None:
    with pytest.raises(RateLimited) as caught:
        await client.get_page(web.url("/429"))
    assert caught.value.retry_after == 3600
    with pytest.raises(HostResting):
        await client.get_page(web.url("/good"))
    assert (len(web.asked("/429")), len(web.asked("/good"))) == (1, 0)


@pytest.mark.parametrize("path", ["/garbage", "/only-http2", "/many-headers"])
async def test_broken_http_is_an_error_for_the_model(web: FakeWeb, client: GuardedClient, path: str) -> None:
    with pytest.raises(Unreachable, match="another source"):
        await client.get_page(web.url(path))


@pytest.mark.parametrize("path", ["/slow-header", "/slow-body"])
async def test_slow_servers_cost_the_deadline_and_no_more(web: FakeWeb, new_client: NewClient, path: str) -> None:
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"longer than 0\.5 s"):
        await new_client(deadline=0.5).get_page(web.url(path))
    assert time.monotonic() - began < 3


async def test_waiting_for_a_turn_does_not_count_as_slow(web: FakeWeb, new_client: NewClient) -> None:
    web.route("/half", Answer(b"<p>half</p>", delay=0.3))
    client = new_client(deadline=0.8, per_host=1)
    await asyncio.gather(*(client.get_page(web.url(f"/half?{n}")) for n in range(5)))


async def test_endless_and_long_pages_are_cut(web: FakeWeb, new_client: NewClient) -> None:
    client = new_client(max_bytes=100_000)
    for path in ("/endless", "/10mb"):
        page = await client.get_page(web.url(path))
        assert (len(page.body), page.truncated) == (100_000, True)


@pytest.mark.parametrize("path", ["/gzip-bomb", "/double-gzip-bomb", "/brotli-bomb", "/zstd-bomb"])
async def test_bombs_cost_neither_memory_nor_time(web: FakeWeb, client: GuardedClient, path: str) -> None:
    web.route(path, web.reply_at(path))  # what the server needs to build it is not to be measured
    tracemalloc.start()
    began = time.monotonic()
    try:
        page = await client.get_page(web.url(path))
        assert (len(page.body), page.truncated) == (3_000_000, True)
    except Unreachable as error:
        assert "not asked for" in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20_000_000
    assert time.monotonic() - began < 3


async def test_broken_compression_is_an_error(web: FakeWeb, client: GuardedClient) -> None:
    with pytest.raises(Unreachable, match="compressed data"):
        await client.get_page(web.url("/broken-gzip"))


@pytest.mark.parametrize("path", ["/image", "/binary", "/endless-untyped"])
async def test_what_has_no_text_is_refused_before_it_is_read(web: FakeWeb, client: GuardedClient, path: str) -> None:
    with pytest.raises(WrongType, match="no readable text"):
        await client.get_page(web.url(path))


@pytest.mark.parametrize("path", ["/paper", "/paper-untyped", "/paper-as-html"])
async def test_a_pdf_may_be_longer_than_a_page_and_is_never_cut(web: FakeWeb, new_client: NewClient, path: str) -> None:
    reply = web.reply_at(path)
    assert isinstance(reply.body, bytes)
    web.route(path, Answer(reply.body + b" " * 300_000, reply.media_type))
    page = await new_client(max_bytes=100_000, max_pdf_bytes=400_000).get_page(web.url(path))
    assert (len(page.body), page.truncated) == (len(reply.body) + 300_000, False)
    with pytest.raises(WrongType, match="too long"):
        await new_client(max_bytes=100_000, max_pdf_bytes=200_000).get_page(web.url(path))


async def test_tls_is_checked(web: FakeWeb, new_client: NewClient) -> None:
    trusting = new_client(ssl_context=web.trust)
    assert MARKER in (await trusting.get_page(web.secure_url("/good"))).body.decode()
    with pytest.raises(Unreachable, match="certificate"):
        await trusting.get_page(web.secure_url("/good", host="127.0.0.1"))  # another name
    with pytest.raises(Unreachable, match="certificate"):
        await new_client(ssl_context=ssl.create_default_context()).get_page(web.secure_url("/good"))  # unknown signer
    with pytest.raises(Unreachable, match="TLS"):
        await trusting.get_page(f"https://localhost:{web.port('no_tls')}/")


async def test_a_host_that_fails_three_times_rests(web: FakeWeb, new_client: NewClient) -> None:
    client = new_client(rest=0.3)
    for _ in range(3):
        with pytest.raises(HttpStatus):
            await client.get_page(web.url("/500"))
    with pytest.raises(HostResting, match="resting"):
        await client.get_page(web.url("/good"))
    assert web.asked("/good") == []
    await asyncio.sleep(0.35)
    await client.get_page(web.url("/good"))


async def test_missing_pages_do_not_make_a_host_rest(web: FakeWeb, client: GuardedClient) -> None:
    for _ in range(4):
        with pytest.raises(HttpStatus):
            await client.get_page(web.url("/404"))
    await client.get_page(web.url("/good"))


async def test_a_host_gets_few_requests_at_once_and_with_distance(web: FakeWeb, new_client: NewClient) -> None:
    web.route("/slow", Answer(b"<p>x</p>", delay=0.25))
    client = new_client(per_host=2, spacing=0.1)
    await asyncio.gather(*(client.get_page(web.url(f"/slow?{n}")) for n in range(4)))
    assert web.most_under_way == 2
    times = [request.at for request in web.asked("/slow")]
    assert min(b - a for a, b in pairwise(times)) > 0.08


async def test_the_overall_number_of_requests_is_bounded(web: FakeWeb, new_client: NewClient) -> None:
    web.route("/slow", Answer(b"<p>x</p>", delay=0.1))
    hosts = [f"h{n}.test" for n in range(12)]
    allow = [f"{host}:{web.port('http')}" for host in hosts]
    client = new_client(concurrency=4, resolver=web.resolver, allow_hosts=allow)
    await asyncio.gather(*(client.get_page(web.url("/slow", host=host)) for host in hosts))
    assert web.most_under_way == 4


async def test_robots_are_asked_once_and_kept_to(web: FakeWeb, client: GuardedClient) -> None:
    web.route("/robots.txt", Answer(b"\xef\xbb\xbfUser-agent: *\nDisallow: /good$\nDisallow: /*.pdf\n", "text/plain"))
    with pytest.raises(RobotsDenied, match="asks programs"):
        await client.get_page(web.url("/good"))
    with pytest.raises(RobotsDenied):
        await client.get_page(web.url("/a/b.pdf"))
    await client.get_page(web.url("/text"))
    assert (len(web.asked("/robots.txt")), web.asked("/good")) == (1, [])


async def test_robots_can_be_switched_off(web: FakeWeb, new_client: NewClient) -> None:
    web.route("/robots.txt", Answer(b"User-agent: *\nDisallow: /\n", "text/plain"))
    await new_client(respect_robots=False).get_page(web.url("/good"))
    assert web.asked("/robots.txt") == []


async def test_robots_that_fail_mean_stay_away(web: FakeWeb, client: GuardedClient) -> None:
    web.route("/robots.txt", Answer(status=503))
    with pytest.raises(RobotsDenied, match="503"):
        await client.get_page(web.url("/good"))
    assert web.asked("/good") == []


async def test_robots_are_asked_again_where_a_redirect_leads(web: FakeWeb, client: GuardedClient) -> None:
    web.route("/robots.txt", Answer(b"User-agent: research-agent\nDisallow: /good\n", "text/plain"))
    with pytest.raises(RobotsDenied):
        await client.get_page(web.url("/moved"))


async def test_an_endless_robots_file_is_cut(web: FakeWeb, client: GuardedClient) -> None:
    endless = web.reply_at("/endless")
    web.route("/robots.txt", endless)
    await client.get_page(web.url("/good"))


async def test_cancelling_a_fetch_frees_its_place(web: FakeWeb, new_client: NewClient) -> None:
    client = new_client(concurrency=1, per_host=1)
    task = asyncio.create_task(client.get_page(web.url("/slow-body")))
    await asyncio.sleep(0.1)
    assert web.asked("/slow-body")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await client.get_page(web.url("/good"))


# --- search APIs ---------------------------------------------------------------------------------------------


async def test_an_api_gets_its_key_and_its_json(web: FakeWeb, client: GuardedClient) -> None:
    web.route("/api", lambda request: Answer(request.body or request.path.encode(), "application/json"))
    answer = await client.call_api("POST", web.url("/api"), headers={"X-Key": "k"}, json={"q": "β"})
    assert answer.body.decode() == '{"q":"β"}'
    assert web.asked("/api")[0].headers["x-key"] == "k"
    await client.call_api("GET", web.url("/api"), headers={"user-agent": "mine", "accept": "application/json"})
    assert web.asked("/api")[1].headers["user-agent"] == "mine"
    answer = await client.call_api("GET", web.url("/api?format=json"), params={"q": "a b&c", "key": "s3cret"})
    assert answer.body == b"/api?format=json&q=a+b%26c&key=s3cret"
    assert answer.url == web.url("/api?format=json")
    assert web.asked("/robots.txt") == []


@pytest.mark.parametrize("status", [400, 401, 403, 429, 432, 500, 503])
async def test_an_api_answers_with_any_status(web: FakeWeb, client: GuardedClient, status: int) -> None:
    web.route("/api", Answer(b'{"detail": "no"}', "application/json", status=status, headers={"Retry-After": "7"}))
    for _ in range(4):
        answer = await client.call_api("GET", web.url("/api"))
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (status, b'{"detail": "no"}', "7")


async def test_only_a_trusted_api_may_be_private(web: FakeWeb, client: GuardedClient) -> None:
    with pytest.raises(AddressRefused):
        await client.call_api("GET", web.private_url)
    assert web.private_connections == 0
    assert (await client.call_api("GET", web.private_url, trusted=True)).body.startswith(b"a secret")


async def test_an_api_does_not_send_its_key_to_another_host(web: FakeWeb, client: GuardedClient) -> None:
    for location in (web.private_url, "https://example.org/", web.url("/good", host="localhost"), "http://[bad"):
        web.route("/api", Answer(status=302, headers={"Location": location}))
        assert (await client.call_api("GET", web.url("/api"), trusted=True)).status == 302
    assert (web.private_connections, web.asked("/good")) == (0, [])
    web.route("/api", Answer(status=301, headers={"Location": "/text"}))
    assert (await client.call_api("GET", web.url("/api"))).body.decode() == MARKER
    assert (await client.call_api("POST", web.url("/api"))).status == 301


async def test_api_failures_name_the_host_and_never_the_key(web: FakeWeb, client: GuardedClient) -> None:
    for path in ("/slow-header", "/broken-off", "/garbage", "/broken-gzip"):
        with pytest.raises(SourceError) as caught:
            await client.call_api(
                "GET", web.url(path), headers={"X-Key": "s3cret"}, params={"key": "s3cret"}, deadline=0.3
            )
        assert "s3cret" not in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_api_answers_are_capped(web: FakeWeb, new_client: NewClient) -> None:
    answer = await new_client(max_bytes=1000).call_api("GET", web.url("/endless"))
    assert (len(answer.body), answer.truncated) == (1000, True)


async def test_retry_after_may_be_a_date(web: FakeWeb, client: GuardedClient) -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 120))
    for text, low, high in ((later, 100, 120), ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0)):
        web.route("/busy", in_turn(Answer(status=429, headers={"Retry-After": text}), Answer(b"<p>x</p>")))
        try:
            await client.get_page(web.url("/busy"))
        except RateLimited as error:
            assert error.retry_after is not None
            assert low < error.retry_after <= high
            client = GuardedClient(allow_hosts=web.allow, spacing=0.0)
    await client.aclose()
