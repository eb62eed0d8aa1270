"""What every search provider gives, the protocol it follows, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from research_agent.documents import SearchHit
from research_agent.errors import SourceError, UsageError

if TYPE_CHECKING:
    from research_agent.web.client import GuardedClient


class SearchProvider(Protocol):
    """A place that can be searched. Raises `SourceError` with a hint when it can't answer."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int, *, since: str = "", until: str = "") -> list[SearchHit]:
        """At most `limit` hits, best first; an empty list when nothing matches.

        `since` and `until` are days as ``YYYY-MM-DD``, both included; a provider that can't tell when
        something was published ignores them.
        """
        ...


Trouble = Literal["limited", "refused", "rejected", "failed"]


class SearchError(SourceError):
    """A provider did not answer. The text is written for the model and never holds a key.

    Args:
        trouble: ``limited`` (too many searches), ``refused`` (key, plan, address), ``rejected`` (this query;
            the provider itself is well) or ``failed`` (network, server, unreadable answer).
        wait: seconds until it makes sense to ask again, where the provider said so.
    """

    def __init__(self, message: str, trouble: Trouble = "failed", wait: float | None = None) -> None:
        super().__init__(message, f"search_{trouble}")
        self.trouble: Trouble = trouble
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Setup:
    """What a provider may be made from. Each provider's module has a function ``make(setup)``."""

    client: GuardedClient
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    language: str = ""  # ISO 639-1; "" is: guess from each query

    def get(self, *variables: str) -> str:
        """The first of the environment's `variables` that is set, or ""."""
        return next((value for name in variables if (value := self.environment.get(name, "").strip())), "")

    def require(self, provider: str, variable: str, what: str, *others: str) -> str:
        """As `get`; `UsageError` that names `variable` when none is set."""
        if value := self.get(variable, *others):
            return value
        raise UsageError(f"search with {provider} needs {what}: set {variable} in the environment or in .env")
