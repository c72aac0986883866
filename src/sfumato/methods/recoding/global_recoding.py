"""`global`: full-domain recoding; one level per column for everybody, with a budget of records that may be left out.

The codebook of such a release is one line per column, which some users need; it loses more than a recoding in which everybody is
written as finely as their own group allows. The lattice of levels is that of `full_domain`, the search that of `lattice_search`.

Guarantee: up to `nodes` combinations of levels the release is the cheapest of its kind, and the private report says so; above
that, or where people stand in several rows, it is the best that was found.
Paper: Samarati (2001); Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012).

Invariants
    I1  Without a budget, columns that no claim ties together are looked at by themselves; with one, all together, because a
        record that is left out is left out of all columns.
    I2  An optimum is stated only of a search that ended by itself, over all columns, for claims judged class by class.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.errors import Infeasible
from sfumato.forms.recoded import Optimality, RecodedTrace
from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod, columns_spoken_of, recoded, spare_of
from sfumato.methods.recoding.components import Component, components
from sfumato.methods.recoding.full_domain import FullDomain
from sfumato.methods.recoding.lattice_search import Cheapest, cheapest
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.series import HISTORY
from sfumato.policy.policy import Policy
from sfumato.release.release import Release


class Global(RecodingMethod):
    """Full-domain recoding: one level per column for everybody, the cheapest there is, with a budget of suppressed records."""

    name: ClassVar[str] = "global"
    on_classes: ClassVar[bool] = True
    paper: ClassVar[str] = "Samarati 2001; Kohlmayer et al. 2012"
    mixed: ClassVar[bool] = True
    one_level: ClassVar[bool] = True

    nodes: int = Field(default=200_000, ge=1, description="most combinations of levels for which the cheapest is proven")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 3, "it writes every column at one level, so that a codebook is one line per column"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        budget = policy.utility.suppress_at_most
        may = f"up to {budget:.3%} of the records may be left out" if budget else "nobody is left out who need not be"
        return [*super().describe(policy, data), f"levels: one per column, the cheapest combination; {may}"]

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return self._searched(problem, task, 0)[1]

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        spare = spare_of(task.policy, problem, task.withheld)
        if not spare:
            return self._stated(task, problem, components(problem), spare)
        return self._stated(task, problem, [Component(problem)], spare)  # I1

    def _stated(self, task: Task, problem: RecodingProblem, parts: list[Component], spare: int) -> Release:
        if len(parts) > 1 or not parts[0].problem.requirements or HISTORY in problem.names or task.withheld:
            return recoded(task, problem, [(part, self._part(part.problem, task, spare)) for part in parts])
        found, grouping = self._searched(parts[0].problem, task, spare)
        said = _statement(task.policy, problem, found)
        made = recoded(task, problem, [(parts[0], grouping)])
        return made if said is None else replace(made, trace=RecodedTrace(made.trace.rows, optimality=said, lasting=True))

    def _part(self, problem: RecodingProblem, task: Task, spare: int) -> Grouping:
        if not problem.requirements:
            return problem.grouping(np.arange(len(problem.points)))
        return self._searched(problem, task, spare)[1]

    def _searched(self, problem: RecodingProblem, task: Task, spare: int) -> tuple[Cheapest, Grouping]:
        beside = len(task.policy.quasi_identifiers) - len(problem.names)
        lattice = FullDomain(problem, task.policy.utility.minimize, spare=spare, beside=max(beside, 0))
        task.progress(0.0, f"looking at {prod(lattice.shape):,} combinations of levels")
        found = cheapest(lattice, most=self.nodes, progress=lambda done: task.progress(done, "choosing levels"))
        grouping = None if found.node is None else lattice.grouping(found.node)
        if grouping is None:
            raise Infeasible(
                "no combination of levels is safe, not even the coarsest",
                where="person" if lattice.fit is not None else "",
                hint="ask for less, widen a boundary, or allow more records to be suppressed",
            )
        return found, grouping


def _statement(policy: Policy, problem: RecodingProblem, found: Cheapest) -> Optimality | None:
    """What the data holder is told, when it is proven (I2)."""
    objective = policy.utility.minimize
    whole = problem.names == policy.quasi_identifiers == columns_spoken_of(policy)
    if not found.proven or not whole or objective == "entropy_loss" or policy.person is not None or problem.beside:
        return None
    inside = problem.records - problem.suppressed
    figure = (found.cost * inside + problem.suppressed) / problem.records
    return Optimality(
        objective=objective,
        lower_bound=float(f"{figure:.6g}"),
        proven_optimal=True,
        space="one level of its hierarchy for every column, classes that break a claim suppressed as a whole",
        proof="every combination of levels was looked at, or is excluded by its cost or by a coarser one",
    )
