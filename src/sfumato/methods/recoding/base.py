"""From a policy and a table to a recoding problem, and from a grouping back to a published table.

Invariants
    I1  Rows are shuffled with the cryptographic source.
    I2  Only columns the policy publishes leave; identifiers never do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage
from sfumato.data.table import Table
from sfumato.errors import Infeasible
from sfumato.forms.recoded import Recoded, RecodedTrace
from sfumato.methods.base import Task
from sfumato.methods.recoding.problem import Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.policy.claims import Claim
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.release import Part, Release


def recodes(claim: Claim, policy: Policy) -> bool:
    """Whether groups of equal quasi-identifiers that satisfy the model make the claim true.

    An outsider who knows only some of the quasi-identifiers sees unions of groups, which a monotone model survives.
    """
    hidden = set(claim.hide).isdisjoint(policy.quasi_identifiers)
    return claim.model.monotone and hidden and set(claim.given) <= set(policy.quasi_identifiers)


def refusal_of_recoding(policy: Policy) -> str:
    """Why a recoded table cannot keep the claims of this policy; empty when it can."""
    if not policy.quasi_identifiers:
        return "the policy has no quasi-identifier column"
    if not policy.claims:
        return "the policy protects nothing: 'protect' has no claims"
    for claim in policy.claims:
        if not recodes(claim, policy):
            return f"{claim} speaks about columns that one recoded table leaves as they are"
    return ""


def problem_of(policy: Policy, table: Table) -> RecodingProblem:
    """The recoding problem in leaf codes."""
    domains, codes = [], []
    for name in policy.quasi_identifiers:
        text = table.text(name)
        domain = generalization_of(policy, name, text.labels)
        domains.append(domain)
        codes.append(encode(domain, text.labels, column=name)[text.codes])
    hidden = dict.fromkeys(name for claim in policy.claims for name in claim.hide)
    sensitive = tuple(Sensitive(name, table.text(name).codes, table.text(name).labels) for name in hidden)
    requirements = tuple(Requirement(claim.model, claim.hide) for claim in policy.claims)
    return RecodingProblem(policy.quasi_identifiers, tuple(domains), tuple(codes), sensitive, requirements)


def check_feasible(policy: Policy, problem: RecodingProblem) -> None:
    """Refuse before the work starts when the claims leave too few records to publish [boundaries Properties 5, 6]."""
    suppressed, limit = problem.suppressed, policy.utility.suppress_at_most
    if suppressed == problem.records:
        broken = _broken_claim(problem)
        raise Infeasible(
            "no record can be published: every group that the boundaries allow breaks a claim",
            where=broken.model.name,
            hint=broken.model.suggestion(_everything(problem, broken)) + "; or widen the boundaries",
        )
    if limit is not None and suppressed > limit * problem.records + 1e-9:
        share = suppressed / problem.records
        raise Infeasible(
            f"{suppressed} of {problem.records} records ({share:.3%}) lie in groups that cannot satisfy the claims within the "
            f"boundaries, and the policy allows {limit:.3%}",
            hint=f"set utility.suppress_at_most to {np.ceil(share * 1e4) / 100:.2f}%, widen the boundaries, or lower the levels",
        )


def _broken_claim(problem: RecodingProblem) -> Requirement:
    for requirement in problem.requirements:
        if not requirement.model.satisfied(_everything(problem, requirement)).all():
            return requirement
    return problem.requirements[0]


def _everything(problem: RecodingProblem, requirement: Requirement) -> Linkage:
    """What the requirement would see if all records were one group."""
    return problem.linkage(problem.grouping(np.zeros(len(problem.points), dtype=np.int64)), requirement.hide)


def recoded(task: Task, problem: RecodingProblem, grouping: Grouping) -> Release:
    """The published table of a grouping: labels for quasi-identifiers, everything else as it is, rows shuffled."""
    of_record = problem.group_of_record(grouping)
    kept = np.flatnonzero(of_record >= 0)
    rows = kept[task.randomness.child("row order").permutation(len(kept))]  # I1
    labels = _labels(problem, grouping)
    table: Table = task.data
    columns = {}
    for name in task.policy.published:  # I2
        if name in labels:
            columns[name] = labels[name].take(pa.array(of_record[rows]))
        else:
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
    suppressed = problem.records - len(kept)
    return Release(Recoded(), {"data": Part(pa.table(columns))}, suppressed, RecodedTrace({"data": rows}))


def _labels(problem: RecodingProblem, grouping: Grouping) -> dict[str, pa.Array]:
    """Per quasi-identifier the label of each group."""
    labels = {}
    for name, domain, (lo, hi) in zip(problem.names, problem.domains, problem.intervals(grouping), strict=True):
        labels[name] = pa.array(domain.labels(lo, hi), pa.string())
    return labels


def numbered(groups: IntArray) -> IntArray:
    """Group numbers without gaps; −1 stays."""
    present, number = np.unique(groups, return_inverse=True)
    return number - int((present < 0).any())
