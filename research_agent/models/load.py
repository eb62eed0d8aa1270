"""``provider:name`` → a chat model, and its end.

A model belongs to the event loop that it was made on: clients keep connections of that loop. So it is built for
each run and closed with it (`open_model`).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import re
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from research_agent.errors import UsageError
from research_agent.settings import EXTRACTIVE, Settings

Thinking = Literal["minimal", "low", "medium", "high"]
ToolCalling = Literal["auto", "native", "text", "schema"]

# Names that differ from the provider's: what to install, and where its key is read from.
_EXTRAS = frozenset({"openai", "anthropic", "ollama"})
_KEYS = {"google_genai": "GEMINI_API_KEY"}
_NATIVE = frozenset({"google_genai", "google_vertexai", "anthropic"})  # their tool calling always works
_GEMINI = re.compile(r"(?:models/)?gemini-(\d+)(?:\.(\d+))?")
_GEMINI_2_BUDGETS: dict[Thinking, int] = {"minimal": 0, "low": 1024, "medium": 8192, "high": 24576}


_OLLAMA_CONTEXT = 16_384
_DIFFERENCES = itertools.count(1)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is called. Temperature and thinking are sent only to models that accept them."""

    timeout: float = 120.0
    google_api_key: SecretStr | None = None
    base_url: str | None = None  # of a server that speaks the provider's protocol, such as llama.cpp for openai
    temperature: float | None = None
    thinking: Thinking | None = None
    tool_calling: ToolCalling = "auto"


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[BaseChatModel]:
    """The model `name` for this event loop; its connections are closed at the end.

    Raises:
        UsageError: see `build_model`.
    """
    model = build_model(name, options)
    try:
        yield model
    finally:
        await close_model(model)


async def close_model(model: BaseChatModel) -> None:
    """Close the connections of `model`, which must not be called after."""
    inner = getattr(model, "inner", model)
    for owner, method in (
        (inner, "aclose"),
        (getattr(inner, "root_async_client", None), "close"),
        (getattr(inner, "_async_client", None), "close"),
    ):
        if close := getattr(owner, method, None):
            with contextlib.suppress(Exception):  # nothing is lost with a connection that will not close
                await close()
            return


def prompt_limit(model: BaseChatModel, wanted: int) -> int:
    """`wanted` tokens of prompt, or less where the model's context is known to be too small for them."""
    inner = getattr(model, "inner", model)
    context = (getattr(inner, "profile", None) or {}).get("max_input_tokens") or getattr(inner, "num_ctx", None)
    return min(wanted, int(context * 0.7)) if context else wanted


def load_model(settings: Settings) -> BaseChatModel:
    """The model that `settings` name."""
    return build_model(settings.model, options_of(settings))


def options_of(settings: Settings) -> ModelOptions:
    """What `settings` say about calling models."""
    return ModelOptions(
        timeout=settings.model_timeout,
        google_api_key=settings.google_api_key,
        base_url=settings.model_base_url,
        temperature=settings.temperature,
        thinking=settings.thinking,
        tool_calling=settings.tool_calling,
    )


def build_model(name: str, options: ModelOptions) -> BaseChatModel:
    """The model `name` (``provider:name`` or ``extractive``).

    The client's own retries are off: `models.call` does them, and records each.

    Raises:
        UsageError: the form is wrong, the provider unknown, its package missing, or it has no key.
    """
    if name == EXTRACTIVE:
        from research_agent.models.extractive import ExtractiveChatModel

        return ExtractiveChatModel()
    provider, separator, bare = name.partition(":")
    if not separator or not provider or not bare:
        raise UsageError(
            f'model "{name}" is not of the form provider:name: use for example '
            f"google_genai:gemini-3.5-flash-lite, openai:NAME, or {EXTRACTIVE} (needs no key)"
        )
    return _wrapped(_client(provider, bare, options), provider, options)


def _client(provider: str, bare: str, options: ModelOptions) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    try:
        with _no_vertex() if options.google_api_key else contextlib.nullcontext():
            model: BaseChatModel = init_chat_model(bare, model_provider=provider, **_arguments(provider, bare, options))
    except ImportError:
        package = f"'research-agent[{provider}]'" if provider in _EXTRAS else f"langchain-{provider.replace('_', '-')}"
        raise UsageError(f"the package for {provider} models is not installed: pip install {package}") from None
    except Exception as error:  # its text may show the key
        if "Unsupported" in str(error):
            raise UsageError(f'there is no model provider "{provider}": see --help for the form') from None
        key = _KEYS.get(provider, f"{provider.upper()}_API_KEY")
        raise UsageError(
            f"model {provider}:{bare} cannot be set up ({type(error).__name__}): check its name, set {key}, "
            f"or use --model {EXTRACTIVE}, which needs no key"
        ) from None
    return model


@contextmanager
def _no_vertex() -> Iterator[None]:
    """A Gemini key is for the Gemini API: by these variables the client asks Vertex even when it is told not to."""
    names = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")
    hidden = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _arguments(provider: str, bare: str, options: ModelOptions) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if provider == "ollama":
        # The server's own default of a few thousand tokens cuts off the beginning of longer prompts in silence.
        arguments |= {"client_kwargs": {"timeout": options.timeout}, "num_ctx": _OLLAMA_CONTEXT}
    else:
        # The clients of openai and anthropic share connections between models with equal time-outs, also over event
        # loops and after one of them was closed. So no two are equal.
        timeout = options.timeout + next(_DIFFERENCES) * 1e-6
        arguments |= {"max_retries": 1 if provider == "google_genai" else 0, "timeout": timeout}
    if options.base_url:
        arguments["base_url"] = options.base_url
    if provider == "google_genai":
        arguments |= _gemini_arguments(bare, options)
    elif provider == "openai":
        arguments |= _openai_arguments(options)
    if options.temperature is not None and _takes_temperature(provider, bare):
        arguments["temperature"] = options.temperature
    return arguments


def _gemini_arguments(bare: str, options: ModelOptions) -> dict[str, Any]:
    # What the client logs and warns of (empty answers, new finish reasons) is told by us, in one line.
    logging.getLogger("langchain_google_genai").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message=".* is not a valid ", category=UserWarning, module="google.genai")
    # None is "the model's own"; without it the client sends 0.7 to names that it does not know.
    arguments: dict[str, Any] = {"temperature": None}
    if not os.environ.get("GOOGLE_GENAI_API_VERSION"):
        # google-genai 3 asks v1, which lacks the "-latest" names and previews; measured is v1beta.
        arguments["api_version"] = "v1beta"
    if options.google_api_key:
        arguments |= {"vertexai": False, "api_key": options.google_api_key.get_secret_value()}
    if options.thinking:
        version = _gemini_version(bare)
        if version and version < (3, 0):
            arguments["thinking_budget"] = _GEMINI_2_BUDGETS[options.thinking]
        else:  # only the lite models and the first Gemini 3 know "minimal"
            knows_minimal = "lite" in bare or version == (3, 0)
            arguments["thinking_level"] = (
                "low" if options.thinking == "minimal" and not knows_minimal else options.thinking
            )
    return arguments


def _openai_arguments(options: ModelOptions) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if options.base_url:
        # Other servers speak the older interface, and many of them ask for no key.
        arguments |= {"use_responses_api": False, "stream_usage": True}
        if not os.environ.get("OPENAI_API_KEY"):
            arguments["api_key"] = "none"
    elif options.thinking:
        arguments["reasoning_effort"] = options.thinking
    return arguments


def _takes_temperature(provider: str, bare: str) -> bool:
    """Whether the model accepts a temperature: Gemini's from 3.5-flash-lite on and OpenAI's reasoning models don't."""
    if provider == "google_genai":
        version = _gemini_version(bare)
        return version is not None and version < (3, 6) and "3.5-flash-lite" not in bare
    return not (provider == "openai" and re.match(r"o\d|gpt-5", bare))


def _gemini_version(bare: str) -> tuple[int, int] | None:
    match = _GEMINI.match(bare)
    return (int(match[1]), int(match[2] or 0)) if match else None


def _wrapped(model: BaseChatModel, provider: str, options: ModelOptions) -> BaseChatModel:
    """`model`, with the text wrapper where its own tool calling is not to be trusted or not wanted."""
    trusted = provider in _NATIVE or (provider == "openai" and not options.base_url)
    if options.tool_calling == "native" or (options.tool_calling == "auto" and trusted):
        return model
    from research_agent.models.text.react import TextReactModel

    return TextReactModel(inner=model, mode=options.tool_calling)
