"""Functions that rules may call on the values of one record, and forms with a check digit.

A value is a text, or an exact fraction (of a day: its day number). A function of something missing is missing.

>>> call("age", [Fraction(date(2000, 5, 4).toordinal()), Fraction(date(2018, 5, 3).toordinal())])
Fraction(17, 1)
>>> call("initials", ["Carla von Schmidt"]), call("mod", [Fraction(17), Fraction(5)]), is_valid("iban",
...     "DE89370400440532013000")
('CvS', Fraction(2, 1), True)
"""

from __future__ import annotations

import calendar
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from sfumato.data.check_digits import NUMBERS, is_valid

Scalar = str | Fraction

__all__ = ["FUNCTIONS", "NUMBERS", "Scalar", "call", "format_value", "is_valid"]


@dataclass(frozen=True, slots=True)
class RowFunction:
    """Kinds of the arguments (`any` fits all), kind of the result, and what it does."""

    arguments: tuple[str, ...]
    result: str
    apply: Callable[..., Scalar]


def call(name: str, arguments: Sequence[Scalar]) -> Scalar:
    """The value of a function; arguments are there and of the right kinds."""
    return FUNCTIONS[name].apply(*arguments)


def format_value(value: Scalar) -> str:
    """A value as text: whole numbers without a point."""
    if isinstance(value, str):
        return value
    return str(value.numerator) if value.denominator == 1 else f"{float(value):f}".rstrip("0")


def _day(value: Fraction) -> date:
    return date.fromordinal(math.floor(value))


def _age(born: Fraction, then: Fraction) -> Fraction:
    one, two = _day(born), _day(then)
    return Fraction(two.year - one.year - ((two.month, two.day) < (one.month, one.day)))


def _workdays(start: Fraction, end: Fraction) -> Fraction:
    """Mondays to Fridays after the first day up to the last."""
    one, two = math.floor(start), math.floor(end)
    sign = 1 if two >= one else -1
    low, high = min(one, two), max(one, two)
    weeks, rest = divmod(high - low, 7)
    return Fraction(sign * (weeks * 5 + sum((low + step) % 7 not in (6, 0) for step in range(1, rest + 1))))


def _month_end(value: Fraction) -> Fraction:
    day = _day(value)
    return Fraction(day.replace(day=calendar.monthrange(day.year, day.month)[1]).toordinal())


def _months(value: Fraction, count: Fraction) -> Fraction:
    day = _day(value)
    year, month = divmod(day.year * 12 + day.month - 1 + int(count), 12)
    return Fraction(date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1])).toordinal())


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _lexemes(text: str) -> str:
    """A text-search vector without stemming: every word with its places, as PostgreSQL writes it."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(re.findall(r"[^\W_]+", text.lower()), start=1):
        places.setdefault(word, []).append(place)
    ordered = sorted(places, key=lambda word: word.encode())
    return " ".join(f"'{word}':{','.join(map(str, places[word]))}" for word in ordered)


def _rounded(value: Fraction, places: Fraction) -> Fraction:
    scale = Fraction(10) ** int(places)
    return Fraction(math.floor(abs(value) * scale + Fraction(1, 2))) / scale * (1 if value >= 0 else -1)


FUNCTIONS: dict[str, RowFunction] = {
    "lower": RowFunction(("text",), "text", str.lower),
    "upper": RowFunction(("text",), "text", str.upper),
    "initials": RowFunction(("text",), "text", lambda text: "".join(word[0] for word in text.split())),
    "slug": RowFunction(("text",), "text", _slug),
    "lexemes": RowFunction(("text",), "text", _lexemes),
    "concat": RowFunction(("any", "any"), "text", lambda one, two: format_value(one) + format_value(two)),
    "left": RowFunction(("text", "number"), "text", lambda text, count: text[: int(count)]),
    "right": RowFunction(("text", "number"), "text", lambda text, count: text[-int(count) :] if count else ""),
    "length": RowFunction(("text",), "number", lambda text: Fraction(len(text))),
    "weekday": RowFunction(("date",), "number", lambda day: Fraction(_day(day).isoweekday())),
    "day": RowFunction(("date",), "number", lambda day: Fraction(_day(day).day)),
    "month": RowFunction(("date",), "number", lambda day: Fraction(_day(day).month)),
    "year": RowFunction(("date",), "number", lambda day: Fraction(_day(day).year)),
    "month_end": RowFunction(("date",), "date", _month_end),
    "months_after": RowFunction(("date", "number"), "date", _months),
    "age": RowFunction(("date", "date"), "number", _age),
    "workdays": RowFunction(("date", "date"), "number", _workdays),
    "mod": RowFunction(("number", "number"), "number", lambda one, two: one % two),
    "round": RowFunction(("number", "number"), "number", _rounded),
    "floor": RowFunction(("number",), "number", lambda value: Fraction(math.floor(value))),
    "abs": RowFunction(("number",), "number", abs),
}
