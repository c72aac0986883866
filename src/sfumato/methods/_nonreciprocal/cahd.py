"""CAHD, the reciprocal baseline: groups of neighbours with different labels, published by the same vote.

Guarantee
    No label has more than 1/l of a group. The groups are deterministic and look at labels, so nothing is promised against an
    outsider who re-runs them.
Paper
    Ghinita, Tao, Kalnis, "On the anonymization of sparse high-dimensional data" (2008), as compared with in [multitype 3.7.1]:
    Gray order, candidates among the next `reach`·l records, nearest first.
Departures
    Every record has a label here, so a group is l records with l different labels; what is left at the end joins the last
    groups, or forms one more when it satisfies the bound itself.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sets import Sets
from sfumato.errors import Infeasible
from sfumato.methods._nonreciprocal.gray import gray_order


def cahd_groups(sets: Sets, labels: NDArray[np.int64], diversity: int, reach: int = 3) -> list[NDArray[np.int64]]:
    """Groups of record numbers, each l-diverse."""
    order = gray_order(sets).tolist()
    left = Counter(labels.tolist())
    if max(left.values()) * diversity > len(order):
        raise Infeasible("a label is too frequent for groups of this diversity", where="protect", hint="lower l")
    groups: list[NDArray[np.int64]] = []
    skipped: list[int] = []
    bits = sets.dense() if sets.width <= 4096 else None
    while order:
        group = _group(order, labels, diversity, reach, sets, bits)
        rest = len(order) + len(skipped) - len(group)
        if len(group) < diversity or not _eligible(left, labels[group], rest, diversity):
            skipped.append(order.pop(0))
            continue
        taken = set(group)
        order = [row for row in order[: reach * diversity + 1] if row not in taken] + order[reach * diversity + 1 :]
        left.subtract(labels[group].tolist())
        groups.append(np.array(group, dtype=np.int64))
    return _placed(groups, skipped, labels, diversity)


def _group(order: list[int], labels: NDArray[np.int64], diversity: int, reach: int, sets: Sets,
           bits: NDArray[np.bool_] | None) -> list[int]:
    """The first record with the nearest of the next ones whose labels all differ."""
    first, near = order[0], order[1 : reach * diversity + 1]
    if not near:
        return [first]
    if bits is not None:
        distance = (bits[near] != bits[first]).sum(axis=1)
    else:
        distance = sets.take(near).hamming(sets.take([first] * len(near)))
    group, used = [first], {int(labels[first])}
    for index in np.argsort(distance, kind="stable"):
        row = near[int(index)]
        if len(group) < diversity and int(labels[row]) not in used:
            group.append(row)
            used.add(int(labels[row]))
    return group


def _eligible(left: Counter[int], taken: NDArray[np.int64], rest: int, diversity: int) -> bool:
    """Whether the records that remain could still be grouped."""
    mine = Counter(taken.tolist())
    return all((count - mine.get(label, 0)) * diversity <= rest for label, count in left.items())


def _placed(groups: list[NDArray[np.int64]], skipped: list[int], labels: NDArray[np.int64], diversity: int
            ) -> list[NDArray[np.int64]]:
    """Leftovers as a group of their own, joined with earlier groups until no label has more than its share."""
    rest = np.array(skipped, dtype=np.int64)
    while len(rest):
        if np.bincount(labels[rest]).max() * diversity <= len(rest):
            return [*groups, rest]
        rest = np.concatenate([rest, groups.pop()])
    return groups
