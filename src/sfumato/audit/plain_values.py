"""Numbers and moments in their plainest spelling, read at once: what servers write, in millions of rows.

`12`, `-0.50` and `2024-02-29 12:30:00.5` are read here, exactly; everything else (`1e3`, a zone, a week) is left to those who read
value by value, and both come to the same numbers.

>>> halves, denominator = whole_numbers(["1.50", "-2"])
>>> halves.tolist(), denominator, whole_numbers(["1", "x"])
([3, -4], 2, None)
>>> halves, denominator = moments(["0001-01-01", "0001-01-02 12:00:00"])
>>> halves.tolist(), denominator, moments(["noon"])
([2, 5], 2, None)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_NUMBER = r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$"
_PLACES = 6
_DAY, _EPOCH = 86_400_000_000, 719_163
"""Microseconds of a day, and the number of the day on which Unix counts from."""
Read = tuple[NDArray[Any], int]
"""Whole numbers over one denominator."""


def whole_numbers(texts: list[str]) -> Read | None:
    """Plain numbers over one denominator; None when one of the texts is no plain number."""
    written = _alike(texts, _NUMBER)
    if written is None:
        return None
    scaled = pc.cast(written, pa.decimal128(18, _PLACES))
    return _reduced(np.frombuffer(scaled.buffers()[1], dtype=np.int64)[::2][: len(texts)], 10**_PLACES)  # the lower half of each


def moments(texts: list[str]) -> Read | None:
    """Days and moments without a zone, in days; None when one of the texts is neither."""
    written = _alike(texts, _MOMENT)
    if written is None:
        return None
    try:
        passed = pc.cast(written, pa.timestamp("us")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # no such day
        return None
    since = passed + _EPOCH * _DAY
    return _reduced(since, _DAY) if int(since.min()) >= _DAY else None


def _alike(texts: list[str], form: str) -> pa.Array | None:
    try:
        written = pa.array(texts, pa.string())
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return written if pc.all(pc.match_substring_regex(written, form)).as_py() else None


def _reduced(parts: NDArray[np.int64], denominator: int) -> Read:
    """Over the smallest denominator that serves all."""
    common = int(np.gcd(np.gcd.reduce(parts), denominator))
    return parts // common, denominator // common
