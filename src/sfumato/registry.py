"""A file is its own registration: what a room offers is found by looking into its folder.

A room is a package. Every module in it, and in the families one level below, that says ``name: ClassVar[str] = …`` may define
classes that derive from the room's base class. There is no list to edit; modules that declare no name are not even imported.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib.machinery import FileFinder
from typing import Any, TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")

_DECLARES = re.compile(r"^    name: ClassVar\[str\] = ", re.MULTILINE)


def catalogue(room: str, base: type[T]) -> dict[str, type[T]]:
    """Name → class for everything in the room `sfumato.<room>` that derives from `base`, in alphabetical order.

    >>> from sfumato.models.base import Model
    >>> "k-anonymity" in catalogue("models", Model)
    True
    """
    package = importlib.import_module(f"sfumato.{room}")
    return dict(_scanned(package.__name__, tuple(package.__path__), base))  # type: ignore[arg-type]


@cache
def _scanned(package: str, path: tuple[str, ...], base: type[T]) -> dict[str, type[T]]:
    """One look into a room; a room that gets another folder is looked at anew."""
    found: dict[str, type[T]] = {}
    for name in _declaring(package, path):
        module = importlib.import_module(name)
        for entry in vars(module).values():
            if _belongs(entry, base, module.__name__):
                found[entry.name] = entry
    return dict(sorted(found.items()))


def _declaring(package: str, path: tuple[str, ...], depth: int = 1) -> Iterator[str]:
    """The modules of a room, and of the families below it, that declare a name."""
    for info in pkgutil.iter_modules(path, package + "."):
        assert isinstance(info.module_finder, FileFinder)
        if info.ispkg and depth and not info.name.endswith(".kernels"):
            folder = importlib.import_module(info.name)
            yield from _declaring(info.name, tuple(folder.__path__), depth - 1)
        elif not info.ispkg and _DECLARES.search(_source(info.module_finder, info.name)):
            yield info.name


def _source(finder: FileFinder, name: str) -> str:
    spec = finder.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    return str(spec.loader.get_source(name) or "")  # type: ignore[attr-defined]


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
