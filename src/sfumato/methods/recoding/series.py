"""A recoding method continues a history: its problem has history classes as one more column, and what it made becomes a release.

Invariants
    I1  Groups never cross history classes (`methods.continuing`), so joint classes over all releases keep every claim.
    I2  Claims of earlier releases that the policy does not make anew are requirements like its own.
    I3  Rows of lineages that stay as they are and rows that the method made are shuffled together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.forms.recoded import Recoded, RecodedTrace
from sfumato.history.promises import standing
from sfumato.methods.base import Task
from sfumato.methods.continuing import Continuation, require_few_withheld, stand_ins_of
from sfumato.methods.lineages import Lineages
from sfumato.methods.other_classes import OtherClasses
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.policy.policy import Policy
from sfumato.release.past import text_of
from sfumato.release.release import Part, Release

HISTORY = "\x1fhistory"
"""The column of history classes in a problem that continues a history; it is never published."""


def kept_apart(
    problem: RecodingProblem, apart: IntArray | None, as_before: IntArray | None = None, others: OtherClasses | None = None
) -> RecodingProblem:
    """The problem with one more column that every outsider knows and that no value of may be generalized (I1)."""
    problem = replace(problem, others=others)
    if apart is None or not len(apart) or int(apart.max()) == 0:
        return problem
    return replace(
        problem,
        names=(*problem.names, HISTORY),
        domains=(*problem.domains, classes_apart(int(apart.max()) + 1)),
        codes=(*problem.codes, apart.astype(np.int32)),
        requirements=tuple(replace(one, given=(*(one.given or problem.names), HISTORY)) for one in problem.requirements),
        weights={**problem.weights, HISTORY: 0.0},
        settled=(HISTORY, frozenset(() if as_before is None else as_before.tolist())),
    )


def classes_apart(classes: int) -> Hierarchy:
    """The domain of a column that no value of may be generalized."""
    leaves = Hierarchy.flat([str(place) for place in range(classes)])
    return replace(leaves, ceilings=frozenset(range(leaves.size)))


def with_standing(task: Task) -> Policy:
    """The policy with what earlier releases promised (I2), as far as this one publishes what it is about."""
    policy = task.policy
    if not task.history:
        return policy
    known = set(policy.quasi_identifiers)
    more = []
    for claim in standing(policy, task.history):
        given = tuple(name for name in claim.given if name in known)
        hide = tuple(name for name in claim.hide if name in policy.published)
        more += [replace(claim, given=given, hide=hide)] if given and hide and claim.model.monotone else []
    return replace(policy, claims=(*policy.claims, *more)) if more else policy


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
    trace = replace(trace, rows={"data": behind}, stand_ins=stand_ins)
    return _counted(replace(release, suppressed=going.withheld + release.suppressed, trace=trace))


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
    suppressed = release.suppressed + len(found.withheld)
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
