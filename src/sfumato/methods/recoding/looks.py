"""Looks: groups of different history classes that are written alike, so that whoever has the newest release alone sees enough rows.

Rows of a person that came later fit the cells of groups that were there before. Whoever joins all releases knows them apart; who
has only the newest one does not, and counts them all (M). Such a group cannot take rows of other history classes in, but it can be
written like theirs: then the rows that look alike are more, and all releases together say what they said.

Groups of one history class that are written alike are one joint class. So what is asked over all releases is counted again on what
is published, and where it is broken groups of the history class are joined (`people.settled`).

Invariants
    I1  Groups stay what they are; only what they are published as grows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.data.arrays import BoolArray
from sfumato.data.classes import group
from sfumato.methods.recoding.joining import joined_once
from sfumato.methods.recoding.pricing import columns_of
from sfumato.methods.recoding.problem import Cells, Grouping, RecodingProblem, Sensitive
from sfumato.methods.recoding.series import HISTORY

_GROUP = "group\0"


def without_history(problem: RecodingProblem, of_row: np.ndarray) -> RecodingProblem:
    """The problem of whoever has this release alone; the group of each row is one more hidden column."""
    kept = [place for place, name in enumerate(problem.names) if name != HISTORY]
    names = tuple(problem.names[place] for place in kept)
    labels = tuple(map(str, range(int(of_row.max(initial=-1)) + 2)))
    return replace(
        problem,
        names=names,
        domains=tuple(problem.domains[place] for place in kept),
        codes=tuple(problem.codes[place] for place in kept),
        sensitive=(*problem.sensitive, Sensitive(_GROUP, (of_row + 1).astype(np.int32), labels)),
        requirements=tuple(replace(one, given=names) for one in problem.requirements),
        settled=None,
    )


class Looks:
    """What the groups of a problem with history classes are written as, for whoever does not know these."""

    def __init__(self, problem: RecodingProblem, grouping: Grouping) -> None:
        self.problem, self.grouping = problem, grouping
        self.alone = without_history(problem, problem.group_of_record(grouping))
        self.of_cell = self.alone.cell_values[_GROUP].astype(np.int64) - 1
        cells = np.flatnonzero(self.of_cell >= 0)
        self.looks = Grouping(cells, group([self.of_cell[cells]]).of, self.alone.row_cell.counts[cells])

    def join(self, broken: BoolArray) -> bool:
        """Write broken looks like their cheapest neighbours; whether any was left to be joined."""
        found = joined_once(self.alone, self.looks, columns_of(self.alone, "width"), broken)
        fewer, self.looks = found.groups < self.looks.groups, found
        return fewer

    def published(self) -> Grouping:
        """The groups as they were, written as their looks (I1)."""
        look = np.zeros(self.grouping.groups, dtype=np.int64)
        look[self.of_cell[self.looks.cell]] = self.looks.group
        written = dict(zip(self.alone.names, (cells.taken(look) for cells in self.alone.cells(self.looks)), strict=True))
        own = dict(zip(self.problem.names, self.problem.cells(self.grouping), strict=True))
        cells: tuple[Cells, ...] = tuple(written.get(name, own[name]) for name in self.problem.names)
        return replace(self.grouping, published=cells)
