"""Make every claim hold by joining groups of one region, the cheapest joins first.

Guarantee: the groups that come back satisfy every requirement of the problem.

Invariants
    I1  Groups never cross regions.
    I2  Each round every region with a failing group loses at least one group; a region that is one group satisfies
        every requirement, because those that do not are suppressed as a whole. So the rounds end.

Departures: [boundaries §6] leaves other models open; joining is sound for every model, and keeps what monotone ones had
reached.


Units
-----
Units: the records that a search may exchange for one another, and groupings of them.

Cells that differ only in sensitive values which no claim is about are one unit.

Invariants
    I1  `entries` and `grouping` undo each other up to which of a unit's cells goes where, which no requirement and no
        cost can see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.equivalence_classes import equivalence_classes_of as classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem

if TYPE_CHECKING:
    from sfumato.kinds.tables.methods.kernels.cell_costs import Columns


def join_until_satisfied(problem: RecodingProblem, grouping: Grouping, columns: Columns) -> Grouping:
    """Join failing groups with neighbours of their region until `problem.satisfied` says yes everywhere."""
    while not (holds := problem.satisfied(grouping)).all():
        joined = join_failing_groups(problem, grouping, columns, ~holds)
        if joined.groups == grouping.groups:  # I2
            raise Infeasible(
                "a region breaks a claim even as one group",
                hint="widen a boundary, ask for less, or allow more suppression",
            )
        grouping = joined
    return grouping


def normalize_grouping(cell: IntArray, group: IntArray, count: IntArray) -> Grouping:
    """The grouping with one entry per (group, cell) and groups numbered without gaps, in their order."""
    pairs = classes_of([group, cell])
    number = classes_of([group[pairs.first]]).of
    total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
    return Grouping(cell[pairs.first], number, total)


def join_failing_groups(problem: RecodingProblem, grouping: Grouping, columns: Columns, failing: BoolArray) -> Grouping:
    """Every failing group joined with its cheapest neighbour."""
    from sfumato.kinds.tables.methods.kernels.cell_costs import join_round

    region = np.zeros(grouping.groups, dtype=np.int64)
    region[grouping.group] = problem.regions.of[problem.cell_point[grouping.cell]]  # I1
    order = np.argsort(region, kind="stable")
    start = np.searchsorted(region[order], np.arange(len(problem.regions) + 1))
    boxes = _boxes(problem, grouping, columns, order)
    sizes = np.bincount(grouping.group, weights=grouping.count, minlength=grouping.groups).astype(np.int64)
    into = join_round(columns, boxes, sizes[order], region[order], start, failing[order])
    label = np.empty_like(order)
    label[order] = order[into]
    return normalize_grouping(grouping.cell, label[grouping.group], grouping.count)


def _boxes(problem: RecodingProblem, grouping: Grouping, columns: Columns, order: IntArray) -> NDArray[np.void]:
    """What each group publishes, in the kernels' terms."""
    from sfumato.kinds.tables.methods.kernels.cell_costs import BOX

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


# Units
# -----


@dataclass(frozen=True, slots=True)
class Entries:
    """`count[e]` records of unit `unit[e]` in group `group[e]`; sorted by group, groups numbered without gaps."""

    unit: IntArray
    group: IntArray
    count: IntArray

    @classmethod
    def tidy(cls, unit: IntArray, group_: IntArray, count: IntArray) -> Entries:
        """Add up entries of the same unit and group, and number groups anew."""
        pairs = equivalence_classes_of([group_, unit])
        owner = group_[pairs.first]
        number = np.cumsum(np.diff(owner, prepend=-1) > 0) - 1
        total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
        return cls(unit[pairs.first], number, total)

    @property
    def first(self) -> IntArray:
        """Where the entries of each group begin, and the end."""
        return np.searchsorted(self.group, np.arange(int(self.group.max(initial=-1)) + 2)).astype(np.int64)


class Units:
    """The units of a problem."""

    def __init__(self, problem: RecodingProblem, claims: Claims) -> None:
        self.problem = problem
        hidden = [problem.cell_values[name] for name in claims.hidden]
        classes = equivalence_classes_of([problem.cell_point, *hidden])
        self.of_cell = classes.of
        self.cell = classes.first
        """One cell of each unit."""
        self.point = problem.cell_point[self.cell]
        self.codes = np.ascontiguousarray(problem.points[self.point], dtype=np.int32)
        self.tags = np.ascontiguousarray(
            np.stack([values[self.cell] for values in hidden], axis=1) if hidden else np.zeros((len(self.cell), 0)),
            dtype=np.int32,
        )
        self.region = problem.regions.of[self.point]

    def entries(self, grouping: Grouping) -> Entries:
        return Entries.tidy(self.of_cell[grouping.cell], grouping.group, grouping.count)

    def part(self, unit: IntArray, group_: IntArray, count: IntArray) -> Grouping:
        """Groups of units as a grouping that requirements can be asked about."""
        return Grouping(self.cell[unit], group_, count)

    def grouping(self, entries: Entries) -> Grouping:
        """Hand the places of each unit out to its cells, in order (I1)."""
        placed = np.flatnonzero(~self.problem.out[self.problem.cell_point])
        cells = placed[np.argsort(self.of_cell[placed], kind="stable")]
        order = np.argsort(entries.unit, kind="stable")
        cell_end = np.cumsum(self.problem.row_cell.counts[cells])
        entry_end = np.cumsum(entries.count[order])
        ends = np.union1d(cell_end, entry_end)
        cell = cells[np.searchsorted(cell_end, ends)]
        owner = entries.group[order][np.searchsorted(entry_end, ends)]
        return _added_up(cell, owner, np.diff(ends, prepend=0))


def _added_up(cell: IntArray, owner: IntArray, count: NDArray[np.int64]) -> Grouping:
    pairs = equivalence_classes_of([owner, cell])
    total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
    return Grouping(cell[pairs.first], owner[pairs.first], total)
