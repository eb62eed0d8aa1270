"""DuckDuckGo through the real ``ddgs`` in its real process, the engines on loopback; and processes that misbehave."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from research_agent.search import duckduckgo
from research_agent.search.base import SearchError
from research_agent.search.duckduckgo import DuckDuckGo
from tests.support.fake_search import FakeSearch

PAGE = """<html><body>
<div class="result__body links_main"><h2><a href="{first}">Coffee <b>history</b></a></h2>
<a class="result__snippet" href="{first}">All about coffee &amp; tea</a></div>
<div class="result__body"><h2>Ad</h2><a href="https://duckduckgo.com/y.js?ad=1">Ad</a></div>
<div class="result__body"><h2>Second</h2><a href="{second}">More coffee</a></div>
<div class="result__body"><h2>No page</h2><a href="/about">x</a></div>
</body></html>"""
FIRST = "https://a.example/a%2Fb%20c?x=%C3%A9&y=1#z"
SECOND = "https://b.example/%E6%97%A5"
BEHIND = "//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.example%2F%25E6%2597%25A5&rut=abc"


def ddgs_at(base: str) -> tuple[str, ...]:
    """The real process, with the engines of ``ddgs`` at `base`; those that could leave loopback are taken out."""
    return (
        "-c",
        f"""
from ddgs.engines import ENGINES
text = ENGINES["text"]
for name in [name for name in text if name not in ("duckduckgo", "brave", "mojeek")]:
    del text[name]
text["duckduckgo"].search_url = "{base}/ddg"
text["brave"].search_url = "{base}/brave"
text["mojeek"].search_url = "{base}/mojeek"
from research_agent.search.ddgs_child import main
main()
""",
    )


def python(code: str) -> tuple[str, ...]:
    return ("-c", f"import sys, time, os\n{code}")


async def test_it_reads_the_results_page_and_keeps_addresses(service: FakeSearch) -> None:
    service.tell(PAGE.format(first=FIRST, second=BEHIND).encode(), content_type="text/html; charset=utf-8")
    found = await DuckDuckGo(child=ddgs_at(service.base)).search("coffee history", 5)
    assert [(hit.url, hit.title, hit.snippet, hit.source) for hit in found] == [
        (FIRST, "Coffee history", "All about coffee & tea", "duckduckgo"),
        (SECOND, "Second", "More coffee", "duckduckgo"),
    ]
    assert [(asked.method, asked.path) for asked in service.asked] == [("POST", "/ddg")]
    assert (service.asked[0].params["q"], service.asked[0].params["l"]) == ("coffee history", "wt-wt")


async def test_days_go_to_duckduckgos_own_filter(service: FakeSearch) -> None:
    service.tell(PAGE.format(first=FIRST, second=SECOND).encode(), content_type="text/html")
    await DuckDuckGo(child=ddgs_at(service.base)).search("coffee", 5, since="2024-01-31", until="2024-02-29")
    assert service.asked[0].params["df"] == "2024-01-31..2024-02-29"


async def test_when_duckduckgo_lets_nobody_in_the_other_engines_are_asked(service: FakeSearch) -> None:
    service.tell(b"<html>anomaly</html>", 202, content_type="text/html")
    with pytest.raises(SearchError, match="automatic searches") as caught:
        await DuckDuckGo(child=ddgs_at(service.base)).search("coffee", 5)
    assert caught.value.trouble == "limited"
    assert sorted(asked.path for asked in service.asked) == ["/brave", "/ddg", "/mojeek"]


async def test_a_page_without_results_is_nothing_found(service: FakeSearch) -> None:
    service.tell(b"<html><body>No results.</body></html>", content_type="text/html")
    assert await DuckDuckGo(child=ddgs_at(service.base)).search("zyblorian", 5) == []


async def test_no_network_is_an_observation_without_addresses() -> None:
    with pytest.raises(SearchError, match="can't be reached") as caught:
        await DuckDuckGo(child=ddgs_at("http://127.0.0.1:1")).search("coffee", 5)
    assert caught.value.trouble == "failed"
    assert "127.0.0.1" not in str(caught.value)


async def test_an_engine_that_never_answers_is_given_up_and_killed(service: FakeSearch, tmp_path: Path) -> None:
    service.tell(b"", delay=60)
    noted = tmp_path / "pid"
    option, code = ddgs_at(service.base)
    child = (option, f"import os; open({str(noted)!r}, 'w').write(str(os.getpid()))\n{code}")
    started = time.monotonic()
    with pytest.raises(SearchError, match=r"within 1\.5 s"):
        await DuckDuckGo(deadline=1.5, child=child).search("coffee", 5)
    assert time.monotonic() - started < 4
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


async def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    child = python(f"open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    task = asyncio.create_task(DuckDuckGo(child=child).search("coffee", 5))
    while not (noted.exists() and noted.read_text()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


async def test_a_process_that_is_killed_with_a_full_pipe_is_gone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_nothing(process: asyncio.subprocess.Process, request: bytes) -> bytes:
        await asyncio.sleep(60)
        return b""

    monkeypatch.setattr(duckduckgo, "_talk", read_nothing)
    child = python("while True: print('x' * 65536)")
    async with asyncio.timeout(5):
        with pytest.raises(SearchError, match="did not answer"):
            await DuckDuckGo(deadline=0.5, child=child).search("coffee", 5)


@pytest.mark.parametrize(
    "code",
    ["", "os.abort()", "print('junk')", "print('[' * 100000)", "while True: print('x' * 65536)", "print('3')"],
)
async def test_a_process_that_breaks_down_is_an_observation(code: str) -> None:
    with pytest.raises(SearchError, match=r"broke down|can't be read"):
        await DuckDuckGo(deadline=10, child=python(code)).search("coffee", 5)


async def test_a_missing_library_is_named() -> None:
    child = python("sys.modules['ddgs'] = None\nfrom research_agent.search.ddgs_child import main\nmain()")
    with pytest.raises(SearchError, match="pip install ddgs"):
        await DuckDuckGo(child=child).search("coffee", 5)


async def test_the_process_is_given_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "secret")
    monkeypatch.setenv("DATABASE_URL", "secret")
    child = python("import json\nprint(json.dumps({'hits': [], 'seen': 1} if 'secret' not in str(os.environ) else 0))")
    assert await DuckDuckGo(child=child).search("coffee", 5) == []


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("DDGS_PROXY", raising=False)
    if sys.platform == "win32":
        pytest.skip("needs signals and pids of POSIX")
    yield
