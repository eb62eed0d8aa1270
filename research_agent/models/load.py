"""``provider:name`` → a chat model."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel

from research_agent.errors import UsageError
from research_agent.settings import EXTRACTIVE, Settings


def load_model(settings: Settings) -> BaseChatModel:
    """The model that `settings` name. The client's own retries are off: `models.call` does them, and records each.

    Raises:
        UsageError: the provider is unknown, its package is missing, or it has no key.
    """
    if settings.model == EXTRACTIVE:
        from research_agent.models.extractive import ExtractiveChatModel

        return ExtractiveChatModel()
    provider, separator, name = settings.model.partition(":")
    if not separator or not provider or not name:
        raise UsageError(
            f'model "{settings.model}" is not of the form provider:name: use for example '
            f"google_genai:gemini-3.5-flash-lite, openai:NAME, or {EXTRACTIVE} (needs no key)"
        )
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"max_retries": 1, "timeout": settings.model_timeout}
    if provider == "google_genai" and settings.google_api_key:
        options["api_key"] = settings.google_api_key.get_secret_value()
    try:
        model: BaseChatModel = init_chat_model(name, model_provider=provider, **options)
    except ImportError:
        raise UsageError(
            f"the package for {provider} models is not installed: pip install 'research-agent[{provider}]' "
            f"or langchain-{provider.replace('_', '-')}"
        ) from None
    except ValueError as error:  # pydantic's errors are ValueErrors; their text may show the key
        key = "GEMINI_API_KEY" if provider == "google_genai" else f"{provider.upper()}_API_KEY"
        if "Unsupported" in str(error):
            raise UsageError(f'there is no model provider "{provider}": see --help for the form') from None
        raise UsageError(
            f"model {settings.model} cannot be set up: set {key}, or use --model {EXTRACTIVE}, which needs no key"
        ) from None
    except Exception as error:
        raise UsageError(
            f"model {settings.model} cannot be set up ({type(error).__name__}): "
            f"check its name and key, or use --model {EXTRACTIVE}, which needs no key"
        ) from None
    return model
