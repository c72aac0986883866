"""Claims about a population, counted a second time: from a fraction, published weights, or a table of everybody.

Fraction  A class of f rows stands for at least F people at confidence c when every smaller number is refuted: had there been F − 1,
          then f rows or more of those that chance puts into the table, one at least, would have had a chance of at most 1 − c.
Table     Everybody is held against every class (`floor.fitting`). People who fit the same classes are one kind: of its G people
          at most all rows of its classes are theirs, at least those of classes that no other kind fits; 0 who fits none.

>>> [people_behind(rows, Fraction("0.1"), Fraction("0.9")) for rows in (1, 2, 3, 5)]
[1, 3, 10, 25]
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, fsum, lgamma, log, log1p

from sfumato.audit.floor.definitions import Groups, NotCounted
from sfumato.audit.floor.files import Folder, Row, read_people
from sfumato.audit.floor.fitting import Labels, labels_for
from sfumato.audit.floor.groups import MOST, TIMES, cells
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
    if "file" in policy.population:
        return _among_everybody(groups, folder, policy, asked)
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


# -- a table of everybody -------------------------------------------------------------------------------------------------------


def _among_everybody(groups: Groups, folder: Folder, policy: Written, asked: Asked) -> Groups:
    """The same groups, with the people who fit them as candidates."""
    if folder.everybody is None:
        raise NotCounted("the people of the population are not in the folder")
    part = folder.part("data")
    known, rows = cells(part, asked.given), Counter[Row]()
    for row, count in part.rows.items():
        rows[known(row)] += count
    people = read_people(folder.everybody, asked.given)
    ways = [
        labels_for(policy.columns[name].hierarchy, folder.path, {one[at] for one in people}, {row[at] for row in rows})
        for at, name in enumerate(asked.given)
    ]
    met = _met(list(people), list(rows), ways)
    fitting: Counter[Row] = Counter()
    for one, classes in met.items():
        for each in classes:
            fitting[each] += people[one]
    sizes = [fitting[each] for each in rows]
    return replace(groups, fewest=min(sizes, default=0), sizes=sizes, rows=list(rows.values()), chances=_chances(rows, people, met))


def _met(people: Sequence[Row], classes: Sequence[Row], ways: Sequence[Mapping[str, Labels]]) -> dict[Row, list[Row]]:
    """The classes that everybody fits: column by column, people and classes part by what stands there."""
    found: dict[Row, list[Row]] = defaultdict(list)
    waiting, left = [(0, people, classes)], MOST + TIMES * len(people)
    while waiting:
        at, some, these = waiting.pop()
        left -= len(some)
        if left < 0:
            raise NotCounted("too many people fit too many classes to be counted here")
        if at == len(ways):
            for one in some:
                found[one] += these
            continue
        by_label: dict[str, list[Row]] = defaultdict(list)
        for each in these:
            by_label[each[at]].append(each)
        inside: dict[str, list[Row]] = defaultdict(list)
        for one in some:
            for label in ways[at][one[at]] & by_label.keys():
                inside[label].append(one)
        waiting += [(at + 1, inside[label], by_label[label]) for label in inside]
    return found


def _chances(rows: Counter[Row], people: Counter[Row], met: Mapping[Row, Sequence[Row]]) -> list[Fraction]:
    """For every kind of people the least and the largest chance to be in the table."""
    kinds: Counter[frozenset[Row]] = Counter()
    for one, count in people.items():
        kinds[frozenset(met.get(one, ()))] += count
    fits = Counter(each for kind in kinds for each in kind)
    found = [Fraction(0)] if frozenset() in kinds else []
    for kind, many in kinds.items():
        for sure in (sum(rows[each] for each in kind), sum(rows[each] for each in kind if fits[each] == 1)):
            found.append(min(Fraction(sure, many), Fraction(1)))
    return found


# -- a fraction -----------------------------------------------------------------------------------------------------------------


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
