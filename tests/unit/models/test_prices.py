"""Tokens and cost come from the message; what has no price is priced at the ceiling."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from research_agent.models.prices import CallUsage, cost_usd, usage_of

IN_2026 = datetime(2026, 12, 1, tzinfo=UTC)
MILLION = CallUsage(input_tokens=1_000_000, output_tokens=1_000_000)
PROMPT = [HumanMessage("x" * 400)]


def answer(**more: Any) -> AIMessage:
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    return AIMessage("y" * 40, **{"usage_metadata": usage, **more})


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("google_genai:gemini-3.5-flash-lite", 0.30 + 2.50),
        ("google_genai:models/gemini-3.5-flash-lite", 0.30 + 2.50),
        ("google_genai:gemini-3.8-flash", 0.75 + 3.75),
        ("openai:gpt-4o", 2.50 + 10.0),
        ("google_genai:gemini-99-new", None),
        ("nobody:model", None),
        ("model", None),
    ],
)
def test_price_of_a_million_tokens(model: str, usd: float | None) -> None:
    assert cost_usd(model, MILLION, IN_2026) == (pytest.approx(usd) if usd else None)


def test_prices_change_with_the_date() -> None:
    later = cost_usd("google_genai:gemini-3.8-flash", MILLION, datetime(2027, 2, 1, tzinfo=UTC))
    assert later == pytest.approx(1.50 + 7.50)


def test_an_unknown_model_costs_the_ceiling() -> None:
    assert cost_usd("openai:my-own", MILLION, IN_2026, (3.0, 15.0)) == pytest.approx(18.0)
    assert cost_usd("openai:gpt-4o", MILLION, IN_2026, (3.0, 15.0)) == pytest.approx(12.5)


def test_cached_tokens_are_cheaper_and_thinking_is_output() -> None:
    message = answer(
        usage_metadata={
            "input_tokens": 1000,
            "output_tokens": 100,
            "total_tokens": 1100,
            "input_token_details": {"cache_read": 1000},
            "output_token_details": {"reasoning": 90},
        }
    )
    usage = usage_of(message, PROMPT, "google_genai:gemini-3.5-flash-lite", IN_2026)
    assert (usage.cache_read_input_tokens, usage.reasoning_output_tokens) == (1000, 90)
    assert usage.cost_usd == pytest.approx((1000 * 0.03 + 100 * 2.5) / 1e6)


def test_the_model_that_answered_is_billed() -> None:
    served = answer(response_metadata={"model_name": "gemini-3.5-flash-lite"})
    retired = usage_of(served, PROMPT, "google_genai:gemini-2.5-flash", IN_2026)
    assert retired.cost_usd == pytest.approx((1000 * 0.30 + 100 * 2.50) / 1e6)
    odd = answer(response_metadata={"model_name": "unheard-of"})
    assert usage_of(odd, PROMPT, "openai:gpt-4o", IN_2026).cost_usd == pytest.approx((1000 * 2.5 + 100 * 10) / 1e6)


def test_a_server_that_counts_nothing_is_estimated() -> None:
    usage = usage_of(answer(usage_metadata=None), PROMPT, "openai:local", IN_2026, (1.0, 1.0))
    assert 100 <= usage.input_tokens <= 120
    assert 10 <= usage.output_tokens <= 20
    assert usage.cost_usd == pytest.approx((usage.input_tokens + usage.output_tokens) / 1e6)


def test_what_runs_on_the_users_machine_is_free() -> None:
    assert usage_of(answer(), PROMPT, "ollama:qwen3", IN_2026, (9.0, 9.0)).cost_usd == 0
    assert usage_of(AIMessage("x"), PROMPT, "extractive", IN_2026) == CallUsage(cost_usd=0.0)
