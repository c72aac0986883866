"""`clustering`: greedy clustering within boundaries, GreedyCPKA.

Without boundaries it is GreedyPKClustering, without p-sensitivity it is GreedyCKA. The algorithm stands in
`greedy_clustering`.

Paper: [boundaries §3]
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from sfumato.errors import PolicyError
from sfumato.forms.recoded import Recoded
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.base import check_feasible, problem_of, recoded, recodes, refusal_of_recoding
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.registry import nearest
from sfumato.release.form import Form
from sfumato.release.release import Release


class Clustering(Method):
    """Greedy clustering within boundaries: the most diverse record that costs least joins the cluster (GreedyCPKA)."""

    name: ClassVar[str] = "clustering"
    form: ClassVar[type[Form]] = Recoded
    paper: ClassVar[str] = "boundaries §3"

    weights: dict[str, float] = Field(default_factory=dict, description="weight of each sensitive column in diversity (Def. 12)")
    disperse: Literal["growth", "total"] = Field(
        default="growth", description="leftover records go where the loss grows least, or, as printed, where the total is least"
    )

    def refusal(self, policy: Policy) -> str:
        return refusal_of_recoding(policy)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return recodes(claim, policy)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "it is greedy and fast"

    def run(self, task: Task) -> Release:
        policy = task.policy
        problem = problem_of(policy, task.data)
        for name in self.weights:
            if name not in policy.sensitive:
                where = policy.document.where("method", "clustering", "weights", name)
                hint = nearest(name, list(policy.sensitive))
                raise PolicyError(f"weight for '{name}', which is no sensitive column", where=where, hint=hint)
        check_feasible(policy, problem)
        grouping = cluster(
            problem,
            weights=self.weights or None,
            disperse=self.disperse,
            price="width" if policy.utility.minimize == "loss" else "height",
            progress=lambda done: task.progress(done, "clustering"),
        )
        return recoded(task, problem, grouping)
