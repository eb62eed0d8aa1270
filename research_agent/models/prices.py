"""What a call cost, from the prices that the `genai-prices` package carries (no network)."""

from __future__ import annotations

from datetime import datetime

from langchain_core.messages.ai import UsageMetadata

# LangChain's provider names where they differ from those of genai-prices.
_PROVIDERS = {"google_genai": "google", "google_vertexai": "google", "openai": "openai", "anthropic": "anthropic"}


def cost_usd(model: str, usage: UsageMetadata, when: datetime) -> float | None:
    """USD for one call of `model` (``provider:name``) at the prices of `when`; None if no price is known."""
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition(":")
    if provider not in _PROVIDERS:
        return None
    tokens = Usage(
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cache_read_tokens=usage.get("input_token_details", {}).get("cache_read"),
    )
    try:
        price = calc_price(tokens, model_ref=name, provider_id=_PROVIDERS[provider], genai_request_timestamp=when)
    except LookupError:
        return None
    return float(price.total_price)
