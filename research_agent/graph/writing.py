"""From the ledger to checked claims: write, judge, repair what was refused, judge that, and never lose what was found.

Where a model writes, a model judges each sentence (`ResearchContext.check` is ``model``); the program's vetoes stand
above it. Without a judge the program's own verdicts decide, and the brief says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from research_agent import prompts
from research_agent.context import ResearchContext
from research_agent.documents import Citation, Claim
from research_agent.errors import ModelError
from research_agent.evidence.check.rulings import Ruling, by_rulings, vetoed, without_leaning
from research_agent.evidence.check.verdicts import Evidence, by_program, choose_evidence, quote_instead
from research_agent.evidence.claims import DraftClaim, limited, parse_claims
from research_agent.graph.repair import merged, read_repairs, refused_sentences
from research_agent.limits import may_call_model
from research_agent.models.call import CallSite, call_model
from research_agent.models.extractive import write_brief
from research_agent.models.judge import judge
from research_agent.settings import EXTRACTIVE

_ROOM = 80_000  # characters of evidence for a model, about 20,000 tokens
_CHARS_PER_TOKEN = 2.5  # of the size that a prompt may have, with room for everything else

Checked = Literal["model", "program", "unchecked"]


@dataclass(frozen=True, slots=True)
class Written:
    """A draft after all checks.

    Attributes:
        claims: each sentence with its verdict, kept or not, in order.
        open: what nothing that was read answers.
        writer: the model that wrote it, or ``extractive``.
        checked: who judged: a model, the program where that was wanted, or the program because no judge was there.
        rewritten: whether everything of the first draft was refused.
    """

    claims: list[Claim]
    writer: str
    checked: Checked
    open: list[str] = field(default_factory=list)
    rewritten: bool = False


class Writer(Protocol):
    """Whoever writes a brief from evidence."""

    name: str
    room: int  # characters of evidence that it takes

    async def write(self, topic: str, evidence: Evidence, *, again: bool = False) -> str:
        """The draft as Markdown; `again` where nothing of an earlier one could be kept.

        Raises:
            ModelError: it cannot.
        """
        ...

    async def repair(self, topic: str, refused: Sequence[prompts.RefusedSentence]) -> dict[int, str]:
        """The refused sentences written anew, by position; "" for one that cannot be mended. The rest is missing."""
        ...


class BuiltInWriter:
    """Picks sentences of the evidence; what it writes stands there word for word."""

    name = EXTRACTIVE
    room = 24_000

    def __init__(self, most: int) -> None:
        self._most = most

    async def write(self, topic: str, evidence: Evidence, *, again: bool = False) -> str:
        return write_brief(topic, evidence, self._most)

    async def repair(self, topic: str, refused: Sequence[prompts.RefusedSentence]) -> dict[int, str]:
        return {}


class ModelWriter:
    """A chat model, through the journal: a call that was paid is never made again."""

    def __init__(
        self,
        model: BaseChatModel,
        name: str,
        ledger: Sequence[Citation],
        questions: Sequence[str],
        step: int,
        context: ResearchContext,
        report: Callable[[Any], None],
    ) -> None:
        self.name = name
        tokens = context.max_prompt_tokens
        self.room = min(_ROOM, int(tokens * _CHARS_PER_TOKEN)) if tokens else _ROOM
        self._model, self._ledger, self._questions = model, ledger, questions
        self._step, self._context, self._report = step, context, report

    async def write(self, topic: str, evidence: Evidence, *, again: bool = False) -> str:
        least, most = prompts.BULLETS[self._context.length]
        about = [(number, self._ledger[number - 1], passages) for number, passages in evidence]
        request = prompts.render_evidence(topic, about, most, self._questions)
        if again:
            request = f"{request}\n\n{prompts.REWRITE}"
        return await self._ask(prompts.WRITER.format(least=least, most=most), request, "rewrite" if again else "write")

    async def repair(self, topic: str, refused: Sequence[prompts.RefusedSentence]) -> dict[int, str]:
        return read_repairs(await self._ask(prompts.REPAIR, prompts.render_repair(topic, refused), "repair"))

    async def _ask(self, system: str, request: str, purpose: str) -> str:
        if not may_call_model(self._context.journal.spending, self._context.seconds, self._context.limits):
            raise ModelError("nothing is left of the limits for a model call: the built-in writer writes", "limit")
        site = CallSite(self._step, purpose, model_name=self.name)
        messages = [SystemMessage(system), HumanMessage(request)]
        return (await call_model(self._model, messages, site, self._context, self._report)).text


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides on sentences: a model where there is one, the program where it fails or none is wanted."""

    model: BaseChatModel | None
    name: str
    ledger: Sequence[Citation]
    topic: str
    step: int
    context: ResearchContext
    report: Callable[[Any], None]

    async def decide(self, drafts: Sequence[DraftClaim], purpose: str) -> tuple[list[Claim], list[str], Checked]:
        """The sentences with their verdicts, what is open, and who decided."""
        if self.model is None:
            return by_program([draft for draft in drafts if draft.part != "open"], self.ledger), [], "program"
        asked = [n for n, d in enumerate(drafts) if d.part == "open" or not vetoed(d, self.ledger, self.topic)]
        rulings: dict[int, Ruling] = {}
        site = CallSite(self.step, purpose, model_name=self.name)
        try:
            given = await judge(
                [drafts[n] for n in asked], self.ledger, self.topic, self.model, site, self.context, self.report
            )
            rulings = {asked[position]: ruling for position, ruling in given.items()}
        except ModelError as error:
            self.report({"problem": f"not checked in meaning: {error}"})
        said = [n for n, draft in enumerate(drafts) if draft.part != "open"]
        ruled = {place: rulings[n] for place, n in enumerate(said) if n in rulings}
        claims = by_rulings([drafts[n] for n in said], ruled, self.ledger, self.topic, self.name)
        still = [
            d.text for n, d in enumerate(drafts) if d.part == "open" and n in rulings and rulings[n].answer == "yes"
        ]
        return claims, still, "model" if all(n in rulings for n in asked) else "unchecked"


async def write_checked(topic: str, writer: Writer, judge_: Judge, most: int) -> Written:
    """The brief's sentences from `writer`, judged and repaired; the built-in writer where nothing else is left."""
    evidence = choose_evidence(topic, judge_.ledger, writer.room)
    tried: list[Written] = []
    try:
        for again in (False, True)[: 2 if judge_.model else 1]:
            drafts = limited(parse_claims(await writer.write(topic, evidence, again=again)), most)
            tried.append(await _judged(topic, drafts, writer, judge_, again=again))
            if _kept(tried[-1].claims) or tried[-1].checked == "unchecked":
                refused = [claim for each in tried[:-1] for claim in each.claims]
                return replace(tried[-1], claims=[*tried[-1].claims, *refused])
    except ModelError as error:
        judge_.report({"problem": str(error)})
    refused = [claim for each in tried for claim in each.claims]
    built_in = BuiltInWriter(most)
    evidence = choose_evidence(topic, judge_.ledger, built_in.room)
    own = by_program(limited(parse_claims(await built_in.write(topic, evidence)), most), judge_.ledger)
    if not _kept(own):
        own = quote_instead(refused, judge_.ledger)  # the nearest passages say more than nothing
        refused = []
    name = built_in.name if _kept(own) or not tried else writer.name
    return Written([*own, *refused], name, "program", rewritten=bool(tried))


async def _judged(topic: str, drafts: Sequence[DraftClaim], writer: Writer, judge_: Judge, *, again: bool) -> Written:
    suffix = "_rewrite" if again else ""
    claims, still_open, checked = await judge_.decide(drafts, f"judge{suffix}")
    claims = without_leaning(claims)
    # Without a judge the program's doubts are no reason to write anything again: too many of them are wrong.
    if checked != "unchecked" and not again and any(claim["verdict"] != "supported" for claim in claims):
        try:
            repairs = await writer.repair(topic, refused_sentences(claims, judge_.ledger))
        except ModelError as error:
            judge_.report({"problem": str(error)})
            repairs = {}
        anew = {place: draft for place, text in repairs.items() if (draft := _redrafted(claims, place, text))}
        if anew:
            second, _, checked_again = await judge_.decide(list(anew.values()), "judge_repair")
            claims = without_leaning(merged(claims, dict(zip(anew, second, strict=True))))
            checked = "unchecked" if "unchecked" in (checked, checked_again) else checked
    if checked != "model" and not isinstance(writer, BuiltInWriter):
        claims = quote_instead(claims, judge_.ledger)
    return Written(claims, writer.name, checked, still_open, rewritten=again)


def _redrafted(claims: Sequence[Claim], place: int, text: str) -> DraftClaim | None:
    """The corrected sentence at the place of the old one; a row keeps its columns."""
    if not 0 <= place < len(claims) or not text.strip():
        return None
    old = claims[place]
    row = bool(old["cells"])
    parsed = parse_claims(f"| {text.strip().strip('|')} |" if row else f"- {text}")
    if not parsed:
        return None
    new = parsed[0]
    if not row and len(parsed) > 1:
        numbers = tuple(dict.fromkeys(number for each in parsed for number in each.sources))
        new = replace(new, text=" ".join(each.text for each in parsed), sources=numbers)
    return replace(
        new,
        bullet=old["bullet"],
        part=old["part"],
        heading=old["heading"],
        columns=tuple(old["columns"]),
        sources=new.sources or tuple(old["sources"]),
    )


def _kept(claims: Sequence[Claim]) -> bool:
    return any(claim["verdict"] == "supported" for claim in claims)
