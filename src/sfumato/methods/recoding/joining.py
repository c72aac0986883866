"""Make every claim hold by joining groups of one region, the cheapest joins first.

Guarantee: the groups that come back satisfy every claim of the problem.

Invariants
    I1  Groups never cross regions.
    I2  Each round every region with a failing group loses at least one group; a region that is one group satisfies every claim,
        because those that do not are suppressed as a whole. So the rounds end.

Departures: [boundaries §6] leaves other models open; joining is sound for every model, and keeps what monotone ones had reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group as classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import Infeasible
from sfumato.methods.recoding.problem import Grouping, RecodingProblem

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.boxes import Columns


def join_until_satisfied(problem: RecodingProblem, grouping: Grouping, columns: Columns) -> Grouping:
    """Join failing groups with neighbours of their region until `problem.satisfied` says yes everywhere."""
    while not (holds := problem.satisfied(grouping)).all():
        joined = joined_once(problem, grouping, columns, ~holds)
        if joined.groups == grouping.groups:  # I2
            raise Infeasible(
                "a region breaks a claim even as one group", hint="widen a boundary, ask for less, or allow more suppression"
            )
        grouping = joined
    return grouping


def tidied(cell: IntArray, group: IntArray, count: IntArray) -> Grouping:
    """The grouping with one entry per (group, cell) and groups numbered without gaps, in their order."""
    pairs = classes_of([group, cell])
    number = classes_of([group[pairs.first]]).of
    total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
    return Grouping(cell[pairs.first], number, total)


def joined_once(problem: RecodingProblem, grouping: Grouping, columns: Columns, failing: BoolArray) -> Grouping:
    """Every failing group joined with its cheapest neighbour."""
    from sfumato.methods.recoding.kernels.group_joining import join_round

    region = np.zeros(grouping.groups, dtype=np.int64)
    region[grouping.group] = problem.regions.of[problem.cell_point[grouping.cell]]  # I1
    order = np.argsort(region, kind="stable")
    start = np.searchsorted(region[order], np.arange(len(problem.regions) + 1))
    boxes = _boxes(problem, grouping, columns, order)
    sizes = np.bincount(grouping.group, weights=grouping.count, minlength=grouping.groups).astype(np.int64)
    into = join_round(columns, boxes, sizes[order], region[order], start, failing[order])
    label = np.empty_like(order)
    label[order] = order[into]
    return tidied(grouping.cell, label[grouping.group], grouping.count)


def _boxes(problem: RecodingProblem, grouping: Grouping, columns: Columns, order: IntArray) -> NDArray[np.void]:
    """What each group publishes, in the kernels' terms."""
    from sfumato.methods.recoding.kernels.boxes import BOX

    boxes = np.zeros((len(order), len(problem.domains) + 1), dtype=BOX)
    intervals = problem.intervals(grouping)
    for j in reversed(range(len(problem.domains))):
        domain, box, (lo, hi) = problem.domains[j], boxes[:, j], intervals[j]
        box["lo"], box["hi"] = lo[order], hi[order]
        base = int(columns.heads["offset"][j])
        if isinstance(domain, Hierarchy):
            box["node"] = domain.lca(box["lo"], box["hi"] - 1)
            box["price"] = columns.nodes["price"][base + box["node"]]
        else:
            box["price"] = columns.nodes["price"][base + box["hi"] - 1] - columns.nodes["price"][base + box["lo"]]
        box["rest"] = boxes[:, j + 1]["rest"] + box["price"]
    return boxes
