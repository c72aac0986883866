"""Lists that everybody knows, as hierarchies: ``{list: countries}``.

    countries   ISO 3166 names and codes → parts of the world → continents (UN M49)
    states      states of the US → census divisions → census regions
    icd         diagnoses → categories → chapters (ICD-10, ICD-9)
    isco        occupations of up to four digits → sub-major → major groups (ISCO-08)

A value that is not in its list stands directly below the root. The tree is grown from the values of the data, and a
published label says no more than the list does; `reference` is the whole list, for who has no data.

>>> path_in("countries", "Italy"), path_in("countries", "ITA"), path_in("states", "Ohio")
(('Southern Europe', 'Europe'), ('Southern Europe', 'Europe'), ('East North Central', 'Midwest'))
>>> path_in("icd", "I21.4"), path_in("isco", "2512"), path_in("isco", "cook")
(('I21.-', 'I00-I99 circulatory'), ('25..', '2 Professionals'), ())


Diagnoses
---------
Diagnoses: which chapter of the International Classification of Diseases a code belongs to, in its ninth and tenth
revision.

Source: the block headings of ICD-10 (WHO) and ICD-9-CM (CDC), which are free to use.

>>> chapter_of("I21.4"), chapter_of("250.83"), chapter_of("V58"), chapter_of("hello")
(('I00-I99 circulatory', 'I21'), ('240-279 endocrine and metabolic', '250'), ('V01-V91 supplementary', 'V58'), None)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from sfumato.data.hierarchy import ROOT, Hierarchy

LISTS = ("countries", "states", "icd", "isco")
LEVELS = {
    "countries": ("region", "continent"),
    "states": ("division", "region"),
    "icd": ("category", "chapter"),
    "isco": ("sub-major group", "major group"),
}
"""What the levels above the values are called."""
_CODES = {"countries": 2, "states": 1}
"""Cells of a line that are codes; then come region and part of it, then names."""
_MAJOR = (
    "0 Armed forces", "1 Managers", "2 Professionals", "3 Technicians", "4 Clerical support", "5 Service and sales",
    "6 Skilled agricultural", "7 Craft and trades", "8 Machine operators", "9 Elementary occupations",
)  # fmt: skip


def by_list(values: list[str], name: str) -> Hierarchy:
    """The tree of some values."""
    rows = [
        [value, *path_in(name, value), ROOT]
        for value in sorted(values, key=lambda value: (path_in(name, value)[::-1], value))
    ]
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
    return known(name).get(fold_name(value), ())


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
            yield fold_name(spelling), (cells[codes + 1], cells[codes])


def fold_name(text: str) -> str:
    """Case, blanks and dashes apart.

    >>> fold_name("United-States "), fold_name("united  states")
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
    return by_list(
        [*_tenth(), *(f"{number:03}" for first, last, _ in NINTH for number in range(first, last + 1))], name
    )


def _tenth() -> Iterator[str]:
    """All categories of the tenth revision."""
    for letter in "ABCDEFGHIJKLMNOPQRSTUWXYZ":
        for number in range(100):
            category = f"{letter}{number:02}"
            if any(first <= category <= last for first, last, _ in TENTH):
                yield category


# Diagnoses
# ---------


TENTH = (
    ("A00", "B99", "infections"), ("C00", "D49", "neoplasms"), ("D50", "D89", "blood and immunity"),
    ("E00", "E90", "endocrine and metabolic"),
    ("F00", "F99", "mental"), ("G00", "G99", "nervous system"), ("H00", "H59", "eye"), ("H60", "H95", "ear"),
    ("I00", "I99", "circulatory"),
    ("J00", "J99", "respiratory"), ("K00", "K95", "digestive"), ("L00", "L99", "skin"), ("M00", "M99",
    "musculoskeletal"),
    ("N00", "N99", "genitourinary"), ("O00", "O99", "pregnancy"), ("P00", "P96", "perinatal"), ("Q00", "Q99",
    "congenital"),
    ("R00", "R99", "symptoms"), ("S00", "T98", "injuries"), ("U00", "U99", "special purposes"), ("V00", "Y99",
    "external causes"),
    ("Z00", "Z99", "health services"),
)  # fmt: skip
NINTH = (
    (1, 139, "infections"), (140, 239, "neoplasms"), (240, 279, "endocrine and metabolic"), (280, 289, "blood"),
    (290, 319, "mental"),
    (320, 389, "nervous system and senses"), (390, 459, "circulatory"), (460, 519, "respiratory"), (520, 579,
    "digestive"),
    (580, 629, "genitourinary"), (630, 679, "pregnancy"), (680, 709, "skin"), (710, 739, "musculoskeletal"),
    (740, 759, "congenital"),
    (760, 779, "perinatal"), (780, 799, "symptoms"), (800, 999, "injuries"),
)  # fmt: skip
_CODE = re.compile(r"([A-Z]\d[0-9A-Z])\.?[0-9A-Z]{0,4}")
_NUMBER = re.compile(r"(\d{1,3})(?:\.\d{1,2})?")
_SUPPLEMENT = re.compile(r"([VE]\d{2,3})(?:\.\d{1,2})?")


def chapter_of(code: str) -> tuple[str, str] | None:
    """(chapter, category of three characters), or None when it is no code."""
    text = code.strip().upper()
    if found := _CODE.fullmatch(text):
        for first, last, what in TENTH:
            if first <= found[1] <= last and not (
                found[1][0] in "VE" and _SUPPLEMENT.fullmatch(text) and found[1][0] == "V"
            ):
                return f"{first}-{last} {what}", found[1]
    if found := _SUPPLEMENT.fullmatch(text):
        return ("V01-V91 supplementary" if text[0] == "V" else "E800-E999 external causes"), found[1]
    if found := _NUMBER.fullmatch(text):
        for low, high, what in NINTH:
            if low <= int(found[1]) <= high:
                return f"{low:03}-{high} {what}", found[1]
    return None
