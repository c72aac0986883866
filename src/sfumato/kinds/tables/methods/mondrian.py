"""`mondrian`: strict multidimensional partitioning, the fast method where time is short.

The algorithm is in `partitioning`.

Blind grouping
    With `blind` a cut is judged by the number of records in its parts alone: the most that any requirement asks for
    and, while a requirement on values fails in some group, a quarter more for the whole table. The partition then
    depends on sensitive values through that one number only, so an undivided class reveals nothing about its values (no
    minimality attack).

Invariants
    I1  A blind grouping never divides a point, so not even the order of records decides who stands where.
    I2  What is published satisfies the requirements: the number grows until they hold, and in the end nothing is cut.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding import RecodingMethod
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem, Sizes
from sfumato.policy.policy import Policy
from sfumato.release.method import Task


class Mondrian(RecodingMethod):
    """Split the table recursively while every part satisfies the requirements; fast on millions of records."""

    name: ClassVar[str] = "mondrian"
    on_classes: ClassVar[bool] = True
    by_region: ClassVar[bool] = True
    cuts_as_regions: ClassVar[bool] = True
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan 2006; boundaries Def. 9"

    blind: bool = Field(default=False, description="true: form classes by size alone, without using sensitive values")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "it is fast: linear in the distinct tuples"

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return not self.blind and super().groups_by_sensitive(policy)

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        if self.blind:
            return blind_mondrian(problem, task.policy.utility.minimize)
        return mondrian(
            problem,
            objective=task.policy.utility.minimize,
            progress=lambda done: task.progress(done, "cutting the table"),
        )


def blind_mondrian(problem: RecodingProblem, objective: str) -> Grouping:
    """Groups of a size for which all requirements hold; the smallest such size of a fixed sequence."""
    claims = Claims(problem)
    fewest = max(requirement.model.demand().fewest for requirement in problem.requirements)
    while True:
        found = mondrian(problem, objective=objective, claims=Sizes(problem, fewest))  # I1
        if fewest > problem.records or claims.hold(found).all():  # I2
            return found
        fewest += max(1, fewest // 4)
