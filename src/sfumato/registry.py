"""A file is its own registration: what a room offers is found by looking into its folder.

A room is a package; every module in it whose name does not begin with an underscore may define classes that derive from
the room's base class and carry a `name`. There is no list to edit.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import Any, TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")


def catalogue(room: str, base: type[T]) -> dict[str, type[T]]:
    """Name → class for everything in the room `sfumato.<room>` that derives from `base`, in alphabetical order.

    >>> from sfumato.models.base import Model
    >>> "k-anonymity" in catalogue("models", Model)
    True
    """
    package = importlib.import_module(f"sfumato.{room}")
    found: dict[str, type[T]] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        if module_info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for entry in vars(module).values():
            if _belongs(entry, base, module.__name__):
                found[entry.name] = entry
    return dict(sorted(found.items()))


def _belongs(entry: Any, base: type, module: str) -> bool:
    return (
        isinstance(entry, type)
        and issubclass(entry, base)
        and entry is not base
        and entry.__module__ == module
        and "name" in vars(entry)
    )


def find(room: str, base: type[T], name: str, *, where: str = "") -> type[T]:
    """The entry called `name`, or a `PolicyError` with the nearest known name."""
    entries = catalogue(room, base)
    if name in entries:
        return entries[name]
    what = base.__name__.lower()
    raise PolicyError(f"unknown {what} '{name}'", where=where, hint=nearest(name, list(entries)))


def nearest(name: str, known: list[str]) -> str:
    """The hint for a misspelt name.

    >>> nearest("k-anonimity", ["k-anonymity", "p-sensitivity"])
    "did you mean 'k-anonymity'?"
    """
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)
