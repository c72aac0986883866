"""MDAV: the record farthest from the centre gathers its nearest neighbours, then the record farthest from that one, and
so on.

Paper: Domingo-Ferrer, Torra (2005).

Invariants
    I1  Every group has at least `fewest` members and fewer than twice as many.

Cost: records² / fewest.


Exchanging
----------
Groups of near points, improved: points move to a neighbouring group or change places with a point of one while that
helps.

Notation
    sums       of the points of each group; the squared distances within a group are the sum of squares less |sums|² /
               size
    near       for each group the groups whose centres are nearest
    gain       by how much the squared distances within two groups fall

Invariants
    I1  A group never has fewer than `fewest` members, nor twice as many.
    I2  Every exchange lowers the squared distances, so the sweeps end.

Cost of a sweep: points × near groups × members.


Shortest path
-------------
The best groups of consecutive numbers: a shortest path through the sorted values.

Every group of an optimal solution for one column is a run of the sorted values with at least k and fewer than 2k of
them; the squared distances from the mean of a run follow from running sums.

Paper: Hansen, Mukherjee (2003).
Cost: records × k.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.compiled import jit

_FAR = 1e300


@jit
def gather(points: FloatArray, fewest: int) -> IntArray:
    """The group of every point."""
    many, columns = points.shape
    of = np.full(many, -1, dtype=np.int64)
    left = np.arange(many)
    still = many
    number = 0
    centre = np.zeros(columns, dtype=np.float64)
    near = np.zeros(fewest, dtype=np.int64)
    apart = np.zeros(fewest, dtype=np.float64)
    while still >= 2 * fewest:  # I1
        for column in range(columns):
            centre[column] = 0.0
        for place in range(still):
            for column in range(columns):
                centre[column] += points[left[place], column] / still
        one = _farthest(points, left, still, centre)
        other = _take(points, of, left, still, one, number, fewest, near, apart)
        still -= fewest
        number += 1
        if still >= 2 * fewest:
            _take(points, of, left, still, other, number, fewest, near, apart)
            still -= fewest
            number += 1
    for place in range(still):
        of[left[place]] = number
    return of


@jit
def _farthest(points: FloatArray, left: IntArray, still: int, centre: FloatArray) -> int:
    found = left[0]
    most = -1.0
    for place in range(still):
        distance = 0.0
        for column in range(points.shape[1]):
            step = points[left[place], column] - centre[column]
            distance += step * step
        if distance > most:
            most = distance
            found = left[place]
    return found  # type: ignore[no-any-return]


@jit
def _take(
    points: FloatArray,
    of: IntArray,
    left: IntArray,
    still: int,
    seed: int,
    number: int,
    fewest: int,
    near: IntArray,
    apart: FloatArray,
) -> int:
    """Give the seed and its nearest points a group, take them out of `left`, and name the point farthest from the
    seed."""
    held = 0
    most = -1.0
    farthest = seed
    for place in range(still):
        distance = 0.0
        for column in range(points.shape[1]):
            step = points[left[place], column] - points[seed, column]
            distance += step * step
        if left[place] == seed:
            distance = -1.0
        if distance > most:
            most = distance
            farthest = left[place]
        if held < fewest or distance < apart[fewest - 1]:
            slot = min(held, fewest - 1)
            while slot > 0 and apart[slot - 1] > distance:
                apart[slot] = apart[slot - 1]
                near[slot] = near[slot - 1]
                slot -= 1
            apart[slot] = distance
            near[slot] = left[place]
            held = min(held + 1, fewest)
    for slot in range(fewest):
        of[near[slot]] = number
    kept = 0
    for place in range(still):
        if of[left[place]] < 0:
            left[kept] = left[place]
            kept += 1
    return farthest


def plain_gather(points: FloatArray, fewest: int) -> IntArray:
    """The same with whole arrays."""
    of = np.full(len(points), -1, dtype=np.int64)
    number, seed = 0, -1
    while (left := np.flatnonzero(of < 0)).size >= 2 * fewest:
        if seed < 0:
            seed = int(left[np.argmax(((points[left] - points[left].mean(axis=0)) ** 2).sum(axis=1))])
            after = True
        else:
            after = False
        distance = ((points[left] - points[seed]) ** 2).sum(axis=1)
        distance[left == seed] = -1.0
        farthest = int(left[np.argmax(distance)])
        of[left[np.argsort(distance, kind="stable")[:fewest]]] = number
        number += 1
        seed = farthest if after else -1
    of[of < 0] = number
    return of


# Exchanging
# ----------


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
def _gain_of_swap(
    points: FloatArray, sums: FloatArray, size: IntArray, own: int, other: int, place: int, partner: int
) -> float:
    here = 0.0
    there = 0.0
    for column in range(points.shape[1]):
        step = points[partner, column] - points[place, column]
        here += step * (2.0 * sums[own, column] + step)
        there += step * (step - 2.0 * sums[other, column])
    return here / size[own] + there / size[other]  # type: ignore[no-any-return]


@jit
def _swap(
    points: FloatArray, of: IntArray, sums: FloatArray, members: IntArray, seat: IntArray, one: int, other: int
) -> int:
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
    points: FloatArray,
    of: IntArray,
    sums: FloatArray,
    size: IntArray,
    members: IntArray,
    seat: IntArray,
    place: int,
    into: int,
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


# Shortest path
# -------------


@jit
def best_runs(values: FloatArray, fewest: int) -> IntArray:
    """For each of the sorted values the number of its group; at least `fewest` values."""
    many = len(values)
    first = np.zeros(many + 1, dtype=np.float64)
    second = np.zeros(many + 1, dtype=np.float64)
    for place in range(many):
        first[place + 1] = first[place] + values[place]
        second[place + 1] = second[place] + values[place] * values[place]
    best = np.full(many + 1, _FAR, dtype=np.float64)
    back = np.zeros(many + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(fewest, many + 1):
        for size in range(fewest, min(2 * fewest - 1, end) + 1):
            begin = end - size
            total = first[end] - first[begin]
            cost = best[begin] + (second[end] - second[begin]) - total * total / size
            if cost < best[end]:
                best[end] = cost
                back[end] = begin
    of = np.zeros(many, dtype=np.int64)
    end = many
    number = 0
    while end > 0:
        for place in range(back[end], end):
            of[place] = number
        number += 1
        end = back[end]
    return of


def plain_best_runs(values: FloatArray, fewest: int) -> IntArray:
    """The same by trying all sizes of the last run, again and again."""
    from functools import cache

    @cache
    def best(end: int) -> tuple[float, tuple[int, ...]]:
        if end == 0:
            return 0.0, ()
        found = [(_FAR, ())]
        for begin in range(max(0, end - 2 * fewest + 1), end - fewest + 1):
            before, cuts = best(begin)
            if before < _FAR:
                run = values[begin:end]
                found.append((before + float(((run - run.mean()) ** 2).sum()), (*cuts, begin)))  # type: ignore[arg-type]
        return min(found)

    cuts = best(len(values))[1]
    return np.searchsorted(np.array(cuts), np.arange(len(values)), side="right") - 1
