"""Does the prompt stay bounded? Tokens sent over 10, 30 and 100 steps, with and without compaction.

A scripted model searches and reads for as long as it may, two pages a turn, 3,000 characters each; the built-in
writer closes. Sent: estimated prompt tokens of all steps together. Cached: the part of them that repeats the
beginning of the prompt before, which providers bill at about a tenth. First source: whether the brief still cites
the page that was read first.

    python benchmarks/context.py [--limit 32000]
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from _data import table
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from research_agent import prompts
from research_agent.context import ResearchContext
from research_agent.documents import Page, SearchHit
from research_agent.graph.graph import build_graph
from research_agent.limits import Limits
from research_agent.models.extractive import write_brief
from research_agent.tools.fetch_url import make_fetch_url
from research_agent.tools.search_web import make_search_web

PAGES_A_TURN = 2
TOPIC = "How do tide mills of the coast work?"


class Endless:
    """A web with a page for every number; a search leads to the next ones."""

    name = "endless"

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        start = int(query.split()[-1])
        return [SearchHit(f"https://e.org/{n}", f"Mill {n}", f"About mill {n}") for n in range(start, start + limit)]

    async def read(self, url: str) -> Page:
        number = url.rsplit("/", 1)[1]
        said = f"The tide mill {number} of the coast works since {1000 + int(number)} with a wheel of its own. "
        filler = "".join(
            f"Visitors of mill {number} saw sluice {k} close before the tide of day {k}.\n\n" for k in range(60)
        )
        return Page(url, f"Mill {number}", f"{said}\n\n{filler}")


class Reader(BaseChatModel):
    """Searches every fourth turn, else reads the next pages. Notes what each prompt costs."""

    prompts_sent: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "reader"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        return self.bind(tools=list(tools))

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if not kwargs.get("tools"):
            evidence = list(prompts.read_evidence(messages[-1].text))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(write_brief(TOPIC, evidence)))])
        turn = len(self.prompts_sent)
        self.prompts_sent.append(messages)
        block, place = divmod(turn, 4)
        first = block * 3 * PAGES_A_TURN
        if place == 0:
            wanted = [("search_web", {"query": f"mills {first}"})]
        else:
            pages = range(first + (place - 1) * PAGES_A_TURN, first + place * PAGES_A_TURN)
            wanted = [("fetch_url", {"url": f"https://e.org/{page}"}) for page in pages]
        asked = [{"name": n, "args": a, "id": f"{turn}-{k}", "type": "tool_call"} for k, (n, a) in enumerate(wanted)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=asked))])


def repeated(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> int:
    """Tokens at the beginning of `now` that are the beginning of `before` too."""
    same = 0
    while same < min(len(before), len(now)) and before[same].content == now[same].content:
        same += 1
    return count_tokens_approximately(list(now[:same]))


async def measure(steps: int, limit: int | None) -> list[Any]:
    """One row: a run of so many steps."""
    web, model = Endless(), Reader()
    graph = build_graph(model, [make_search_web(web), make_fetch_url(web)])
    context = ResearchContext(Limits(max_steps=steps, max_stagnant_turns=steps), max_prompt_tokens=limit)
    state = await graph.ainvoke({"topic": TOPIC}, {"recursion_limit": 4 * steps + 20}, context=context)
    sizes = [count_tokens_approximately(prompt) for prompt in model.prompts_sent]
    pairs = zip(model.prompts_sent, model.prompts_sent[1:], strict=False)
    cached = sum(repeated(before, now) for before, now in pairs)
    cited = {source for claim in state["claims"] for source in claim["sources"]}
    return [
        "yes" if limit else "no",
        steps,
        len(state["citations"]),
        sum(sizes),
        sum(sizes) // steps,
        max(sizes),
        cached / sum(sizes),
        "cited" if 1 in cited else "lost",
    ]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=ResearchContext().max_prompt_tokens)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 30, 100])
    options = parser.parse_args()
    rows = [await measure(steps, limit) for limit in (None, options.limit) for steps in options.steps]
    table(["compacted", "steps", "sources", "sent", "a step", "largest", "cached", "first source"], rows)


if __name__ == "__main__":
    asyncio.run(main())
