"""What all recoding methods share: from a policy and a table to a recoding problem, and from groupings back to a
published table.

A method of this family derives from `RecodingMethod` and says who stands with whom (`equivalence_classes_of`);
everything else is here.

Claims have columns of their own
    A requirement is about the columns that its adversary is given, so quasi-identifiers that no claim gives to any
    person are published as they are, and columns that claims do not tie together are recoded by themselves
    (`components`). Within a component whose claims all speak of all its columns, groups are judged one by one, and
    `equivalence_classes_of` is asked. In the others it is asked to satisfy all requirements in every group, where that
    can be had without suppressing more; its answer and the coarsest release are specialized as far as the claims really
    allow (`specializing`), and the better one is published.

Invariants
    I1  Rows are shuffled with the cryptographic source.
    I2  Only columns the policy publishes leave; identifiers never do.
    I3  A release is refused as infeasible only when the coarsest release breaks a requirement [boundaries Properties 5,
        6]; see *Departures* of `problem` for models on shares.
    I4  Groups never cross persistent classes (`constrain.constraints`), so joint classes over all releases keep every
        requirement.


Attainable
----------
The level that can be had where what was asked cannot: the strongest one of a single requirement with which a release
exists.

Guarantee
    With the level that is named, the other claims being what they are, at least one record can be published, and as
    many as the policy wants. It is found by trying: a requirement that is weakened is asked once more of the whole
    problem.

Invariants
    I1  A weaker level never makes a policy infeasible, so levels are searched by halving.
    I2  Every requirement of the policy takes part, also one that followed from the requirement that is weakened.


Overlay
-------
Overlay: what several components say about the same rows, piece by piece.

Every component of a problem shares the records of a row out to groups of its own. Where a row stands for one record
that is one group each; where it is a class, the records of the class are cut wherever a component cuts them, and each
piece has one group of every component.

>>> shares = Shares(np.array([0, 0, 1]), np.array([7, 8, 7]), np.array([3, 2, 1]))
>>> others = Shares(np.array([0, 0]), np.array([4, 5]), np.array([4, 1]))
>>> laid = overlay_components([(np.arange(2), shares), (np.array([0]), others)], 2, np.array([5, 1]))
>>> laid.row.tolist(), [of.tolist() for of in laid.groups], laid.count.tolist()
([0, 0, 0, 1], [[7, 8, 8, 7], [4, 4, 5, -1]], [3, 1, 1, 1])


Components
----------
Columns that claims tie together: what is independent of each other is recoded by itself.

A claim sees only the columns that its adversary is given. Two columns that no claim sees together, not even by way of
others, can be recoded as if the other was not there; only the suppressed records are shared.

Invariants
    I1  Every claim is about columns of one component. Claims that give the adversary nothing see all published records
        at once, and hold however these are recoded, because they hold in the coarsest release.
    I2  Components publish the same records: those that the whole problem need not suppress.
    I3  A requirement that follows from another one is left out: the other is as strong and its adversary knows more.

>>> connected(("age", "sex", "zip"), [("age",), ("sex", "zip"), ()])
[('age',), ('sex', 'zip')]


Calibrating
-----------
Calibrated survey weights: ``population: {weight: w, calibrate: [sex, region], round: 10}``.

Weights tell people apart, and suppressed records take their weight with them. Calibrated ones do neither: equal rows
have equal weights, and the weighted totals of the named columns are those of all records, including suppressed ones.

Notation
    margin    the people that the original's weights count for each bin of a named column. Published labels that overlap
              (20-29 beside 20-39) are one bin: the finest totals that both sides can tell
    kind      published rows that look alike in all quasi-identifiers and named columns

How
    1. Every row starts with the mean of the original weights of the rows that look like it in all quasi-identifiers.
    2. Raking: weights are scaled to one margin after the other until all of them are met (iterative proportional
       fitting).
    3. Rounding: within a kind some rows get the multiple of `round` below, others the one above, by lot, and how many
       follows from the running total: sums drift by half a step at most, in the order of the first column.

Guarantee (`tables.checks` counts again)
    I1  A weight reveals nothing beyond the other cells of its row, up to one random rounding step.
    I2  Every margin differs from the original's by at most `TOLERANCE` of it, or one step of rounding; refused
        otherwise.
    Means of classes are figures of at least as many people as a class has: who knows all weights of a class but one
    learns that one as far as rounding lets them.

Papers: Deming, Stephan (1940) for raking; Deville, Särndal (1992) for calibration.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import floor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import CodeArray, FloatArray, IntArray, narrow_codes
from sfumato.core.errors import Infeasible, NotFound, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of, unit_weights
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import Table, as_text, combination_of, combined_chunks, encode_compactly
from sfumato.history.constrain.constraints import (
    HistoryConstraint,
    PersonCandidateClasses,
    constrain_task,
    deferral_limit,
    person_candidate_classes,
    unsafe_to_split,
    without_records,
)
from sfumato.io.value_coding import is_coded
from sfumato.kinds.tables.form import Recoded, RecodedProvenance
from sfumato.kinds.tables.methods.deferred_records import defer_costly_records
from sfumato.kinds.tables.methods.person_requirements import (
    enforce_person_requirements,
    person_requirements,
    refusal_of_people,
)
from sfumato.kinds.tables.methods.population_requirements import (
    add_population,
    population_requirement,
    require_presence,
    weight_column,
)
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_history import (
    continue_release,
    empty_release,
    keep_classes_apart,
    uniform_columns,
    with_standing_requirements,
)
from sfumato.kinds.tables.methods.recoding_problem import (
    Cells,
    Grouping,
    RecodingProblem,
    Requirement,
    Sensitive,
    Shares,
)
from sfumato.kinds.tables.methods.specialization import specialize
from sfumato.kinds.tables.sample_weights import read_weights
from sfumato.models.base import Model
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import TOLERANCE, SampledPopulation, values_of
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release


class RecodingMethod(Method):
    """A method that writes quasi-identifiers of one table more coarsely."""

    form: ClassVar[type[Form]] = Recoded
    minimal: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    codes: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    hides_combinations: ClassVar[bool] = True
    reads: ClassVar[frozenset[str]] = frozenset({"utility.minimize", "utility.importance", "columns.uniform"})
    one_level: ClassVar[bool] = False
    """Whether every column is written at one level, so that nobody fits two classes."""
    mixed: ClassVar[bool] = False
    """Whether `equivalence_classes_of` itself looks after requirements that speak of some of the columns only, by
    asking
`RecodingProblem.satisfied`."""

    @abstractmethod
    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        """Who stands with whom: every record outside `problem.out` in a group, and every group satisfies every
        requirement.

        What a group is published as is the smallest interval around it, unless the grouping brings its own.
        """

    def usual_jobs(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def refusal(self, policy: Policy) -> str:
        overlapping = [claim for claim in policy.claims if claim.model.needs_everybody and not self.one_level]
        if overlapping:
            return f"{overlapping[0]} needs classes of which everybody fits one: 'global' makes them"
        return refusal_of_recoding(policy)

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return can_recode(claim, policy) and (self.one_level or not claim.model.needs_everybody)

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return any(claim.model.needs_sensitive for claim in binding(policy))

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        exact = [name for name in policy.quasi_identifiers if name not in known_quasi_identifiers(policy)]
        return (
            [f"published as they are, because no claim gives them to an outsider: {', '.join(exact)}"] if exact else []
        )

    def run(self, task: Task) -> Release:
        try:
            return self._recoded(task)
        except NotFound:
            found = next(self._other_ways(task), None)
            if found is None:
                raise
            return found

    def _other_ways(self, task: Task) -> Iterator[Release]:
        """Releases that were not looked for at first: groups that keep a requirement only together, fewer records of
        frequent values."""
        policy = task.policy
        if task.history or policy.person is not None or policy.of_population or task.data.counts is not None:
            return
        for claims in weaker_claims(policy.claims):
            with suppress(Infeasible):
                made = self._recoded(replace(task, policy=replace(policy, claims=claims)))
                if all(claim.model.satisfied(linkage_of(made, claim)).all() for claim in policy.claims):
                    yield _without_proof(made, made.suppressed, None, ())
        kept = frequent_values_left_out(task)
        if kept is not None:
            with suppress(Infeasible):
                out = task.data.rows - len(kept)
                limit = (_allowed(policy, task.data.rows) - out) / max(len(kept), 1)
                utility = policy.utility.model_copy(update={"suppress_at_most": limit})
                fewer = Table(task.data.frame.take(pa.array(kept)))
                made = self._recoded(replace(task, data=fewer, policy=replace(policy, utility=utility)))
                yield _without_proof(made, made.suppressed + out, kept, (_BY_VALUE,))

    def _recoded(self, task: Task) -> Release:
        going, problem = problem_with_history(task)
        if problem is None:
            return continue_release(task, empty_release(task, going), going)
        waiting = min(going.waiting, deferral_limit(task, going.withheld + problem.suppressed))
        mine = replace(task, data=going.table, waiting=waiting, withheld=going.withheld)
        made = self.release(mine, problem)
        require_presence(problem, task.policy, made)
        return continue_release(task, made, going)

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        """The published table of a problem that can be solved."""
        parts = components(problem)
        return publish_recoding(task, problem, [(part, self.arranged(part.problem, task)) for part in parts])

    def arranged(self, problem: RecodingProblem, task: Task) -> Grouping:
        """The method's groups of a component, whatever columns its claims speak of."""
        if not problem.requirements:
            return problem.grouping(np.arange(len(problem.points)))
        if self.mixed or problem.uniform:
            made = _without_flaw(problem, self.group(problem, task))
            return enforce_person_requirements(
                problem, defer_costly_records(problem, made, task.waiting, task.policy.utility.minimize)
            )
        objective = task.policy.utility.minimize
        starts = [problem.coarsest()]
        if not problem.everywhere.out.any():
            starts.append(_without_flaw(problem.everywhere, self.group(problem.everywhere, task)))
        costs = Costs.of(problem, objective)
        found = [specialize(problem, start, objective=objective) for start in starts]
        return enforce_person_requirements(problem, min(found, key=lambda grouping: costs.mean(problem, grouping)))


_BY_VALUE = (
    "records of frequent sensitive values were suppressed, because all records of a "
    "region together violate a requirement: an adversary who knows that a person is "
    "missing may guess a frequent value"
)
_RUNGS = 12
"""So many weaker requirements on single groups are tried where a requirement is about a mean over all of them."""
_TRIMMED = 20_000_000
"""Rows that are looked at, one after the other, to leave out records of frequent values."""


def _allowed(policy: Policy, records: int) -> int:
    """How many records may be suppressed."""
    limit = policy.utility.suppress_at_most
    return records if limit is None else floor(limit * records + 1e-9)


def weaker_claims(claims: Sequence[PrivacyRequirement]) -> Iterator[tuple[PrivacyRequirement, ...]]:
    """The requirements with weaker ones in the place of those that groups need not keep one by one
    (`Model.weaker_by_group`)."""
    ladders = [claim.model.weaker_by_group() for claim in claims]
    longest = max(map(len, ladders), default=0)
    for rung in sorted({round(place) for place in np.linspace(0, longest - 1, min(longest, _RUNGS))}):
        models = [
            ladder[min(rung, len(ladder) - 1)] if ladder else claim.model
            for claim, ladder in zip(claims, ladders, strict=True)
        ]
        yield tuple(replace(claim, model=model) for claim, model in zip(claims, models, strict=True))


def linkage_of(release: Release, claim: PrivacyRequirement) -> Linkage:
    """What the adversary of a requirement is left with by a published table."""
    table = Table(release.parts["data"].table)
    classes = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
    texts = {name: combination_of(table, columns) for name, columns in claim.hidden_columns(table.names).items()}
    return Linkage.of_groups(classes.of, {name: (text.codes, text.labels) for name, text in texts.items()})


def _without_proof(made: Release, suppressed: int, kept: IntArray | None, notes: tuple[str, ...]) -> Release:
    """A release that was made under other requirements, or of `kept` records: what was proved of it is not proved of
    the policy's."""
    rows = {part: each if kept is None else kept[each] for part, each in made.trace.rows.items()}
    trace = made.trace
    if isinstance(trace, RecodedProvenance):
        trace = replace(trace, optimality=None)
    return replace(made, suppressed=suppressed, trace=replace(trace, rows=rows), notes=(*made.notes, *notes))


def frequent_values_left_out(task: Task) -> IntArray | None:
    """Return the remaining records when regions that violate a requirement lose random records of frequent values.

    Nothing where that is not enough, takes more records than may be suppressed, or claims compare with the whole
    release."""
    if (
        not task.policy.utility.suppress_at_most
    ):  # not where the policy leaves it open: too many would be missing without a word
        return None
    problem, allowed = problem_of(task.policy, task.data), _allowed(task.policy, task.data.rows)
    if not problem.uniform or any(one.model.compares for one in problem.requirements):
        return None
    region, broken = problem.regions.of[problem.row_point.of], problem.out[problem.row_point.of]
    mixed = task.randomness.child("records left out").permutation(task.data.rows)
    left, work = np.ones(task.data.rows, dtype=np.bool_), 0
    for number in np.unique(region[broken]).tolist():
        rows = mixed[region[mixed] == number]
        while (column := _too_frequent(problem, rows)) is not None:
            work += len(rows)
            codes = column.codes[rows]
            frequent = np.flatnonzero(codes == np.bincount(codes).argmax())
            left[rows[frequent[0]]], rows = False, np.delete(rows, frequent[0])
            if not len(rows) or work > _TRIMMED or int((~left).sum()) > allowed:
                return None
    return np.flatnonzero(left)


def _too_frequent(problem: RecodingProblem, rows: IntArray) -> Sensitive | None:
    """The sensitive column that breaks a requirement on these records as one group; nothing when every requirement
    holds, or needs no values."""
    everybody = np.zeros(len(rows), dtype=np.int64)
    for requirement in problem.requirements:
        hidden = [column for column in problem.sensitive if column.name in requirement.hide]
        for column in hidden:
            alone = Linkage.of_groups(everybody, {column.name: (column.codes[rows], column.labels)})
            if not requirement.model.satisfied(alone).all():
                return column
    return None


def _without_flaw(problem: RecodingProblem, grouping: Grouping) -> Grouping:
    if flaw := problem.flaw(grouping):
        raise SfumatoError(
            f"the method made a release that may not leave: {flaw}", hint="this is a defect of the method"
        )
    return grouping


def can_recode(claim: PrivacyRequirement, policy: Policy) -> bool:
    """Whether recoding can make the requirement true: it hides nothing that is recoded, and a monotone model survives
    coarser classes."""
    hidden = set(claim.hide).isdisjoint(policy.quasi_identifiers)
    return claim.model.by_group().monotone and hidden and set(claim.given) <= set(policy.quasi_identifiers)


def refusal_of_recoding(policy: Policy) -> str:
    """Why a recoded table cannot keep the requirements of this policy; empty when it can."""
    if not policy.quasi_identifiers:
        return "the policy has no quasi-identifier column"
    if not policy.claims:
        return "the policy protects nothing: 'protect' has no claims"
    for claim in policy.claims:
        if not can_recode(claim, policy):
            return f"{claim} speaks about columns that one recoded table leaves as they are"
    return refusal_of_people(policy)


def problem_with_history(task: Task) -> tuple[HistoryConstraint, RecodingProblem | None]:
    """The records that the method is asked about, and their recoding problem, in which nobody leaves their persistent
    class (I4).

    Return no problem if fixed classes contain all rows, or if no other record can be published.
    """
    policy, task = with_standing_requirements(task)
    going = constrain_task(task)
    while True:
        if going.lineages is not None and not len(going.behind):
            return going, None
        try:
            problem = _least_suppressed(policy, task, going)
        except Infeasible:
            if going.lineages is None or not going.lineages.steady.rows:
                raise
            return going, None
        torn = unsafe_to_split(task, going, problem.out[problem.row_point.of[: problem.rows - problem.beside]])
        if not torn.any():
            return going, problem
        going = without_records(going, torn[going.apart])


def _least_suppressed(policy: Policy, task: Task, going: HistoryConstraint) -> RecodingProblem:
    """The problem that leaves fewest records out: requirements as stated or, with a ledger, about all that a wider
    claim gives.

    A class that only some columns make may consist of several groups, none of which satisfies the requirement by
    itself. A later release could then leave out no group without the others. So with a ledger every group of the wider
    claim satisfies the narrower one, where that costs nobody."""
    given = (going.table, going.apart, going.as_before, _others(task, going), going.divisible)
    claims = tuple(replace(claim, given=_widest(claim, policy)) for claim in policy.claims)
    if task.history is None or claims == policy.claims or policy.person is not None:
        return feasible_problem(policy, *given)
    wide = replace(policy, claims=claims)
    try:
        found = feasible_problem(wide, *given)
    except Infeasible:
        return feasible_problem(policy, *given)
    return (
        found
        if not found.suppressed
        else min(found, feasible_problem(policy, *given), key=lambda problem: problem.suppressed)
    )


def _widest(claim: PrivacyRequirement, policy: Policy) -> tuple[str, ...]:
    """The most columns that a requirement gives which gives all of this one's."""
    wider = [other.given for other in policy.claims if claim.given and set(claim.given) < set(other.given)]
    return max(wider, key=len, default=claim.given)


def _others(task: Task, going: HistoryConstraint) -> PersonCandidateClasses | None:
    """Of people in several rows: who could be of another persistent class."""
    person = task.policy.person
    return (
        None
        if person is None or going.tied is None
        else person_candidate_classes(going, persons_of_rows(task.data, person.unit))
    )


def feasible_problem(
    policy: Policy,
    table: Table,
    apart: IntArray | None = None,
    as_before: IntArray | None = None,
    others: PersonCandidateClasses | None = None,
    divisible: Collection[int] | None = None,
) -> RecodingProblem:
    """The recoding problem of a policy, or `Infeasible`; `apart` are classes of records that no group may mix.

    Suppression is by whole regions. When too much would be suppressed, columns that no claim is about help after all:
    they divide regions into smaller ones, some of which may be saved (I3)."""
    problem = keep_classes_apart(problem_of(policy, table), apart, as_before, others, divisible)
    try:
        check_feasible(policy, problem)
    except Infeasible:
        finer = keep_classes_apart(
            problem_of(policy, table, policy.quasi_identifiers), apart, as_before, others, divisible
        )
        if finer.suppressed >= problem.suppressed:
            raise
        check_feasible(policy, finer)
        return finer
    return problem


def problem_of(policy: Policy, table: Table, names: tuple[str, ...] = ()) -> RecodingProblem:
    """The recoding problem in leaf codes, over the columns that claims speak of unless others are named."""
    names = names or known_quasi_identifiers(policy) or policy.quasi_identifiers[:1]
    domains, codes = [], []
    for name in policy.quasi_identifiers:
        text = table.text(name)
        domain = generalization_of(policy, name, values_of(policy.everybody(), table, name))
        leaves = narrow_codes(encode(domain, text.labels, column=name), domain.size)
        if name in names:
            domains.append(domain)
            codes.append(leaves[text.codes])
    hidden = {
        name: columns for claim in binding(policy) for name, columns in claim.hidden_columns(policy.published).items()
    }
    texts = {name: combination_of(table, columns) for name, columns in hidden.items()}
    sensitive = tuple(Sensitive(name, text.codes, text.labels) for name, text in texts.items())
    stated = stated_requirements(policy)
    whose, of_them = person_requirements(policy, table, [(claim, known_to(claim, policy)) for claim in binding(policy)])
    asked = (*without_implied(stated), *of_them)
    hidden_too = (*sensitive, *whose, *weight_column(policy, table))
    problem = RecodingProblem(
        names, tuple(domains), tuple(codes), hidden_too, asked, policy.utility.importance, multiplicity=table.counts
    )
    return add_population(problem, policy)


def binding(policy: Policy) -> tuple[PrivacyRequirement, ...]:
    """The requirements that bind this table: what hides only columns that it leaves out cannot be broken by it.

    Unless it shows columns of no role that other releases may show too: then it hangs on their sensitive columns, and
    is bound."""
    loose = bool(policy.with_role("other"))
    untold = [
        claim.tells_nothing(policy.published)
        or (claim.model.joint and bool(claim.hide) and set(claim.hide).isdisjoint(policy.published))
        for claim in policy.claims
    ]
    return tuple(claim for claim, none in zip(policy.claims, untold, strict=True) if loose or not none)


def known_to(claim: PrivacyRequirement, policy: Policy) -> tuple[str, ...]:
    """Return the quasi-identifiers that the adversary of a requirement knows; over several releases all of them."""
    return tuple(name for name in policy.quasi_identifiers if claim.model.joint or name in claim.given)


def known_quasi_identifiers(policy: Policy) -> tuple[str, ...]:
    """The quasi-identifiers that some claim gives to an adversary."""
    spoken = {name for claim in policy.claims for name in known_to(claim, policy)}
    return tuple(name for name in policy.quasi_identifiers if name in spoken)


def check_feasible(policy: Policy, problem: RecodingProblem) -> None:
    """Refuse before the work starts when the claims leave too few records to publish [boundaries Properties 5, 6]."""
    suppressed, limit = problem.suppressed, policy.utility.suppress_at_most
    refuse = Infeasible if _regions_prove(policy) else NotFound
    if suppressed == problem.own:
        broken = _broken_claim(problem)
        raise refuse(
            "no record can be published: every group that the boundaries allow breaks a claim",
            where=broken.model.name,
            hint=f"{_offer(policy, problem)}; or widen the boundaries",
        )
    if limit is not None and suppressed > limit * problem.own + 1e-9:
        share = suppressed / problem.own
        raise refuse(
            f"{suppressed} of {problem.own} records ({share:.3%}) lie in groups that cannot satisfy the claims within"
            f" the boundaries, and the policy allows {limit:.3%}",
            hint=(
                f"set utility.suppress_at_most to {np.ceil(share * 1e4) / 100:.2f}%, widen the boundaries, or lower the"
                " levels"
            ),
        )


def _regions_prove(policy: Policy) -> bool:
    """Whether a region that breaks a requirement as a whole breaks it with fewer records, too: then no release
    publishes any of them.

    So it is where claims count candidates and different values: fewer records have no more of either. Shares, entropy
    and distances may be better among fewer records, unless nobody may be suppressed. A mean over all groups asks less
    of each."""
    plain, nobody = policy.person is None and not policy.of_population, policy.utility.suppress_at_most == 0
    demands = [(claim.model.by_group() is claim.model, claim.model.demand()) for claim in policy.claims]
    return plain and all(same and (nobody or demand.only_counts) for same, demand in demands)


def suppression_budget(policy: Policy, problem: RecodingProblem, withheld: int = 0) -> int:
    """Return how many records may be suppressed by choice: the policy's limit minus those suppressed already."""
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

    stated = stated_requirements(policy)
    found = strongest_attainable(
        problem, [*stated, *(one for one in problem.requirements if one not in stated)], enough
    )
    if found is None:
        return "no single level helps: lower the levels of several claims"
    return f"{found} is the most that this data can offer, with the other claims as they are"


def stated_requirements(policy: Policy) -> list[Requirement]:
    """The requirements of a policy as requirements, also those that follow from others."""
    return [population_requirement(claim, policy, known_to(claim, policy)) for claim in binding(policy)]


def _broken_claim(problem: RecodingProblem) -> Requirement:
    for requirement in problem.requirements:
        if not requirement.model.satisfied(_everything(problem, requirement)).all():
            return requirement
    return problem.requirements[0]


def _everything(problem: RecodingProblem, requirement: Requirement) -> Linkage:
    """What the requirement would see if all records were one group."""
    return problem.linkage(problem.grouping(np.zeros(len(problem.points), dtype=np.int64)), requirement.hide)


def publish_recoding(task: Task, problem: RecodingProblem, arranged: Sequence[tuple[Component, Grouping]]) -> Release:
    """The published table: labels for what was recoded, everything else as it is, rows shuffled."""
    table: Table = task.data
    laid = overlay_components(
        [(part.rows, part.problem.shares(grouping)) for part, grouping in arranged], problem.rows, table.counts
    )
    labels = [_labels(part.problem, grouping, uniform_columns(task)) for part, grouping in arranged]
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
        elif name in table.names or table.counts is None:  # classes may leave out what no requirement is about
            columns[name] = _as_it_is(task.policy, table, name).take(pa.array(rows))
    said = task.policy.population
    if said is not None and said.weight is not None and task.policy.calibrated is not None:
        columns[said.weight] = calibrate_weights(task.policy, said, table, columns, rows, task.randomness)
        columns = {name: columns[name] for name in task.policy.published}
    held = pa.table(columns) if counts is None else encode_compactly(pa.table(columns))
    return Release(Recoded(), {"data": Part(held, counts)}, suppressed, RecodedProvenance({"data": rows}))


def _as_it_is(policy: Policy, table: Table, name: str) -> pa.Array:
    """The values of a column that is not made coarser: as they are, or as the policy codes them."""
    if not is_coded(policy.columns[name].hierarchy):
        return combined_chunks(table.coded(name))
    text = table.text(name)
    domain = generalization_of(policy, name, text.labels)
    return pa.array([domain.leaves[domain.code_of[label]] for label in text.labels], pa.string()).take(
        pa.array(text.codes)
    )


def _labels(
    problem: RecodingProblem, grouping: Grouping, uniform: Collection[str]
) -> dict[str, tuple[pa.Array, CodeArray]]:
    """Per quasi-identifier the different labels, and which of them each group has: every label is written once."""
    columns = zip(problem.names, problem.domains, problem.cells(grouping), strict=True)
    return {
        name: _written(domain, cells.risen(domain) if name in uniform else cells) for name, domain, cells in columns
    }


def _written(domain: Generalization, cells: Cells) -> tuple[pa.Array, CodeArray]:
    alike = equivalence_classes_of(cells.sides())
    return pa.array(cells.taken(alike.first).labels(domain), pa.string()), alike.of.astype(np.int32)


def numbered(groups: IntArray) -> IntArray:
    """Group numbers without gaps; −1 stays."""
    present, number = np.unique(groups, return_inverse=True)
    return number - int((present < 0).any())


# Attainable
# ----------


_STEPS = 12
Enough = Callable[[RecodingProblem], bool]


def strongest_attainable(problem: RecodingProblem, stated: Sequence[Requirement], enough: Enough) -> Model | None:
    """The first requirement that needs to be weakened in one level only, as far as it must be; None when no single
    level helps."""
    for place, requirement in enumerate(stated):
        for key in requirement.model.levels:

            def holds(model: Model, place: int = place, requirement: Requirement = requirement) -> bool:
                claims = (*stated[:place], replace(requirement, model=model), *stated[place + 1 :])  # I2
                return enough(problem.asking(claims))

            found = strongest(requirement.model, key, holds)
            if found is not None:
                return found
    return None


def strongest(model: Model, key: str, holds: Callable[[Model], bool]) -> Model | None:
    """The model with the safest level of one parameter that holds, at most as safe as it is now; None when none
    holds."""
    asked = getattr(model, key)
    weakest = type(asked)(1)  # one candidate, one value, every share: what any group satisfies

    def at(level: float) -> Model:
        return type(model)(**model.model_dump() | {key: level})

    if asked == weakest or not holds(at(weakest)):
        return None
    if isinstance(asked, int):
        low, high = weakest, asked  # I1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(at(middle)) else (low, middle)
        return at(low)
    good, bad = weakest, asked
    for _ in range(_STEPS):
        middle = round((good + bad) / 2, 3)
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(at(middle)) else (good, middle)
    return at(good)


# Overlay
# -------


@dataclass(frozen=True, slots=True)
class Pieces:
    """`count[i]` records of row `row[i]`, with the group that each component gives them; −1 where one suppresses
    them."""

    row: IntArray
    groups: tuple[IntArray, ...]
    count: IntArray


def overlay_components(shared: Sequence[tuple[IntArray | None, Shares]], rows: int, counts: IntArray | None) -> Pieces:
    """The pieces of all rows, in their order; each component is about some rows (named first) and suppresses the
    others."""
    if len(shared) == 1 and shared[0][0] is None:  # the array is not shared, so it may be changed in place
        return Pieces(shared[0][1].row, (shared[0][1].group,), shared[0][1].count)
    if counts is None:  # a row is one record, with one group of every component
        groups = tuple(_in_place(mine, shares, rows) for mine, shares in shared)
        return Pieces(np.arange(rows), groups, unit_weights(rows))
    many = counts
    end = np.cumsum(many)
    laid = [_starts(mine, shares, many, end) for mine, shares in shared]
    cuts = np.unique(np.concatenate([start for start, _ in laid]))
    groups = tuple(of[np.searchsorted(start, cuts, side="right") - 1] for start, of in laid)
    return Pieces(np.searchsorted(end, cuts, side="right"), groups, np.diff(cuts, append=end[-1] if rows else 0))


def _in_place(mine: IntArray | None, shares: Shares, rows: int) -> IntArray:
    if mine is None:
        return shares.group
    of = np.full(rows, -1, dtype=np.int64)
    of[mine[shares.row]] = shares.group
    return of


def _starts(mine: IntArray | None, shares: Shares, many: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Where each share begins, all records of all rows laid in a line, and its group."""
    if mine is None:
        return np.cumsum(shares.count) - shares.count, shares.group
    silent = np.setdiff1d(np.arange(len(many)), mine, assume_unique=True)
    row = np.concatenate([mine[shares.row], silent])
    group = np.concatenate([shares.group, np.full(len(silent), -1, dtype=np.int64)])
    count = np.concatenate([shares.count, many[silent]])
    order = np.argsort(row, kind="stable")
    ends = np.cumsum(count[order])
    return ends - count[order], group[order]


# Components
# ----------


@dataclass(frozen=True)
class Component:
    """Some columns of a problem as a problem of their own, about some of its records."""

    problem: RecodingProblem
    rows: IntArray | None = None
    """The records that it is about; all of them without."""


def components(problem: RecodingProblem) -> list[Component]:
    """The problem as it is when all claims speak of all its columns, else its independent parts without suppressed
    records."""
    if problem.uniform:
        return [Component(problem)]
    rows = np.flatnonzero(~problem.out[problem.row_point.of])  # I2
    sets = connected(problem.names, [problem.given(requirement) for requirement in problem.requirements])
    return [Component(_restricted(problem, names, rows), rows) for names in sets]


def connected(names: Sequence[str], sets: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The names in the classes that the sets connect, everything in the order of the names."""
    of = {name: place for place, name in enumerate(names)}
    for tied in sets:
        joined = {of[name] for name in tied}
        of = {name: min(joined) if place in joined else place for name, place in of.items()}
    return [tuple(name for name in names if of[name] == place) for place in sorted(set(of.values()))]


def without_implied(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The requirements that do not follow from others (I3)."""
    return tuple(one for one in requirements if not any(_follows(one, other) for other in requirements))


def _follows(one: Requirement, other: Requirement) -> bool:
    """Whether `other` implies `one` because its adversary knows more; its classes are parts of the ones that `one` is
    about."""
    more = set(one.given or ()) < set(other.given or ())
    return more and one.model.monotone and set(one.hide) <= set(other.hide) and other.model.covers(one.model)


def _restricted(problem: RecodingProblem, names: tuple[str, ...], rows: IntArray) -> RecodingProblem:
    places = [problem.names.index(name) for name in names]
    inside = [one for one in problem.requirements if set(problem.given(one)) <= set(names) and problem.given(one)]  # I1
    hidden = {name for requirement in inside for name in requirement.hide}
    return replace(
        problem,
        names=names,
        domains=tuple(problem.domains[place] for place in places),
        codes=tuple(problem.codes[place][rows] for place in places),
        sensitive=tuple(_rows_of(column, rows) for column in problem.sensitive if column.name in hidden),
        requirements=tuple(inside),
        multiplicity=None if problem.multiplicity is None else problem.multiplicity[rows],
        beside=int((rows >= problem.rows - problem.beside).sum()),
        whole=problem,
    )


def _rows_of(column: Sensitive, rows: IntArray) -> Sensitive:
    return replace(column, codes=column.codes[rows])


# Calibrating
# -----------


_MOST_ROUNDS = 2000
_CLOSE = 1e-9


def calibrate_weights(
    policy: Policy,
    said: SampledPopulation,
    table: Table,
    shown: Mapping[str, pa.Array],
    rows: IntArray,
    randomness: Randomness,
) -> pa.Array:
    """The weight of every published row, as text; `shown` are the published columns, `rows` the records behind them."""
    own = read_weights(table, str(said.weight))
    margins = [_margin(policy, table, shown[name], name, own) for name in said.calibrate]
    alike = equivalence_classes_of(
        [as_text(pa.chunked_array([shown[name]]), name).codes for name in policy.quasi_identifiers], rows=len(rows)
    )
    start = np.bincount(alike.of, weights=own[rows]) / alike.counts  # I1
    weights = raked(start[alike.of], margins)
    kinds = equivalence_classes_of([*(bins for bins, _ in margins), alike.of])  # sorted by the first margin
    rounded = _rounded(weights, kinds.of, float(said.round), randomness)
    _require_kept(rounded, margins, said)
    return pa.array([f"{weight:.10g}" for weight in rounded], pa.string())


def _margin(policy: Policy, table: Table, column: pa.Array, name: str, own: FloatArray) -> tuple[IntArray, FloatArray]:
    """The bin of every published row, and the total of every bin."""
    text, published = table.text(name), as_text(pa.chunked_array([column]), name)
    if name in policy.quasi_identifiers:
        domain = generalization_of(policy, name, text.labels)
        bin_of = _bins(domain, published.labels)
        mine = np.array([bin_of[(domain.interval(label) or (0, 0))[0]] for label in published.labels])
        theirs = np.array([bin_of[domain.code_of[label]] for label in text.labels])
    else:
        number_of = {label: place for place, label in enumerate(text.labels)}
        mine, theirs = np.array([number_of[label] for label in published.labels]), np.arange(len(text.labels))
        theirs = np.where(np.isin(theirs, mine), theirs, -1)
    if (theirs[text.codes] < 0).any():
        what = (
            f"{int((theirs[text.codes] < 0).sum())} record(s) have values of '{name}' that no published row stands for"
        )
        raise Infeasible(
            what, where="population.calibrate", hint="leave the column out of 'calibrate', or suppress less"
        )
    totals: FloatArray = np.bincount(theirs[text.codes], weights=own).astype(np.float64)
    return mine[published.codes], totals


def _bins(domain: Generalization, labels: Sequence[str]) -> IntArray:
    """For every leaf the number of its bin: labels that overlap are joined; −1 where no label covers it."""
    covered = np.zeros(domain.size + 1, dtype=np.int64)
    inside = np.zeros(domain.size + 1, dtype=np.int64)
    for lo, hi in filter(None, map(domain.interval, labels)):
        covered[lo] += 1
        covered[hi] -= 1
        inside[lo + 1] += 1
        inside[hi] -= 1
    shown, tied = np.cumsum(covered)[:-1] > 0, np.cumsum(inside)[:-1] > 0
    return np.where(shown, np.cumsum(~tied) - 1, -1)


def raked(weights: FloatArray, margins: Sequence[tuple[IntArray, FloatArray]]) -> FloatArray:
    """Weights that meet every margin, as near to those that are given as scaling gets; `Infeasible` where none do."""
    weights = weights.copy()
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        for bins, totals in margins:
            sums = np.bincount(bins, weights=weights, minlength=len(totals))
            factor = np.divide(totals, sums, out=np.ones(len(totals)), where=sums > 0)
            worst = max(worst, float(np.abs(factor - 1).max(initial=0)))
            weights *= factor[bins]
        if worst < _CLOSE:
            return weights
    what = "no weights above zero meet all totals at once: raking does not settle"
    raise Infeasible(what, where="population.calibrate", hint="calibrate to fewer columns, or suppress less")


def _rounded(weights: FloatArray, kind: IntArray, step: float, randomness: Randomness) -> FloatArray:
    """Multiples of a step, with the sums of the weights in the order of kinds; who of a kind gets more is drawn."""
    order = np.lexsort((randomness.child("calibrated weights").permutation(len(weights)), kind))
    running = np.rint(np.cumsum(weights[order]) / step)
    found = np.empty_like(weights)
    found[order] = np.diff(running, prepend=0.0) * step
    return found


def _require_kept(weights: FloatArray, margins: Sequence[tuple[IntArray, FloatArray]], said: SampledPopulation) -> None:
    """What is promised (I2), and that everybody still stands for a person."""
    if (weights <= 0).any():
        what = f"{int((weights <= 0).sum())} row(s) would stand for nobody"
        raise Infeasible(what, where="population.round", hint="round to a smaller step")
    for (bins, totals), name in zip(margins, said.calibrate, strict=True):
        off = np.abs(np.bincount(bins, weights=weights, minlength=len(totals)) - totals)
        if (off > np.maximum(TOLERANCE * totals, said.round) + _CLOSE).any():
            what = f"rounding to {said.round:g} moves a total of '{name}' by {off.max():.3g}"
            raise Infeasible(
                what, where="population.round", hint="round to a smaller step, or calibrate to fewer columns"
            )
