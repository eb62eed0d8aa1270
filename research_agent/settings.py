"""Settings from defaults < environment < flags. The command line loads ``.env`` into the environment first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from research_agent.errors import UsageError
from research_agent.limits import Limits

# Google's deprecation page shuts gemini-2.5-flash down on 2026-12-01; this id costs the same.
DEFAULT_GEMINI_MODEL = "gemini-3.5-flash-lite"
EXTRACTIVE = "extractive"


class Settings(BaseSettings):
    """Everything a run may be told from outside. Field docs are in ``.env.example``."""

    model_config = SettingsConfigDict(
        env_prefix="RESEARCH_", extra="ignore", populate_by_name=True, env_ignore_empty=True
    )

    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")
    google_api_key: SecretStr | None = Field(None, validation_alias=AliasChoices("GOOGLE_API_KEY", "GEMINI_API_KEY"))
    gemini_model: str | None = Field(None, validation_alias="GEMINI_MODEL")
    chosen_model: str | None = Field(None, validation_alias="RESEARCH_MODEL")
    writer_model: str | None = None
    check: Literal["model", "program"] = "model"
    judge_model: str | None = None
    length: Literal["short", "standard", "long"] = "standard"
    model_base_url: str | None = None
    model_timeout: float = Field(120.0, gt=0)
    temperature: float | None = Field(None, ge=0, le=2)
    thinking: Literal["minimal", "low", "medium", "high"] | None = None
    tool_calling: Literal["auto", "native", "text", "schema"] = "auto"
    max_prompt_tokens: int = Field(32_000, ge=2_000)
    unknown_price_in: float = Field(3.0, ge=0)
    unknown_price_out: float = Field(15.0, ge=0)
    max_steps: int | None = Field(None, ge=1, le=10**9)
    max_stagnant_turns: int | None = Field(None, ge=1, le=10**9)
    max_identical_calls: int | None = Field(None, ge=1, le=10**9)
    max_seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_tokens: int | None = Field(None, ge=1, le=10**9)
    max_usd: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_tool_calls: int | None = Field(None, ge=1, le=10**9)
    max_calls_per_tool: int | None = Field(None, ge=1, le=10**9)
    max_calls_per_minute: int | None = Field(None, ge=1, le=10**9)
    max_seconds_per_tool: float | None = Field(None, gt=0, allow_inf_nan=False)
    corpus: Path | None = None
    search: str = ""
    since: str = Field("", pattern=r"^(\d{4}-\d\d-\d\d)?$")
    until: str = Field("", pattern=r"^(\d{4}-\d\d-\d\d)?$")
    approve: str = ""
    no_input: bool = False
    cache_age: float = Field(86_400.0, ge=0)
    allow_hosts: str = ""
    contact: str = ""
    respect_robots: bool = True
    data_dir: Path | None = None
    cache_dir: Path = Field(default_factory=lambda: platformdirs.user_cache_path("research-agent"))
    pg_bindir: Path | None = None
    pg_osuser: str | None = None

    @property
    def ceiling_price(self) -> tuple[float, float] | None:
        """USD a million tokens in and out for a model without a known price; none for those that cost nothing."""
        free = self.model == EXTRACTIVE or self.model.startswith("ollama:")
        return None if free else (self.unknown_price_in, self.unknown_price_out)

    @property
    def search_names(self) -> list[str]:
        """Names of the search providers to merge; empty for the default."""
        return [name for name in (part.strip() for part in self.search.split(",")) if name]

    @property
    def approved_tools(self) -> frozenset[str]:
        """Tools whose calls a person must approve."""
        return frozenset(name for name in (part.strip() for part in self.approve.split(",")) if name)

    def run_options(self) -> dict[str, Any]:
        """What a run needs to go on without its command line: where it searches, and with which models."""
        names = (
            "corpus",
            "search",
            "since",
            "until",
            "chosen_model",
            "writer_model",
            "check",
            "judge_model",
            "tool_calling",
            "approve",
            "length",
        )
        values = {name: getattr(self, name) for name in names}
        return {
            name: str(Path(value).resolve()) if name == "corpus" else value for name, value in values.items() if value
        }

    @property
    def allowed_hosts(self) -> list[str]:
        """Hosts beside the public web that pages may be fetched from, as ``host`` or ``host:port``."""
        return [host for host in (part.strip() for part in self.allow_hosts.split(",")) if host]

    def limits(self, stored: Mapping[str, Any] | None = None) -> Limits:
        """The limits that are set, over those that a run was started with, over the defaults."""
        names = {limit.name for limit in fields(Limits)}
        chosen = {name: value for name in names if (value := getattr(self, name)) is not None}
        return Limits(**{name: value for name, value in (stored or {}).items() if name in names} | chosen)

    @property
    def model(self) -> str:
        """The model as ``provider:name``; the built-in extractive one when there is no key and no choice."""
        if self.chosen_model:
            return self.chosen_model
        if self.google_api_key or self.gemini_model:
            return f"google_genai:{self.gemini_model or DEFAULT_GEMINI_MODEL}"
        return EXTRACTIVE


def load_settings(**flags: Any) -> Settings:
    """Settings with `flags` on top; a flag that is ``None`` was not given.

    Raises:
        UsageError: a value has the wrong form; the message names the setting.
    """
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        # The value itself is left out: it may be a secret in the wrong variable.
        raise UsageError(f"setting {name}: {first['msg']}. Correct it in the environment or in .env.") from None
