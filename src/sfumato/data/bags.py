"""Bags of rows: what several rows of one person say together, whatever their order.

People with equal bags cannot be told apart by whoever knows all their rows. Values that people have are looked at row by row and as
what somebody *ever* has, in whichever row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sfumato.data.arrays import CodeArray, IntArray
from sfumato.data.classes import group
from sfumato.data.linkage import Spread


def alike_bags(person: IntArray, cell: IntArray) -> IntArray:
    """A number for each person, equal where rows stand in the same cells equally often; people are numbered without gaps.

    >>> alike_bags(np.array([0, 1, 0, 1, 2]), np.array([7, 8, 8, 7, 7])).tolist()
    [0, 0, 1]
    """
    order = np.lexsort((cell, person))
    start = np.searchsorted(person[order], np.arange(int(person.max(initial=-1)) + 2))
    texts = [cell[order[first:last]].tobytes() for first, last in pairwise(start)]
    number: dict[bytes, int] = {}
    return np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int64)


def ever_had(codes: CodeArray | IntArray, labels: Sequence[str], bag: IntArray, person: IntArray, people: IntArray) -> Spread:
    """Per bag how many people ever have a value, of all people; where all have one, that one alone."""
    once = group([bag, person, codes]).first
    pairs = group([bag[once], codes[once]])
    kind, value, having = bag[once][pairs.first], codes[once][pairs.first].astype(np.int64), pairs.counts
    certain = np.bincount(kind, weights=having == people[kind], minlength=len(people)) > 0
    first = np.full(len(people), len(kind), dtype=np.int64)
    np.minimum.at(first, kind[having == people[kind]], np.flatnonzero(having == people[kind]))
    shown = ~certain[kind] | (np.arange(len(kind)) == first[kind])
    kind, value, having = kind[shown], value[shown], having[shown]
    start = np.searchsorted(kind, np.arange(len(people) + 1)).astype(np.int64)
    return Spread(start, value, having, tuple(labels), whole=people)
