"""Memory that large tables leave behind: freed, and still held by the C library, which may need none of it for long.

Where a method has ended, the release is read back and judged, and what the method held lies idle between arrays that are still
in use: of five million rows 600 MB.
"""

from __future__ import annotations

import re
from contextlib import suppress

LARGE = 2_000_000
"""Rows from which on it is worth the time to give memory back."""

_AMOUNT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([MGmg])[Bb]")


def amount(text: str) -> int:
    """Bytes of an amount of memory as somebody writes it.

    >>> amount("2 GB"), amount("0.5gb"), amount("800 MB")
    (2147483648, 536870912, 838860800)
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError("write an amount like '2 GB' or '800 MB'")
    return int(float(found[1]) * (1 << 30 if found[2].upper() == "G" else 1 << 20))


def give_back(rows: int) -> None:
    """Hand freed memory to the system, when so many rows were worked on and the C library can be told so."""
    if rows >= LARGE:
        trim()


def trim() -> None:
    """Hand freed memory to the system, where the C library can be told so."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
