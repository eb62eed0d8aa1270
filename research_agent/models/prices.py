"""What a call used and cost: tokens from the message, prices from the `genai-prices` package (no network)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

# LangChain's provider names where those of genai-prices differ.
_PROVIDERS = {
    "google_genai": "google",
    "google_vertexai": "google",
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "mistralai": "mistral",
    "xai": "x-ai",
}
_FREE = frozenset({"extractive", "ollama"})  # they run on the user's own machine


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Tokens of one call: cached ones are part of the input, reasoning ones of the output. Fields as in the journal."""

    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    cost_usd: float | None = None


def usage_of(
    answer: AIMessage,
    prompt: Sequence[BaseMessage],
    model: str,
    when: datetime,
    ceiling: tuple[float, float] | None = None,
) -> CallUsage:
    """What `answer` of `model` (``provider:name``) to `prompt` used.

    A server that counts nothing must not make a run look free: its tokens are estimated.
    """
    provider = model.partition(":")[0]
    if usage := answer.usage_metadata:
        tokens = CallUsage(
            input_tokens=usage["input_tokens"],
            cache_read_input_tokens=usage.get("input_token_details", {}).get("cache_read") or 0,
            output_tokens=usage["output_tokens"],
            reasoning_output_tokens=usage.get("output_token_details", {}).get("reasoning") or 0,
        )
    elif ":" in model:
        tokens = CallUsage(
            input_tokens=count_tokens_approximately(prompt), output_tokens=count_tokens_approximately([answer])
        )
    else:
        tokens = CallUsage()
    if provider in _FREE:
        cost: float | None = 0.0
    else:  # the model that answered is the one that is billed: retired names are served by their successors
        served = str(answer.response_metadata.get("model_name") or "")
        cost = cost_usd(f"{provider}:{served}", tokens, when) if served else None
        cost = cost if cost is not None else cost_usd(model, tokens, when, ceiling)
    return CallUsage(
        tokens.input_tokens, tokens.cache_read_input_tokens, tokens.output_tokens, tokens.reasoning_output_tokens, cost
    )


def cost_usd(model: str, tokens: CallUsage, when: datetime, ceiling: tuple[float, float] | None = None) -> float | None:
    """USD for `tokens` of `model` at the prices of `when`.

    Where no price is known: `ceiling` (USD a million tokens in and out), or None without one.
    """
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition(":")
    counted = Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_input_tokens or None,
    )
    try:
        price = calc_price(
            counted,
            model_ref=name.removeprefix("models/"),
            provider_id=_PROVIDERS.get(provider, provider),
            genai_request_timestamp=when,
        )
        return float(price.total_price)
    except (LookupError, ValueError):  # ValueError: more cached than input tokens, and the like
        return (tokens.input_tokens * ceiling[0] + tokens.output_tokens * ceiling[1]) / 1e6 if ceiling else None
