"""The claims of a recoding problem, asked about some of its groups at a time.

Invariants
    I1  A verdict never depends on which other groups are asked about: where a model may compare with the whole release
        (t-closeness), records that no group mentions are put into one group of their own, so that it sees the whole release.
    I2  Claims that speak of numbers alone are one threshold, `fewest`; it is found by asking the models themselves.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage, Spread
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.models.base import Model


class Claims:
    """What every group must satisfy."""

    def __init__(self, problem: RecodingProblem) -> None:
        self.problem = problem
        self.by_size = not any(r.model.needs_sensitive for r in problem.requirements)
        """Whether the number of records in a group decides everything."""
        self.hidden = tuple(c.name for c in problem.sensitive if any(c.name in r.hide for r in problem.requirements))
        """The sensitive columns that some claim speaks about."""
        self.compares = not problem.uniform or not all(r.model.demand().sufficient for r in problem.requirements)
        """Whether the verdict on a group may hang on others: not where numbers of its own are all that anybody asks for."""

    @cached_property
    def fewest(self) -> int:
        """The smallest size that satisfies the claims on numbers; records + 1 when none does (I2)."""
        low, high = 1, self.problem.records + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._large_enough(np.array([middle]))[0] else (middle + 1, high)
        return low

    def _large_enough(self, size: IntArray) -> BoolArray:
        verdict = np.ones(len(size), dtype=np.bool_)
        for requirement in self.problem.requirements:
            if not requirement.model.needs_sensitive:
                verdict &= requirement.model.satisfied(Linkage(size, size))
        return verdict

    def hold(self, part: Grouping) -> BoolArray:
        """For each group of `part`, which may leave records out: are all claims satisfied?"""
        groups = part.groups
        size = np.bincount(part.group, weights=part.count, minlength=groups).astype(np.int64)
        verdict = self._large_enough(size)
        if self.by_size or not verdict.any():
            return verdict
        whole = self._with_rest(part) if self.compares else part  # I1
        del part  # a caller who does not keep it makes room
        return verdict & self.problem.satisfied(whole)[:groups]

    @cached_property
    def _profiles(self) -> tuple[IntArray, IntArray, IntArray]:
        """Per cell its combination of hidden values; per combination one cell, and the records that are to be placed."""
        classes = group([self.problem.cell_values[name] for name in self.hidden], rows=len(self.problem.cell_point))
        placed = np.where(self.problem.out[self.problem.cell_point], 0, self.problem.row_cell.counts)
        total = np.bincount(classes.of, weights=placed, minlength=len(classes)).astype(np.int64)
        return classes.of, classes.first, total

    def _with_rest(self, part: Grouping) -> Grouping:
        """The part and, as one more group, everything else (I1)."""
        profile, representative, total = self._profiles
        inside = np.bincount(profile[part.cell], weights=part.count, minlength=len(total)).astype(np.int64)
        rest = np.flatnonzero(total > inside)
        return Grouping(
            np.concatenate([part.cell, representative[rest]]),
            np.concatenate([part.group, np.full(len(rest), part.groups, dtype=np.int64)]),
            np.concatenate([part.count, (total - inside)[rest]]),
        )

    def variety(self, name: str) -> tuple[int, bool]:
        """How many values of a hidden column a group needs at least, and whether they must be about equally frequent.

        A guess for methods that look for groups, found by asking the models about made-up ones; (1, False) says nothing.
        """
        even = [r for r in self.problem.requirements if name in r.hide]
        width = next(len(column.labels) for column in self.problem.sensitive if column.name == name)
        for kinds in range(1, width + 1):
            if all(_holds_for(r.model, name, np.full(kinds, _MANY)) for r in even):
                skewed = np.array([_MANY * _MANY] + [1] * (kinds - 1))
                return kinds, not all(_holds_for(r.model, name, skewed) for r in even)
        return 1, False


class Sizes(Claims):
    """Nothing but a number of records, for groups that are formed without a look at anybody's values."""

    def __init__(self, problem: RecodingProblem, fewest: int) -> None:
        super().__init__(problem)
        self.by_size = True
        self.fewest = fewest

    def hold(self, part: Grouping) -> BoolArray:
        return np.bincount(part.group, weights=part.count, minlength=part.groups) >= self.fewest


_MANY = 1000


def _holds_for(model: Model, name: str, tally: IntArray) -> bool:
    """Whether a release of one group with this tally of values satisfies a model."""
    values = np.arange(len(tally))
    spread = Spread.count(np.zeros(len(tally), dtype=np.int64), values, 1, tuple(map(str, values)), tally)
    size = np.array([tally.sum()])
    return bool(model.satisfied(Linkage(size, size, {name: spread}))[0])
