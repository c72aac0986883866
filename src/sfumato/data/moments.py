"""Written moments as exact days: a day number and the share of the day that has passed, in UTC when a zone is written.

>>> moment("2005-05-24 12:00:00") - moment("2005-05-23")
Fraction(3, 2)
>>> moment("2005-05-24 12:00:00+02") == moment("2005-05-24 10:00:00"), moment("noon")
(True, None)
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

_DAY = 86_400
_MICRO = 1_000_000


def moment(text: str) -> Fraction | None:
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


def steps(text: str, unit: int) -> int | None:
    """How many steps of a day, `unit` of them each, have passed until a moment; None when it lies between two.

    >>> steps("0001-01-01 12:00:00", 24), steps("0001-01-01 12:30:00", 24)
    (36, None)
    """
    passed = _microseconds(text)
    if passed is None:
        return None
    whole, rest = divmod(passed * unit, _DAY * _MICRO)
    return None if rest else whole


def written(days: Fraction) -> str:
    """`2005-05-24 12:00:00`, with a fraction of the second only when there is one.

    >>> written(Fraction(3, 2))
    '0001-01-01 12:00:00'
    """
    day, rest = divmod(days * _DAY * _MICRO, _DAY * _MICRO)
    seconds, micro = divmod(int(rest), _MICRO)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + (f".{micro:06d}" if micro else "")
    return f"{date.fromordinal(int(day)).isoformat()} {clock}"
