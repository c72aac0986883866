"""Names in SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """A name as both dialects read it exactly.

    >>> print(quoted('Order "x" Details'))
    "Order ""x"" Details"
    """
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Several names, with commas."""
    return ", ".join(map(quoted, names))


def literal(text: str) -> str:
    """A text as both dialects read it exactly."""
    return "'" + text.replace("'", "''") + "'"
