"""A recoding method continues a history: its problem has history classes as one more column, and what it made becomes a release.

Invariants
    I1  Groups never cross history classes (`methods.continuing`), so joint classes over all releases keep every claim.
    I2  Claims of earlier releases that the policy does not make anew are requirements like its own.
    I4  Hidden columns of such a claim that this release leaves out and hangs on by others are asked about as they are remembered.
    I3  Rows of lineages that stay as they are and rows that the method made are shuffled together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.forms.recoded import Recoded, RecodedTrace
from sfumato.history.bundles import Bundles
from sfumato.history.promises import standing
from sfumato.methods.base import Task
from sfumato.methods.continuing import Continuation, bound_classes, require_few_withheld, stand_ins_of
from sfumato.methods.lineages import Lineages
from sfumato.methods.other_classes import OtherClasses
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Column, Policy
from sfumato.release.past import SEPARATOR, keys_of, text_of
from sfumato.release.release import Part, Release

HISTORY = "\x1fhistory"
"""The column of history classes in a problem that continues a history; it is never published."""


def kept_apart(
    problem: RecodingProblem,
    apart: IntArray | None,
    as_before: IntArray | None = None,
    others: OtherClasses | None = None,
    divisible: Collection[int] | None = None,
) -> RecodingProblem:
    """The problem with one more column that every outsider knows and that no value of may be generalized (I1).

    Of history classes that are not `divisible` a method leaves everybody out or nobody, where it is said which are.
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
        requirements=tuple(replace(one, given=(*(one.given or problem.names), HISTORY)) for one in problem.requirements),
        weights={**problem.weights, HISTORY: 0.0},
        undivided=whole,
        settled=(HISTORY, frozenset(() if as_before is None else as_before.tolist())),
    )


def classes_apart(classes: int) -> Hierarchy:
    """The domain of a column that no value of may be generalized."""
    leaves = Hierarchy.flat([str(place) for place in range(classes)])
    return replace(leaves, ceilings=frozenset(range(leaves.size)))


def with_standing(task: Task) -> tuple[Policy, Task]:
    """The policy with what earlier releases promised (I2), and the task with what they told and this one does not show (I4)."""
    policy = task.policy
    if not task.history:
        return policy, task
    claims, told = standing(policy, task.history), dict[str, Column]()
    lacking = [claim for claim in claims if claim.model.demand().sufficient and not set(claim.hide) <= set(policy.published)]
    if lacking:
        bundles = Bundles(task.history)
        told = _told_elsewhere(bundles, policy, lacking)
        task = _remembering(task, bundles, list(told))
    known, more = set(policy.quasi_identifiers), []
    for claim in claims:
        given = tuple(name for name in claim.given if name in known)
        hide = tuple(name for name in claim.hide if name in policy.published or name in told)
        more += [replace(claim, given=given, hide=hide)] if given and (hide or not claim.hide) and claim.model.monotone else []
    return (replace(policy, claims=(*policy.claims, *more), columns={**policy.columns, **told}) if more else policy), task


def _told_elsewhere(bundles: Bundles, policy: Policy, claims: Sequence[Claim]) -> dict[str, Column]:
    """Hidden columns of claims that a release leaves out, and hangs on all the same, as they were declared (I4)."""
    bound = {name for claim in claims if bound_classes(bundles, policy, claim) for name in claim.hide}
    left_out = sorted(bound.difference(policy.published) & set(bundles.values.newest))
    return {name: next(past.columns[name] for past in bundles.policies if name in past.published) for name in left_out}


def _remembering(task: Task, bundles: Bundles, names: Sequence[str]) -> Task:
    """The task with columns as they are remembered; of whom nothing was told has a value alone, so that nothing is asked (I4)."""
    table = task.data
    keys = pa.array(list(keys_of(task.policy, table)), pa.string())
    at = pc.fill_null(pc.index_in(keys, value_set=bundles.keys), bundles.people).to_numpy(zero_copy_only=False).astype(np.int64)
    held = table.held.drop_columns([name for name in names if name in table.names])
    for name in names:
        labels = [*bundles.values.ever(name), *(f"{SEPARATOR}{place}" for place in range(len(at)))]
        code = np.append(bundles.values.newest[name], -1)[at]
        code = np.where(code >= 0, code, len(labels) - len(at) + np.arange(len(at)))
        held = held.append_column(name, pa.array(labels, pa.string()).take(pa.array(code)))
    return replace(task, data=replace(table, held=held, _text={}, _number={}, _made={}))


def nothing_made(task: Task, going: Continuation) -> Release:
    """A release without any row that a method made: lineages that stay as they are have all of them."""
    columns = {name: text_of(going.table, name).slice(0, 0) for name in task.policy.published}
    trace = RecodedTrace({"data": np.zeros(0, dtype=np.int64)})
    return Release(Recoded(), {"data": Part(pa.table(columns))}, len(going.behind), trace)


def as_continued(task: Task, release: Release, going: Continuation) -> Release:
    """The release with the records of the task's table behind its rows, stand-ins, and lineages that stay as they were."""
    trace = release.trace
    assert isinstance(trace, RecodedTrace)
    behind, stand_ins = stand_ins_of(going, np.asarray(trace.rows["data"]))
    if going.lineages is not None:
        return _with_lineages(task, release, behind, going, going.lineages)
    if stand_ins is None and not going.withheld and np.array_equal(behind, trace.rows["data"]):
        return release
    suppressed = going.withheld + release.suppressed
    require_few_withheld(task.policy, suppressed, task.data.records)
    trace = replace(trace, rows={"data": behind}, stand_ins=stand_ins)
    return _counted(replace(release, suppressed=suppressed, trace=trace))


def _counted(release: Release) -> Release:
    """The release that says how many of its rows stand in for people who left."""
    trace = release.trace
    count = len(trace.stand_ins[0]) if isinstance(trace, RecodedTrace) and trace.stand_ins is not None else 0
    if not count:
        return release
    note = f"{count} row(s) are counterfeits that stand in for people who left"
    return replace(release, form=release.form.with_public(counterfeits=count), notes=(*release.notes, note))


def _with_lineages(task: Task, release: Release, behind: IntArray, going: Continuation, found: Lineages) -> Release:
    steady, made = found.steady, release.parts["data"].table
    rows = _steady_rows(task, found, made.column_names)
    table = pa.concat_tables([made.cast(rows.schema), rows]).combine_chunks()
    known = [name for name in made.column_names if name in steady.labels]
    fresh = group([Table(made).text(name).codes for name in known] + [going.apart[np.asarray(release.trace.rows["data"])]])
    lineage = np.concatenate([found.next_number + fresh.of, steady.lineage])
    whose = np.concatenate([behind, steady.records, np.full(len(steady.carried), -1)])
    order = task.randomness.child("all rows").permutation(table.num_rows)  # I3
    first = len(made) + len(steady.records)
    carried = order[order >= first] - first
    values = pa.table({name: pa.array(found.remembered[name], pa.string()) for name in made.column_names})
    who = [found.keys[i] for i in steady.carried[carried].tolist()]
    stand_ins = (who, values.take(pa.array(carried))) if who else None
    trace = RecodedTrace({"data": whose[order]}, stand_ins=stand_ins, lineage=lineage[order])
    suppressed = release.suppressed + going.withheld
    require_few_withheld(task.policy, suppressed, task.data.rows)
    return _counted(replace(release, parts={"data": Part(table.take(pa.array(order)))}, suppressed=suppressed, trace=trace))


def _steady_rows(task: Task, found: Lineages, names: list[str]) -> pa.Table:
    """The rows of lineages that stay as they were, then those of stand-ins."""
    steady, columns = found.steady, {}
    for name in names:
        if name in steady.labels:
            columns[name] = pa.array(steady.labels[name], pa.string())
        else:
            mine = text_of(task.data, name).take(pa.array(steady.records)).to_pylist()
            columns[name] = pa.array([*mine, *found.remembered[name]], pa.string())
    return pa.table(columns)
