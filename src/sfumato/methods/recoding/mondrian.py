"""`mondrian`: strict multidimensional partitioning, the fast method for large tables.

The algorithm stands in `partitioning`.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import Grouping, RecodingProblem


class Mondrian(RecodingMethod):
    """Cut the table again and again where it saves most, as long as every part is safe: fast on millions of records."""

    name: ClassVar[str] = "mondrian"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan 2006; boundaries Def. 9"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "the table is large, and this method is linear in its distinct tuples"

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return mondrian(
            problem, objective=task.policy.utility.minimize, progress=lambda done: task.progress(done, "cutting the table")
        )
