"""Groups of near points, improved: points move to a neighbouring group or change places with a point of one while that helps.

Notation
    sums       of the points of each group; the squared distances within a group are the sum of squares less |sums|² / size
    near       for each group the groups whose centres are nearest
    gain       by how much the squared distances within two groups fall

Invariants
    I1  A group never has fewer than `fewest` members, nor twice as many.
    I2  Every exchange lowers the squared distances, so the sweeps end.

Cost of a sweep: points × near groups × members.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import FloatArray, IntArray

_LEAST = 1e-9


@jit
def exchange(points: FloatArray, of: IntArray, fewest: int, width: int, sweeps: int) -> int:
    """Improve the groups in `of`, which are numbered without gaps; how many exchanges there were."""
    many, columns = points.shape
    groups = 0
    for place in range(many):
        groups = max(groups, of[place] + 1)
    sums = np.zeros((groups, columns), dtype=np.float64)
    size = np.zeros(groups, dtype=np.int64)
    members = np.full((groups, 2 * fewest), -1, dtype=np.int64)
    seat = np.zeros(many, dtype=np.int64)
    for place in range(many):
        group = of[place]
        seat[place] = size[group]
        members[group, size[group]] = place
        size[group] += 1
        for column in range(columns):
            sums[group, column] += points[place, column]
    done = 0
    for _sweep in range(sweeps):
        near = nearest_groups(sums, size, width)
        changed = 0
        for place in range(many):
            changed += _improve(points, of, sums, size, members, seat, near, place, fewest)
        done += changed
        if changed * 1000 < many:
            break
    return done


@jit
def nearest_groups(sums: FloatArray, size: IntArray, width: int) -> IntArray:
    """The groups whose centres are nearest to that of each group; −1 where there are not so many."""
    groups, columns = sums.shape
    near = np.full((groups, width), -1, dtype=np.int64)
    apart = np.full((groups, width), 1e300, dtype=np.float64)
    for one in range(groups):
        for other in range(one):
            distance = 0.0
            for column in range(columns):
                step = sums[one, column] / size[one] - sums[other, column] / size[other]
                distance += step * step
            if distance < apart[one, width - 1]:
                _insert(near, apart, one, other, distance, width)
            if distance < apart[other, width - 1]:
                _insert(near, apart, other, one, distance, width)
    return near


@jit
def _insert(near: IntArray, apart: FloatArray, row: int, found: int, distance: float, width: int) -> int:
    slot = width - 1
    while slot > 0 and apart[row, slot - 1] > distance:
        apart[row, slot] = apart[row, slot - 1]
        near[row, slot] = near[row, slot - 1]
        slot -= 1
    apart[row, slot] = distance
    near[row, slot] = found
    return slot


@jit
def _improve(
    points: FloatArray,
    of: IntArray,
    sums: FloatArray,
    size: IntArray,
    members: IntArray,
    seat: IntArray,
    near: IntArray,
    place: int,
    fewest: int,
) -> int:
    """The best exchange of one point, when there is one that helps (I2)."""
    own = of[place]
    best = _LEAST
    into = -1
    partner = -1
    for slot in range(near.shape[1]):
        other = near[own, slot]
        if other < 0 or other == own:
            continue
        if size[own] > fewest and size[other] + 1 < 2 * fewest:  # I1
            gain = _gain_of_move(points, sums, size, own, other, place)
            if gain > best:
                best = gain
                into = other
                partner = -1
        for index in range(size[other]):
            gain = _gain_of_swap(points, sums, size, own, other, place, members[other, index])
            if gain > best:
                best = gain
                into = other
                partner = members[other, index]
    if into < 0:
        return 0
    if partner >= 0:
        _swap(points, of, sums, members, seat, place, partner)
    else:
        _move(points, of, sums, size, members, seat, place, into)
    return 1


@jit
def _gain_of_move(points: FloatArray, sums: FloatArray, size: IntArray, own: int, other: int, place: int) -> float:
    before_own = 0.0
    after_own = 0.0
    before_other = 0.0
    after_other = 0.0
    for column in range(points.shape[1]):
        value = points[place, column]
        here = sums[own, column]
        there = sums[other, column]
        before_own += here * here
        after_own += (here - value) * (here - value)
        before_other += there * there
        after_other += (there + value) * (there + value)
    kept = after_own / (size[own] - 1) + after_other / (size[other] + 1)
    return kept - before_own / size[own] - before_other / size[other]  # type: ignore[no-any-return]


@jit
def _gain_of_swap(points: FloatArray, sums: FloatArray, size: IntArray, own: int, other: int, place: int, partner: int) -> float:
    here = 0.0
    there = 0.0
    for column in range(points.shape[1]):
        step = points[partner, column] - points[place, column]
        here += step * (2.0 * sums[own, column] + step)
        there += step * (step - 2.0 * sums[other, column])
    return here / size[own] + there / size[other]  # type: ignore[no-any-return]


@jit
def _swap(points: FloatArray, of: IntArray, sums: FloatArray, members: IntArray, seat: IntArray, one: int, other: int) -> int:
    for column in range(points.shape[1]):
        step = points[other, column] - points[one, column]
        sums[of[one], column] += step
        sums[of[other], column] -= step
    members[of[one], seat[one]] = other
    members[of[other], seat[other]] = one
    held = seat[one]
    seat[one] = seat[other]
    seat[other] = held
    group = of[one]
    of[one] = of[other]
    of[other] = group
    return 1


@jit
def _move(
    points: FloatArray, of: IntArray, sums: FloatArray, size: IntArray, members: IntArray, seat: IntArray, place: int, into: int
) -> int:
    own = of[place]
    last = members[own, size[own] - 1]
    members[own, seat[place]] = last
    seat[last] = seat[place]
    size[own] -= 1
    members[into, size[into]] = place
    seat[place] = size[into]
    size[into] += 1
    for column in range(points.shape[1]):
        sums[own, column] -= points[place, column]
        sums[into, column] += points[place, column]
    of[place] = into
    return 1


def plain_exchange(points: FloatArray, of: IntArray, fewest: int, width: int, sweeps: int) -> int:
    """The same, each exchange judged by the squared distances within all groups before and after it."""
    done = 0
    for _sweep in range(sweeps):
        groups = int(of.max()) + 1
        centre = np.stack([points[of == group].mean(axis=0) for group in range(groups)])
        apart = ((centre[:, None] - centre[None]) ** 2).sum(axis=2)
        np.fill_diagonal(apart, np.inf)
        near = np.argsort(apart, axis=1, kind="stable")[:, :width]
        changed = sum(_plain_improve(points, of, near, place, fewest) for place in range(len(points)))
        done += changed
        if changed * 1000 < len(points):
            break
    return done


def within(points: FloatArray, of: IntArray) -> float:
    """The squared distances of all points from the centres of their groups."""
    total = 0.0
    for column in range(points.shape[1]):
        sums = np.bincount(of, weights=points[:, column])
        total += float((points[:, column] ** 2).sum() - (sums**2 / np.maximum(np.bincount(of), 1)).sum())
    return total


def _plain_improve(points: FloatArray, of: IntArray, near: IntArray, place: int, fewest: int) -> int:
    own, before, best = int(of[place]), within(points, of), (_LEAST, of)
    sizes = np.bincount(of)
    for other in near[own].tolist():
        if other == own:
            continue
        tries = []
        if sizes[own] > fewest and sizes[other] + 1 < 2 * fewest:
            tries.append([(place, other)])
        tries += [[(place, other), (partner, own)] for partner in np.flatnonzero(of == other).tolist()]
        for changes in tries:
            tried = of.copy()
            for who, group in changes:
                tried[who] = group
            gain = before - within(points, tried)
            if gain > best[0] + 1e-12:
                best = (gain, tried)
    changed = int((best[1] != of).any())
    of[:] = best[1]
    return changed
