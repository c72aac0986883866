"""Withholding labels on a ring until nobody's candidates show one label too often.

Guarantee
    Among the `degree` candidates of every person no label is shown more than `most` times. Each candidate is the true one
    with probability 1/degree, so with most = degree / l no *shown* label is somebody's with probability above 1/l.
Paper
    Takes the place of [multitype Algorithm 2], which does not give l-diversity: it compares labels under the identity, but
    what is published are the labels under the assignment that is drawn.
Invariants
    I1  The result depends on the ring, the labels as published, and a random place to begin, never on who has which label.
    I2  Any `degree` positions in a row show a label at most `most` times.
Departures
    An outsider who knows the rule of `withhold` takes a withheld label for one of those kept within reach before it; such a
    guess about a *person* is diluted by the other candidates, but its chance is not bounded by 1/l. `guarded` counts that
    chance and bounds it, for labels that are independent of items and of each other; it needs a degree above l.
Cost
    One sort of the labels.

>>> withhold(np.array([0, 0, 1, 0, 2, 1]), degree=3, most=1, start=0).tolist()
[False, True, False, False, False, False]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def withhold(published: NDArray[np.int64], degree: int, most: int, start: int) -> NDArray[np.bool_]:
    """Which positions must not show their label; `start` is where the scan around the ring begins."""
    count = len(published)
    order = np.argsort(published, kind="stable")
    bounds = np.flatnonzero(np.diff(published[order])) + 1
    hidden = np.zeros(count, dtype=bool)
    for places in np.split(order, bounds):
        if len(places) > most:
            hidden[places] = _crowded((places - start) % count, count, degree, most)  # I1
    return hidden


def guarded(published: NDArray[np.int64], degree: int, bound: float, start: int) -> NDArray[np.bool_]:
    """Which positions must not show their label so that a guess with full knowledge of this rule is right at most bound/degree."""
    from sfumato.methods.baskets.kernels.guarding import guard

    share = np.bincount(published) / len(published)
    scanned = np.roll(published, -start)  # I1
    return np.roll(guard(scanned, share, degree, bound), start)


def _crowded(places: NDArray[np.int64], count: int, degree: int, most: int) -> NDArray[np.bool_]:
    """For one label, standing at these places of the ring: keep a place when the `most`-th kept one before it is far enough."""
    hidden = np.zeros(len(places), dtype=bool)
    kept: list[int] = []
    for index in np.argsort(places):
        place = int(places[index])
        near = len(kept) >= most and place - kept[-most] < degree
        if near or _meets_the_beginning(kept, place, count, degree, most):  # I2
            hidden[index] = True
        else:
            kept.append(place)
    return hidden


def _meets_the_beginning(kept: list[int], place: int, count: int, degree: int, most: int) -> bool:
    """Whether keeping `place` crowds a window that runs across the end of the ring into places already kept."""
    early = [first for first in kept[:most] if first + count - place < degree]
    late = [last for last in kept[-most:] if place - last < degree]
    for taken, first in enumerate(early, start=1):
        window_begin = first + count - degree + 1
        if taken + 1 + sum(last >= window_begin for last in late) > most:
            return True
    return False


def distinct_shown(published: NDArray[np.int64], hidden: NDArray[np.bool_], degree: int) -> int:
    """The fewest different labels that anybody's candidates show."""
    shown = np.where(hidden, -1, published)
    window = np.sort(shown[(np.arange(len(shown))[:, None] + np.arange(degree)[None, :]) % len(shown)], axis=1)
    different = (np.diff(window, axis=1) > 0).sum(axis=1) + (window[:, 0] >= 0)
    return int(different.min())
