"""Remembering where rows lie: a release of a ledger whose people stay on the cluster, judged together with all before
it.

::

    people files ─ join by key ─▶ rows beside their past ─▶ classes, each of one past ─▶ method ─▶ recode, write ─▶
    draft folder
                                                                                               └▶ people files ─▶
                                                                                               courses ─▶ certify

People are known again by a join on their key. What the driver gets are classes of which everybody went the same way
through all releases so far, and courses of people who are absent now, each with a count (`history.persistent_classes`):
the same method continues them, and the same audit judges joint classes over all releases.

Invariants
    I1  The audit does not take the driver's word for who is where: courses are counted again from the people files of
        all releases, the new ones included, as they lie there; and every person of the new ones is looked up in the
        source, with the own class.
    I2  Where a class goes to several groups, who is on which line is decided once, by a keyed order of keys. Of rows
        that are alike in everything published it does not matter which is whose.
    I3  What lines say was published is what is counted in the folder, as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.engines.protocol import COUNT, IDENTITY, LINE, FileEngine, NumberedClasses, People, Recoding, RunSecret
from sfumato.engines.spark.workflow.draft import class_columns, draft_remote, marked, match_to_provenance, same_rows
from sfumato.history.judge.earlier_requirements import (
    require_compatible_forms,
    require_no_background_link,
    require_no_weaker_adversary,
)
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.person_files import PersonFilesDraft
from sfumato.history.ledger.stored_releases import lines_table
from sfumato.history.persistent_classes import COURSE, Trajectories, count_trajectories, lines_of
from sfumato.history.reference_distribution import policy_of_series
from sfumato.history.standing_requirements import is_membership_known
from sfumato.policy.policy import Policy
from sfumato.release.method import Task
from sfumato.release.past_releases import History, PastRelease
from sfumato.release.release import Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import Plan
from sfumato.workflow.publication import Publication, publication_of_draft

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.source import RemoteRows

NOTE = "rows stayed on the cluster: groups were made from classes of records, each of one past, with their counts"
Chronicle = Sequence[tuple[PastRelease, People]]


def needs_records(policy: Policy, recodes: bool) -> str:
    """Why a ledger must have every record of this release on the driver; empty when classes of one past will do."""
    if not recodes:
        return "a ledger remembers every record of what is no recoded table"
    if not is_membership_known(policy):
        return "where outsiders do not know who is in which release ('cohorts: unknown') people are placed one by one"
    if policy.series.leaving == "counterfeits":
        return "counterfeit rows for people who left ('leaving: counterfeits') are made one by one"
    if policy.series.waiting:
        return "deferred new records ('waiting:') are chosen one by one"
    if policy.series.by == "join":
        return "the full match join ('by: join') pairs rows with people one by one"
    loose = [name for name in policy.with_role("other") if name in policy.published]
    return f"a ledger remembers '{loose[0]}', a column of no role, which stays with the rows" if loose else ""


def publish_with_history(
    engine: SparkEngine,
    rows: RemoteRows,
    policy: Policy,
    chosen: Plan,
    book: Ledger,
    secret: RunSecret,
    seed: int | None,
    jobs: int | None,
) -> Publication:
    """Make and certify one more release of a ledger, its rows and people where they lie."""
    earlier, place = book.place()
    require_compatible_forms(earlier, chosen.form)
    require_no_background_link(earlier, policy)
    require_no_weaker_adversary(earlier, policy)
    chronicle = book.chronicle() if earlier else []
    rows, gone = engine.known_again(rows, policy.key, [people for _, people in chronicle])
    classes = _classes(engine, rows, policy, bool(chronicle))
    task = _task(policy, chosen, classes, gone, chronicle)
    policy = policy_of_series(policy, task.history)
    task = replace(task, policy=replace(policy, key=task.policy.key))
    told = replace(task, randomness=Randomness(seed), jobs=jobs or chosen.method.usual_jobs(), progress=engine.progress)
    release = chosen.method.run(told)
    release = marked(replace(release, notes=(*release.notes, NOTE)), seed)
    behind, part = np.asarray(release.trace.rows["data"]), release.parts["data"]
    recoded = [name for name in policy.quasi_identifiers if name in policy.published]
    frame = engine.recode(rows, Recoding.of(classes, part, behind, recoded), policy.published, secret)
    draft = draft_remote(engine, {"data": (frame, int(np.asarray(part.counts).sum()))}, release, policy, chosen)
    engine.progress(1.0, "certifying")
    exhibit = draft.read()
    seen, trace = match_to_provenance(exhibit.parts["data"], part, behind)
    release = replace(release, parts={"data": seen}, trace=replace(release.trace, rows={"data": trace}))
    exhibit = replace(exhibit, parts=release.parts, original=classes.table, trace=release.trace)
    newest = lines_of(exhibit.as_published(), trace, classes.table, place.number)
    people = PersonFilesDraft.beside(book.path, engine.over_files)
    wrong = int(np.asarray(seen.counts)[trace < 0].sum())
    wrong += _seated(engine, rows, policy, classes, release, people, secret)
    rows.require_unchanged()
    history = count_trajectories(engine, [*chronicle, (newest, people.files)])  # I1
    exhibit = replace(exhibit, strangers=wrong, history=history)
    draft = replace(draft, people=people, lines=lines_table(newest))
    return publication_of_draft(policy, chosen, release, draft, exhibit, book=book, place=place, seed=seed)


def _classes(engine: SparkEngine, rows: RemoteRows, policy: Policy, again: bool) -> NumberedClasses:
    from sfumato.engines.spark.persons import PAST

    classes = engine.classes(rows, [*class_columns(policy), *([PAST] if again else [])])
    if not isinstance(classes, NumberedClasses):
        what = "the classes do not fit on the driver, and a ledger compares all of them with the past"
        raise PolicyError(
            f"this cannot run with --engine spark: {what}", hint="give the driver more memory, or coarsen columns"
        )
    return classes


def _task(policy: Policy, chosen: Plan, classes: NumberedClasses, gone: pa.Table, chronicle: Chronicle) -> Task:
    """What the method is asked: classes are people with a count, and a course is their key."""
    from sfumato.engines.spark.persons import PAST, parse_memory_lines

    if not chronicle:
        return Task(policy, classes.table, history=History())
    table = classes.table
    ways = [*table.frame.column(PAST).to_pylist(), *gone.column(PAST).to_pylist()]
    counts = np.concatenate([np.asarray(table.counts), gone.column(COUNT).to_numpy().astype(np.int64)])
    courses = Trajectories.of(parse_memory_lines(ways, len(chronicle)), counts)
    named = table.held.append_column(COURSE, pa.array(courses.names[: table.rows], pa.string()))
    asked = replace(policy, key=(COURSE,))
    return Task(asked, Table(named, counts=table.counts), history=courses.history([past for past, _ in chronicle]))


def _seated(
    engine: SparkEngine,
    rows: RemoteRows,
    policy: Policy,
    classes: NumberedClasses,
    release: Release,
    people: PersonFilesDraft,
    secret: RunSecret,
) -> int:
    """Writes who is on which line; by how many people what was written differs from the source and from the release
    (I1, I2)."""
    part, trace = release.parts["data"], np.asarray(release.trace.rows["data"])
    there = np.flatnonzero(trace >= 0)
    mine, often = trace[there], np.asarray(part.counts)[there]
    order = np.argsort(mine, kind="stable")
    ends = np.cumsum(often[order])
    start = ends - often[order]
    first = start - start[np.searchsorted(mine[order], mine[order])]
    whole = often[order] == np.asarray(classes.table.counts)[mine[order]]
    shares = (classes.identity[mine[order]], first, first + often[order], whole, order)
    recoding = Recoding(tuple(classes.table.names), *shares, labels={}, salt=classes.salt)
    engine.write(engine.seats(rows, policy.key, recoding, secret), int(often.sum()), people.folder)
    found = engine.seated(rows, policy.key, people.files, classes)
    return _apart(found, classes.identity[mine], often)


def _apart(found: pa.Table, identity: IntArray, often: IntArray) -> int:
    """People who are on another line than those of their class, not in the source, or missing from a line."""
    line, count = found.column(LINE).to_numpy(), found.column(COUNT).to_numpy()
    known, number = found.column("known").to_numpy(), found.column(IDENTITY).fill_null(0).to_numpy()
    inside = (line >= 0) & (line < len(often))
    fits = inside & (known == count) & (identity[np.where(inside, line, 0)] == number)
    right = np.zeros(len(often), dtype=np.int64)
    np.add.at(right, line[fits], count[fits])
    return int(count[~fits].sum() + np.abs(right - often).sum())


def history_until(book: Ledger, folder: Path, exhibit: ReleaseView, engine: FileEngine) -> History:
    """The releases up to the one in a folder, which its ledger counts; the folder says itself what it publishes
    (I3)."""
    chronicle = book.chronicle(folder)
    newest, people = chronicle[-1]
    if exhibit.counted:
        shown, said = exhibit.parts["data"].text, newest.exhibit.parts["data"].text
        names = [name for name in said.names if name in shown.names]
        alike = same_rows(shown, said, names)
        row = np.full(int(alike.max(initial=-1)) + 1, -1, dtype=np.int64)
        row[alike[: shown.rows]] = np.arange(shown.rows)
        memory = replace(newest.memory, rows=row[alike[shown.rows :]][newest.memory.rows])
        newest = replace(newest, exhibit=exhibit.as_published(), memory=memory)
    return count_trajectories(engine, [*chronicle[:-1], (newest, people)])
