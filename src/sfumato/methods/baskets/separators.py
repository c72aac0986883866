"""What stands between the items of a published set: the first of a few signs that no item contains."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import Infeasible


def separator_for(names: Iterable[str]) -> str:
    """A sign that no item contains.

    >>> separator_for(["green tea"])
    ','
    """
    named = tuple(names)
    for candidate in (" ", ",", ";", "|", "\t"):
        if not any(candidate in name for name in named):
            return candidate
    raise Infeasible("items contain every separator a release could use", where="items", hint="rename items")
