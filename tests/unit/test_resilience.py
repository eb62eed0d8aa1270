"""A model that keeps failing rests; after that one call probes it."""

from __future__ import annotations

import pytest

from research_agent.context import ResearchContext
from research_agent.errors import ModelError
from research_agent.models.call import CallSite, call_model
from research_agent.resilience import MAX_FAILURES, REST_SECONDS, ModelBreaker
from tests.support.models import ScriptedModel, says
from tests.support.scripted import MemoryJournal, Waits


def test_it_opens_after_failures_and_lets_one_probe_through() -> None:
    now = 0.0
    breaker = ModelBreaker(lambda: now)
    for _ in range(MAX_FAILURES):
        assert breaker.seconds_left("m") == 0
        breaker.failed("m")
    assert breaker.seconds_left("m") == REST_SECONDS
    assert breaker.seconds_left("other") == 0
    now = REST_SECONDS
    assert breaker.seconds_left("m") == 0, "the probe"
    assert breaker.seconds_left("m") > 0, "the others wait for it"
    breaker.failed("m")
    assert breaker.seconds_left("m") == REST_SECONDS
    now += REST_SECONDS
    assert breaker.seconds_left("m") == 0
    breaker.answered("m")
    assert breaker.seconds_left("m") == 0


async def test_a_resting_model_is_not_called_and_the_journal_says_so() -> None:
    model, breaker = ScriptedModel(answers=[ConnectionError("down")]), ModelBreaker()
    journal = MemoryJournal()
    context = ResearchContext(journal=journal, breaker=breaker, model_name="a:b", sleep=Waits())
    for step in range(1, MAX_FAILURES + 1):
        with pytest.raises(ModelError, match="down"):
            await call_model(model, [says("x")], CallSite(step, "reason"), context, lambda event: None)
    called = len(model.seen)
    with pytest.raises(ModelError, match="a:b is resting for 60 s"):
        await call_model(model, [says("x")], CallSite(9, "reason"), context, lambda event: None)
    assert len(model.seen) == called
    assert "resting" in (journal.model_calls[-1].error or "")
