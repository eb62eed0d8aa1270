"""What must stand in the passage letter for letter: quotations, and identifiers such as DOI, arXiv number or ISBN."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Opening and closing marks of one style each; a quotation does not nest in its own style, so no expression backtracks.
_QUOTATION = re.compile(
    r"“([^“”]{2,600})”|„([^„“”]{2,600})[“”]|\"([^\"]{2,600})\"|«([^«»]{2,600})»|「([^「」]{2,600})」|『([^『』]{2,600})』"
)
_IDENTIFIER = re.compile(
    r"\b10\.\d{4,9}/[^\s\]>\"”)]+|\barxiv:\s?[\w.\-/]+|\bISBN[:\s]?[\d\-Xx]{9,20}|\bPMID:?\s?\d{4,12}|\b[0-9a-f]{16,}\b"
    r"|\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}|\b[a-z0-9-]{1,64}(?:\.[a-z0-9-]{1,64}){1,4}/[^\s\]>\"”)]+",
    re.IGNORECASE,
)
_DASHES = str.maketrans({"–": "-", "—": "-", "‐": "-", "‑": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "…": "."})


def missing_verbatim(claim: str, quotes: Sequence[str]) -> list[str]:
    """Quotations and identifiers of the claim that none of `quotes` holds."""
    wanted = [next(filter(None, match.groups())) for match in _QUOTATION.finditer(claim)]
    wanted += [match[0].rstrip(".,;:") for match in _IDENTIFIER.finditer(claim)]
    held = [_folded(quote) for quote in quotes]
    return [piece for piece in wanted if not any(_folded(piece).strip(" .,;:!?") in quote for quote in held)]


def _folded(text: str) -> str:
    """Without what typesetting changes: white space, width, dashes, quotes, and the case of the first letter."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_DASHES).casefold().split())
