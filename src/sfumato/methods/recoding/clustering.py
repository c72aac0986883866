"""`clustering`: greedy clustering within boundaries, GreedyCPKA.

Without boundaries it is GreedyPKClustering, without p-sensitivity it is GreedyCKA. The algorithm stands in
`greedy_clustering`.

Paper: [boundaries §3]
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from sfumato.errors import PolicyError
from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.policy.policy import Policy
from sfumato.registry import nearest


class Clustering(RecodingMethod):
    """Greedy clustering within boundaries: the most diverse record that costs least joins the cluster (GreedyCPKA)."""

    name: ClassVar[str] = "clustering"
    on_classes: ClassVar[bool] = True
    by_region: ClassVar[bool] = True
    paper: ClassVar[str] = "boundaries §3"

    weights: dict[str, float] = Field(default_factory=dict, description="weight of each sensitive column in diversity (Def. 12)")
    disperse: Literal["growth", "total"] = Field(
        default="growth", description="leftover records go where the loss grows least, or, as printed, where the total is least"
    )

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "it is greedy and fast"

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return cluster(
            problem,
            weights=self._weights(problem, task.policy),
            disperse=self.disperse,
            price="width" if task.policy.utility.minimize == "loss" else "height",
            progress=lambda done: task.progress(done, "clustering"),
        )

    def _weights(self, problem: RecodingProblem, policy: Policy) -> dict[str, float] | None:
        """The weights of the columns that the claims of this problem hide."""
        for name in self.weights:
            if name not in policy.columns:
                where = policy.document.where("method", "clustering", "weights", name)
                hint = nearest(name, list(policy.sensitive))
                raise PolicyError(f"weight for '{name}', which is no column", where=where, hint=hint)
        here = {column.name for column in problem.sensitive}
        return {name: weight for name, weight in self.weights.items() if name in here} or None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        hidden = {name for claim in policy.claims for name in claim.hide}
        idle = [name for name in self.weights if name not in hidden]
        said = [f"the weight of {', '.join(idle)} is ignored: no claim speaks of it"] if idle else []
        return super().describe(policy, data) + said
