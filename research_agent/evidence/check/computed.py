"""Figures that a writer worked out: computed again from the figures that the same sentence names.

Sums, differences, products, ratios, shares and changes in percent of two figures; the sum of all; the years, months
or days between two dates; how many things a list names. A result holds if it is right at the precision it is given in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from itertools import permutations

from research_agent.evidence.check.figures import Date, Figure, Quantities

_MOST = 12  # figures of one sentence that are combined
_CLOSE = Decimal("0.05")  # a rounded figure is never farther from what it rounds
_LIST = re.compile(r",| and | or | und | oder | et | y | e |;|、|，|和")


def is_computed(figure: Figure, founded: Quantities, text: str) -> bool:
    """Whether `figure` follows from the figures and dates of the same sentence that stand in its sources."""
    wanted = _numbers(figure)
    results = set(_results(founded, text))
    return any(_agrees(value, result) for value in wanted for result in results)


def is_rounded(figure: Figure, exact: Figure) -> bool:
    """Whether `figure` is `exact` given with fewer digits: 1.5 million for 1,523,000."""
    return any(
        _digits(value) < _digits(other) and _agrees(value, other) and abs(value - other) <= _CLOSE * abs(other)
        for value in _numbers(figure)
        for other in _numbers(exact)
    )


def _numbers(figure: Figure) -> list[Decimal]:
    return [value for value in figure.values if isinstance(value, Decimal)]


def _results(founded: Quantities, text: str) -> Iterator[Decimal]:
    values = list(dict.fromkeys(value for figure in founded.figures for value in _numbers(figure)))[:_MOST]
    for one, other in permutations(values, 2):
        with localcontext() as arithmetic:
            arithmetic.traps[DivisionByZero] = arithmetic.traps[InvalidOperation] = False
            found = [one + other, one - other, one * other, one / other, 100 * one / other, 100 * (one - other) / other]
        yield from (abs(value) for value in found if value.is_finite())
    if len(values) > 1:
        yield sum(values, Decimal(0))
        yield sum(values, Decimal(0)) / len(values)
    days = [day for each in founded.dates if (day := _day(each))]
    years = [Decimal(each.year) for each in founded.dates if each.year]
    years += [value for value in values if 1000 <= value <= 2200]
    for first, second in permutations(years, 2):
        yield from (abs(first - second), abs(first - second) + 1, abs(first - second) - 1)
    for early, late in permutations(days, 2):
        between = abs((late - early).days)
        yield from map(Decimal, (between, between + 1, round(between / 7), round(between / 30.44)))
    yield Decimal(len(_LIST.findall(text)) + 1)


def _day(given: Date) -> date | None:
    try:
        return date(given.year or 2001, given.month, given.day)  # without a year, both are of the same one
    except ValueError:
        return None


def _agrees(value: Decimal, exact: Decimal) -> bool:
    """Whether `value` is `exact`, rounded or cut at the last digit that `value` gives."""
    if value == exact:
        return True
    last = Decimal(1).scaleb(_exponent(value))
    return (abs(abs(value) - abs(exact)) < last and _digits(value) > 1) or abs(abs(value) - abs(exact)) * 2 <= last


def _exponent(value: Decimal) -> int:
    """Of ten, at the last digit that says something: 0 for 12, -1 for 1.5, 3 for 15000."""
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _digits(value: Decimal) -> int:
    return len(value.normalize().as_tuple().digits)
