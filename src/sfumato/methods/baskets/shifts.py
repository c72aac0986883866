"""l-diversity without withholding: rings on which any l neighbours have different labels, each turned by a secret amount.

Guarantee
    Every person has l candidates with l different labels, for every possible turn. Against an outsider who does *not* re-run
    the arrangement, each candidate is equally likely. Against one who does, nothing is promised: the arrangement looks at the
    labels, so only the true turn reproduces it (`sfumato attack re-execution`).
Departures
    Not in the thesis; offered because nothing is withheld. Choose it only when outsiders cannot know all item sets.
Cost
    O(records x l).
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible


@dataclass(frozen=True, slots=True)
class Rings:
    """The records in order, cut into rings at `bounds`."""

    order: IntArray
    bounds: tuple[int, ...]


def arrange(order: IntArray, labels: NDArray[np.int64], different: int, size: int) -> Rings:
    """Rings of about `size` neighbours of `order`, rearranged so that any `different` in a row differ in their labels."""
    arranged: list[NDArray[np.int64]] = []
    pool: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for piece in np.array_split(order, max(1, len(order) // size)):
        pool = np.concatenate([pool, piece])
        ring = spaced(pool, labels, different)
        if ring is not None:
            arranged.append(ring)
            pool = pool[:0]
    if len(pool):
        arranged = _absorbed(arranged, pool, labels, different)
    return Rings(np.concatenate(arranged), tuple(np.cumsum([0, *map(len, arranged)]).tolist()))


def _absorbed(
    arranged: list[NDArray[np.int64]], pool: NDArray[np.int64], labels: NDArray[np.int64], different: int
) -> list[NDArray[np.int64]]:
    """The last pool joins the rings before it, one after another, until it can be arranged."""
    while arranged:
        pool = np.concatenate([arranged.pop(), pool])
        ring = spaced(pool, labels, different)
        if ring is not None:
            return [*arranged, ring]
    what = f"the labels are too frequent to keep {different} neighbours different without withholding any"
    raise Infeasible(what, where="protect", hint="lower l, or use 'labels: withhold'")


def spaced(rows: NDArray[np.int64], labels: NDArray[np.int64], different: int) -> NDArray[np.int64] | None:
    """The rows on a ring, near their order, any `different` in a row with different labels; ``None`` where that fails."""
    if len(rows) < different:
        return None
    placed, late = _in_line(rows, labels, different)
    while placed and _clash(placed, labels, different):
        late.append(placed.pop())
    for row in late:
        gaps = (gap for gap in range(len(placed), -1, -1) if _may_stand(placed, gap, int(labels[row]), labels, different))
        gap = next(gaps, None)
        if gap is None:
            return None
        placed.insert(gap, row)
    return np.array(placed, dtype=np.int64) if len(placed) >= different else None


def _clash(placed: list[int], labels: NDArray[np.int64], different: int) -> bool:
    """Whether the end of the ring, where it closes, repeats a label of the beginning within reach."""
    seam = [*placed[-(different - 1) :], *placed[: different - 1]] if different > 1 else []
    near = [int(labels[row]) for row in seam]
    return any(len(set(near[i : i + different])) < different for i in range(len(near) - different + 1))


def _in_line(rows: NDArray[np.int64], labels: NDArray[np.int64], different: int) -> tuple[list[int], list[int]]:
    """Rows one after another, each the first that differs from the last few; and those for which no place is left."""
    left = Counter(labels[rows].tolist())
    waiting: deque[int] = deque(rows.tolist())
    placed: list[int] = []
    while waiting:
        recent = {int(labels[row]) for row in placed[-(different - 1) :]} if different > 1 else set()
        pick = _next(waiting, labels, recent, left, different)
        if pick is None:
            break
        waiting.remove(pick)
        left[int(labels[pick])] -= 1
        placed.append(pick)
    return placed, list(waiting)


def _next(waiting: deque[int], labels: NDArray[np.int64], recent: set[int], left: Counter[int], different: int) -> int | None:
    """The first waiting row whose label is not recent; first of all one whose label would otherwise run out of room."""
    pressing = {label for label, count in left.items() if count * different >= len(waiting) and count > 0} - recent
    for row in waiting:
        if int(labels[row]) in (pressing or set(left) - recent):
            return row
    return None


def _may_stand(placed: list[int], gap: int, label: int, labels: NDArray[np.int64], different: int) -> bool:
    """Whether a row with this label may be put before place `gap` of the ring; putting it there only moves others apart."""
    reach = min(different - 1, len(placed))
    around = [placed[(gap + step) % len(placed)] for step in range(-reach, reach)]
    return all(int(labels[row]) != label for row in around)


def turn(rings: Rings, shifts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place of the order the place whose record is published there, ring i turned by shifts[i]."""
    owner = np.empty(len(rings.order), dtype=np.int64)
    for begin, end, shift in zip(rings.bounds[:-1], rings.bounds[1:], shifts, strict=True):
        owner[begin:end] = begin + (np.arange(end - begin) - int(shift)) % (end - begin)
    return owner
