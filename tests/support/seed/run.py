"""One made-up run, told turn by turn: what the nodes of the graph would do, without a model, a web or a clock."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from research_agent.brief.brief import Brief
from research_agent.documents import Claim, Code, Page
from research_agent.limits import Limits
from research_agent.storage.runs import topic_to_thread_id
from research_agent.tracing import semantic_names
from tests.support.seed.acts import Act
from tests.support.seed.rows import RunRows, Tables


class SeededRun:
    """One edition of a topic. A process takes it up with `start`; `close` writes what is known only at the end."""

    def __init__(
        self,
        tables: Tables,
        topic: str,
        model: str,
        began: datetime,
        rng: random.Random,
        *,
        edition: int = 1,
        limits: Limits | None = None,
        corpus: str = "",
    ) -> None:
        self.topic, self.edition, self.began = topic, edition, began
        self.limits = limits or Limits()
        self.base_thread_id = topic_to_thread_id(topic)
        thread_id = self.base_thread_id if edition == 1 else f"{self.base_thread_id}.{edition}"
        self.rows = RunRows(tables, thread_id, model, began, rng)
        self._options = {"corpus": corpus} if corpus else {"search": "brave"}
        self._options |= {"length": "standard", "tool_calling": "auto"}
        self._fork: tuple[str | None, int | None] = (None, None)
        self._end: dict[str, Any] = {"outcome": None, "stop_reason": "", "brief": None, "finished_at": None}
        self._asked: list[tuple[str, Act]] = []
        self._done: list[tuple[str, Act]] = []
        self.start()

    @property
    def thread_id(self) -> str:
        return self.rows.thread_id

    def start(self, after: timedelta = timedelta(), model: str = "") -> None:
        """A process takes the run up, for the first time or again: with a lease, and so a token, of its own."""
        rows = self.rows
        rows.now += after
        rows.token += 1
        rows.model = model or rows.model
        provider, name = semantic_names(rows.model)
        rows.add(
            "starts",
            start=rows.token,
            provider_name=provider,
            request_model=name,
            limits=Jsonb(asdict(self.limits)),
            holder=f"workbench process {4000 + rows.rng.randrange(900)}",
            started_at=rows.now,
        )
        rows.wait(30)

    def share(self, origin: SeededRun, step: int) -> None:
        """Begin as a fork: the ledger of `origin` up to `step` is shared, and who read it is kept."""
        rows = self.rows
        self._fork, rows.step = (origin.thread_id, step), step
        theirs = [row for row in rows.tables["citations"] if row["thread_id"] == origin.thread_id]
        for row in theirs:
            if row["first_step"] <= step:
                rows.tables["citations"].append({**row, "thread_id": self.thread_id, "lease_token": rows.token})
                rows.ledger.append(origin.rows.ledger[row["number"] - 1])

    def turn(self, thought: str, *acts: Act) -> None:
        """One whole turn of the loop."""
        self.think(thought, *acts)
        self.carry_out()
        self.digest()

    def think(self, thought: str, *acts: Act) -> None:
        """The model asks for tools, or for none."""
        rows = self.rows
        rows.step += 1
        rows.thought = thought
        self._asked = [(f"call-{rows.step}-{n}", act) for n, act in enumerate(acts, start=1)]
        self._done = []
        rows.answer("reason", thought, self._asked)

    def carry_out(self, first: int = 0, last: int | None = None) -> None:
        """The tools of the turn, or some of them, all at the same time."""
        now, some = self.rows.now, self._asked[first:last]
        for place, (call_id, act) in enumerate(some):
            self.rows.tool_call(call_id, act, now + timedelta(milliseconds=place))
        self._done += some
        self.rows.wait(max((act.milliseconds for _, act in some), default=0))

    def digest(self, stop_reason: str = "") -> str:
        """The ledger grows, or the turn brought nothing. Why the loop ends here, "" if it goes on."""
        rows, sources, passages = self.rows, 0, 0
        for call_id, act in self._done:
            if act.page and not self.number_of(act.page):
                sources, passages = sources + 1, passages + rows.cite(call_id, act)
        rows.stagnant = 0 if passages else rows.stagnant + 1
        stuck = rows.stagnant >= self.limits.max_stagnant_turns
        reason = stop_reason or ("stagnant" if stuck else "")
        rows.end_of_turn(len(self._asked), sources, passages, reason)
        return reason

    def fail(self, kind: str, purpose: str = "reason") -> None:
        """The next call of the model fails at first."""
        self.rows.failed_attempt(self.rows.step + (purpose == "reason"), purpose, kind)

    def done(self, thought: str = "DONE") -> None:
        """The model stops by itself: a turn without calls."""
        self.think(thought)
        self.rows.end_of_turn(0, 0, 0, "done")

    def number_of(self, page: Page) -> int:
        """Its number in the ledger, 0 if it is not there."""
        hashes = [entry["content_hash"] for entry in self.rows.ledger]
        return hashes.index(page.content_hash) + 1 if page.content_hash in hashes else 0

    def claim(
        self, text: str, page: Page, quote: str, *, code: Code = "", detail: str = "", score: float = 1.0
    ) -> Claim:
        """A sentence that cites `page`, with a quote of it at its true place. A `code` drops it."""
        start = page.text.index(quote)
        return Claim(
            bullet=0,
            part="body",
            heading="",
            columns=[],
            cells=[],
            text=text,
            sources=[self.number_of(page)],
            verdict="supported" if not code else "partly" if score >= 0.5 else "not",
            code=code,
            detail=detail,
            basis="" if code else "stated",
            judge="" if code in ("figure", "no_source") else self.rows.model,
            score=score,
            quote=quote,
            quote_source=self.number_of(page),
            start=start,
            end=start + len(quote),
            others=[],
        )

    def write(self, claims: Sequence[Claim], purpose: str = "write") -> None:
        """The model writes the brief, or writes it again."""
        lines = [f"- {claim['text']} " + "".join(f"[{n}]" for n in claim["sources"]) for claim in claims]
        self.rows.answer(purpose, "\n".join(lines))

    def finish(self, outcome: str, stop_reason: str, claims: Sequence[Claim] = (), writer: str = "") -> None:
        """The end: outcome, brief and claims."""
        rows = self.rows
        numbered: list[Claim] = [{**claim, "bullet": bullet} for bullet, claim in enumerate(claims, start=1)]
        state: dict[str, Any] = {"topic": self.topic, "claims": numbered, "citations": rows.ledger}
        state |= {"step_count": rows.step, "outcome": outcome, "stop_reason": stop_reason}
        state["checked"] = "model"
        state["writer"] = writer or (rows.model if claims else "")
        brief = Brief.from_state(
            state,
            thread_id=self.thread_id,
            edition=self.edition,
            model=rows.model,
            started_at=self.began.astimezone(UTC).isoformat(timespec="seconds"),
            finished_at=rows.now.astimezone(UTC).isoformat(timespec="seconds"),
            usage=rows.usage,
        )
        self._end = {"outcome": outcome, "stop_reason": stop_reason, "brief": Jsonb(brief.to_dict())}
        self._end["finished_at"] = rows.now
        for position, claim in enumerate(numbered, start=1):
            values: dict[str, Any] = {**claim, **{name: Jsonb(claim[name]) for name in ("others", "columns", "cells")}}  # type: ignore[literal-required]
            values["quote_source"] = claim["quote_source"] or None
            values |= {"quote_start": values.pop("start"), "quote_end": values.pop("end")}
            rows.add("claims", position=position, **values)

    def close(
        self,
        held_until: datetime | None = None,
        waiting_for: list[str] | None = None,
        pruned_at: datetime | None = None,
    ) -> None:
        """The run's own row, and its lease: held until a moment, or given back."""
        rows = self.rows
        provider, name = semantic_names(rows.model)
        last = [row for row in rows.tables["starts"] if row["thread_id"] == self.thread_id][-1]
        lease = {"token": rows.token, "holder": last["holder"], "place": "", "pid": 4000, "pid_started": 0.0}
        lease |= {"acquired_at": last["started_at"], "expires_at": held_until or "-infinity"}
        rows.tables["leases"].append({"thread_id": self.thread_id, **lease})
        rows.add(
            "runs",
            base_thread_id=self.base_thread_id,
            edition=self.edition,
            topic=self.topic,
            provider_name=provider,
            request_model=name,
            limits=Jsonb(asdict(self.limits)),
            options=Jsonb(self._options),
            waiting_for=Jsonb(waiting_for) if waiting_for else None,
            created_at=self.began,
            forked_from=self._fork[0],
            forked_at_step=self._fork[1],
            pruned_at=pruned_at,
            **self._end,
        )
