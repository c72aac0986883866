"""Find what the package offers: a file is its own registration.

A model, method, form, metric, check, attack, source, report section and so on is a class that derives from the base of
its kind and declares ``name: ClassVar[str] = …``. `ROOMS` says below which folders each kind is looked for. The files
are read as text once per process; only modules with a class that derives from the wanted base, directly or through
others, are imported. There is no list to edit. A class may be in any file of its folders, alone or with others."""

from __future__ import annotations

import difflib
import importlib
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sfumato.core.errors import PolicyError

T = TypeVar("T")

ROOMS: dict[str, tuple[str, ...]] = {
    "models": ("models",),
    "io": ("io",),
    "forms": ("kinds",),
    "methods": ("kinds",),
    "metrics": ("kinds",),
    "checks": ("audit", "history", "kinds"),
    "evidence": ("kinds",),
    "source audits": ("kinds",),
    "attacks": ("audit", "kinds"),
    "report sections": ("audit", "history", "kinds"),
    "effects": ("kinds",),
    "discover": ("workflow.discover",),
    "templates": ("workflow.discover",),
    "demos": ("ui.demos",),
    "studio pages": ("ui.studio",),
}
"""Kind of entry → folders below which its files are."""

_BASES = ("release",)
"""Where classes stand that entries derive from without being entries."""
_CLASS = re.compile(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
_DECLARES = re.compile(r"^    ((?:name: ClassVar\[str\]|form: ClassVar\[type\[Form\]\]) = .*)$", re.MULTILINE)
_COMPUTED = re.compile(r"name: ClassVar\[str\] = [^\"]")


class Declared(NamedTuple):
    """A class as its file declares it."""

    module: str
    name: str
    bases: frozenset[str]
    lines: frozenset[str]


def catalogue(room: str, base: type[T]) -> dict[str, type[T]]:
    """Return name → class for everything of a kind that derives from `base`, in alphabetical order.

    >>> from sfumato.models.base import Model
    >>> "k-anonymity" in catalogue("models", Model)
    True
    """
    return dict(_scanned(_folders(room), base))  # type: ignore[arg-type]


def entry(room: str, base: type[T], name: str) -> type[T] | None:
    """Return the entry called `name`, None when there is none; nothing else is imported.

    >>> from sfumato.models.base import Model
    >>> entry("models", Model, "k-anonymity").__name__, entry("models", Model, "k")
    ('KAnonymity', None)
    """
    return _found(_folders(room), base, name)  # type: ignore[arg-type]


def declaring(room: str, base: type[T], line: str) -> list[type[T]]:
    """Return the entries whose class writes this line, sorted by name; nothing else is imported.

    >>> from sfumato.models.base import Model
    >>> [model.name for model in declaring("models", Model, 'name: ClassVar[str] = "k-anonymity"')]
    ['k-anonymity']
    """
    named = [one for one in _derived(_folders(room), base.__name__) if line in one.lines]
    return sorted((found for one in named for found in _offered(one, base)), key=lambda found: found.name)  # type: ignore[attr-defined]


def find(room: str, base: type[T], name: str, *, where: str = "") -> type[T]:
    """Return the entry called `name`, or raise a `PolicyError` with the nearest known name."""
    if (known := entry(room, base, name)) is not None:
        return known
    entries = catalogue(room, base)
    what = base.__name__.lower()
    raise PolicyError(f"unknown {what} '{name}'", where=where, hint=nearest(name, list(entries)))


def nearest(name: str, known: list[str]) -> str:
    """Return the hint for a misspelt name.

    >>> nearest("k-anonimity", ["k-anonymity", "p-sensitivity"])
    "did you mean 'k-anonymity'?"
    """
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)


def _folders(room: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The packages of a kind with the folders they consist of; a package that gets another folder is looked at anew."""
    names = (*ROOMS[room], *_BASES)
    packages = [importlib.import_module(f"sfumato.{name}") for name in names]
    return tuple((package.__name__, tuple(package.__path__)) for package in packages)


@cache
def _found(folders: tuple[tuple[str, tuple[str, ...]], ...], base: type[T], name: str) -> type[T] | None:
    written = f'name: ClassVar[str] = "{name}"'
    for one in _derived(folders, base.__name__):
        if written in one.lines or any(_COMPUTED.match(line) for line in one.lines):
            for found in _offered(one, base):
                if found.name == name:  # type: ignore[attr-defined]
                    return found
    return None


@cache
def _scanned(folders: tuple[tuple[str, tuple[str, ...]], ...], base: type[T]) -> dict[str, type[T]]:
    offered = (found for one in _derived(folders, base.__name__) for found in _offered(one, base))
    return dict(sorted((found.name, found) for found in offered))  # type: ignore[attr-defined]


def _offered(one: Declared, base: type[T]) -> Iterator[type[T]]:
    found: Any = getattr(importlib.import_module(one.module), one.name, None)
    if isinstance(found, type) and issubclass(found, base) and found is not base and "name" in vars(found):
        yield found


@cache
def _derived(folders: tuple[tuple[str, tuple[str, ...]], ...], base: str) -> tuple[Declared, ...]:
    """Classes with a name of their own that derive from one called `base`, directly or through others."""
    every = [one for package, path in folders for one in _declared(package, path)]
    kin = {base}
    while more := {one.name for one in every if one.name not in kin and one.bases & kin}:
        kin |= more
    return tuple(one for one in every if one.name in kin and any(line.startswith("name: ") for line in one.lines))


@cache
def _declared(package: str, path: tuple[str, ...]) -> tuple[Declared, ...]:
    """The classes of all files below a package, kernels excepted."""
    found: list[Declared] = []
    for place in (os.path.join(folder, file) for folder in path for file in sorted(os.listdir(folder))):
        stem, ending = os.path.splitext(os.path.basename(place))
        if ending == ".py" and stem != "__init__":
            with open(place, encoding="utf-8") as source:
                found += _classes(f"{package}.{stem}", source.read())
        elif stem != "kernels" and os.path.exists(os.path.join(place, "__init__.py")):
            found += _declared(f"{package}.{stem}", (place,))
    return tuple(found)


def _classes(module: str, text: str) -> Iterator[Declared]:
    heads = list(_CLASS.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        body = text[head.end() : end]
        bases = frozenset(part.split("[")[0].strip().rpartition(".")[2] for part in head[2].split(","))
        yield Declared(module, head[1], bases, frozenset(_DECLARES.findall(body)))
