"""`clustering`: greedy clustering within boundaries, GreedyCPKA.

Without boundaries it is GreedyPKClustering, without p-sensitivity it is GreedyCKA. The algorithm is in
`greedy_clustering`.

Paper: [boundaries §3]


Greedy clustering
-----------------
Greedy clustering within generalization boundaries: GreedyCPKA on classes with counts.

Without boundaries this is GreedyPKClustering; without a requirement on sensitive values it is GreedyCKA.

Guarantee: every group satisfies every requirement of the problem and stays within one region. Paper: [boundaries §3]

Notation
    k, p       the size and the distinct values that the claims imply; p may differ between sensitive columns
    weights    of the sensitive columns in the diversity of records (Def. 12, 13); when absent, inversely proportional
               to the number of different values, as the paper suggests
    price      of a group in a column: height of what is published over the height of the hierarchy (Def. 10), or its
               width

Invariants
    I1  Ties: records are sorted by their region, then of their leaf codes, column by column in `tie_order` (when
        absent: columns with more leaves first), then of their sensitive codes. "One tuple from" is the first in this
        order, the starting seed of a region is its first record, leftovers are dispersed in this order, and among
        equally good groups the one formed first wins. The same input gives the same groups.
    I2  Claims that k and p do not express are made to hold by joining groups of one region. A region that is not
        suppressed satisfies every requirement as one group, so this ends.

Departures
    Dispersal by growth of loss is the default; ``disperse="total"`` is what the paper prints. Frequency, entropy and
    recursive diversity, and a share α, cannot hold with fewer than l (or 1/α) different values; clusters are gathered
    with that many, so that few joins are needed.

Cost: about a second per million records and a fraction of that per ten thousand leftover tuples; see
`benchmarks/clustering.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.data.equivalence_classes import equivalence_classes_of as classes_of
from sfumato.kinds.tables.methods.class_merging import join_until_satisfied, normalize_grouping
from sfumato.kinds.tables.methods.recoding import RecodingMethod
from sfumato.kinds.tables.methods.recoding_costs import Price, columns_of
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from sfumato.policy.policy import Policy
from sfumato.release.method import Task

if TYPE_CHECKING:
    from sfumato.kinds.tables.methods.kernels.cell_costs import Columns
    from sfumato.kinds.tables.methods.kernels.greedy_clustering import PointTable, Work


class Clustering(RecodingMethod):
    """Build clusters greedily within the boundaries, record by record (GreedyCPKA)."""

    name: ClassVar[str] = "clustering"
    on_classes: ClassVar[bool] = True
    by_region: ClassVar[bool] = True
    paper: ClassVar[str] = "boundaries §3"
    reads: ClassVar[frozenset[str]] = frozenset({"utility.minimize", "columns.uniform"})

    weights: dict[str, float] = Field(
        default_factory=dict, description="weight of each sensitive column in diversity (Def. 12)"
    )
    disperse: Literal["growth", "total"] = Field(
        default="growth",
        description=(
            "leftover records join the cluster whose loss grows least, or has the least total loss (as printed)"
        ),
    )

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "it is greedy and fast"

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return cluster(
            problem,
            weights=self._weights(problem, task.policy),
            disperse=self.disperse,
            price="width" if task.policy.utility.minimize == "loss" else "height",
            progress=lambda done: task.progress(done, "clustering"),
        )

    def _weights(self, problem: RecodingProblem, policy: Policy) -> dict[str, float] | None:
        """The weights of the columns that the requirements of this problem hide."""
        for name in self.weights:
            if name not in policy.columns:
                where = policy.document.where("method", "clustering", "weights", name)
                hint = nearest(name, list(policy.sensitive))
                raise PolicyError(f"weight for '{name}', which is no column", where=where, hint=hint)
        here = {column.name for column in problem.sensitive}
        return {name: weight for name, weight in self.weights.items() if name in here} or None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        hidden = {name for claim in policy.claims for name in claim.hide}
        idle = [name for name in self.weights if name not in hidden]
        said = [f"the weight of {', '.join(idle)} is ignored: no claim speaks of it"] if idle else []
        return super().describe(policy, data) + said


# Greedy clustering
# -----------------


Disperse = Literal["growth", "total"]
Progress = Callable[[float], None]

_WEIGHT_UNIT = 10**12
"""Weights are decimals; as integers, sums that are equal on paper are equal here."""
_PORTIONS = 20


def cluster(
    problem: RecodingProblem,
    *,
    weights: Mapping[str, float] | None = None,
    disperse: Disperse = "growth",
    tie_order: Sequence[str] | None = None,
    price: Price = "height",
    progress: Progress | None = None,
) -> Grouping:
    """Groups of records that satisfy every requirement; records of `problem.out` are in none."""
    columns = columns_of(problem, price)
    layout = Layout.of(problem, weights, tie_order)
    if not layout.cells.size:
        return Grouping(layout.cells, layout.cells, layout.cells)
    work = layout.work(problem, columns)
    _run(work, layout, disperse, progress)
    entries = work.result.entries[: int(work.result.used[0])]
    grouping = normalize_grouping(layout.cells[entries["cell"]], entries["group"], entries["count"])
    return join_until_satisfied(problem, grouping, columns)  # I2


def _run(work: Work, layout: Layout, disperse: Disperse, progress: Progress | None) -> None:
    """Process region after region, in portions after which progress is reported."""
    from sfumato.kinds.tables.methods.kernels.greedy_clustering import gather

    before = np.append(0, np.cumsum(work.table.points["left"]))[layout.root_start]
    marks = (
        np.searchsorted(before, np.linspace(0, before[-1], _PORTIONS + 1))
        if progress
        else np.array([0, len(before) - 1])
    )
    for first, last in pairwise(marks):
        gather(int(first), int(last), work, layout.k, disperse == "growth")
        if progress:
            progress(float(before[last] / before[-1]))


@dataclass(frozen=True, slots=True)
class Layout:
    """The records that are published, in the order of ties (I1)."""

    tie_order: IntArray
    points: IntArray
    """Points of the problem, in order."""
    root_start: IntArray
    """Where each region begins among them."""
    cells: IntArray
    """Cells of the problem, in order."""
    k: int
    diverse: tuple[str, ...]
    """Sensitive columns that claims speak of, with the distinct values they ask for and their weights."""
    distinct: IntArray
    weight: IntArray

    @classmethod
    def of(
        cls, problem: RecodingProblem, weights: Mapping[str, float] | None, tie_order: Sequence[str] | None
    ) -> Layout:
        """Sort what is published."""
        order = _tie_order(problem, tie_order)
        kept = np.flatnonzero(~problem.out)
        keys = [problem.points[kept, column] for column in order[::-1]]
        region = problem.regions.of[kept]
        by_tie = np.lexsort([*keys, region])
        rank = np.full(len(problem.counts), -1, dtype=np.int64)
        rank[kept[by_tie]] = np.arange(len(kept))
        cell_rank = rank[problem.cell_point]
        cells = np.argsort(cell_rank, kind="stable")[np.count_nonzero(cell_rank < 0) :]
        starts = (
            np.flatnonzero(np.append(True, np.diff(region[by_tie]) != 0)) if len(kept) else np.zeros(0, dtype=np.int64)
        )
        k, distinct = implied(problem)
        weight = _weights(problem, tuple(distinct), weights)
        asked = np.array(list(distinct.values()), dtype=np.int64)
        return cls(order, kept[by_tie], np.append(starts, len(kept)), cells, k, tuple(distinct), asked, weight)

    def work(self, problem: RecodingProblem, columns: Columns) -> Work:
        """Return the arrays of the kernel; columns are in the order of ties."""
        from sfumato.kinds.tables.methods.kernels.greedy_clustering import prepare

        table = self._table(problem)
        ordered = columns._replace(heads=columns.heads[self.tie_order])
        return prepare(table, ordered, self.root_start, self.k, self.distinct, self.weight)

    def _table(self, problem: RecodingProblem) -> PointTable:
        from sfumato.kinds.tables.methods.kernels.greedy_clustering import CELL, FOLD, POINT, PointTable

        codes = problem.points[np.ix_(self.points, self.tie_order)].astype(np.int64)
        owner = problem.cell_point[self.cells]
        start = np.flatnonzero(np.append(True, np.diff(owner) != 0))
        points, cells = np.zeros(len(self.points), dtype=POINT), np.zeros(len(self.cells), dtype=CELL)
        points["start"], points["end"] = start, np.append(start[1:], len(owner))
        cells["count"] = problem.row_cell.counts[self.cells]
        cells["combo"], values = self._combos(problem)
        words = min(FOLD, 1 << (-(-len(values) // 64) - 1).bit_length()) if self.diverse else 0
        held = values.ravel()
        holders = np.argsort(held, kind="stable") // max(values.shape[1], 1)
        holder_start = np.searchsorted(np.sort(held), np.arange(int(held.max(initial=-1)) + 2))
        return PointTable(
            codes, points, cells, values, holder_start, holders, np.zeros((len(points), words), dtype=np.int64)
        )

    def _combos(self, problem: RecodingProblem) -> tuple[IntArray, IntArray]:
        """Combo of each cell, and the sensitive values of each combo, numbered through over all columns."""
        seen = [problem.cell_values[name][self.cells].astype(np.int64) for name in self.diverse]
        combos = classes_of(seen, rows=len(self.cells))
        offset = np.cumsum([0, *(int(column.max()) + 1 for column in seen)])
        values = np.zeros((len(combos), len(seen)), dtype=np.int64)
        for j, column in enumerate(seen):
            values[:, j] = column[combos.first] + offset[j]
        return combos.of, values


def implied(problem: RecodingProblem) -> tuple[int, dict[str, int]]:
    """The size, and per sensitive column the distinct values, without which no group satisfies the requirements."""
    k, distinct = 1, dict[str, int]()
    for requirement in problem.requirements:
        demand = requirement.model.demand()
        k = max(k, demand.candidates)
        for name in requirement.hide if demand.distinct else ():
            distinct[name] = max(distinct.get(name, 1), demand.distinct)
    return k, {column.name: distinct[column.name] for column in problem.sensitive if column.name in distinct}


def _tie_order(problem: RecodingProblem, names: Sequence[str] | None) -> IntArray:
    if names is None:
        sizes = np.array([domain.size for domain in problem.domains])
        return np.argsort(-sizes, kind="stable")
    if sorted(names) != sorted(problem.names):
        raise PolicyError(
            "the order of ties must name every quasi-identifier once", hint="leave it out for the usual order"
        )
    return np.array([problem.names.index(name) for name in names], dtype=np.int64)


def _weights(problem: RecodingProblem, diverse: tuple[str, ...], weights: Mapping[str, float] | None) -> IntArray:
    """Integer weights of the columns that claims speak of."""
    kinds = {column.name: len(np.unique(problem.cell_values[column.name])) for column in problem.sensitive}
    given = {name: 1 / kinds[name] for name in diverse} if weights is None else weights
    for name in given:
        if name not in kinds:
            raise PolicyError(f"weight for '{name}', which is no sensitive column", hint=nearest(name, list(kinds)))
    missing = [name for name in diverse if name not in given]
    chosen = np.array([given.get(name, 0.0) for name in diverse], dtype=np.float64)
    if missing or not np.isfinite(chosen).all() or (chosen < 0).any() or (len(chosen) and chosen.sum() <= 0):
        raise PolicyError(
            "weights must be given for every sensitive column and be positive", hint="or leave weights out"
        )
    return np.rint(chosen / max(float(chosen.sum()), 1e-300) * _WEIGHT_UNIT).astype(np.int64)
