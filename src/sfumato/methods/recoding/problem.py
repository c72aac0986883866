"""The recoding problem: distinct quasi-identifier tuples with counts, what may be joined, and what every group must satisfy.

All methods that publish one recoded table (clustering, mondrian, refined, …) start from a `RecodingProblem` and end
with a `Grouping`. What is published for a group is the smallest publishable interval around it in every column.

Paper: [boundaries Def. 8, 9, Properties 1-6]

Notation
    point     a distinct quasi-identifier tuple (leaf codes), with the number of records that have it
    cell      a distinct (point, sensitive values) combination, with its count: the smallest unit that methods move
    region    points with the same ceilings in every column: a cluster of the maximum allowed microdata (Def. 9);
              by Property 1 only records of one region may share a group
    out       regions that break a claim even as one group; by Properties 5 and 6 exactly these must be suppressed

Invariants
    I1  Groups never cross regions.
    I2  Every group satisfies every claim; `satisfied` says so for a finished grouping, by the models themselves.

Departures
    Properties 5 and 6 are stated for p-sensitive k-anonymity, where adding records to a group never hurts. For models on shares
    (frequency, entropy, t-closeness) a region that fails as a whole is suppressed as a whole; a cleverly chosen part of it might
    have been saved. For t-closeness the overall distribution changes with what is suppressed, so `out` is
    iterated to a fixed point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.data.arrays import BoolArray, CodeArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.generalization import Generalization
from sfumato.data.linkage import Linkage, Spread
from sfumato.models.base import Model


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One sensitive column of the records: codes into its labels."""

    name: str
    codes: CodeArray
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A model and the sensitive columns it speaks about."""

    model: Model
    hide: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping:
    """`count[i]` records of cell `cell[i]` go to group `group[i]`; groups are numbered from 0 without gaps."""

    cell: IntArray
    group: IntArray
    count: IntArray

    @property
    def groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1


@dataclass(frozen=True)
class RecodingProblem:
    """One recoding problem in terms of leaf codes; rows are records."""

    names: tuple[str, ...]
    domains: tuple[Generalization, ...]
    codes: tuple[CodeArray, ...]
    """Leaf codes, one array over all records per quasi-identifier."""
    sensitive: tuple[Sensitive, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return len(self.codes[0])

    @cached_property
    def row_point(self) -> Classes:
        """Which point each record is at."""
        return group(self.codes)

    @cached_property
    def points(self) -> CodeArray:
        """Leaf codes of each point: points × quasi-identifiers."""
        return np.stack([column[self.row_point.first] for column in self.codes], axis=1)

    @property
    def counts(self) -> IntArray:
        return self.row_point.counts

    @cached_property
    def row_cell(self) -> Classes:
        """Which cell each record is in; cells are ordered by point."""
        return group([self.row_point.of, *(column.codes for column in self.sensitive)])

    @cached_property
    def cell_point(self) -> IntArray:
        return self.row_point.of[self.row_cell.first]

    @cached_property
    def cell_values(self) -> dict[str, CodeArray]:
        """The sensitive codes of each cell."""
        return {column.name: column.codes[self.row_cell.first] for column in self.sensitive}

    @cached_property
    def regions(self) -> Classes:
        """Region of each point (Def. 9): what Property 1 allows to be joined."""
        ceilings: list[IntArray] = []
        for column, domain in enumerate(self.domains):
            lo, hi = domain.ceiling()
            ceilings += [lo[self.points[:, column]], hi[self.points[:, column]]]
        return group(ceilings)  # I1: nothing but points of one of these is ever joined

    @cached_property
    def out(self) -> BoolArray:
        """Per point: must it be suppressed because its whole region breaks a claim?"""
        kept = np.ones(len(self.regions), dtype=np.bool_)
        while kept.any():
            holds = self.satisfied(self._whole_regions(kept))
            if holds.all():
                break
            kept[np.flatnonzero(kept)[~holds]] = False
        return ~kept[self.regions.of]

    def _whole_regions(self, kept: BoolArray) -> Grouping:
        region = self.regions.of[self.cell_point]
        cells = np.flatnonzero(kept[region])
        return Grouping(cells, (np.cumsum(kept) - 1)[region[cells]], self.row_cell.counts[cells])

    @property
    def suppressed(self) -> int:
        """How many records must be suppressed."""
        return int(self.counts[self.out].sum())

    def grouping(self, group_of_point: IntArray) -> Grouping:
        """The grouping that keeps every point whole; −1 marks points that are suppressed."""
        group_of_cell = group_of_point[self.cell_point]
        cells = np.flatnonzero(group_of_cell >= 0)
        return Grouping(cells, group_of_cell[cells], self.row_cell.counts[cells])

    def linkage(self, grouping: Grouping, hide: Sequence[str] = ()) -> Linkage:
        """What an outsider would be left with if this grouping were published."""
        groups = grouping.groups
        size = np.bincount(grouping.group, weights=grouping.count, minlength=groups).astype(np.int64)
        spread = {
            column.name: Spread.count(
                grouping.group, self.cell_values[column.name][grouping.cell], groups, column.labels, grouping.count
            )
            for column in self.sensitive
            if column.name in hide
        }
        return Linkage(size, size, spread)

    def satisfied(self, grouping: Grouping) -> BoolArray:
        """For each group: are all claims satisfied? (I2)"""
        hide = {name for requirement in self.requirements for name in requirement.hide}
        whole = self.linkage(grouping, tuple(hide))
        verdict = np.ones(len(whole.candidates), dtype=np.bool_)
        for requirement in self.requirements:
            seen = {name: whole.spread[name] for name in requirement.hide}
            verdict &= requirement.model.satisfied(Linkage(whole.people, whole.candidates, seen))
        return verdict

    def intervals(self, grouping: Grouping) -> list[tuple[IntArray, IntArray]]:
        """Per column the published interval of each group."""
        points = self.cell_point[grouping.cell]
        published = []
        for column, domain in enumerate(self.domains):
            lo = np.full(grouping.groups, domain.size, dtype=np.int64)
            hi = np.zeros(grouping.groups, dtype=np.int64)
            np.minimum.at(lo, grouping.group, self.points[points, column])
            np.maximum.at(hi, grouping.group, self.points[points, column] + 1)
            published.append(domain.close(lo, hi))
        return published

    def group_of_record(self, grouping: Grouping) -> IntArray:
        """The group of every record, −1 for suppressed ones; which of a cell's records go where does not matter."""
        order = np.argsort(self.row_cell.of, kind="stable")
        start = np.concatenate([[0], np.cumsum(self.row_cell.counts)])
        by_cell = np.argsort(grouping.cell, kind="stable")
        cell, count = grouping.cell[by_cell], grouping.count[by_cell]
        placed = np.cumsum(count) - count
        first_of_cell = np.searchsorted(cell, cell)
        offset = start[cell] + placed - placed[first_of_cell]
        slots = np.repeat(offset - placed, count) + np.arange(int(count.sum()))
        of_record = np.full(self.records, -1, dtype=np.int64)
        of_record[order[slots]] = np.repeat(grouping.group[by_cell], count)
        return of_record
