"""What the words of the command line may be: each function makes a value of one, or says what is wrong with it."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from datetime import UTC, datetime, timedelta

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def text(argument: str) -> str:
    """An argument as the UTF-8 that was typed: under LC_ALL=C Python reads it as single bytes."""
    return os.fsencode(argument).decode("utf-8", "replace")


def positive(word: str) -> int:
    """A whole number from 1 to a billion."""
    if word.isascii() and word.isdigit() and 1 <= int(word[:12]) <= 10**9:
        return int(word)
    raise argparse.ArgumentTypeError(f'"{word[:40]}" is not a whole number from 1 to a billion')


def amount(word: str) -> float:
    """A number above 0."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(word)) < 1e12:
            return number
    raise argparse.ArgumentTypeError(f'"{word[:40]}" is not a number above 0')


def seconds(word: str) -> float:
    """A number of seconds, 0 included."""
    with contextlib.suppress(ValueError):
        if 0 <= (number := float(word)) < 1e12:
            return number
    raise argparse.ArgumentTypeError(f'"{word[:40]}" is not a number of seconds')


def duration(word: str) -> timedelta:
    """A length of time: 90m, 12h, 30d, 4w."""
    if (found := re.fullmatch(r"(\d{1,6})([mhdw])", word, re.ASCII)) and (amount := int(found[1])) <= 100_000:
        return timedelta(**{_UNITS[found[2]]: amount})
    raise argparse.ArgumentTypeError(f'"{word[:40]}" is not a length of time such as 90m, 12h, 30d or 4w')


def moment(word: str) -> datetime:
    """A day or time of this machine's clock (2026-11-30, 2026-11-30T18:00), or a length of time before now."""
    with contextlib.suppress(ValueError):
        day = datetime.fromisoformat(word)
        with contextlib.suppress(OverflowError, OSError):  # a zone has no offset at the beginning of our era
            return day.astimezone()
        return day.replace(tzinfo=UTC)
    with contextlib.suppress(argparse.ArgumentTypeError, OverflowError):
        return datetime.now(UTC) - duration(word)
    raise argparse.ArgumentTypeError(f'"{word[:40]}" is not a day (2026-11-30) or a length of time such as 12h or 7d')
