"""`mondrian`: strict multidimensional partitioning, the fast method for large tables.

The algorithm stands in `partitioning`.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.recoded import Recoded
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.base import check_feasible, problem_of, recoded, recodes, refusal_of_recoding
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Release


class Mondrian(Method):
    """Cut the table again and again where it saves most, as long as every part is safe: fast on millions of records."""

    name: ClassVar[str] = "mondrian"
    form: ClassVar[type[Form]] = Recoded
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan 2006; boundaries Def. 9"

    def refusal(self, policy: Policy) -> str:
        return refusal_of_recoding(policy)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return recodes(claim, policy)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "the table is large, and this method is linear in its distinct tuples"

    def run(self, task: Task) -> Release:
        problem = problem_of(task.policy, task.data)
        check_feasible(task.policy, problem)
        grouping = mondrian(
            problem, objective=task.policy.utility.minimize, progress=lambda done: task.progress(done, "cutting the table")
        )
        return recoded(task, problem, grouping)
