"""A second opinion of a model on sentences that the program finds doubtful; off unless it is asked for.

It can only lift what is a matter of wording. Numbers, names, quotations, negations, addresses and unknown sources stay
with the program, and whatever is no plain "yes" changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import json_repair
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from research_agent import prompts
from research_agent.documents import Claim
from research_agent.evidence.check.verdicts import SECOND_OPINION, may_be_lifted
from research_agent.graph.context import ResearchContext
from research_agent.models.call import CallSite, call_model

MAX_DOUBTS = 20  # sentences in the one call
_MAX_PASSAGE = 2_000  # a longer passage is left to the program


async def second_opinion(
    claims: Sequence[Claim],
    model: BaseChatModel,
    site: CallSite,
    context: ResearchContext,
    report: Callable[[Any], None],
) -> list[Claim]:
    """The claims, those lifted to ``supported`` that `model` says its passage supports. No call when none is doubtful.

    Raises:
        ModelError: no usable answer came.
    """
    doubtful = [n for n, c in enumerate(claims) if may_be_lifted(c) and 0 < len(c["quote"]) <= _MAX_PASSAGE]
    doubtful = doubtful[:MAX_DOUBTS]
    if not doubtful:
        return list(claims)
    request = prompts.render_doubts([(claims[n]["text"], claims[n]["quote"]) for n in doubtful])
    messages = [SystemMessage(prompts.JUDGE), HumanMessage(request)]
    answer = await call_model(model, messages, site, context, report)
    lifted = {doubtful[number - 1] for number in read_yes(answer.text) if 1 <= number <= len(doubtful)}
    reason = f"{SECOND_OPINION}{site.model_name or context.model_name}"
    return [_lift(claim, reason) if n in lifted else claim for n, claim in enumerate(claims)]


def read_yes(answer: str) -> set[int]:
    """The numbers that `answer`, a JSON object or something like it, says yes to."""
    start, end = answer.find("{"), answer.rfind("}")
    if start < 0:
        return set()
    read = json_repair.loads(answer[start : end + 1] if end > start else answer[start:])
    if not isinstance(read, dict):
        return set()
    return {
        int(key)
        for key, value in read.items()
        if str(key).isascii() and str(key).isdigit() and len(str(key)) < 4 and str(value).strip().casefold() == "yes"
    }


def _lift(claim: Claim, reason: str) -> Claim:
    # It stands on the one passage that was judged.
    return cast(
        Claim, {**claim, "verdict": "supported", "reason": reason, "sources": [claim["quote_source"]], "others": []}
    )
