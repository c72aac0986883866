"""CAHD, the reciprocal baseline: groups of neighbours with different labels, published by the same vote.

Guarantee
    No label has more than 1/l of a group. The groups are deterministic and look at labels, so nothing is promised
    against an outsider who re-runs them.
Paper
    Ghinita, Tao, Kalnis, "On the anonymization of sparse high-dimensional data" (2008), as compared with in [multitype
    3.7.1]: Gray order, candidates among the next `reach`·l records, nearest first.
Departures
    Every record has a label here, so a group is l records with l different labels; what is left at the end joins the
    last groups, or forms one more when it satisfies the bound itself.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import Infeasible
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.methods.record_order import gray_order


def cahd_groups(sets: Sets, labels: NDArray[np.int64], diversity: int, reach: int = 3) -> list[NDArray[np.int64]]:
    """Groups of record numbers, each l-diverse."""
    order = gray_order(sets)
    left = Counter(labels.tolist())
    if max(left.values()) * diversity > len(order):
        raise Infeasible("a label is too frequent for groups of this diversity", where="protect", hint="lower l")
    groups: list[NDArray[np.int64]] = []
    skipped: list[int] = []
    free, rest = np.ones(len(order), dtype=bool), len(order)
    for place in range(len(order)):
        if not free[place]:
            continue
        near = place + np.flatnonzero(free[place : place + 4 * reach * diversity])[: reach * diversity + 1]
        group = near[_group(order[near], labels, diversity, sets)]
        if len(group) < diversity or not _eligible(left, labels[order[group]], rest - len(group), diversity):
            free[place] = False
            skipped.append(int(order[place]))
            continue
        free[group] = False
        rest -= len(group)
        left.subtract(labels[order[group]].tolist())
        groups.append(order[group])
    return _placed(groups, skipped, labels, diversity)


def _group(rows: NDArray[np.int64], labels: NDArray[np.int64], diversity: int, sets: Sets) -> list[int]:
    """Places of the first record and of the nearest others whose labels all differ."""
    distance = sets.take(rows).hamming(sets.take(np.full(len(rows), rows[0])))
    group, used = [0], {int(labels[rows[0]])}
    for index in np.argsort(distance[1:], kind="stable") + 1:
        label = int(labels[rows[index]])
        if len(group) < diversity and label not in used:
            group.append(int(index))
            used.add(label)
    return group


def _eligible(left: Counter[int], taken: NDArray[np.int64], rest: int, diversity: int) -> bool:
    """Whether the records that remain could still be grouped."""
    mine = Counter(taken.tolist())
    return all((count - mine.get(label, 0)) * diversity <= rest for label, count in left.items())


def _placed(
    groups: list[NDArray[np.int64]], skipped: list[int], labels: NDArray[np.int64], diversity: int
) -> list[NDArray[np.int64]]:
    """Leftovers as a group of their own, joined with earlier groups until no label has more than its share."""
    rest = np.array(skipped, dtype=np.int64)
    while len(rest):
        if np.bincount(labels[rest]).max() * diversity <= len(rest):
            return [*groups, rest]
        rest = np.concatenate([rest, groups.pop()])
    return groups
