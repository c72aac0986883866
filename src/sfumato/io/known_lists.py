"""Lists that everybody knows, as hierarchies: ``{list: countries}``.

    countries   ISO 3166 names and codes → parts of the world → continents (UN M49)
    states      states of the US → census divisions → census regions
    icd         diagnoses → categories → chapters (ICD-10, ICD-9)
    isco        occupations of up to four digits → sub-major → major groups (ISCO-08)

A value that is not in its list stands directly below the root. The tree is grown from the values of the data, and a published label
says no more than the list does; `reference` is the whole list, for who has no data.

>>> path_in("countries", "Italy"), path_in("countries", "ITA"), path_in("states", "Ohio")
(('Southern Europe', 'Europe'), ('Southern Europe', 'Europe'), ('East North Central', 'Midwest'))
>>> path_in("icd", "I21.4"), path_in("isco", "2512"), path_in("isco", "cook")
(('I21.-', 'I00-I99 circulatory'), ('25..', '2 Professionals'), ())
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.io.diagnoses import NINTH, TENTH, chapter_of

LISTS = ("countries", "states", "icd", "isco")
_CODES = {"countries": 2, "states": 1}
"""Cells of a line that are codes; then come region and part of it, then names."""
_MAJOR = (
    "0 Armed forces", "1 Managers", "2 Professionals", "3 Technicians", "4 Clerical support", "5 Service and sales",
    "6 Skilled agricultural", "7 Craft and trades", "8 Machine operators", "9 Elementary occupations",
)  # fmt: skip


def by_list(values: list[str], name: str) -> Hierarchy:
    """The tree of some values."""
    rows = [[value, *path_in(name, value), ROOT] for value in sorted(values, key=lambda value: (path_in(name, value)[::-1], value))]
    return Hierarchy.from_paths(rows, name=f"the list of {name}")


def path_in(name: str, value: str) -> tuple[str, ...]:
    """What a value is joined to, the narrowest first; empty when the list does not know it."""
    if name == "icd":
        found = chapter_of(value)
        return () if found is None else (f"{found[1]}.-", found[0])
    if name == "isco":
        if not re.fullmatch(r"\d{1,4}", value):
            return ()
        return (*((f"{value[:2]}..",) if len(value) > 2 else ()), _MAJOR[int(value[0])])
    return known(name).get(folded(value), ())


@cache
def known(name: str) -> dict[str, tuple[str, str]]:
    """Every spelling, folded → (part, region)."""
    return dict(_lines(name))


def _lines(name: str) -> Iterator[tuple[str, tuple[str, str]]]:
    text = resources.files("sfumato.io").joinpath("lists", f"{name}.csv").read_text(encoding="utf-8")
    codes = _CODES[name]
    for line in reversed(text.splitlines()):
        cells = line.split(";")
        for spelling in (*cells[:codes], *cells[codes + 2 :]):
            yield folded(spelling), (cells[codes + 1], cells[codes])


def folded(text: str) -> str:
    """Case, blanks and dashes apart.

    >>> folded("United-States "), folded("united  states")
    ('united states', 'united states')
    """
    return re.sub(r"[\s_-]+", " ", text.strip().lower())


@cache
def reference(name: str) -> Hierarchy:
    """The whole list as a tree: one leaf for every country, state, category or two digits."""
    if name in _CODES:
        text = resources.files("sfumato.io").joinpath("lists", f"{name}.csv").read_text(encoding="utf-8")
        return by_list([line.split(";")[0] for line in text.splitlines()], name)
    if name == "isco":
        return by_list([f"{number:02}0" for number in range(100)], name)
    return by_list([*_tenth(), *(f"{number:03}" for first, last, _ in NINTH for number in range(first, last + 1))], name)


def _tenth() -> Iterator[str]:
    """All categories of the tenth revision."""
    for letter in "ABCDEFGHIJKLMNOPQRSTUWXYZ":
        for number in range(100):
            category = f"{letter}{number:02}"
            if any(first <= category <= last for first, last, _ in TENTH):
                yield category
