"""Regions: the top of a multidimensional cut, found from counts alone, for tables whose classes do not fit in one place.

A region is a node of the tree that mondrian (`partitioning`) cuts: the column that saves most is divided into the children of its
node, or at the median of a range, and children that are not safe by themselves stay together. What decides that are sums per leaf
of one column: histograms are enough to cut as mondrian would with all classes at hand. Each region is a recoding problem of its
own, any method solves it, and groups never cross regions; small regions are solved by one task together (`bins`).

Guarantee: every region satisfies every claim, so each of the problems has a solution without suppression (monotone models).
Mondrian in regions is mondrian (where the objective is the loss), so nothing is lost by them.

Departures: claims that compare groups with the whole release are not for regions, because a region does not know the whole.

Cost: per round one histogram of every open region and column, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, Spread
from sfumato.methods.recoding.partitioning import children, medians
from sfumato.methods.recoding.problem import Requirement


@dataclass(frozen=True, slots=True)
class RegionCut:
    """Records of a region go to other regions, by their leaf in a column."""

    region: int
    column: int
    to: IntArray
    """The new region of each leaf; −1 for leaves that do not occur."""


def routed(cuts: Sequence[RegionCut], codes: Sequence[IntArray]) -> IntArray:
    """The region of every tuple of leaf codes.

    >>> cuts = [RegionCut(0, 0, np.array([1, 2])), RegionCut(2, 1, np.array([3, 4]))]
    >>> routed(cuts, [np.array([0, 1, 1]), np.array([1, 0, 1])]).tolist()
    [1, 3, 4]
    """
    region = np.zeros(len(codes[0]), dtype=np.int64)
    for cut in cuts:
        mine = np.flatnonzero(region == cut.region)
        region[mine] = cut.to[codes[cut.column][mine]]
    return region


def bins(sizes: Mapping[int, int], most: int) -> dict[int, int]:
    """Regions that are solved together: the bin of each, so that no bin of several has more than `most` classes.

    >>> bins({0: 7, 1: 2, 2: 9, 3: 3}, 10)
    {2: 0, 0: 1, 3: 1, 1: 2}
    """
    found: dict[int, int] = {}
    loads: list[int] = []
    for region in sorted(sizes, key=lambda region: (-sizes[region], region)):
        place = next((place for place, load in enumerate(loads) if load + sizes[region] <= most), len(loads))
        loads += [0] * (place == len(loads))
        loads[place] += sizes[region]
        found[region] = place
    return found


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
) -> tuple[int, IntArray] | None:
    """The column that saves most and the part of each of its leaves that occur; None where no cut leaves parts that all hold."""
    best: tuple[int, IntArray] | None = None
    most = 0.0
    for column, (tally, domain) in enumerate(zip(tallies, domains, strict=True)):
        for child in _proposals(tally, domain):
            part = _safe_parts(tally, child, requirements, labels)
            gain = 0.0 if part is None else _gain(tally, domain, part)
            if part is not None and gain > most:
                best, most = (column, part), gain
    return best


def _proposals(tally: ColumnTally, domain: Generalization) -> Iterator[IntArray]:
    """The child that each leaf falls into: of the node around all of them, or of a range cut before or after its median."""
    if len(tally.code) < 2:
        return
    one = np.zeros(len(tally.code), dtype=np.int64)
    if isinstance(domain, Hierarchy):
        yield children(domain, tally.code, tally.code[:1], tally.code[-1:], one)
    else:
        for place in medians(one, tally.code, tally.records, 1):
            yield (tally.code >= place[0]).astype(np.int64)


def _safe_parts(
    tally: ColumnTally, child: IntArray, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> IntArray | None:
    """Parts made of the children so that they are safe, two or more; those that are not safe stay together, if need be with the
    smallest one that is."""
    of = np.unique(child, return_inverse=True)[1].astype(np.int64)
    unsafe = ~_hold(tally, of, requirements, labels)
    fine = int((~unsafe).sum())
    if len(unsafe) < 2 or not fine:
        return None
    if unsafe.any() and not _hold(tally, np.where(unsafe[of], 0, 1), requirements, labels)[0]:
        if fine < 2:
            return None
        size = np.bincount(of, weights=tally.records)
        unsafe[np.flatnonzero(~unsafe)[np.argmin(size[~unsafe])]] = True
        if not _hold(tally, np.where(unsafe[of], 0, 1), requirements, labels)[0]:
            return None
    return np.unique(np.where(unsafe[of], len(unsafe), of), return_inverse=True)[1].astype(np.int64)


def _hold(
    tally: ColumnTally, of: IntArray, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> BoolArray:
    """Whether the records of each part of the leaves satisfy every claim."""
    parts = int(of.max()) + 1
    size = np.bincount(of, weights=tally.records, minlength=parts).astype(np.int64)
    holds = np.ones(parts, dtype=np.bool_)
    for requirement in requirements:
        seen = {}
        for name in requirement.hide:
            at, value, often = tally.hidden[name]
            seen[name] = Spread.count(of[at], value, parts, labels[name], often)
        holds &= np.asarray(requirement.model.satisfied(Linkage(size, size, seen)))
    return holds


def _gain(tally: ColumnTally, domain: Generalization, part: IntArray) -> float:
    """What the records of a region save in a column that is divided."""
    parts = int(part.max()) + 1
    first, last = np.full(parts, tally.code[-1]), np.zeros(parts, dtype=np.int64)
    np.minimum.at(first, part, tally.code)
    np.maximum.at(last, part, tally.code)
    whole = _width(domain, tally.code[:1], tally.code[-1:])[0]
    size = np.bincount(part, weights=tally.records, minlength=parts)
    return float(whole * size.sum() - size @ _width(domain, first, last))


def _width(domain: Generalization, first: IntArray, last: IntArray) -> FloatArray:
    return domain.width(*domain.close(first.astype(np.int64), last.astype(np.int64) + 1))
