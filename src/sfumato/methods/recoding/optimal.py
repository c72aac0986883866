"""`optimal`: a recoding with a proven bound on what any recoding of the policy must lose.

The starts are those of `refined`, so the release is never worse than `mondrian`, `clustering` or `refined` on the same policy. The
integer program, the price bound and the neighbourhoods stand in `bound`.

Guarantee: the bound is at most the loss of every release of the *space*: each record is published, in every
quasi-identifier, as a node of its hierarchy within its boundary (in a column of ranges: as any interval between two values of
the column), records with equal values may be published differently, and exactly those records are suppressed whose region
breaks a claim as a whole; where the policy names a limit on suppression, any others too, up to that limit. All recoding methods
publish in this space.

Invariants
    I1  No bound is published that might be false: none where claims of one component speak of different columns, where several
        components share a limit on suppression, where records are suppressed and a claim compares with all that is published, or
        where single groups are asked for more than the claim itself says (a mean risk, an estimated entropy).
    I2  The bound is about releases that use the policy's limit on suppression. This one does so only when the program states the
        claims completely; for others (entropy, recursive) it is a relaxation that must not decide who is left out.

Paper: [obfuscation §3.3, §6.2]

Departures
    The paper's blocks of q tuples are not needed: units with counts make the whole table smaller than one block. Its comparison
    with Mondrian is between different spaces; here both publish in the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from sfumato.forms.recoded import Optimality, RecodedTrace
from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod, columns_spoken_of, recoded, spare_of
from sfumato.methods.recoding.bound.program import states
from sfumato.methods.recoding.bound.proof import PROVEN, ProvenArrangement, optimize
from sfumato.methods.recoding.bound.space import RecodingSpace
from sfumato.methods.recoding.components import Component, components
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.refined import starts
from sfumato.methods.recoding.series import HISTORY
from sfumato.policy.policy import Policy
from sfumato.release.release import Release

_SEARCH, _SEARCH_SHARES = 0.5, 0.2
"""Share of the time for the search of `refined`, and where shares of values are limited: there prices lead to better groups."""
_RELAXED = 0.2
"""Share of the time where the program is only a relaxation of the claims (entropy, recursive, t-closeness): it rarely answers."""


class Optimal(RecodingMethod):
    """A recoding with a proven bound: no release of the policy loses less than the private report says; the optimum when small."""

    name: ClassVar[str] = "optimal"
    paper: ClassVar[str] = "obfuscation §3.3, §6.2"

    seconds: float = Field(default=20.0, gt=0, description="time for search and proof, in seconds of one core")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 2, "it proves how near it is to the best release, which takes its time"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return [
            *super().describe(policy, data),
            f"space: {space_of(policy)}",
            f"bound: the private report will say what no such release can lose less than, where that can be proven; this may take "
            f"{self.seconds:g} s",
        ]

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        """The best groups that were found; nothing is said about the best possible ones."""
        return self._proven(problem, task, self.seconds, 0).now.grouping()

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        parts, policy = components(problem), task.policy
        if HISTORY in problem.names or task.withheld or not can_be_bounded(policy, problem, parts):
            return super().release(task, problem)
        spare = spare_of(policy, problem)  # I2
        proofs = [self._proven(part.problem, task, self.seconds / len(parts), spare) for part in parts]
        said = _statement(policy, problem, proofs)
        made = recoded(task, problem, [(part, proof.now.grouping()) for part, proof in zip(parts, proofs, strict=True)])
        return replace(made, trace=RecodedTrace(made.trace.rows, optimality=said, lasting=True))

    def _proven(self, problem: RecodingProblem, task: Task, seconds: float, budget: int) -> ProvenArrangement:
        objective = task.policy.utility.minimize
        space = RecodingSpace(problem, objective, beside=len(task.policy.quasi_identifiers) - len(problem.names))
        search = time_to_search(space)
        first = starts(problem, objective, task)
        refined = refine(problem, first, objective=objective, seconds=search * seconds, jobs=task.jobs)
        return optimize(
            space,
            refined,
            seconds=(1 - search) * seconds * (1.0 if states(problem) else _RELAXED),
            budget=budget,
            spend=states(problem),
            progress=lambda done: task.progress(done, "proving"),
        )


def time_to_search(space: RecodingSpace) -> float:
    """The share of the time before anything is proven."""
    return _SEARCH_SHARES if space.shared else _SEARCH


def can_be_bounded(policy: Policy, problem: RecodingProblem, parts: Sequence[Component]) -> bool:
    """Whether a bound would be true of every release of the space; where that is not certain, nothing is said (I1)."""
    if not all(part.problem.uniform and part.problem.requirements for part in parts):
        return False
    if any(claim.model.by_group() is not claim.model for claim in policy.claims):
        return False  # groups are asked for more than the claim is: it may be a mean over all of them
    if policy.person is not None or policy.of_population:
        return False  # what is asked of people is no part of the program
    whole = len(parts) == 1 and parts[0].problem.names == policy.quasi_identifiers
    if policy.utility.minimize == "entropy_loss" and not whole:
        return problem.suppressed == 0 and spare_of(policy, problem) == 0
    if compares(problem) and problem.suppressed + spare_of(policy, problem) > 0:
        return False
    return spare_of(policy, problem) == 0 or len(parts) == 1


def compares(problem: RecodingProblem) -> bool:
    """Whether some claim may depend on all that is published: its demand says nothing of single groups."""
    demands = [requirement.model.demand() for requirement in problem.requirements]
    return any(not demand.sufficient and not demand.of_values for demand in demands)


def space_of(policy: Policy) -> str:
    """The space in words."""
    ranges = [name for name in columns_spoken_of(policy) if policy.columns[name].hierarchy == "ranges"]
    words = "every record as nodes of the hierarchies within its boundary"
    if ranges:
        words += f" (any interval of values for {', '.join(ranges)})"
    limit = policy.utility.suppress_at_most
    rest = f", and others up to {limit:.3%}" if limit else ""
    return words + f", equal records also differently; suppressed are records whose region breaks a claim as a whole{rest}"


def _statement(policy: Policy, problem: RecodingProblem, proofs: Sequence[ProvenArrangement]) -> Optimality:
    """What the data holder is told: the bound, rounded down, with what it is about and how it is known."""
    bound = max(_figure(policy, problem, proofs, [proof.bound for proof in proofs]), 0.0)
    loss = _figure(policy, problem, proofs, [proof.total for proof in proofs])
    if any(proof.solved for proof in proofs):
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


def _figure(policy: Policy, problem: RecodingProblem, proofs: Sequence[ProvenArrangement], totals: Sequence[float]) -> float:
    """The policy's figure, a mean over all quasi-identifiers, when the components cost so much."""
    spaces = [proof.now.space for proof in proofs]
    shares = [len(space.problem.names) / len(policy.quasi_identifiers) for space in spaces]
    if len(proofs) == 1:
        return shares[0] * spaces[0].figure(totals[0], problem.suppressed)
    above = sum(share * (total - space.base) for share, total, space in zip(shares, totals, spaces, strict=True))
    return (above + problem.suppressed) / problem.records


def _rounded_down(value: float, digits: int) -> float:
    written = float(f"{value:.{digits}g}")
    return written if written <= value else float(f"{value - abs(value) * 10.0 ** -(digits - 1) / 2:.{digits}g}")
