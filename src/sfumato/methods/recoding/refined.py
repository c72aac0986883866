"""`refined`: the best of three quick methods, improved by local search until no move helps or the time is over.

Starts: greedy clustering, mondrian, and a lattice sweep. The search stands in `local_search`. Everything it does keeps the
claims and the boundaries; what it minimizes is the policy's own figure.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.lattice import lattice_sweep
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import Grouping, RecodingProblem

MOST = 200_000
"""Up to this many records the planner chooses this method by itself."""


class Refined(RecodingMethod):
    """The quality method: the best of clustering, mondrian and a lattice sweep, improved by local search."""

    name: ClassVar[str] = "refined"
    paper: ClassVar[str] = "boundaries Def. 8-11 for what is kept; the search is our own"

    seconds: float = Field(default=15.0, gt=0, description="time the search may take, in seconds of one core")

    def preference(self, records: int | None) -> tuple[int, str]:
        if records is not None and records > MOST:
            return 1, "it gives the least loss"
        size = f"about {records:,} records are" if records is not None else f"up to {MOST:,} records are"
        return 20, f"it gives the least loss and {size} few enough for it (mondrian beyond {MOST:,})"

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        objective = task.policy.utility.minimize
        return refine(
            problem,
            starts(problem, objective, task),
            objective=objective,
            seconds=self.seconds,
            progress=lambda done: task.progress(done, "improving"),
        )


def starts(problem: RecodingProblem, objective: str, task: Task) -> list[Grouping]:
    """The quick methods' groupings."""
    task.progress(0.0, "cutting the table")
    cut = mondrian(problem, objective=objective)
    task.progress(0.0, "sweeping the lattice")
    swept = lattice_sweep(problem, objective=objective)
    task.progress(0.0, "clustering")
    return [cut, swept, cluster(problem, price="width" if objective == "loss" else "height")]
