"""A recoding method continues a history: its problem has persistent classes as one more column, and what it made
becomes a release.

Invariants
    I1  Groups never cross persistent classes (`constrain.constraints`), so joint classes over all releases keep every
        requirement.
    I2  Claims of earlier releases that the policy does not make anew are requirements like its own.
    I4  Hidden columns of such a requirement that this release leaves out and hangs on by others are asked about as they
        are remembered.
    I3  Rows of lineages that stay as they are and rows that the method made are shuffled together.


Looks
-----
Merged labels: groups of different persistent classes with equal published labels, so that the newest release alone
shows enough rows.

Rows of a person that came later fit the cells of groups that were there before. An adversary who joins all releases can
separate them; one who has only the newest release counts them all (M). Such a group cannot take rows of other
persistent classes in, but it can be written like theirs: then the rows that look alike are more, and all releases
together say what they said.

Groups of one persistent class that are written alike are one joint class. So what is asked over all releases is counted
again on what is published, and where it is broken groups of the persistent class are joined (`people.settled`).

Invariants
    I1  Groups stay what they are; only what they are published as grows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import PolicyError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.history.constrain.constraints import (
    HistoryConstraint,
    PersonCandidateClasses,
    classes_of_requirement,
    counterfeits_of,
    require_few_withheld,
)
from sfumato.history.constrain.unknown_membership import RecordPlacement
from sfumato.history.published_cells import PublishedCells
from sfumato.history.reference_distribution import with_reference
from sfumato.history.standing_requirements import earlier_requirements, known_columns
from sfumato.kinds.tables.form import Recoded, RecodedProvenance
from sfumato.kinds.tables.methods.class_merging import join_failing_groups
from sfumato.kinds.tables.methods.recoding_costs import columns_of
from sfumato.kinds.tables.methods.recoding_problem import Cells, Grouping, RecodingProblem, Sensitive
from sfumato.policy.policy import Column, Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.method import Task
from sfumato.release.past_releases import SEPARATOR, keys_of, text_of
from sfumato.release.release import Part, Release

HISTORY = "\x1fhistory"
"""The column of persistent classes in a problem that continues a history; it is never published."""


def uniform_columns(task: Task) -> frozenset[str]:
    """Return the columns whose labels are all of one level; refused over several releases, which do not keep it up."""
    names = frozenset(name for name, column in task.policy.columns.items() if column.uniform)
    if names and task.history is not None:
        what = f"'{min(names)}' is uniform, which is not kept up over several releases"
        raise PolicyError(what, where=task.policy.document.where("columns", min(names), "uniform"), hint="remove it")
    return names


def keep_classes_apart(
    problem: RecodingProblem,
    apart: IntArray | None,
    as_before: IntArray | None = None,
    others: PersonCandidateClasses | None = None,
    divisible: Collection[int] | None = None,
) -> RecodingProblem:
    """The problem with one more column that every adversary knows and that no value of may be generalized (I1).

    Of persistent classes that are not `divisible` a method leaves everybody out or nobody, where it is said which are.
    """
    problem = replace(problem, others=others)
    if apart is None or not len(apart) or (int(apart.max()) == 0 and (divisible is None or 0 in divisible)):
        return problem
    whole = None if divisible is None else (HISTORY, frozenset(range(int(apart.max()) + 1)).difference(divisible))
    return replace(
        problem,
        names=(*problem.names, HISTORY),
        domains=(*problem.domains, classes_apart(int(apart.max()) + 1)),
        codes=(*problem.codes, apart.astype(np.int32)),
        requirements=tuple(
            replace(one, given=(*(one.given or problem.names), HISTORY)) for one in problem.requirements
        ),
        weights={**problem.weights, HISTORY: 0.0},
        undivided=whole,
        settled=(HISTORY, frozenset(() if as_before is None else as_before.tolist())),
    )


def classes_apart(classes: int) -> Hierarchy:
    """The domain of a column that no value of may be generalized."""
    leaves = Hierarchy.flat([str(place) for place in range(classes)])
    return replace(leaves, ceilings=frozenset(range(leaves.size)))


def with_standing_requirements(task: Task) -> tuple[Policy, Task]:
    """The policy with what earlier releases promised (I2), and the task with what they told and this one does not show
    (I4)."""
    policy = task.policy
    if not task.history:
        return policy, task
    bundles = PublishedCells(task.history)
    claims = [with_reference(claim, bundles) for claim in earlier_requirements(policy, task.history)]
    told = dict[str, Column]()
    lacking = [
        claim for claim in claims if claim.model.demand().sufficient and not set(claim.hide) <= set(policy.published)
    ]
    if lacking:
        told = _told_elsewhere(bundles, policy, lacking)
        task = _remembering(task, bundles, list(told))
    known, more = set(policy.quasi_identifiers), []
    for claim in claims:
        given = tuple(name for name in claim.given if name in known)
        hide = tuple(name for name in claim.hide if name in policy.published or name in told)
        more += (
            [replace(claim, given=given, hide=hide)]
            if given and (hide or not claim.hide) and claim.model.monotone
            else []
        )
    return (
        replace(policy, claims=(*policy.claims, *more), columns={**policy.columns, **told}) if more else policy
    ), task


def _told_elsewhere(bundles: PublishedCells, policy: Policy, claims: Sequence[PrivacyRequirement]) -> dict[str, Column]:
    """Hidden columns of requirements that a release leaves out, and hangs on all the same, as they were declared
    (I4)."""
    bound = {name for claim in claims if classes_of_requirement(bundles, policy, claim) for name in claim.hide}
    left_out = sorted(bound.difference(policy.published) & set(bundles.values.newest))
    return {name: next(past.columns[name] for past in bundles.policies if name in past.published) for name in left_out}


def _remembering(task: Task, bundles: PublishedCells, names: Sequence[str]) -> Task:
    """Return the task with remembered values; an unknown value gets its own code, so that nothing is required of it
    (I4)."""
    table = task.data
    keys = pa.array(list(keys_of(task.policy, table)), pa.string())
    at = (
        pc.fill_null(pc.index_in(keys, value_set=bundles.keys), bundles.people)
        .to_numpy(zero_copy_only=False)
        .astype(np.int64)
    )
    held = table.held.drop_columns([name for name in names if name in table.names])
    for name in names:
        labels = [*bundles.values.ever(name), *(f"{SEPARATOR}{place}" for place in range(len(at)))]
        code = np.append(bundles.values.newest[name], -1)[at]
        code = np.where(code >= 0, code, len(labels) - len(at) + np.arange(len(at)))
        held = held.append_column(name, pa.array(labels, pa.string()).take(pa.array(code)))
    return replace(task, data=replace(table, held=held, _text={}, _number={}, _made={}))


def empty_release(task: Task, going: HistoryConstraint) -> Release:
    """A release without any row that a method made: lineages that stay as they are have all of them."""
    columns = {name: text_of(going.table, name).slice(0, 0) for name in task.policy.published}
    trace = RecodedProvenance({"data": np.zeros(0, dtype=np.int64)})
    return Release(Recoded(), {"data": Part(pa.table(columns))}, len(going.behind), trace)


def continue_release(task: Task, release: Release, going: HistoryConstraint) -> Release:
    """The release with the records of the task's table behind its rows, counterfeits, and lineages that stay as they
    were."""
    trace = release.trace
    assert isinstance(trace, RecodedProvenance)
    behind, stand_ins = counterfeits_of(going, np.asarray(trace.rows["data"]))
    if going.lineages is not None:
        return _with_lineages(task, release, behind, going, going.lineages)
    told = any(not set(claim.hide).isdisjoint(task.policy.published) for claim in task.policy.claims)
    if (
        task.history is not None
        and told
        and task.policy.series.cohorts == "unknown"
        and release.parts["data"].counts is None
    ):
        first = int(PublishedCells(task.history).lineage.max(initial=-1)) + 1
        release = replace(
            release, trace=(trace := replace(trace, lineage=first + _fresh_lineages(task, release, going)))
        )
    if stand_ins is None and not going.withheld and np.array_equal(behind, trace.rows["data"]):
        return release
    suppressed = going.withheld + release.suppressed
    require_few_withheld(task.policy, suppressed, task.data.records)
    trace = replace(trace, rows={"data": behind}, stand_ins=stand_ins)
    return _counted(replace(release, suppressed=suppressed, trace=trace))


def _counted(release: Release) -> Release:
    """Return the release with the number of its counterfeit records for people who left."""
    trace = release.trace
    count = len(trace.stand_ins[0]) if isinstance(trace, RecodedProvenance) and trace.stand_ins is not None else 0
    if not count:
        return release
    note = f"{count} row(s) are counterfeits for people who left"
    return replace(release, form=release.form.with_public(counterfeits=count), notes=(*release.notes, note))


def _with_lineages(
    task: Task, release: Release, behind: IntArray, going: HistoryConstraint, found: RecordPlacement
) -> Release:
    steady, made = found.steady, release.parts["data"].table
    rows = _steady_rows(task, found, made.column_names)
    table = pa.concat_tables([made.cast(rows.schema), rows]).combine_chunks()
    lineage = np.concatenate([found.next_number + _fresh_lineages(task, release, going), steady.lineage])
    whose = np.concatenate([behind, steady.records, np.full(len(steady.carried), -1)])
    order = task.randomness.child("all rows").permutation(table.num_rows)  # I3
    first = len(made) + len(steady.records)
    carried = order[order >= first] - first
    values = pa.table({name: pa.array(found.remembered[name], pa.string()) for name in made.column_names})
    who = [found.keys[i] for i in steady.carried[carried].tolist()]
    stand_ins = (who, values.take(pa.array(carried))) if who else None
    trace = RecodedProvenance({"data": whose[order]}, stand_ins=stand_ins, lineage=lineage[order])
    suppressed = release.suppressed + going.withheld
    require_few_withheld(task.policy, suppressed, task.data.rows)
    return _counted(
        replace(release, parts={"data": Part(table.take(pa.array(order)))}, suppressed=suppressed, trace=trace)
    )


def _fresh_lineages(task: Task, release: Release, going: HistoryConstraint) -> IntArray:
    """Number the classes of the new rows from 0: rows with equal labels and the same persistent class."""
    made, steady = release.parts["data"].table, going.lineages.steady.labels if going.lineages is not None else ()
    known = known_columns([task.policy]).union(steady)
    codes = [Table(made).text(name).codes for name in made.column_names if name in known]
    return equivalence_classes_of([*codes, going.apart[np.asarray(release.trace.rows["data"])]], rows=made.num_rows).of


def _steady_rows(task: Task, found: RecordPlacement, names: list[str]) -> pa.Table:
    """The rows of lineages that stay as they were, then those of counterfeits."""
    steady, columns = found.steady, {}
    for name in names:
        if name in steady.labels:
            columns[name] = pa.array(steady.labels[name], pa.string())
        else:
            mine = text_of(task.data, name).take(pa.array(steady.records)).to_pylist()
            columns[name] = pa.array([*mine, *found.remembered[name]], pa.string())
    return pa.table(columns)


# Looks
# -----


_GROUP = "group\0"


def without_history(problem: RecodingProblem, of_row: np.ndarray) -> RecodingProblem:
    """Return the problem for an adversary with this release alone; the group of each row is one more sensitive
    column."""
    kept = [place for place, name in enumerate(problem.names) if name != HISTORY]
    names = tuple(problem.names[place] for place in kept)
    labels = tuple(map(str, range(int(of_row.max(initial=-1)) + 2)))
    return replace(
        problem,
        names=names,
        domains=tuple(problem.domains[place] for place in kept),
        codes=tuple(problem.codes[place] for place in kept),
        sensitive=(*problem.sensitive, Sensitive(_GROUP, (of_row + 1).astype(np.int32), labels)),
        requirements=tuple(replace(one, given=names) for one in problem.requirements),
        settled=None,
    )


class MergedLabels:
    """The labels of groups for an adversary who does not know the persistent classes."""

    def __init__(self, problem: RecodingProblem, grouping: Grouping) -> None:
        self.problem, self.grouping = problem, grouping
        self.alone = without_history(problem, problem.group_of_record(grouping))
        self.of_cell = self.alone.cell_values[_GROUP].astype(np.int64) - 1
        cells = np.flatnonzero(self.of_cell >= 0)
        self.looks = Grouping(
            cells, equivalence_classes_of([self.of_cell[cells]]).of, self.alone.row_cell.counts[cells]
        )

    def join(self, broken: BoolArray) -> bool:
        """Write broken looks like their cheapest neighbours; whether any was left to be joined."""
        found = join_failing_groups(self.alone, self.looks, columns_of(self.alone, "width"), broken)
        fewer, self.looks = found.groups < self.looks.groups, found
        return fewer

    def published(self) -> Grouping:
        """The groups as they were, written as their looks (I1)."""
        look = np.zeros(self.grouping.groups, dtype=np.int64)
        look[self.of_cell[self.looks.cell]] = self.looks.group
        written = dict(
            zip(self.alone.names, (cells.taken(look) for cells in self.alone.cells(self.looks)), strict=True)
        )
        own = dict(zip(self.problem.names, self.problem.cells(self.grouping), strict=True))
        cells: tuple[Cells, ...] = tuple(written.get(name, own[name]) for name in self.problem.names)
        return replace(self.grouping, published=cells)
