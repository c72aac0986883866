"""Regions: the top of a multidimensional cut, found from counts alone, for tables whose classes do not fit in one place.

A region is a box of leaves. It is cut in two where the cut saves most of what the region's records would cost in that column, as
long as both sides satisfy every claim and neither is much smaller than the other. Each region is then a recoding problem of its
own, and any method solves it; groups never cross regions.

Guarantee: every region satisfies every claim, so each of the problems has a solution without suppression (monotone models).

Departures: claims that compare groups with the whole release are not for regions, because a region does not know the whole.

Cost: per round one histogram of every open region and column, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.linkage import Linkage, Spread
from sfumato.methods.recoding.problem import Requirement

_PLACES = 256
"""Places of a column that are tried, at most."""
BALANCE = (0.3, 0.15, 0.05)
"""The least share of a region's classes that a side must have; less is tried where nothing else can be cut."""


@dataclass(frozen=True, slots=True)
class RegionCut:
    """Records of a region whose leaf in a column is at a place or beyond go to a new region."""

    region: int
    column: int
    place: int
    beyond: int


def routed(cuts: Sequence[RegionCut], codes: Sequence[IntArray]) -> IntArray:
    """The region of every tuple of leaf codes.

    >>> routed([RegionCut(0, 0, 5, 1), RegionCut(1, 1, 1, 2)], [np.array([3, 7, 9]), np.array([1, 0, 1])]).tolist()
    [0, 1, 2]
    """
    region = np.zeros(len(codes[0]), dtype=np.int64)
    for cut in cuts:
        region[(region == cut.region) & (codes[cut.column] >= cut.place)] = cut.beyond
    return region


@dataclass(frozen=True, slots=True)
class ColumnTally:
    """One column of one region: which leaves occur, in how many records and classes, and with which hidden values."""

    code: IntArray
    """Ascending."""
    records: IntArray
    classes: IntArray
    hidden: Mapping[str, tuple[IntArray, IntArray, IntArray]]
    """Per hidden column: the place of a leaf in `code`, a value, how often."""


def best_cut(
    tallies: Sequence[ColumnTally],
    domains: Sequence[Generalization],
    requirements: Sequence[Requirement],
    labels: Mapping[str, tuple[str, ...]],
) -> tuple[int, int] | None:
    """The column and the place of the cut that saves most; None where no cut leaves two sides that hold."""
    tried = [_tried(tally, domain, requirements, labels) for tally, domain in zip(tallies, domains, strict=True)]
    for share in BALANCE:
        best: tuple[float, int, int] | None = None
        for column, (place, gain, holds, smaller) in enumerate(tried):
            fit = np.flatnonzero(holds & (smaller >= share))
            if len(fit):
                at = int(fit[np.argmax(gain[fit])])
                if best is None or gain[at] > best[0]:
                    best = float(gain[at]), column, int(place[at])
        if best is not None:
            return best[1], best[2]
    return None


def _tried(
    tally: ColumnTally, domain: Generalization, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> tuple[IntArray, FloatArray, BoolArray, FloatArray]:
    """Places where a column can be cut, what each cut saves, whether both sides hold, and the share of the smaller one."""
    last = _places(tally)
    before = np.cumsum(tally.records)[last]
    total, classes = int(tally.records.sum()), np.cumsum(tally.classes)[last]
    gain = total * _width(domain, tally.code[:1], tally.code[-1:])[0] - before * _width(
        domain, np.full(len(last), tally.code[0]), tally.code[last]
    )
    gain = gain - (total - before) * _width(domain, tally.code[last + 1], np.full(len(last), tally.code[-1]))
    smaller = np.minimum(classes, int(tally.classes.sum()) - classes) / int(tally.classes.sum())
    holds = np.ones(len(last), dtype=np.bool_)
    spreads = {name: _prefix(entries, last, len(labels[name])) for name, entries in tally.hidden.items()}
    for requirement in requirements:
        for side in (False, True):
            size = total - before if side else before
            seen = {name: _spread(spreads[name], side, labels[name]) for name in requirement.hide}
            holds &= np.asarray(requirement.model.satisfied(Linkage(size, size, seen)))
    return tally.code[last] + 1, gain, holds, smaller


def _places(tally: ColumnTally) -> IntArray:
    """Leaves after which the column can be cut: all, or some that divide the classes evenly."""
    many = len(tally.code) - 1
    if many <= _PLACES:
        return np.arange(many)
    reached = np.cumsum(tally.classes)
    wanted = np.linspace(0, int(reached[-1]), _PLACES + 2)[1:-1]
    return np.unique(np.clip(np.searchsorted(reached, wanted), 0, many - 1))


def _width(domain: Generalization, first: IntArray, last: IntArray) -> FloatArray:
    return domain.width(*domain.close(first.astype(np.int64), last.astype(np.int64) + 1))


def _prefix(entries: tuple[IntArray, IntArray, IntArray], last: IntArray, values: int) -> tuple[IntArray, IntArray]:
    """How often each value occurs up to each place, and in all."""
    at, value, often = entries
    counts = np.zeros((len(last) + 1, values), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(last, at), value), often)
    return np.cumsum(counts, axis=0)[:-1], counts.sum(axis=0)


def _spread(prefix: tuple[IntArray, IntArray], beyond: bool, labels: tuple[str, ...]) -> Spread:
    counts = prefix[1][None, :] - prefix[0] if beyond else prefix[0]
    kind, value = np.nonzero(counts)
    return Spread.count(kind.astype(np.int64), value, len(counts), labels, counts[kind, value])
