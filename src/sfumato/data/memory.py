"""Memory that large tables leave behind: freed, and still held by the C library, which may need none of it for long.

Where a method has ended, the release is read back and judged, and what the method held lies idle between arrays that are still
in use: of five million rows 600 MB.
"""

from __future__ import annotations

from contextlib import suppress

LARGE = 2_000_000
"""Rows from which on it is worth the time to give memory back."""


def give_back(rows: int) -> None:
    """Hand freed memory to the system, when so many rows were worked on and the C library can be told so."""
    if rows >= LARGE:
        import ctypes

        with suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).malloc_trim(0)
