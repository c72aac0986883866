"""What all recoding methods share: from a policy and a table to a recoding problem, and from groupings back to a published table.

A method of this family derives from `RecodingMethod` and says who stands with whom (`group`); everything else is here.

Claims have columns of their own
    A claim is about the columns that its outsider is given, so quasi-identifiers that no claim gives to anybody are published as
    they are, and columns that claims do not tie together are recoded by themselves (`components`). Within a component whose claims
    all speak of all its columns, groups are judged one by one, and `group` is asked. In the others it is asked to satisfy all
    claims in every group, where that can be had without suppressing more; its answer and the coarsest release are specialized as
    far as the claims really allow (`specializing`), and the better one is published.

Invariants
    I1  Rows are shuffled with the cryptographic source.
    I2  Only columns the policy publishes leave; identifiers never do.
    I3  A release is refused as infeasible only when the coarsest release breaks a claim [boundaries Properties 5, 6]; see
        *Departures* of `problem` for models on shares.
    I4  Groups never cross history classes (`methods.continuing`), so joint classes over all releases keep every claim.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from math import floor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import CodeArray, IntArray, narrowed
from sfumato.data.classes import group
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage
from sfumato.data.people import people_of
from sfumato.data.table import Table, in_one_piece, narrow
from sfumato.errors import Infeasible, SfumatoError
from sfumato.forms.recoded import Recoded, RecodedTrace
from sfumato.io.coding import is_coded
from sfumato.methods.base import Method, Task
from sfumato.methods.continuing import Continuation, continued, may_wait, torn_classes, without
from sfumato.methods.other_classes import OtherClasses, other_classes
from sfumato.methods.recoding.attainable import attainable
from sfumato.methods.recoding.calibrating import calibrated
from sfumato.methods.recoding.components import Component, components, without_implied
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.overlay import overlaid
from sfumato.methods.recoding.people import of_people, refusal_of_people, settled
from sfumato.methods.recoding.population import among_everybody, asked_of, weighing
from sfumato.methods.recoding.problem import Cells, Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.methods.recoding.series import as_continued, kept_apart, nothing_made, with_standing
from sfumato.methods.recoding.specializing import specialize
from sfumato.methods.recoding.waiting import left_waiting
from sfumato.policy.claims import Claim
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.population import values_of
from sfumato.release.form import Form
from sfumato.release.release import Part, Release


class RecodingMethod(Method):
    """A method that writes quasi-identifiers of one table more coarsely."""

    form: ClassVar[type[Form]] = Recoded
    minimal: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    codes: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    one_level: ClassVar[bool] = False
    """Whether every column is written at one level, so that nobody fits two classes."""
    mixed: ClassVar[bool] = False
    """Whether `group` itself looks after claims that speak of some of the columns only, by asking `RecodingProblem.satisfied`."""

    @abstractmethod
    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        """Who stands with whom: every record outside `problem.out` in a group, and every group satisfies every claim.

        What a group is published as is the smallest interval around it, unless the grouping brings its own.
        """

    def usual_jobs(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def refusal(self, policy: Policy) -> str:
        overlapping = [claim for claim in policy.claims if claim.model.needs_everybody and not self.one_level]
        if overlapping:
            return f"{overlapping[0]} needs classes of which everybody fits one: 'global' makes them"
        return refusal_of_recoding(policy)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return recodes(claim, policy) and (self.one_level or not claim.model.needs_everybody)

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return any(claim.model.needs_sensitive for claim in binding(policy))

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        exact = [name for name in policy.quasi_identifiers if name not in columns_spoken_of(policy)]
        return [f"published as they are, because no claim gives them to an outsider: {', '.join(exact)}"] if exact else []

    def run(self, task: Task) -> Release:
        going, problem = continued_problem(task)
        if problem is None:
            return as_continued(task, nothing_made(task, going), going)
        waiting = min(going.waiting, may_wait(task, going.withheld + problem.suppressed))
        mine = replace(task, data=going.table, waiting=waiting, withheld=going.withheld)
        return as_continued(task, self.release(mine, problem), going)

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        """The published table of a problem that can be solved."""
        parts = components(problem)
        return recoded(task, problem, [(part, self.arranged(part.problem, task)) for part in parts])

    def arranged(self, problem: RecodingProblem, task: Task) -> Grouping:
        """The method's groups of a component, whatever columns its claims speak of."""
        if not problem.requirements:
            return problem.grouping(np.arange(len(problem.points)))
        if self.mixed or problem.uniform:
            made = _without_flaw(problem, self.group(problem, task))
            return settled(problem, left_waiting(problem, made, task.waiting, task.policy.utility.minimize))
        objective = task.policy.utility.minimize
        starts = [problem.coarsest()]
        if not problem.everywhere.out.any():
            starts.append(_without_flaw(problem.everywhere, self.group(problem.everywhere, task)))
        costs = Costs.of(problem, objective)
        found = [specialize(problem, start, objective=objective) for start in starts]
        return settled(problem, min(found, key=lambda grouping: costs.mean(problem, grouping)))


def _without_flaw(problem: RecodingProblem, grouping: Grouping) -> Grouping:
    if flaw := problem.flaw(grouping):
        raise SfumatoError(f"the method made a release that may not leave: {flaw}", hint="this is a defect of the method")
    return grouping


def recodes(claim: Claim, policy: Policy) -> bool:
    """Whether recoding can make the claim true: it hides nothing that is recoded, and a monotone model survives coarser classes."""
    hidden = set(claim.hide).isdisjoint(policy.quasi_identifiers)
    return claim.model.by_group().monotone and hidden and set(claim.given) <= set(policy.quasi_identifiers)


def refusal_of_recoding(policy: Policy) -> str:
    """Why a recoded table cannot keep the claims of this policy; empty when it can."""
    if not policy.quasi_identifiers:
        return "the policy has no quasi-identifier column"
    if not policy.claims:
        return "the policy protects nothing: 'protect' has no claims"
    for claim in policy.claims:
        if not recodes(claim, policy):
            return f"{claim} speaks about columns that one recoded table leaves as they are"
    return refusal_of_people(policy)


def continued_problem(task: Task) -> tuple[Continuation, RecodingProblem | None]:
    """The records that the method is asked about, and their recoding problem, in which nobody leaves their history class (I4).

    There is no problem when lineages that stay as they were have all the rows, or nobody else can be published.
    """
    policy, task = with_standing(task)
    going = continued(task)
    while True:
        if going.lineages is not None and not len(going.behind):
            return going, None
        try:
            problem = feasible_problem(policy, going.table, going.apart, going.as_before, _others(task, going), going.divisible)
        except Infeasible:
            if going.lineages is None or not going.lineages.steady.rows:
                raise
            return going, None
        torn = torn_classes(task, going, problem.out[problem.row_point.of[: problem.rows - problem.beside]])
        if not torn.any():
            return going, problem
        going = without(going, torn[going.apart])


def _others(task: Task, going: Continuation) -> OtherClasses | None:
    """Of people in several rows: who could be of another history class."""
    person = task.policy.person
    return None if person is None or going.tied is None else other_classes(going, people_of(task.data, person.unit))


def feasible_problem(
    policy: Policy,
    table: Table,
    apart: IntArray | None = None,
    as_before: IntArray | None = None,
    others: OtherClasses | None = None,
    divisible: Collection[int] | None = None,
) -> RecodingProblem:
    """The recoding problem of a policy, or `Infeasible`; `apart` are classes of records that no group may mix.

    Suppression is by whole regions. When too much would be suppressed, columns that no claim speaks of help after all: they divide
    regions into smaller ones, some of which may be saved (I3).
    """
    problem = kept_apart(problem_of(policy, table), apart, as_before, others, divisible)
    try:
        check_feasible(policy, problem)
    except Infeasible:
        finer = kept_apart(problem_of(policy, table, policy.quasi_identifiers), apart, as_before, others, divisible)
        if finer.suppressed >= problem.suppressed:
            raise
        check_feasible(policy, finer)
        return finer
    return problem


def problem_of(policy: Policy, table: Table, names: tuple[str, ...] = ()) -> RecodingProblem:
    """The recoding problem in leaf codes, over the columns that claims speak of unless others are named."""
    names = names or columns_spoken_of(policy) or policy.quasi_identifiers[:1]
    domains, codes = [], []
    for name in policy.quasi_identifiers:
        text = table.text(name)
        domain = generalization_of(policy, name, values_of(policy.everybody(), table, name))
        leaves = narrowed(encode(domain, text.labels, column=name), domain.size)
        if name in names:
            domains.append(domain)
            codes.append(leaves[text.codes])
    hidden = dict.fromkeys(name for claim in binding(policy) for name in claim.hide)
    sensitive = tuple(Sensitive(name, table.text(name).codes, table.text(name).labels) for name in hidden)
    stated = stated_claims(policy)
    whose, of_them = of_people(policy, table, [(claim, known_to(claim, policy)) for claim in binding(policy)])
    asked = (*without_implied(stated), *of_them)
    hidden_too = (*sensitive, *whose, *weighing(policy, table))
    problem = RecodingProblem(names, tuple(domains), tuple(codes), hidden_too, asked, multiplicity=table.counts)
    return among_everybody(problem, policy)


def binding(policy: Policy) -> tuple[Claim, ...]:
    """The claims that bind this table: what hides only columns that it leaves out cannot be broken by it.

    Unless it shows columns of no role that other releases may show too: then it hangs on their hidden columns, and is bound.
    """
    loose = bool(policy.with_role("other"))
    return tuple(c for c in policy.claims if loose or not c.hide or not set(c.hide).isdisjoint(policy.published))


def known_to(claim: Claim, policy: Policy) -> tuple[str, ...]:
    """The quasi-identifiers that the outsider of a claim knows; whoever joins several releases uses all of them."""
    return tuple(name for name in policy.quasi_identifiers if claim.model.joint or name in claim.given)


def columns_spoken_of(policy: Policy) -> tuple[str, ...]:
    """The quasi-identifiers that some claim gives to an outsider."""
    spoken = {name for claim in policy.claims for name in known_to(claim, policy)}
    return tuple(name for name in policy.quasi_identifiers if name in spoken)


def check_feasible(policy: Policy, problem: RecodingProblem) -> None:
    """Refuse before the work starts when the claims leave too few records to publish [boundaries Properties 5, 6]."""
    suppressed, limit = problem.suppressed, policy.utility.suppress_at_most
    if suppressed == problem.own:
        broken = _broken_claim(problem)
        raise Infeasible(
            "no record can be published: every group that the boundaries allow breaks a claim",
            where=broken.model.name,
            hint=f"{_offer(policy, problem)}; or widen the boundaries",
        )
    if limit is not None and suppressed > limit * problem.own + 1e-9:
        share = suppressed / problem.own
        raise Infeasible(
            f"{suppressed} of {problem.own} records ({share:.3%}) lie in groups that cannot satisfy the claims within the "
            f"boundaries, and the policy allows {limit:.3%}",
            hint=f"set utility.suppress_at_most to {np.ceil(share * 1e4) / 100:.2f}%, widen the boundaries, or lower the levels",
        )


def spare_of(policy: Policy, problem: RecodingProblem, withheld: int = 0) -> int:
    """How many records may be suppressed by choice: what the policy's limit leaves beside those withheld already."""
    limit = policy.utility.suppress_at_most
    if problem.beside or limit is None:  # who is left out is counted among everybody there
        return 0
    return max(floor(limit * (problem.records + withheld) + 1e-9) - problem.suppressed - withheld, 0)


def _offer(policy: Policy, problem: RecodingProblem) -> str:
    """A level with which a release exists."""
    limit = policy.utility.suppress_at_most

    def enough(weaker: RecodingProblem) -> bool:
        left = weaker.suppressed
        return left < weaker.own and (limit is None or left <= limit * weaker.own + 1e-9)

    stated = stated_claims(policy)
    found = attainable(problem, [*stated, *(one for one in problem.requirements if one not in stated)], enough)
    if found is None:
        return "no single level helps: lower the levels of several claims"
    return f"{found} is the most that this data can offer, with the other claims as they are"


def stated_claims(policy: Policy) -> list[Requirement]:
    """The claims of a policy as requirements, also those that follow from others."""
    return [asked_of(claim, policy, known_to(claim, policy)) for claim in binding(policy)]


def _broken_claim(problem: RecodingProblem) -> Requirement:
    for requirement in problem.requirements:
        if not requirement.model.satisfied(_everything(problem, requirement)).all():
            return requirement
    return problem.requirements[0]


def _everything(problem: RecodingProblem, requirement: Requirement) -> Linkage:
    """What the requirement would see if all records were one group."""
    return problem.linkage(problem.grouping(np.zeros(len(problem.points), dtype=np.int64)), requirement.hide)


def recoded(task: Task, problem: RecodingProblem, arranged: Sequence[tuple[Component, Grouping]]) -> Release:
    """The published table: labels for what was recoded, everything else as it is, rows shuffled."""
    table: Table = task.data
    laid = overlaid([(part.rows, part.problem.shares(grouping)) for part, grouping in arranged], problem.rows, table.counts)
    labels = [_labels(part.problem, grouping) for part, grouping in arranged]
    for each in (problem, *(part.problem for part, _ in arranged)):
        each.forget()  # with many classes every array counts
    inside = np.logical_and.reduce(
        [laid.row < table.rows, *(of >= 0 for of in laid.groups)]
    )  # nobody beside the table is published
    kept = np.flatnonzero(inside)
    suppressed = problem.own - int(laid.count.sum(where=inside))
    order = kept[task.randomness.child("row order").permutation(len(kept))]  # I1
    rows = order if table.counts is None else laid.row[order]
    groups, counts = [of[order] for of in laid.groups], None if table.counts is None else laid.count[order]
    del laid, inside, kept, order
    columns = {}
    for name in task.policy.published:  # I2
        place = next((place for place, written in enumerate(labels) if name in written), None)
        if place is not None:
            written, of_group = labels[place][name]
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(of_group[groups[place]]), written)
        elif name == task.policy.calibrated:
            continue
        elif name in table.names or table.counts is None:  # classes may leave out what no claim speaks of
            columns[name] = _as_it_is(task.policy, table, name).take(pa.array(rows))
    said = task.policy.population
    if said is not None and said.weight is not None and task.policy.calibrated is not None:
        columns[said.weight] = calibrated(task.policy, said, table, columns, rows, task.randomness)
        columns = {name: columns[name] for name in task.policy.published}
    held = pa.table(columns) if counts is None else narrow(pa.table(columns))
    return Release(Recoded(), {"data": Part(held, counts)}, suppressed, RecodedTrace({"data": rows}))


def _as_it_is(policy: Policy, table: Table, name: str) -> pa.Array:
    """The values of a column that is not made coarser: as they are, or as the policy codes them."""
    if not is_coded(policy.columns[name].hierarchy):
        return in_one_piece(table.coded(name))
    text = table.text(name)
    domain = generalization_of(policy, name, text.labels)
    return pa.array([domain.leaves[domain.code_of[label]] for label in text.labels], pa.string()).take(pa.array(text.codes))


def _labels(problem: RecodingProblem, grouping: Grouping) -> dict[str, tuple[pa.Array, CodeArray]]:
    """Per quasi-identifier the different labels, and which of them each group has: every label is written once."""
    columns = zip(problem.names, problem.domains, problem.cells(grouping), strict=True)
    return {name: _written(domain, cells) for name, domain, cells in columns}


def _written(domain: Generalization, cells: Cells) -> tuple[pa.Array, CodeArray]:
    alike = group(cells.sides())
    return pa.array(cells.taken(alike.first).labels(domain), pa.string()), alike.of.astype(np.int32)


def numbered(groups: IntArray) -> IntArray:
    """Group numbers without gaps; −1 stays."""
    present, number = np.unique(groups, return_inverse=True)
    return number - int((present < 0).any())
