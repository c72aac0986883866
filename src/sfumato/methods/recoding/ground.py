"""The ground of a search: the units of a problem, what boxes around them cost and what groups of them must offer, made once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.methods.recoding.cell_costs import cell_costs
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.opening import shape_of, terms_of
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.methods.recoding.units import Units

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.draft import Offer


class Ground:
    """What does not change while groups do."""

    def __init__(self, problem: RecodingProblem, objective: str) -> None:
        self.problem, self.objective = problem, objective
        self.claims = Claims(problem)
        self.units = Units(problem, self.claims)
        self.costs = cell_costs(problem, objective)
        self._sort_columns()
        self.terms = terms_of(problem, self.claims)
        self.shape = shape_of(problem, self.columns)
        self.monotone = all(requirement.model.monotone for requirement in problem.requirements)

    def _sort_columns(self) -> None:
        """Tables first, and columns that tell units apart most, so that hopeless comparisons end early."""
        from sfumato.methods.recoding.kernels.cell_costs import TABLE, cell_costs_of

        codes = self.units.codes.astype(np.int64)
        one, other = codes[np.random.default_rng(1).integers(0, len(codes), (2, 1000))]
        pairs = list(zip(np.minimum(one, other).T, np.maximum(one, other).T, strict=True))
        apart = [cell_costs_of(self.costs, column, lo, last).mean() for column, (lo, last) in enumerate(pairs)]
        self.columns = np.lexsort((-np.array(apart), self.costs.rule))
        self.codes = np.ascontiguousarray(self.units.codes[:, self.columns])
        kept = {name: getattr(self.costs, name)[self.columns] for name in ("rule", "size", "start", "weight")}
        self.costs = self.costs._replace(tables=int((kept["rule"] == TABLE).sum()), **kept)

    def offer(self) -> Offer:
        """What a group should offer before the models are asked, with room of its own for counting."""
        from sfumato.methods.recoding.kernels.draft import Offer

        labels = max((len(column.labels) for column in self.problem.sensitive), default=0)
        return Offer(self.claims.fewest, *self._variety, np.zeros(labels + 1, dtype=np.int64))

    @cached_property
    def _variety(self) -> tuple[IntArray, BoolArray]:
        asked = [self.claims.variety(name) for name in self.claims.hidden]
        kinds = np.array([kinds for kinds, _ in asked], dtype=np.int64)
        return kinds, np.array([even for _, even in asked], dtype=np.bool_)
