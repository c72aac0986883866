"""Withholding labels in one scan around a ring so that knowing the rule does not help to guess them.

Each place is either shown, or withheld because its label is in the set S of labels that may not be shown there. S is a function
of what the scan has published before, so whoever knows the rule knows S, and takes a withheld label for x in S with chance
f_x / f(S). That *chance* is counted like a label shown in part, and S is widened until no window of `degree` places holds more
than `bound` of any label.

Notation
    f_x ~ share of label x; a_t(x) ~ chance that place t has label x, as published (0 or 1 where it is shown).
    top_x ~ the largest, over the windows around a place, of what x has there already plus f_x for every place still open.
Invariants
    I1  top_x + f_x ≤ bound for every label before each place: the scan could always go on by withholding everything.
    I2  x outside S keeps I1 when shown (top_x + 1 ≤ bound); x in S keeps it when withheld (top_x + f_x / f(S) ≤ bound), and
        since f_x ≤ bound − top_x, widening S to all labels always suffices.
Cost
    O(records x degree x labels); memory O(degree x labels).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit

EPSILON = 1e-9


@jit
def _slot(place: int, degree: int) -> int:
    """Where the chances of a place are kept: the first places for good, the others until they are out of reach."""
    return place if place < degree else degree + place % degree


@jit
def _tops(
    chances: NDArray[np.float64],
    share: NDArray[np.float64],
    place: int,
    count: int,
    degree: int,
    held: NDArray[np.float64],
    top: NDArray[np.float64],
) -> None:
    """`top` of every label at this place of the scan."""
    held[:], top[:] = 0.0, 0.0
    for begin in range(place, place - degree, -1):
        if 0 <= begin < place:
            held += chances[_slot(begin, degree)]
        round_the_end = max(0, begin + degree - count)
        still_open = degree - 1 - (place - max(begin, 0)) - round_the_end
        for label in range(len(share)):
            have = held[label] + still_open * share[label]
            for early in range(round_the_end):
                have += chances[early, label]
            top[label] = max(top[label], have)


@jit
def _widen(barred: NDArray[np.bool_], share: NDArray[np.float64], top: NDArray[np.float64], bound: float, first: int) -> float:
    """Bar further labels, from `first` on, until no barred one is too likely behind a withheld place; the share barred."""
    mass, wanted = 0.0, 0.0
    for label in range(len(share)):
        if barred[label]:
            mass += share[label]
            wanted = max(wanted, share[label] / (bound - top[label]))
    for step in range(len(share)):
        label = (first + step) % len(share)
        if mass >= wanted - EPSILON:
            break
        if not barred[label]:
            barred[label] = True
            mass += share[label]
            wanted = max(wanted, share[label] / (bound - top[label]))
    return mass


@jit
def guard(labels: NDArray[np.int64], share: NDArray[np.float64], degree: int, bound: float) -> NDArray[np.bool_]:
    """Which places of the ring are withheld; `labels` in the order of the scan."""
    count, kinds = len(labels), len(share)
    chances = np.zeros((2 * degree, kinds))
    held, top = np.zeros(kinds), np.zeros(kinds)
    hidden = np.zeros(count, np.bool_)
    for place in range(count):
        _tops(chances, share, place, count, degree, held, top)  # I1
        barred = top + 1 > bound + EPSILON
        mine = chances[_slot(place, degree)]
        mine[:] = 0.0
        if barred.any():
            mass = _widen(barred, share, top, bound, place % kinds)
            if barred[labels[place]]:
                hidden[place] = True
                mine[:] = np.where(barred, share / mass, 0.0)  # I2
                continue
        mine[labels[place]] = 1.0  # I2
    return hidden


def plain_guard(labels: list[int], share: list[float], degree: int, bound: float) -> list[bool]:
    """The same with every window written out."""
    count = len(labels)
    chance: list[list[float] | None] = [None] * count
    hidden = [False] * count
    for place in range(count):
        top = [0.0] * len(share)
        for begin in range(place - degree + 1, place + 1):
            window = [chance[(begin + step) % count] for step in range(degree)]
            for label, f in enumerate(share):
                still_open = sum(known is None for known in window) - 1
                top[label] = max(top[label], sum(known[label] for known in window if known is not None) + still_open * f)
        barred = {label for label in range(len(share)) if top[label] + 1 > bound + EPSILON}
        for step in range(len(share)):
            wanted = max((share[label] / (bound - top[label]) for label in barred), default=0.0)
            if sum(share[label] for label in barred) >= wanted - EPSILON:
                break
            barred.add((place + step) % len(share))
        if labels[place] in barred:
            hidden[place], mass = True, sum(share[label] for label in barred)
            chance[place] = [share[label] / mass if label in barred else 0.0 for label in range(len(share))]
        else:
            chance[place] = [float(label == labels[place]) for label in range(len(share))]
    return hidden
