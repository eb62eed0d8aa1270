"""Milliseconds and bytes a step: our graph, journal and lease against a bare LangGraph graph of the same shape.

Both use the same saver settings on the same server. Each turn calls one tool whose observation is about 2 KB of
text that does not compress. "bare" has plain reducers (as add_messages), "bare delta" the DeltaChannels that ours
has, so that the share of journal, lease, guard, limits and legal histories can be seen.

    python benchmarks/storage.py [--steps 10 50 100 200] [--repeat 3]
"""

from __future__ import annotations

import argparse
import asyncio
import operator
import random
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from _data import table
from _server import private_server
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from pydantic import PrivateAttr

from research_agent.context import ResearchContext
from research_agent.documents import Page, SearchHit
from research_agent.evidence.passages import choose_passages
from research_agent.graph.graph import build_graph
from research_agent.graph.state import append_messages
from research_agent.limits import Limits
from research_agent.storage.checkpoints import make_saver
from research_agent.storage.database import Pool, open_pool
from research_agent.storage.journal import PostgresJournal
from research_agent.storage.lease import hold_lease
from research_agent.storage.runs import new_run, start_run
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
OURS = ("runs", "steps", "model_calls", "tool_calls", "pages", "citations", "claims")


CORPUS = Path(__file__).resolve().parents[1] / "examples" / "corpus"
WORDS = sorted({word for file in CORPUS.glob("[!.]*.md") for word in file.read_text(encoding="utf-8").split()})


def page_text(number: int) -> str:
    """Natural words in a random order: hardly compressible, and no more work for the stemmer than a real page."""
    text = " ".join(random.Random(number).choices(WORDS, k=300))
    return f"{text} on page {number} of the benchmark."


class FetchingModel(BaseChatModel):
    """Fetches another page in each turn and never stops."""

    searches_first: bool = False
    _asked: int = PrivateAttr(0)

    @property
    def _llm_type(self) -> str:
        return "fetching"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any
    ) -> ChatResult:
        number, self._asked = self._asked, self._asked + 1  # not counted in messages: old turns are compacted
        call = {"name": "fetch_url", "args": {"url": f"http://x/{number}"}, "id": f"c{number}"}
        if number == 0 and self.searches_first:
            call = {"name": "search_web", "args": {"query": "pages"}, "id": "c0"}
        message = AIMessage("- Nothing. [1]" if "evidence" in messages[-1].text else "", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


class Endless:
    """A search provider and reader with as many pages as anyone asks for."""

    name = "endless"

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        return [SearchHit(f"http://x/{n}", "", "") for n in range(300)]

    async def read(self, url: str) -> Page:
        number = int(url.rsplit("/", 1)[1])
        return Page(url, f"Page {number}", page_text(number))


def limits_for(steps: int) -> Limits:
    """None but the steps."""
    many = 10**9
    return Limits(
        max_steps=steps,
        max_tokens=many,
        max_usd=many,
        max_tool_calls=many,
        max_calls_per_tool=many,
        max_calls_per_minute=many,
    )


async def run_ours(pool: Pool, steps: int) -> str:
    topic = "pages of the benchmark"
    run = await new_run(pool, uuid.uuid4().hex)
    limits = limits_for(steps)
    endless = Endless()
    graph = build_graph(
        FetchingModel(searches_first=True), [make_search_web(endless), make_fetch_url(endless)], make_saver(pool)
    )
    async with hold_lease(pool, run.thread_id) as token:
        await start_run(pool, run, model="x:y", limits=limits, token=token)
        await graph.ainvoke(
            {"topic": topic},
            {
                "configurable": {"thread_id": run.thread_id},
                "recursion_limit": 4 * steps + 20,
                "metadata": {"lease_token": token},
            },
            context=ResearchContext(limits, PostgresJournal(pool, run.thread_id, token), "x:y"),
            durability="sync",
        )
    return run.thread_id


def append_all(old: list[Any] | None, writes: Sequence[list[Any]]) -> list[Any]:
    return [*(old or []), *(item for write in writes for item in write)]


def bare_graph(pool: Pool, steps: int, *, delta: bool) -> Any:
    reducer: Any = DeltaChannel(append_messages, snapshot_frequency=1000) if delta else add_messages
    lists: Any = DeltaChannel(append_all, snapshot_frequency=1000) if delta else operator.add

    # Built as a value: its hints are local, and LangGraph looks for names in the module.
    fields: dict[str, Any] = {
        "messages": Annotated[list[AnyMessage], reducer],
        "citations": Annotated[list[Any], lists],
    }
    State: Any = TypedDict("State", fields | {"step_count": int}, total=False)  # type: ignore[misc]

    async def fetch_url(url: str) -> str:
        """Fetch, and choose passages as ours does: reading is no overhead of the loop."""
        text = page_text(int(url.rsplit("/", 1)[1]))
        return "\n".join(passage["text"] for passage in choose_passages(text, "pages of the benchmark", 3000))

    async def identified(request: Any, execute: Any) -> Any:
        message = await execute(request)
        return message.model_copy(update={"id": request.tool_call["id"]})

    model = FetchingModel()

    async def reason(state: Any) -> dict[str, Any]:
        answer = await model.ainvoke(state.get("messages") or "go")
        answer.id = f"a{state.get('step_count', 0)}"
        return {"messages": [answer], "step_count": state.get("step_count", 0) + 1}

    async def sanitize(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        assert isinstance(last, ToolMessage)
        return {"messages": [last.model_copy()], "citations": [{"url": last.tool_call_id, "text": last.text}]}

    async def finalize(state: Any) -> dict[str, Any]:
        return {}

    graph = StateGraph(State)
    graph.add_node("reason", reason)
    graph.add_node("tools", ToolNode([fetch_url], awrap_tool_call=identified))
    graph.add_node("sanitize", sanitize)
    graph.add_node("finalize", finalize)
    graph.add_edge(START, "reason")
    graph.add_edge("reason", "tools")
    graph.add_edge("tools", "sanitize")
    graph.add_conditional_edges("sanitize", lambda state: "finalize" if state["step_count"] >= steps else "reason")
    graph.add_edge("finalize", END)
    return graph.compile(checkpointer=make_saver(pool))


async def run_bare(pool: Pool, steps: int, *, delta: bool) -> str:
    thread_id = uuid.uuid4().hex
    config: Any = {"configurable": {"thread_id": thread_id}, "recursion_limit": 4 * steps + 20}
    await bare_graph(pool, steps, delta=delta).ainvoke({"step_count": 0}, config, durability="sync")
    return thread_id


async def stored(pool: Pool, thread_id: str) -> int:
    """Bytes of the rows of one thread, ours included."""
    total = 0
    async with pool.connection() as connection:
        for name in [*TABLES, *(f"research.{name}" for name in OURS if name != "pages")]:
            statement = f"select coalesce(sum(pg_column_size(t.*)), 0) as n from {name} t where thread_id = %s"
            row = await (await connection.execute(statement.encode(), (thread_id,))).fetchone()
            total += int(row["n"]) if row else 0
        row = await (
            await connection.execute(
                b"select coalesce(sum(pg_column_size(p.*)), 0) as n from research.pages p where content_hash in "
                b"(select content_hash from research.citations where thread_id = %s)",
                (thread_id,),
            )
        ).fetchone()
    return total + (int(row["n"]) if row else 0)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with private_server() as (_, dsn):
        async with open_pool(dsn, embedded=True) as pool:
            runs: dict[str, Any] = {
                "ours": run_ours,
                "bare delta": lambda pool, n: run_bare(pool, n, delta=True),
                "bare": lambda pool, n: run_bare(pool, n, delta=False),
            }
            await run_ours(pool, 3)  # imports and caches
            rows = []
            for steps in options.steps:
                best = dict.fromkeys(runs, float("inf"))
                size = {}
                for _ in range(options.repeat):  # interleaved: noise hits all alike
                    for name, run in runs.items():
                        began = time.perf_counter()
                        thread_id = await run(pool, steps)
                        best[name] = min(best[name], (time.perf_counter() - began) * 1000 / steps)
                        size[name] = await stored(pool, thread_id)
                rows.append(
                    [
                        steps,
                        *(f"{best[name]:.1f}" for name in runs),
                        best["ours"] / best["bare delta"],
                        best["ours"] / best["bare"],
                        *(f"{size[name] / 1e6:.2f}" for name in runs),
                    ]
                )
    header = ["steps", *(f"ms/step {name}" for name in runs), "ours/bare delta", "ours/bare"]
    table([*header, *(f"MB {name}" for name in runs)], rows)


if __name__ == "__main__":
    asyncio.run(main())
