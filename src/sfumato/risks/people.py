"""People in several rows, as the table stands: who stands alone, and how large a part of a class one person has.

Notation
    class   rows with the same quasi-identifiers
    n, m    rows of a class, and how many of them are one person's

Whoever knows the quasi-identifiers of a person, in all rows, finds a row of theirs in a class with m/n; how many different people
stand there does not tell that: of seven rows, five of one man, each is his with 5/7.

>>> import numpy as np
>>> found = people_at_risk(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 9]))
>>> found.people, found.several, found.fewest, found.alone, found.alone_by_all_rows, found.highest
(3, 2, 1, 1, 3, 1.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group


@dataclass(frozen=True, slots=True)
class PeopleAtRisk:
    """What classes of rows come to for people."""

    people: int
    several: int
    """People with several rows."""
    fewest: int
    """People in the class with fewest."""
    alone: int
    """People who have a class for themselves."""
    alone_by_all_rows: int
    """People whose rows, taken together, are those of nobody else."""
    highest: float
    """The largest part of a class that is one person's."""
    average: float
    """Over all people, the largest part of a class that is theirs."""


def people_at_risk(of: IntArray, person: IntArray) -> PeopleAtRisk:
    """From the class and the person of every row."""
    whose = np.unique(person, return_inverse=True)[1].astype(np.int64)
    pairs = group([of, whose])
    kind, one = of[pairs.first], whose[pairs.first]
    rows, heads = np.bincount(of), np.bincount(kind)
    part = pairs.counts / rows[kind]
    most = np.zeros(int(whose.max(initial=-1)) + 1)
    np.maximum.at(most, one, part)
    alone = np.unique(one[heads[kind] == 1])
    return PeopleAtRisk(
        len(most), int((np.bincount(whose) > 1).sum()), int(heads[heads > 0].min(initial=len(most))), len(alone),
        _bags_of_one(kind, one, pairs.counts), float(part.max(initial=0.0)), float(most.mean()) if len(most) else 0.0,
    )  # fmt: skip


def _bags_of_one(kind: IntArray, person: IntArray, count: IntArray) -> int:
    """How many people have a bag of classes that nobody else has."""
    order = np.lexsort((kind, person))
    start = np.searchsorted(person[order], np.arange(int(person.max(initial=-1)) + 2))
    bags: dict[bytes, int] = {}
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        mine = order[first:last]
        text = kind[mine].tobytes() + count[mine].tobytes()
        bags[text] = bags.get(text, 0) + 1
    return sum(many == 1 for many in bags.values())
