"""Regions: the top of a multidimensional cut, found from counts alone, for tables whose classes do not fit in one place.

A region is a box of leaves. It is cut in two in the column in which dividing it saves most, between children of its node or
anywhere in a range, where both sides satisfy every claim and are as even as can be. Each region is then a recoding problem of its
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
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, Spread
from sfumato.methods.recoding.problem import Requirement

_PLACES = 256
"""Places of a column that are tried, at most."""


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
    """The column and the place of a cut; None where no cut leaves two sides that hold.

    The column is the one in which dividing the region saves most; the place, of those where both sides hold, the one that divides
    its classes most evenly.
    """
    saved = [_saved(tally, domain) for tally, domain in zip(tallies, domains, strict=True)]
    for column in sorted(range(len(tallies)), key=lambda column: -saved[column]):
        last = _places(tallies[column], domains[column])
        holds, smaller = _tried(tallies[column], last, requirements, labels)
        if holds.any():
            at = int(np.flatnonzero(holds)[np.argmax(smaller[holds])])
            return column, int(tallies[column].code[last[at]]) + 1
    return None


def _saved(tally: ColumnTally, domain: Generalization) -> float:
    """What the records of a region would save in a column that is divided: a node into its children, a range at its median."""
    whole = _width(domain, tally.code[:1], tally.code[-1:])[0]
    inner = np.concatenate([[-1], _places(tally, domain), [len(tally.code) - 1]])
    if not isinstance(domain, Hierarchy):
        middle = int(np.searchsorted(np.cumsum(tally.records), int(tally.records.sum()) / 2))
        inner = np.unique([-1, min(middle, max(len(tally.code) - 2, -1)), len(tally.code) - 1])
    records = np.diff(np.concatenate([[0], np.cumsum(tally.records)])[inner + 1])
    return float(records @ (whole - _width(domain, tally.code[inner[:-1] + 1], tally.code[inner[1:]])))


def _tried(
    tally: ColumnTally, last: IntArray, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> tuple[BoolArray, FloatArray]:
    """Of places where a column can be cut: whether both sides hold, and the share of classes on the smaller one."""
    before, classes = np.cumsum(tally.records)[last], np.cumsum(tally.classes)[last]
    total, all_classes = int(tally.records.sum()), int(tally.classes.sum())
    holds = np.ones(len(last), dtype=np.bool_)
    spreads = {name: _prefix(entries, last, len(labels[name])) for name, entries in tally.hidden.items()}
    for requirement in requirements:
        for beyond in (False, True):
            size = total - before if beyond else before
            seen = {name: _spread(spreads[name], beyond, labels[name]) for name in requirement.hide}
            holds &= np.asarray(requirement.model.satisfied(Linkage(size, size, seen)))
    return holds, np.minimum(classes, all_classes - classes) / all_classes


def _places(tally: ColumnTally, domain: Generalization) -> IntArray:
    """Leaves after which a region can be cut: between the children of its node, or in a range anywhere, as evenly as few can be."""
    many = len(tally.code) - 1
    if isinstance(domain, Hierarchy):
        edges = _children(domain, int(tally.code[0]), int(tally.code[-1]))
        found = np.unique(np.searchsorted(tally.code, edges)) - 1
        found = found[(found >= 0) & (found < many)]
    else:
        found = np.arange(many)
    if len(found) <= _PLACES:
        return found
    reached = np.cumsum(tally.classes)[found]
    wanted = np.linspace(0, int(reached[-1]), _PLACES + 2)[1:-1]
    return found[np.unique(np.clip(np.searchsorted(reached, wanted), 0, len(found) - 1))]


def _children(tree: Hierarchy, first: int, last: int) -> IntArray:
    """Where the children of the smallest node over some leaves begin."""
    lo, hi = (int(end[0]) for end in tree.close(np.array([first]), np.array([last + 1])))
    above = np.maximum(tree.parent, 0)
    inside = (tree.parent >= 0) & (tree.lo[above] == lo) & (tree.hi[above] == hi) & ((tree.lo != lo) | (tree.hi != hi))
    found: IntArray = np.unique(tree.lo[inside])
    return found


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
