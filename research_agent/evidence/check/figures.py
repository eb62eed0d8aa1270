"""Numbers with units, and dates, in a form that can be compared: 1,200 = 1200, 46 % = 46 percent, 12 March = 03-12."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from research_agent.evidence.check.lexicon import AMBIGUOUS_NUMBERS, MONTHS, MULTIPLIERS, NUMBER_WORDS, UNITS

_GROUP_SPACES = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'’](?=\d{3}(?!\d))")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})++(?![\d.,]\d|\d)")
_RANGE = re.compile(r"\s*(?:to|and|or|bis|und|oder|à|et|ou|y|o|a|đến|và|から|～|~|[-–—])\s*")
# A number begins at a digit that no letter, digit or point precedes with a digit: the expression can't backtrack.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]])[-−](?=\d))?(?P<money>[$€£¥₫₩₹])?[ ]?(?<!\d)(?P<digits>\d++(?:[.,:]\d++)*+)(?P<tail>[½¼¾]?)"
)
_AFTER = re.compile(r"[\s\-‐‑\u00a0]*(%|‰|[^\W\d_]+|[%°$€£¥₫₩₹])")
_NUMBER_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")

_FRACTIONS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}
_MONTH = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<![\d-])(?P<year>\d{4})-(?P<m>\d{1,2})-(?P<day>\d{1,2})(?![\d-])",
        r"(?<!\d)(?P<year>\d{4})年(?:(?P<m>\d{1,2})月(?:(?P<day>\d{1,2})日)?)?",
        r"(?<!\d)(?P<m>\d{1,2})月(?P<day>\d{1,2})日",
        r"(?<!\d)(?P<day>\d{1,2})(?:st|nd|rd|th|\.|er)?(?: of| de)? "
        + _MONTH
        + r"(?:,?(?: de)? (?P<year>\d{4}))?(?!\d)",
        r"\b" + _MONTH + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<year>\d{4}))?(?!\d)",
        r"\b" + _MONTH + r",?(?: of| de)? (?P<year>\d{4})(?!\d)",
        r"(?:ngày (?P<day>\d{1,2}) )?tháng (?P<m>\d{1,2})(?: năm (?P<year>\d{4}))?(?!\d)",
        r"(?<![\d.])(?P<day>\d{1,2})\.(?P<m>\d{1,2})\.(?P<year>\d{4})(?![\d.])",
        r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4})(?![\d/])",
    )
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written, what it may mean (1.200 is 1200 or 1.2), and its unit ("" if none is known).

    Times and versions (12:30, 4.3.2) are no quantities: their value is how they are written.
    """

    written: str
    values: frozenset[Decimal | str]
    unit: str

    def same(self, other: Figure) -> bool:
        """Whether `other` can be this quantity; a unit that this one leaves out does not part them, but for percent."""
        unit = "%" if "%" in (self.unit, other.unit) else self.unit or other.unit
        return (
            bool(self.values & other.values)
            and other.unit == unit
            and self.unit in ("", unit)
            and (unit != "%" or self.unit == unit)
        )


@dataclass(frozen=True, slots=True)
class Date:
    """A date; parts that are not given are 0. `swapped` is the other reading of 3/4/2021."""

    written: str
    year: int
    month: int
    day: int
    swapped: bool = False

    def within(self, other: Date) -> bool:
        """Whether each part that this date gives is given so by `other`."""
        readings = {(other.month, other.day)} | ({(other.day, other.month)} if other.swapped else set())
        return self.year in (0, other.year) and any(
            self.month in (0, month) and self.day in (0, day) for month, day in readings
        )


@dataclass(frozen=True, slots=True)
class Quantities:
    """All numbers and dates of a text."""

    figures: tuple[Figure, ...]
    dates: tuple[Date, ...]


def is_unit(word: str) -> bool:
    """Whether a word is the name of a unit; it says something only beside a number, and is compared with it."""
    return word.casefold() in UNITS


def is_number_word(word: str) -> bool:
    """Whether a word spells a number and hardly ever means anything else."""
    return (folded := word.casefold()) in NUMBER_WORDS and folded not in AMBIGUOUS_NUMBERS


def join_groups(text: str) -> str:
    """`text` with 1 200 and 1'200 written 1,200; offsets stay."""
    return _GROUPS.sub(lambda match: match[0].replace(" ", ","), _GROUP_SPACES.sub(",", text))


def canonical(word: str) -> str:
    """A number word or a run of digits in one form: ten and 10, 1,200 and 1200, 6,1 and 6.1 are the same."""
    if is_number_word(word):
        return str(NUMBER_WORDS[word.casefold()])
    match = _NUMBER.match(word)
    return min(map(str, _values(match["digits"])), key=len) if match and match.end() == len(word) else word.casefold()


def date_spans(text: str) -> list[tuple[int, int]]:
    """Where dates stand in `text`."""
    if not any(letter.isdigit() for letter in text):
        return []
    return [match.span() for form in _DATE_FORMS for match in form.finditer(text) if _date(match)]


@lru_cache(maxsize=8192)
def quantities(text: str) -> Quantities:
    """The numbers and dates of `text`."""
    text = join_groups(text)
    dates: list[Date] = []
    for form in _DATE_FORMS:
        for match in form.finditer(text):
            if date := _date(match):
                dates.append(date)
        text = form.sub(lambda match: " " * len(match[0]) if _date(match) else match[0], text)
    return Quantities((*_digit_figures(text), *_word_figures(text)), tuple(dates))


def missing_quantities(claim: Quantities, quotes: Sequence[str]) -> list[str]:
    """Numbers and dates of the claim, as written, that none of `quotes` holds."""
    held = [quantities(quote) for quote in quotes]
    figures = [figure for each in held for figure in each.figures]
    dates = [date for each in held for date in each.dates]
    years: set[Decimal | str] = {
        value for figure in figures if figure.unit in ("", "year") for value in figure.values
    } | {Decimal(date.year) for date in dates}
    missing = [
        figure.written
        for figure in claim.figures
        if not any(figure.same(other) for other in figures)
        and not (figure.values & years and figure.unit in ("", "year"))
    ]
    missing += [date.written for date in claim.dates if not _has_date(date, dates, years)]
    return missing


def date_missing(date: Date, known: Quantities) -> bool:
    """Whether a date stands nowhere among `known`, not even in parts that stand apart."""
    years: set[Decimal | str] = {value for figure in known.figures for value in figure.values}
    years |= {Decimal(other.year) for other in known.dates if other.year}
    return not _has_date(date, known.dates, years)


def _has_date(date: Date, dates: Sequence[Date], years: set[Decimal | str]) -> bool:
    if any(date.within(other) for other in dates):
        return True
    if not date.month:
        return Decimal(date.year) in years
    # "In 2021 …, on 12 March": the parts stand apart.
    day = Date(date.written, 0, date.month, date.day)
    return Decimal(date.year) in years and any(not other.year and day.within(other) for other in dates)


def _date(match: re.Match[str]) -> Date | None:
    parts = match.groupdict()
    year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
    if parts.get("a"):
        first, second = int(parts["a"]), int(parts["b"])
        return Date(match[0].strip(), year, first, second, swapped=True) if max(first, second) <= 31 else None
    name = parts.get("month")
    month = MONTHS[name.casefold()] if name else int(parts.get("m") or 0)
    if name and name[0].islower() and name.casefold() in ("may", "mar", "mars", "march", "sept", "dec"):
        return None  # "46 may follow": the verb
    return Date(match[0].strip(), year, month, day) if month <= 12 and day <= 31 else None


def _digit_figures(text: str) -> list[Figure]:
    found: list[Figure] = []
    open_range = -1  # where a number without unit ended
    for match in _NUMBER.finditer(text):
        values = _values(match["digits"])
        if match["tail"]:
            values = {v + _FRACTIONS[match["tail"]] if isinstance(v, Decimal) else v for v in values}
        if match["sign"]:
            values = {-v if isinstance(v, Decimal) else v for v in values}
        unit = UNITS.get(match["money"] or "", "")
        after = _AFTER.match(text, match.end(), match.end() + 24)
        written = match[0].strip()
        if after and (word := _leading(after[1].casefold())) in MULTIPLIERS:
            values = {v * MULTIPLIERS[word] if isinstance(v, Decimal) else v for v in values}
            written = f"{written} {word}"
            after = _AFTER.match(text, after.start(1) + len(word), after.end() + 24)
        if after and not unit:
            unit = UNITS.get(_leading(after[1].casefold()), "")
        if unit and open_range >= 0 and _RANGE.fullmatch(text, open_range, match.start()):
            found[-1] = replace(found[-1], unit=unit)  # "10 to 15 percent"
        open_range = -1 if unit else match.end()
        found.append(Figure(written, frozenset(values), unit))
    return found


def _leading(word: str) -> str:
    """The unit that an unspaced run begins with; the word itself in other scripts."""
    if word.isascii() or ord(word[0]) < 0x3000:
        return word
    return next((word[:n] for n in (5, 3, 2, 1) if word[:n] in UNITS or word[:n] in MULTIPLIERS), word)


def _values(digits: str) -> set[Decimal | str]:
    marks = re.findall(r"[.,:]", digits)
    plain = re.sub(r"[.,:]", "", digits)
    if len(plain) > 40 or ":" in marks:
        return {digits}
    if not marks:
        return {Decimal(digits)}
    groups = re.split(r"[.,]", digits)
    thousands = 1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    if len(marks) == 1:
        decimal = Decimal(digits.replace(",", "."))
        if not thousands or groups[0] == "0":
            return {decimal}
        return {Decimal(plain)} if marks[0] == "," else {Decimal(plain), decimal}
    if thousands and len(set(marks)) == 1:
        return {Decimal(plain)}
    if len(set(marks[:-1])) == 1 and marks[-1] != marks[0]:
        return {Decimal("".join(groups[:-1]) + "." + groups[-1])}
    return {digits}


def _word_figures(text: str) -> list[Figure]:
    found = []
    for match in _NUMBER_WORD.finditer(text):
        parts = match[0].casefold().split("-")
        values = [NUMBER_WORDS[part] for part in parts if part in NUMBER_WORDS and part not in AMBIGUOUS_NUMBERS]
        if values and (len(values) == len(parts) or values[:1] == [NUMBER_WORDS.get(parts[0])]):
            both = len(values) == 2 and values[0] >= 20 > values[1]
            after = _AFTER.match(text, match.end(), match.end() + 24)
            word = after[1].casefold() if after else ""
            total = (sum(values, Decimal(0)) if both else values[0]) * MULTIPLIERS.get(word, 1)
            found.append(Figure(match[0], frozenset({total}), UNITS.get(word, "")))
    return found
