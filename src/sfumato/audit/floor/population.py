"""Claims about a population, counted a second time where the folder says enough: a fraction, or weights that are published.

A class of f rows stands for at least F people at confidence c when every smaller number is refuted: had there been F − 1, then f
rows or more of those that chance puts into the table, one at least, would have had a chance of at most 1 − c.

>>> [people_behind(rows, Fraction("0.1"), Fraction("0.9")) for rows in (1, 2, 3, 5)]
[1, 3, 10, 25]
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, fsum, lgamma, log, log1p

from sfumato.audit.floor.definitions import Groups, NotCounted
from sfumato.audit.floor.files import Folder
from sfumato.audit.floor.written import Asked, Written

_EXACT = 60
"""Larger classes are counted in floating point, where whole numbers of many thousand digits would be needed."""


def speaks_of_population(asked: Asked) -> bool:
    """Whether candidates are people of the population."""
    return asked.model in ("k-map", "delta-presence") or bool({"game", "attacker"} & asked.level.keys())


def in_population(groups: Groups, folder: Folder, policy: Written, asked: Asked) -> Groups:
    """The same groups, with people of the population as candidates."""
    if "fraction" in policy.population:
        sure = (Fraction(policy.population["fraction"]), Fraction(policy.population.get("confidence", "0.9")))
        people = [people_behind(rows, *sure) for rows in groups.sizes]
        return replace(groups, fewest=min(people, default=0), sizes=people, rows=groups.sizes)
    part, weight = folder.part("data"), policy.population.get("weight", "")
    if weight not in part.columns:
        raise NotCounted("the people of the population are not in the folder")
    stands: dict[object, Fraction] = defaultdict(Fraction)
    rows: dict[object, int] = defaultdict(int)
    for (known, value), count in part.alike(asked.given, weight).items():
        stands[known] += Fraction(value) * count
        rows[known] += count
    sums = [int(sum_) for sum_ in stands.values()]
    return replace(groups, fewest=min(sums, default=0), sizes=sums, rows=list(rows.values()))


@lru_cache(maxsize=4096)
def people_behind(rows: int, fraction: Fraction, confidence: Fraction) -> int:
    """The fewest people of whom so many rows are not too many."""
    if fraction >= 1:
        return rows
    low, high = rows, int(rows / fraction) + 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _chance(rows, middle, fraction) > 1 - confidence else (middle + 1, high)
    return low


def _chance(rows: int, people: int, fraction: Fraction) -> Fraction | float:
    """That so many rows or more are drawn of so many people, given that one is: from the terms below."""
    if rows > _EXACT or people > _EXACT / fraction:
        return _in_floats(rows, people, float(fraction))
    none = (1 - fraction) ** people
    below = sum((comb(people, drawn) * fraction**drawn * (1 - fraction) ** (people - drawn) for drawn in range(rows)), Fraction(0))
    return (1 - below) / (1 - none)


def _in_floats(rows: int, people: int, share: float) -> float:
    terms = (
        exp(
            lgamma(people + 1)
            - lgamma(drawn + 1)
            - lgamma(people - drawn + 1)
            + drawn * log(share)
            + (people - drawn) * log1p(-share)
        )
        for drawn in range(rows)
    )
    return (1 - fsum(terms)) / -expm1(people * log1p(-share))
