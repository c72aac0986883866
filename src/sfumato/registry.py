"""A file is its own registration: what a room offers is found by looking into its folder.

A room is a package. Every module in it, and in the families one level below, that says ``name: ClassVar[str] = …`` may define
classes that derive from the room's base class. There is no list to edit; modules that declare no name are not even imported.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")

_DECLARES = re.compile(r"^    ((?:name: ClassVar\[str\]|form: ClassVar\[type\[Form\]\]) = .*)$", re.MULTILINE)
_COMPUTED = re.compile(r"name: ClassVar\[str\] = [^\"]")


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


def declaring(room: str, base: type[T], line: str) -> list[type[T]]:
    """The entries of the modules that write this line in a class, sorted by name; nothing else of the room is imported.

    >>> from sfumato.models.base import Model
    >>> [model.name for model in declaring("models", Model, 'name: ClassVar[str] = "k-anonymity"')]
    ['k-anonymity']
    """
    package = importlib.import_module(f"sfumato.{room}")
    named = [place for place, lines in _declarations(package.__name__, tuple(package.__path__)) if line in lines]
    return sorted((one for place in named for one in _offered(place, base)), key=lambda one: one.name)  # type: ignore[attr-defined]


@cache
def _found(package: str, path: tuple[str, ...], base: type[T], name: str) -> type[T] | None:
    written = f'name: ClassVar[str] = "{name}"'
    for place, lines in _declarations(package, path):
        if written in lines or any(_COMPUTED.match(line) for line in lines):
            for one in _offered(place, base):
                if one.name == name:  # type: ignore[attr-defined]
                    return one
    return None


@cache
def _scanned(package: str, path: tuple[str, ...], base: type[T]) -> dict[str, type[T]]:
    """One look into a room; a room that gets another folder is looked at anew."""
    offered = (one for place, _ in _declarations(package, path) for one in _offered(place, base))
    return dict(sorted((one.name, one) for one in offered))  # type: ignore[attr-defined]


def _offered(place: str, base: type[T]) -> Iterator[type[T]]:
    module = importlib.import_module(place)
    return (one for one in list(vars(module).values()) if _belongs(one, base, place))


@cache
def _declarations(package: str, path: tuple[str, ...], depth: int = 1) -> tuple[tuple[str, frozenset[str]], ...]:
    """The modules of a room, and of the families below it, that declare a name, each with its lines of that kind."""
    found: list[tuple[str, frozenset[str]]] = []
    for place in (os.path.join(folder, file) for folder in path for file in sorted(os.listdir(folder))):
        stem, ending = os.path.splitext(os.path.basename(place))
        if ending == ".py" and stem != "__init__":
            with open(place, encoding="utf-8") as source:
                lines = frozenset(_DECLARES.findall(source.read()))
            if any(line.startswith("name: ") for line in lines):
                found.append((f"{package}.{stem}", lines))
        elif depth and stem != "kernels" and os.path.exists(os.path.join(place, "__init__.py")):
            found += _declarations(f"{package}.{stem}", (place,), depth - 1)
    return tuple(found)


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
