"""`refined`: the best of three quick methods, improved by local search while that helps or until its work is done.

Starts: mondrian, a lattice sweep and, where the table has few enough distinct tuples, greedy clustering, which grows faster than
linearly. The search stands in `local_search`. Everything it does keeps the claims and the boundaries; what it minimizes is
the policy's own figure. How much it does is stated in seconds of one core and counted in comparisons, so that the answer does not
depend on the machine, on who else uses it, or on how many cores work at once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.lattice import lattice_sweep
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.people import settled
from sfumato.methods.recoding.people_cuts import counts_people
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.policy.policy import Policy

PER_RECORD, FIRST, LATER = 5e-4, 45.0, 5e-5
"""What a search takes unless the policy says otherwise: so many seconds for every record until the first are spent, and a few for
every further one. A small table is searched well in a moment, and its owner waits for it."""
DEFAULT = "at most half a second for every 1,000 records, up to 45 s, and 5 s for every 100,000"
_LEAST = 0.05
CLUSTERED = 40_000
"""Up to this many distinct tuples greedy clustering is one of the starts."""


class Refined(RecodingMethod):
    """The quality method: the best of mondrian, a lattice sweep and clustering, improved by local search."""

    name: ClassVar[str] = "refined"
    on_classes: ClassVar[bool] = True
    by_region: ClassVar[bool] = True
    paper: ClassVar[str] = "boundaries Def. 8-11 for what is kept; the search is our own"

    seconds: float | None = Field(
        default=None,
        gt=0,
        description=f"work of the search in seconds of one core; by default {DEFAULT}",
    )

    def preference(self, records: int | None) -> tuple[int, str]:
        most = "" if self.seconds else "at most "
        time = f"{most}about {self.time_for(records):.2g} s of search" if records is not None else "a search as long as the table"
        return 20, f"it gives the least loss, by {time} on one core (mondrian where time is short)"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        said = f"{self.seconds:g} s" if self.seconds else DEFAULT
        return [*super().describe(policy, data), f"search: {said} of one core, shared by all cores"]

    def time_for(self, records: int) -> float:
        """Seconds of search for so many records."""
        return self.seconds or max(_LEAST, min(PER_RECORD * records, FIRST) + LATER * records)

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        objective = task.policy.utility.minimize
        first = starts(problem, objective, task)
        found = refine(
            problem,
            first,
            objective=objective,
            seconds=self.time_for(problem.records),
            jobs=task.jobs,
            while_worth=self.seconds is None,
            progress=lambda done: task.progress(done, "improving"),
        )
        if not counts_people(problem):
            return found
        costs = Costs.of(problem, objective)  # the search counts rows of people where they are, and is set right afterwards
        return min((settled(problem, found), first[0]), key=lambda one: costs.mean(problem, one))


def starts(problem: RecodingProblem, objective: str, task: Task) -> list[Grouping]:
    """The quick methods' groupings."""
    task.progress(0.0, "cutting the table")
    cut = mondrian(problem, objective=objective)
    task.progress(0.0, "sweeping the lattice")
    swept = lattice_sweep(problem, objective=objective)
    if len(problem.points) > CLUSTERED:
        return [cut, swept]
    task.progress(0.0, "clustering")
    return [cut, swept, cluster(problem, price="width" if objective == "loss" else "height")]
