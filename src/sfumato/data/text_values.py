"""What a number is: one strict definition for everything that reads numbers from text.

A sign, ASCII digits with at most one point, an exponent, and nothing else around or between them: ``12``, ``-0.5``,
``+3``, ``.5``, ``5.``, ``1e3``. Written out, a number has at most 40 digits before the point and at most 40 behind it,
so that exact arithmetic on it stays cheap. Blanks, underscores, decimal commas, ``nan`` and ``inf`` make no number.

Invariants
    I1  A label that is made of numbers (``lo-hi``, ``[lo, hi)``) is read back as the same two numbers, in one way only.

>>> [str(parse_number(text)) for text in ("12", ".5", "1e3", "1e400", " 7", "1_0", "nan", "1,5")]
['12', '0.5', '1E+3', 'None', 'None', 'None', 'None', 'None']
>>> parse_interval("-5--3"), parse_interval("[0.5, 1)"), parse_interval("Rome")
((Decimal('-5'), Decimal('-3'), True), (Decimal('0.5'), Decimal('1'), False), None)


Moments
-------
Written moments as exact days: a day number and the share of the day that has passed, in UTC when a zone is written.

>>> parse_timestamp("2005-05-24 12:00:00") - parse_timestamp("2005-05-23")
Fraction(3, 2)
>>> parse_timestamp("2005-05-24 12:00:00+02") == parse_timestamp("2005-05-24 10:00:00"), parse_timestamp("noon")
(True, None)


Labels
------
The distinct values of a column, each with the row in which it stood first: errors name the row, never the value.

>>> import numpy as np
>>> ages = Labels.coded(("30", "", "x"), np.array([0, 0, 1, 2]))
>>> first_row_of(ages, "x"), first_row_of(ages.without(""), "x"), first_row_of(["30", "x"], "x")
(4, 4, None)


Formulas
--------
Cells that a spreadsheet would take for a formula: they begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage
return.

What is made of digits and signs only, like ``-5``, ``+49 170 1234`` or the range ``-10--1``, is none.

>>> [is_formula(text) for text in ("=1+1", "@SUM(A1)", "-A1", "+cmd|' /C calc'!A0", "-5", "-1.5e3", "+49 170 1234",
...     "a=b", "-", "")]
[True, True, True, True, False, False, False, False, False, False]
>>> escape_formula("=1+1"), escape_formula("-5")
("'=1+1", '-5')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.errors import DataError

DIGITS = 40
"""The most digits of a number on either side of its point."""
LONGEST = 3 * DIGITS
"""The most characters of a written number, zeros and exponent included."""
EXACT = Context(prec=6 * DIGITS)
"""Wide enough for sums and products of two numbers without rounding."""

_TEXT = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_NUMBER, _WHOLE, _TOO_LARGE = re.compile(_TEXT), re.compile("[+-]?[0-9]+"), 10**DIGITS
_CLOSED = re.compile(rf"({_TEXT})-({_TEXT})")
_HALF_OPEN = re.compile(rf"\[({_TEXT}), ({_TEXT})\)")


def parse_number(text: str) -> Decimal | None:
    """The number that `text` writes, exactly; None when it is none, or has more digits than are read."""
    if len(text) > LONGEST or not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    return value if value.adjusted() < DIGITS and int(value.as_tuple().exponent) >= -DIGITS else None


def parse_integer(text: str) -> int | None:
    """The whole number that `text` writes, in digits only; None when it is none."""
    if len(text) > LONGEST or not _WHOLE.fullmatch(text):
        return None
    value = int(text)
    return value if abs(value) < _TOO_LARGE else None


def is_whole(value: Decimal) -> bool:
    """Whether nothing stands behind the point, at any size."""
    return value == value.to_integral_value(context=EXACT)


def parse_numbers(values: Sequence[str], column: str) -> list[Decimal]:
    """All values as numbers; the first that is none is a `DataError` with its row."""
    found = []
    for value in values:
        value_read = parse_number(value)
        if value_read is None:
            raise not_a_number_error(values, value, column)
        found.append(value_read)
    return found


def not_a_number_error(values: Sequence[str], value: str, column: str) -> DataError:
    """What to say of a value that is no number: its row, never the value itself."""
    row = first_row_of(values, value)
    what = f"row {row} of column '{column}' is no number" if row else f"column '{column}' has a value that is no number"
    if parse_number(value.replace(",", ".", 1)) is not None:
        return DataError(what, hint=f"it has a decimal comma: write 'decimal_comma: [{column}]' under data")
    if parse_number(value.strip()) is not None:
        return DataError(what, hint="there are blanks around it: clean the column, or use another hierarchy")
    if value[:1] in set("+-.0123456789"):
        return DataError(what, hint=f"write it in plain digits, at most {DIGITS} before and behind the point")
    return DataError(
        what, hint="list texts that mean 'missing' in 'missing: [NA]' under data, or use another hierarchy"
    )


def parse_interval(label: str) -> tuple[Decimal, Decimal, bool] | None:
    """The two ends of ``lo-hi`` or ``[lo, hi)``, and whether the upper end belongs to it; None for any other text
    (I1)."""
    ends = interval_ends_text(label)
    if ends is None:
        return None
    low, high = parse_number(ends[0]), parse_number(ends[1])
    return None if low is None or high is None else (low, high, not label.endswith(")"))


def interval_ends_text(label: str) -> tuple[str, str] | None:
    """The two ends as they are written."""
    if len(label) > 2 * LONGEST + 4:
        return None
    found = _CLOSED.fullmatch(label) or _HALF_OPEN.fullmatch(label)
    return None if found is None else (found[1], found[2])


def format_number(value: Decimal) -> str:
    """A number in digits, without an exponent.

    >>> format_number(Decimal("3E+2")), format_number(Decimal("-0.50"))
    ('300', '-0.50')
    """
    return f"{value:f}"


# Moments
# -------


_DAY = 86_400
_MICRO = 1_000_000


def parse_timestamp(text: str) -> Fraction | None:
    """Days since the day before 0001-01-01, or None when the text is no moment."""
    passed = _microseconds(text)
    return None if passed is None else Fraction(passed, _DAY * _MICRO)


def _microseconds(text: str) -> int | None:
    """The same, in the smallest steps that are read."""
    try:
        if len(text) == 10:
            return date.fromisoformat(text).toordinal() * _DAY * _MICRO
        if len(text) < 16 or text[10] not in " T":
            return None
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            found = found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    seconds = (found.hour * 60 + found.minute) * 60 + found.second
    return (found.toordinal() * _DAY + seconds) * _MICRO + found.microsecond


def timestamp_steps(text: str, unit: int) -> int | None:
    """How many steps of a day, `unit` of them each, have passed until a moment; None when it lies between two.

    >>> timestamp_steps("0001-01-01 12:00:00", 24), timestamp_steps("0001-01-01 12:30:00", 24)
    (36, None)
    """
    passed = _microseconds(text)
    if passed is None:
        return None
    whole, rest = divmod(passed * unit, _DAY * _MICRO)
    return None if rest else whole


def format_timestamp(days: Fraction) -> str:
    """`2005-05-24 12:00:00`, with a fraction of the second only when there is one.

    >>> format_timestamp(Fraction(3, 2))
    '0001-01-01 12:00:00'
    """
    day, rest = divmod(days * _DAY * _MICRO, _DAY * _MICRO)
    seconds, micro = divmod(int(rest), _MICRO)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + (f".{micro:06d}" if micro else "")
    return f"{date.fromordinal(int(day)).isoformat()} {clock}"


# Labels
# ------


class Labels(tuple[str, ...]):
    """A tuple of distinct values that knows the codes of the rows it came from."""

    _codes: NDArray[Any] = np.empty(0, dtype=np.int32)
    _source: Sequence[str] = ()
    _texts: Any = None

    @classmethod
    def coded(cls, labels: Iterable[str], codes: NDArray[Any], texts: Any = None) -> Labels:
        """Labels whose place in the tuple is their code; `texts` are the same as an Arrow array, where there is one."""
        found = cls(labels)
        found._codes, found._source, found._texts = codes, tuple(found), texts
        return found

    def without(self, label: str) -> Labels:
        """The other labels; they still know their rows."""
        found = Labels(other for other in self if other != label)
        found._codes, found._source = self._codes, self._source
        return found

    def row(self, label: str) -> int | None:
        """The first row with this label, counted from 1."""
        rows = np.flatnonzero(self._codes == self._source.index(label)) if label in self._source else np.empty(0)
        return int(rows[0]) + 1 if len(rows) else None


def labels_as_texts(values: Sequence[str] | NDArray[Any]) -> Any:
    """The values as an Arrow array of texts; labels that came from one are not written again."""
    kept = values._texts if isinstance(values, Labels) else values if isinstance(values, pa.Array) else None
    return kept if kept is not None else pa.array(values, pa.string())


def first_row_of(values: Sequence[str], value: str) -> int | None:
    """The first row that holds `value`, when the values know their rows."""
    return values.row(value) if isinstance(values, Labels) else None


def without_label(values: Sequence[str], label: str) -> Sequence[str]:
    """The other values, with their rows when these are known."""
    return values.without(label) if isinstance(values, Labels) else [value for value in values if value != label]


# Formulas
# --------


_BEGINS = ("=", "+", "-", "@", "\t", "\r")
_FIRST = frozenset(_BEGINS)
_HARMLESS = re.compile(r"[-+.,\d %]*(?:\d[eE][-+]?\d+)?")
MARK = "'"


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would try to compute it."""
    return len(text) > 1 and text.startswith(_BEGINS) and not _HARMLESS.fullmatch(text)


def find_formulas(texts: Iterable[str]) -> list[int]:
    """The places of formulas; most texts do not begin like one, and cost nothing more.

    >>> find_formulas(["a", "=1+1", "-5", "", "@SUM(A1)"])
    [1, 4]
    """
    return [place for place, text in enumerate(texts) if text[:1] in _FIRST and is_formula(text)]


def escape_formula(text: str) -> str:
    """With an apostrophe before it when it is a formula; spreadsheets then show it as the text it is."""
    return MARK + text if is_formula(text) else text
