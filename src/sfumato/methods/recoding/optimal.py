"""`optimal`: a recoding with a proven bound on what any recoding of the policy must lose.

The starts are those of `refined`, so the release is never worse than `mondrian`, `clustering` or `refined` on the same policy. The
integer program, the price bound and the neighbourhoods stand in `bound`.

Guarantee: the published bound is at most the loss of every release of the *space*: each record is published, in every
quasi-identifier, as a node of its hierarchy within its boundary (in a column of ranges: as any interval between two values of
the column), records with equal values may be published differently, and exactly those records are suppressed whose region
breaks a claim as a whole; where the policy names a limit on suppression, any others too, up to that limit. All recoding methods
publish in this space.

Paper: [obfuscation §3.3, §6.2]

Departures
    The paper's blocks of q tuples are not needed: units with counts make the whole table smaller than one block. Its comparison
    with Mondrian is between different spaces; here both publish in the same one.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Any, ClassVar

from pydantic import Field

from sfumato.forms.recoded import Optimality, Recoded
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.base import check_feasible, problem_of, recoded, recodes, refusal_of_recoding
from sfumato.methods.recoding.bound.program import states
from sfumato.methods.recoding.bound.proof import PROVEN, ProvenArrangement, optimize
from sfumato.methods.recoding.bound.space import RecodingSpace
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.methods.recoding.refined import starts
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Release

_SEARCH = 0.2
_RELAXED = 0.2
"""Share of the time where the program is only a relaxation of the claims (entropy, recursive, t-closeness): it rarely answers."""


class Optimal(Method):
    """A recoding with a proven bound: no release of the policy can lose less than the certificate says; the optimum when small."""

    name: ClassVar[str] = "optimal"
    form: ClassVar[type[Form]] = Recoded
    paper: ClassVar[str] = "obfuscation §3.3, §6.2"

    seconds: float = Field(default=20.0, gt=0, description="time for search and proof, in seconds of one core")

    def refusal(self, policy: Policy) -> str:
        return refusal_of_recoding(policy)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return recodes(claim, policy)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 2, "it proves how near it is to the best release, which takes its time"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return [
            f"space: {space_of(policy)}",
            f"bound: the certificate will say what no such release can lose less than; this may take {self.seconds:g} s",
        ]

    def run(self, task: Task) -> Release:
        policy, problem = task.policy, problem_of(task.policy, task.data)
        check_feasible(policy, problem)
        objective = policy.utility.minimize
        first = starts(problem, objective, task)
        refined = refine(problem, first, objective=objective, seconds=_SEARCH * self.seconds)
        space = RecodingSpace(problem, objective)
        outcome = optimize(
            space,
            refined,
            seconds=(1 - _SEARCH) * self.seconds * (1.0 if states(problem) else _RELAXED),
            budget=budget_of(policy, problem),
            progress=lambda done: task.progress(done, "proving"),
        )
        release = recoded(task, problem, outcome.now.grouping())
        return replace(release, form=Recoded(optimality=_statement(policy, space, outcome)))


def budget_of(policy: Policy, problem: RecodingProblem) -> int:
    """How many records may be suppressed by choice: what the policy's limit leaves, when the program can judge what that does."""
    limit = policy.utility.suppress_at_most
    if limit is None or not states(problem):
        return 0
    return max(floor(limit * problem.records + 1e-9) - problem.suppressed, 0)


def space_of(policy: Policy) -> str:
    """The space in words."""
    ranges = [name for name in policy.quasi_identifiers if policy.columns[name].hierarchy == "ranges"]
    words = "every record as nodes of the hierarchies within its boundary"
    if ranges:
        words += f" (any interval of values for {', '.join(ranges)})"
    limit = policy.utility.suppress_at_most
    rest = f", and others up to {limit:.3%}" if limit else ""
    return words + f", equal records also differently; suppressed are records whose region breaks a claim as a whole{rest}"


def _statement(policy: Policy, space: RecodingSpace, outcome: ProvenArrangement) -> Optimality:
    """What is disclosed: the bound, rounded down, with what it is about and how it is known."""
    bound = max(space.figure(outcome.bound, space.problem.suppressed), 0.0)
    loss = space.figure(outcome.total, space.problem.suppressed)
    if outcome.solved:
        how = "integer program, solved by HiGHS within its tolerance"
    else:
        how = "prices of records, evaluated in whole numbers"
    proven = loss <= 0 or loss - bound <= PROVEN * loss
    digits = 6 if proven else 4  # no more about the original than the statement needs
    return Optimality(
        objective=policy.utility.minimize,
        lower_bound=_rounded_down(bound, digits),
        proven_optimal=proven,
        space=space_of(policy),
        proof=how,
    )


def _rounded_down(value: float, digits: int) -> float:
    written = float(f"{value:.{digits}g}")
    return written if written <= value else float(f"{value - abs(value) * 10.0 ** -(digits - 1) / 2:.{digits}g}")
