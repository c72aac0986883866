"""A file is its own registration: what a room offers is found by looking into its folder.

A room is a package. Every module in it, and in the families one level below, that says ``name: ClassVar[str] = …`` may define
classes that derive from the room's base class. There is no list to edit; modules that declare no name are not even imported.
"""

from __future__ import annotations

import difflib
import importlib
import os
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


def entry(room: str, base: type[T], name: str) -> type[T] | None:
    """The entry called `name`, None when there is none; nothing else of the room is imported.

    >>> from sfumato.models.base import Model
    >>> entry("models", Model, "k-anonymity").__name__, entry("models", Model, "k")
    ('KAnonymity', None)
    """
    package = importlib.import_module(f"sfumato.{room}")
    return _found(package.__name__, tuple(package.__path__), base, name)  # type: ignore[arg-type]


@cache
def _found(package: str, path: tuple[str, ...], base: type[T], name: str) -> type[T] | None:
    for place in _declaring(package, path, written=f'    name: ClassVar[str] = "{name}"\n'):
        module = importlib.import_module(place)
        for one in vars(module).values():
            if _belongs(one, base, module.__name__) and one.name == name:
                found: type[T] = one
                return found
    return None


@cache
def _scanned(package: str, path: tuple[str, ...], base: type[T]) -> dict[str, type[T]]:
    """One look into a room; a room that gets another folder is looked at anew."""
    found: dict[str, type[T]] = {}
    for name in _declaring(package, path):
        module = importlib.import_module(name)
        for one in vars(module).values():
            if _belongs(one, base, module.__name__):
                found[one.name] = one
    return dict(sorted(found.items()))


def _declaring(package: str, path: tuple[str, ...], depth: int = 1, written: str = "") -> Iterator[str]:
    """The modules of a room, and of the families below it, that declare a name; those that have a line written, if one is given."""
    for info in pkgutil.iter_modules(path, package + "."):
        assert isinstance(info.module_finder, FileFinder)
        if info.ispkg and depth and not info.name.endswith(".kernels"):
            folder = os.path.join(info.module_finder.path, info.name.rpartition(".")[2])
            yield from _declaring(info.name, (folder,), depth - 1, written)
        elif not info.ispkg:
            source = _source(info.module_finder, info.name)
            if written in source if written else _DECLARES.search(source):
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
    if (known := entry(room, base, name)) is not None:
        return known
    entries = catalogue(room, base)
    what = base.__name__.lower()
    raise PolicyError(f"unknown {what} '{name}'", where=where, hint=nearest(name, list(entries)))


def nearest(name: str, known: list[str]) -> str:
    """The hint for a misspelt name.

    >>> nearest("k-anonimity", ["k-anonymity", "p-sensitivity"])
    "did you mean 'k-anonymity'?"
    """
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)
