"""What a number is: one strict definition for everything that reads numbers from text.

A sign, ASCII digits with at most one point, an exponent, and nothing else around or between them: ``12``, ``-0.5``, ``+3``,
``.5``, ``5.``, ``1e3``. Written out, a number has at most 40 digits before the point and at most 40 behind it, so that exact
arithmetic on it stays cheap. Blanks, underscores, decimal commas, ``nan`` and ``inf`` make no number.

Invariants
    I1  A label that is made of numbers (``lo-hi``, ``[lo, hi)``) is read back as the same two numbers, in one way only.

>>> [str(number(text)) for text in ("12", ".5", "1e3", "1e400", " 7", "1_0", "nan", "1,5")]
['12', '0.5', '1E+3', 'None', 'None', 'None', 'None', 'None']
>>> span("-5--3"), span("[0.5, 1)"), span("Rome")
((Decimal('-5'), Decimal('-3'), True), (Decimal('0.5'), Decimal('1'), False), None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal

from sfumato.data.labels import row_of
from sfumato.errors import DataError

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


def number(text: str) -> Decimal | None:
    """The number that `text` writes, exactly; None when it is none, or has more digits than are read."""
    if len(text) > LONGEST or not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    return value if value.adjusted() < DIGITS and int(value.as_tuple().exponent) >= -DIGITS else None


def whole(text: str) -> int | None:
    """The whole number that `text` writes, in digits only; None when it is none."""
    if len(text) > LONGEST or not _WHOLE.fullmatch(text):
        return None
    value = int(text)
    return value if abs(value) < _TOO_LARGE else None


def is_whole(value: Decimal) -> bool:
    """Whether nothing stands behind the point, at any size."""
    return value == value.to_integral_value(context=EXACT)


def numbers(values: Sequence[str], column: str) -> list[Decimal]:
    """All values as numbers; the first that is none is a `DataError` with its row."""
    found = []
    for value in values:
        value_read = number(value)
        if value_read is None:
            raise no_number(values, value, column)
        found.append(value_read)
    return found


def no_number(values: Sequence[str], value: str, column: str) -> DataError:
    """What to say of a value that is no number: its row, never the value itself."""
    row = row_of(values, value)
    what = f"row {row} of column '{column}' is no number" if row else f"column '{column}' has a value that is no number"
    if number(value.replace(",", ".", 1)) is not None:
        return DataError(what, hint=f"it has a decimal comma: write 'decimal_comma: [{column}]' under data")
    if number(value.strip()) is not None:
        return DataError(what, hint="there are blanks around it: clean the column, or use another hierarchy")
    if value[:1] in set("+-.0123456789"):
        return DataError(what, hint=f"write it in plain digits, at most {DIGITS} before and behind the point")
    return DataError(what, hint="list texts that mean 'missing' in 'missing: [NA]' under data, or use another hierarchy")


def span(label: str) -> tuple[Decimal, Decimal, bool] | None:
    """The two ends of ``lo-hi`` or ``[lo, hi)``, and whether the upper end belongs to it; None for any other text (I1)."""
    ends = span_ends(label)
    if ends is None:
        return None
    low, high = number(ends[0]), number(ends[1])
    return None if low is None or high is None else (low, high, not label.endswith(")"))


def span_ends(label: str) -> tuple[str, str] | None:
    """The two ends as they are written."""
    if len(label) > 2 * LONGEST + 4:
        return None
    found = _CLOSED.fullmatch(label) or _HALF_OPEN.fullmatch(label)
    return None if found is None else (found[1], found[2])


def plain(value: Decimal) -> str:
    """A number in digits, without an exponent.

    >>> plain(Decimal("3E+2")), plain(Decimal("-0.50"))
    ('300', '-0.50')
    """
    return f"{value:f}"
