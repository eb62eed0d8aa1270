"""Runs by the number, all different, none told by hand: what a database holds after months."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from research_agent.documents import Claim, Code, Page
from research_agent.limits import Limits
from tests.support.seed.acts import Act, failed_read, read, search
from tests.support.seed.rows import PRICES, Tables
from tests.support.seed.run import SeededRun
from tests.support.seed.web import PAGES_PER_TOPIC, PLACES, SUBJECTS, TOPICS, Fact, failure_of, page_of

_MODELS = tuple(PRICES)[:5]
_WEIGHTS = (50, 12, 18, 12, 8)
_WORDS = (
    "cost",
    "figures",
    "audit",
    "problems",
    "permit",
    "price",
    "review",
    "staff",
    "survey",
    "growth",
    "law",
    "results",
)
_THOUGHTS = (
    "I read the most promising results.",
    "Nothing has been read about {word} yet.",
    "The {word} part is still open.",
    "Two sources disagree about {word}; I look for a third.",
    "I look at {word} in other words.",
)
_WRONG: tuple[tuple[Code, str, float], ...] = (
    ("part", "until 2030", 0.7),
    ("unsaid", "", 0.3),
    ("figure", "2030", 0.7),
)
_FAILURES = ("rate_limit", "timeout", "server", "bad_call", "empty", "truncated")
_FAILURE_WEIGHTS = (5, 2, 4, 3, 1, 1)
_LIMITS_REACHED = ("max_steps", "max_steps", "max_usd", "max_tool_calls", "max_tokens")
_CHANGED_DAYS_AGO = 30  # since then some pages say something else


def add_run(tables: Tables, index: int, began: datetime, days_ago: int, seed: int) -> None:
    """Run number `index` of the crowd."""
    story = _Story(tables, index, began, days_ago, random.Random(f"{seed}/{index}"))
    story.tell()


class _Story:
    def __init__(self, tables: Tables, index: int, began: datetime, days_ago: int, rng: random.Random) -> None:
        self.rng, self.newer = rng, days_ago < _CHANGED_DAYS_AGO
        # Every subject and place is a topic in five wordings: all of them read the same pages.
        self.subject = SUBJECTS[index % len(SUBJECTS)]
        self.place = PLACES[index // len(SUBJECTS) % len(PLACES)]
        wording = TOPICS[(index + index // len(SUBJECTS)) % len(TOPICS)]
        edition = 1 + index // (len(SUBJECTS) * len(PLACES))
        topic = wording.format(subject=self.subject, place=self.place)
        model = rng.choices(_MODELS, _WEIGHTS)[0]
        limits = Limits(max_steps=rng.randrange(10, 15))
        self.run = SeededRun(tables, topic, model, began, rng, edition=edition, limits=limits)
        self.found: list[int] = []  # numbers of pages that are offered and not yet asked for
        self.asked: set[int] = set()
        self.facts: list[tuple[Page, Fact]] = []
        self.pruned = days_ago > 60 and rng.random() < 0.3
        self.days_ago = days_ago

    def tell(self) -> None:
        rng, run = self.rng, self.run
        steps = run.limits.max_steps if rng.random() < 0.2 else rng.randrange(8, run.limits.max_steps)
        limit = rng.choice(_LIMITS_REACHED) if rng.random() < 0.25 else ""
        reason = ""
        for step in range(1, steps + 1):
            if rng.random() < 0.07:
                run.fail(rng.choices(_FAILURES, _FAILURE_WEIGHTS)[0])
            acts = (
                self._searches() if not self.found or (rng.random() < 0.3 and not run.rows.stagnant) else self._reads()
            )
            run.think(rng.choice(_THOUGHTS).format(word=rng.choice(_WORDS)), *acts)
            if rng.random() < 0.015:  # killed in the middle of the turn
                run.carry_out(0, len(acts) // 2)
                run.start(after=timedelta(minutes=rng.randrange(2, 90)))
                run.carry_out(len(acts) // 2)
            else:
                run.carry_out()
            if reason := run.digest(stop_reason=limit if step == steps else ""):
                break
        if rng.random() < 0.03:
            run.close()  # interrupted for good
        else:
            self._end(reason)

    def _end(self, reason: str) -> None:
        run, rng = self.run, self.rng
        if not reason:
            run.done()
        claims = [self._claim() for _ in range(min(rng.randrange(6, 12), len(self.facts)))]
        if claims:
            if rng.random() < 0.06:
                run.fail("rate_limit", "write")
            run.write(claims)
            if any(claim["code"] for claim in claims):
                run.write([claim for claim in claims if not claim["code"]] or claims, "repair")
        outcome = "no_evidence" if not claims else "partial" if reason else "complete"
        run.finish(outcome, reason or "done", claims)
        run.close(pruned_at=run.rows.now + timedelta(days=50) if self.pruned else None)

    def _searches(self) -> list[Act]:
        rng, acts = self.rng, []
        for word in rng.sample(_WORDS, rng.randrange(2, 4)):
            numbers = rng.sample(range(PAGES_PER_TOPIC), 7) if rng.random() < 0.96 else []
            pages = [page_of(self.subject, self._where(n), n, newer=self.newer)[0] for n in numbers]
            for rank, number in enumerate(numbers):  # the first results look best
                if number not in self.asked and number not in self.found and rng.random() < 1 - 0.1 * rank:
                    self.found.append(number)
            provider = rng.choice(("brave", "brave", "duckduckgo", "brave+duckduckgo"))
            query = f"{self.subject} {self.place} {word}"
            acts.append(search(query, *pages, provider=provider, milliseconds=round(rng.lognormvariate(6.2, 0.5))))
        return acts

    def _where(self, number: int) -> str:
        """Half of the pages are about the subject everywhere: runs about other places read them as well."""
        return self.place if number < PAGES_PER_TOPIC // 2 else "Europe"

    def _reads(self) -> list[Act]:
        rng, acts = self.rng, []
        numbers, self.found = self.found[:7], self.found[7:]
        if self.asked and rng.random() < 0.3:
            numbers.append(rng.choice(sorted(self.asked)))  # again, with another focus
        for number in numbers:
            page, facts = page_of(self.subject, self._where(number), number, newer=self.newer)
            if kind := failure_of(page.url, rng):
                acts.append(failed_read(page.url, kind))
                continue
            focus = rng.choice(_WORDS) if number in self.asked else ""
            acts.append(read(page, focus, round(rng.lognormvariate(6.8, 0.6))))
            self.facts += [(page, fact) for fact in facts[:2] if number not in self.asked]
            self.asked.add(number)
        return acts

    def _claim(self) -> Claim:
        page, fact = self.facts.pop(self.rng.randrange(len(self.facts)))
        if self.rng.random() < 0.02:
            claim = self.run.claim(fact.sentence, page, "", code="no_source", detail="41", score=0.0)
            return {**claim, "sources": [41], "quote_source": 0, "end": 0}
        if self.rng.random() < 0.12:
            code, detail, score = self.rng.choice(_WRONG)
            sentence = f"{fact.sentence.rstrip('.')}, and this will go on until 2030."
            return self.run.claim(sentence, page, fact.quote, code=code, detail=detail, score=score)
        return self.run.claim(fact.sentence, page, fact.quote)
