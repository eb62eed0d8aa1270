"""A page as the rest of the system knows it: clean text and what is known about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Page:
    """A document that was read with success.

    `text` is clean (see `research_agent.text.clean`) and never changes: passages and quotes are offsets into it.
    """

    url: str
    title: str
    text: str
    kind: Literal["page", "document"] = "page"
    media_type: str = "text/plain"
    author: str = ""
    site: str = ""
    published: str = ""  # ISO date, "" when unknown
    language: str = ""  # BCP 47, "" when unknown

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text in hex: the same text at two addresses is one source."""
        return hashlib.sha256(self.text.encode()).hexdigest()
