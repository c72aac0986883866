"""Continuing a history: who may stand with whom in the next release, so that all releases together keep every promise.

Guarantee
    Groups of the next release that lie within one *persistent class* and satisfy every claim make joint classes that
    satisfy every claim (`history.persistent_classes`), whichever method formed them. People who left are looked after
    before the method is asked: `leaving`.

Notation
    persistent class   people who were published alike wherever the new release can be joined with what requirements
    hide; everybody who was
                    never there is one class. Its number is one more column that adversaries know and that nobody
                    generalizes
    standing        requirements of earlier releases: what was promised then is still promised

Invariants
    I1  The classes are those of every claim at once, the standing ones included: the common refinement.
    I2  A release that shows no column that hangs on a hidden one leaves all joint classes as they are, and is bound by
        nothing.


Other classes
-------------
Records of people in several rows that could be of another persistent class than their own, as far as adversaries can
tell.

Cells overlap, so a record may lie in all cells that another persistent class was published with. The count of a
person's rows that may be behind a class (`history.persons`) includes them, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray, positions_in_runs
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import Table
from sfumato.history.persistent_classes import PersistentClasses, bundle_of, find_persistent_classes
from sfumato.history.persons import PersonsOfHistory, require_same_persons
from sfumato.history.published_cells import CellTable, PublishedCells
from sfumato.history.record_identity import (
    require_expected_changes,
    require_no_renamed_column,
    require_overlap_with_history,
    require_rows_recognized,
)
from sfumato.history.reference_distribution import with_reference
from sfumato.history.standing_requirements import standing_requirements
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.method import Task
from sfumato.release.past_releases import History, keys_of

if TYPE_CHECKING:
    from sfumato.history.constrain.unknown_membership import RecordPlacement


@dataclass(frozen=True)
class HistoryConstraint:
    """The records that the next release is about, and their persistent classes."""

    table: Table
    """Records of the task's table that may be published, then counterfeit records for people who left."""
    some: IntArray | None
    """The record of the task's table behind each of them, −1 for counterfeits; none where each is its own."""
    apart: IntArray
    """The persistent class of each of them, numbered from 0."""
    withheld: int = 0
    """Records of the table that are left out."""
    stand_ins: tuple[tuple[str, ...], pa.Table] = field(default_factory=lambda: ((), pa.table({})))
    """Keys and last known values of the people whom counterfeit records represent."""
    lineages: RecordPlacement | None = None
    """Where adversaries do not know who is in which release: what becomes of all people; the method is asked about the
    rest."""
    as_before: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """History classes with the same people as in the newest release, which had the same columns and requirements: it
    was looked for a better way to publish them then, and there is no other now."""
    divisible: frozenset[int] = frozenset()
    """History classes of which some may be left out without any person being known by it: those who were never
    published."""
    waiting: int = 0
    """How many more of those who were never published (the persistent class 0) may be left for a later release."""
    tied: HistoryLinks | None = None
    """How people in several records hang on the past, where a person may have several."""

    @classmethod
    def first(cls, table: Table, waiting: int = 0) -> HistoryConstraint:
        """Nothing was published before: everybody is of the persistent class 0, and so many may be left for a later
        release."""
        return cls(table, None, np.broadcast_to(np.int64(0), (table.rows,)), divisible=frozenset({0}), waiting=waiting)

    @property
    def behind(self) -> IntArray:
        """The record of the task's table behind each of them, −1 for counterfeits."""
        return np.arange(self.table.rows) if self.some is None else self.some


@dataclass(frozen=True)
class HistoryLinks:
    """How the next release hangs on the past: everybody ever published and everybody in the table, in one numbering."""

    bundles: PublishedCells
    person: IntArray
    """The person behind each record of the table; new people follow those of the past."""
    classes: tuple[tuple[PrivacyRequirement, PersistentClasses], ...]
    """Per requirement that the release is bound by, the joint classes of the past."""
    people: PersonsOfHistory | None = None
    """Whose records they are, where people may have several and nothing ties them."""

    def history_class(self) -> IntArray:
        """The persistent class of all people of the past, −1 for who was never published where it counts (I1)."""
        ids = [joint.of + 1 for _, joint in self.classes]
        if not ids:
            return np.full(self.bundles.people, -1, dtype=np.int64)
        of = equivalence_classes_of(ids).of
        return np.where(np.any([one > 0 for one in ids], axis=0), of, -1)


def ties(policy: Policy, history: History, keys: Iterable[str]) -> HistoryLinks:
    """What of the past binds a release under this policy."""
    bundles = PublishedCells(history)
    mine = pa.array(list(keys), pa.string())
    person = pc.fill_null(pc.index_in(mine, value_set=bundles.keys), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    new = person < 0
    person[new] = bundles.people + np.arange(int(new.sum()))
    claims = [with_reference(claim, bundles) for claim in standing_requirements(policy, history)]
    claims = [replace(claim, model=claim.model.by_group()) for claim in claims]
    found = tuple((claim, joint) for claim in claims for joint in classes_of_requirement(bundles, policy, claim))
    counted = policy.person is not None and not policy.person.linked
    return HistoryLinks(bundles, person, found, PersonsOfHistory(bundles) if counted else None)


def classes_of_requirement(
    bundles: PublishedCells, policy: Policy, claim: PrivacyRequirement
) -> list[PersistentClasses]:
    """The joint classes of a requirement over the past, when the release would be part of its bundle (I2)."""
    absent = np.zeros(bundles.people, dtype=np.bool_)
    coming = CellTable((len(bundles.history),), dict.fromkeys(policy.published, absent.astype(np.int64)), {}, absent)
    beyond = bundles.with_sheet(coming)
    among = [] if claim.hide else [coming]
    inside = bundle_of(beyond, claim.hide, among)
    if not any(sheet is coming for sheet in inside):
        return []
    return [find_persistent_classes(beyond, claim.given, claim.hide, among=among, without=coming)]


def link_to_history(task: Task, history: History, keys: tuple[str, ...]) -> HistoryLinks:
    """What of the past binds the table of a task, in which people, rows and columns are known again."""
    require_same_persons(task.policy, history)
    if task.policy.person is not None:
        persons_of_rows(
            task.data, task.policy.person.unit
        )  # a counterfeit record is marked as such, so that it is not taken for a record of another person
    require_overlap_with_history(task.policy, history, keys, task.data)
    tied = ties(task.policy, history, keys)
    require_expected_changes(task.policy, tied.bundles, tied.person, task.data)
    require_no_renamed_column(tied.bundles, task.policy, tied.person, task.data)
    require_rows_recognized(tied.bundles, task.policy, tied.person, task.data)
    return tied


def constrain_task(task: Task, *, may_stand_in: bool = True) -> HistoryConstraint:
    """The records of a task with their persistent classes; people who left are looked after."""
    if task.history is None:
        return _first(task, 0)
    if not task.history:
        return _first(task, deferral_limit(task, 0))
    keys = keys_of(task.policy, task.data)
    tied = link_to_history(task, task.history, keys)
    if (tied.history_class() < 0).all():  # no record is in a linked table
        return _first(task, deferral_limit(task, 0))
    from sfumato.history.constrain.deletions import protect_deleted

    if task.policy.series.cohorts == "known" or not may_stand_in:
        going = protect_deleted(task, tied, keys, may_stand_in=may_stand_in)
        return going if tied.people is None else replace(going, tied=tied)
    found = _placed(task, tied)
    rest = Table(task.data.frame.take(pa.array(found.free)))
    spare = deferral_limit(task, len(found.withheld), found.waiting) if (found.apart < 0).any() else 0
    apart = equivalence_classes_of([found.apart + 1])
    new = frozenset(
        apart.of[found.apart < 0].tolist()
    )  # of a lineage, who is left out alone stands with the others in no table
    return HistoryConstraint(
        rest, found.free, apart.of, len(found.withheld), lineages=found, waiting=spare, divisible=new
    )


def _first(task: Task, waiting: int) -> HistoryConstraint:
    """Nothing binds the release but what its claims exclude by themselves."""
    going, out = HistoryConstraint.first(task.data, waiting), excluded_records(task, task.policy.claims)
    return without_records(going, out) if out.any() else going


def excluded_records(task: Task, claims: Iterable[PrivacyRequirement]) -> BoolArray:
    """Per record of a task's table whether no group with it satisfies every requirement: its sensitive value lacks in a
    reference."""
    out = np.zeros(task.data.rows, dtype=np.bool_)
    for claim in claims:
        for name in (name for name in claim.hide if name in task.policy.published):
            text = task.data.text(name)
            out |= claim.model.excluded(name, text.labels)[text.codes]
    return out


def _placed(task: Task, tied: HistoryLinks) -> RecordPlacement:
    """Place all records; fewer new records are deferred if more would be suppressed than the policy allows."""
    from sfumato.history.constrain.unknown_membership import place_records

    limit = task.policy.utility.suppress_at_most
    found = place_records(task, tied, deferral_limit(task, 0))
    while (
        limit is not None
        and found.waiting
        and (over := len(found.withheld) - math.floor(limit * task.data.records + 1e-9)) > 0
    ):
        found = place_records(task, tied, max(0, found.waiting - over))
    return found


def require_somebody(published: int) -> None:
    """Refuse a release that publishes nobody."""
    if published <= 0:
        raise Infeasible(
            "nobody can be published together with earlier releases: everybody would be suppressed",
            where="key",
            hint="publish when others have come, publish fewer columns, or keep who left in the table",
        )


def require_few_withheld(policy: Policy, withheld: int, records: int) -> None:
    """Refuse when more records than the policy allows would be left out because of earlier releases."""
    limit = policy.utility.suppress_at_most
    if limit is not None and withheld > limit * records + 1e-9:
        raise Infeasible(
            f"{withheld} of {records} records would be suppressed, because they share classes "
            "with people who left or fit no class within the boundaries, and the policy "
            f"allows {limit:.3%}",
            where="utility.suppress_at_most",
            hint=hint_counterfeits(policy, "raise utility.suppress_at_most"),
        )


def hint_counterfeits(policy: Policy, way: str) -> str:
    """Return hints for the error message; they include counterfeit records, or a higher limit, if the policy permits
    them."""
    if policy.person is not None:
        return way
    if policy.series.leaving != "counterfeits":
        return f"{way}, or set 'series: {{leaving: counterfeits}}'"
    return way if policy.series.counterfeits_at_most is None else f"{way}, or raise series.counterfeits_at_most"


def counterfeit_limit(policy: Policy, records: int) -> float:
    """Return how many counterfeit records are allowed for so many records; infinite without a limit in the policy."""
    limit = policy.series.counterfeits_at_most
    return math.inf if limit is None else math.floor(limit * records + 1e-9)


def classes_over_counterfeit_limit(stand_ins: IntArray, stay: IntArray, most: float) -> IntArray:
    """Classes without counterfeits, so that there are no more than `most` in all: first those that need most for each
    who stays.

    >>> classes_over_counterfeit_limit(np.array([1, 2, 0, 1]), np.array([2, 1, 5, 3]), 2).tolist()
    [1]
    """
    some = np.flatnonzero(stand_ins)
    order = some[np.lexsort((stay[some], -stand_ins[some] / np.maximum(stay[some], 1)))]
    left = (
        int(stand_ins.sum()) - np.cumsum(stand_ins[order]) + stand_ins[order]
    )  # with this one and all that come later
    found: IntArray = order[left > most]
    return found


def cannot_be_counterfeited(tied: HistoryLinks, policy: Policy) -> BoolArray:
    """Return which past people no counterfeit can represent: no value is remembered in a published column.

    An empty or made-up value would reveal which rows are counterfeits, and so whose the others are.
    """
    hidden = {name for claim, _ in tied.classes for name in claim.hide}
    names = [name for name in policy.published if name in hidden or not tied.bundles.is_known(name)]
    lacks = np.zeros(tied.bundles.people, dtype=np.bool_)
    for name in names:
        lacks |= tied.bundles.values.newest.get(name, np.full(tied.bundles.people, -1, dtype=np.int64)) < 0
    return lacks


def deferral_limit(task: Task, withheld: int, waiting: int = 0) -> int:
    """Return how many more new records may be deferred, given the numbers of suppressed and deferred records."""
    most = int(task.policy.series.waiting * task.data.records + 1e-9) - waiting
    limit = task.policy.utility.suppress_at_most
    return max(0, most if limit is None else min(most, int(limit * task.data.records + 1e-9) - withheld))


def counterfeits_of(
    continuation: HistoryConstraint, rows: IntArray
) -> tuple[IntArray, tuple[list[str], pa.Table] | None]:
    """Return the record behind each published row, −1 for counterfeits, and the people whom these represent, in
    order."""
    behind = continuation.behind[rows]
    keys, values = continuation.stand_ins
    if not keys:
        return behind, None
    first = len(continuation.behind) - len(keys)
    mine = rows[behind < 0] - first
    return behind, ([keys[i] for i in mine.tolist()], values.take(pa.array(mine)))


def buckets_per_class(
    apart: IntArray, deal: Callable[[IntArray, int], IntArray | None], chance: Randomness
) -> IntArray:
    """Buckets that `deal` forms within every persistent class (rows, its number), −1 where it cannot; their numbers
    tell nothing."""
    order = np.argsort(apart, kind="stable")
    bucket, used = np.full(len(apart), -1, dtype=np.int64), 0
    for place, rows in enumerate(np.split(order, np.flatnonzero(np.diff(apart[order])) + 1)):
        mine = deal(rows, place) if len(rows) else None
        if mine is not None:
            bucket[rows] = np.where(mine >= 0, mine + used, -1)
            used += int(mine.max(initial=-1)) + 1
    number = chance.permutation(used)
    return np.where(bucket >= 0, number[bucket], -1) if used else bucket


def without_records(continuation: HistoryConstraint, dropped: BoolArray) -> HistoryConstraint:
    """The same without some of the records; counterfeits among them are given up, too."""
    rows, first = np.flatnonzero(~dropped), len(continuation.behind) - len(continuation.stand_ins[0])
    mine = rows[rows >= first] - first
    keys, values = continuation.stand_ins
    lost, counts = np.flatnonzero(dropped & (continuation.behind >= 0)), continuation.table.counts
    return replace(
        continuation,
        table=continuation.table.taking(rows),
        some=continuation.behind[rows],
        apart=equivalence_classes_of([continuation.apart[rows]]).of,
        as_before=np.zeros(0, dtype=np.int64),
        waiting=0,
        withheld=continuation.withheld + (len(lost) if counts is None else int(counts[lost].sum())),
        stand_ins=(tuple(keys[i] for i in mine.tolist()), values.take(pa.array(mine)) if keys else values),
    )


def _stood_in_for(continuation: HistoryConstraint, tied: HistoryLinks, out: BoolArray) -> IntArray:
    """The people whose counterfeits are published."""
    keys = continuation.stand_ins[0]
    there = pa.array(
        [key for key, left_out in zip(keys, out[len(out) - len(keys) :], strict=True) if not left_out], pa.string()
    )
    people: IntArray = pc.index_in(there, value_set=tied.bundles.keys).to_numpy(zero_copy_only=False).astype(np.int64)
    return people


def unsafe_to_split(task: Task, continuation: HistoryConstraint, out: BoolArray) -> BoolArray:
    """Per persistent class: would suppressing only some of it leave a part that the past does not protect?"""
    count = int(continuation.apart.max(initial=-1)) + 1
    if not task.history:
        return np.zeros(count, dtype=np.bool_)
    inside = np.bincount(continuation.apart[~out], minlength=count) > 0
    outside = np.bincount(continuation.apart[out], minlength=count) > 0
    torn = inside & outside
    if not torn.any():
        return np.zeros(count, dtype=np.bool_)
    if continuation.lineages is not None:  # who is left out of a lineage no longer stands with the others in any table
        new = np.isin(continuation.behind, continuation.lineages.free[continuation.lineages.apart < 0])
        return torn & (np.bincount(continuation.apart[~new], minlength=count) > 0)
    from sfumato.history.constrain.deletions import ClassParts, safe_classes

    tied = ties(task.policy, task.history, keys_of(task.policy, task.data))
    hist = tied.history_class()
    real = np.flatnonzero((continuation.behind >= 0) & ~out)
    counts = continuation.table.counts
    parts = ClassParts.of(tied, hist, continuation.behind[real], None if counts is None else counts[real])
    fine = safe_classes(
        tied, parts.without(_stood_in_for(continuation, tied, out), -1)
    )  # people with a counterfeit do not count as missing
    old = np.flatnonzero(continuation.behind >= 0)
    who = tied.person[continuation.behind[old]]
    past = who < tied.bundles.people
    of = np.full(count, -1, dtype=np.int64)
    of[continuation.apart[old[past]]] = hist[who[past]]
    broken = np.zeros(count, dtype=np.bool_)
    broken[of >= 0] = ~(fine[0::2] & fine[1::2])[of[of >= 0]]
    return torn & broken


# Other classes
# -------------


@dataclass(frozen=True, eq=False)
class PersonCandidateClasses:
    """Pairs of a record that may be published and a persistent class, not its own, that it could be of."""

    record: IntArray
    history: IntArray
    left_out: IntArray
    """Per persistent class the most suppressed records of one person that could be in it."""
    most_left_out: int
    """The most suppressed records of one person."""

    def beside(self, history: IntArray | None, boxes: int) -> IntArray:
        """Return how many suppressed records of one person count in each box."""
        return np.full(boxes, self.most_left_out, dtype=np.int64) if history is None else self.left_out[history]


def person_candidate_classes(going: HistoryConstraint, person: IntArray) -> PersonCandidateClasses | None:
    """Who could be elsewhere; `person` is whose each record of the task's table is. Nothing when each row is a
    person."""
    tied = going.tied
    if tied is None or tied.people is None:
        return None
    hist, records = tied.history_class(), len(person)
    inside = np.full(records, -1, dtype=np.int64)
    inside[going.behind] = np.arange(len(going.behind))
    old = np.flatnonzero(tied.person < tied.bundles.people)
    of_record, at = np.full(records, -1, dtype=np.int64), np.full(tied.bundles.people, -1, dtype=np.int64)
    of_record[old], at[tied.person[old]] = hist[tied.person[old]], old
    leaf = np.full(int(hist.max(initial=-1)) + 2, -1, dtype=np.int64)
    leaf[of_record[going.behind] + 1] = going.apart
    past, could = _could_be_of(tied, tied.people, hist)
    record, history = at[past], leaf[could + 1]
    here = (record >= 0) & (history >= 0)
    out = np.flatnonzero(here & (inside[record] < 0))
    left = equivalence_classes_of([history[out], person[record[out]]], rows=len(out))
    left_out = np.zeros(len(leaf), dtype=np.int64)
    np.maximum.at(left_out, history[out][left.first], left.counts)
    new = np.bincount(person[(inside < 0) & (of_record < 0)]).max(
        initial=0
    )  # a record without a published row could be any new record
    left_out[leaf[0]] += new if leaf[0] >= 0 else 0
    mine = np.flatnonzero(here & (inside[record] >= 0))
    mine = mine[going.apart[inside[record[mine]]] != history[mine]]
    most = int(np.bincount(person[inside < 0]).max(initial=0))
    return PersonCandidateClasses(inside[record[mine]], history[mine], left_out, most)


def _could_be_of(tied: HistoryLinks, people: PersonsOfHistory, hist: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of a record of the past and a persistent class, −1 where nobody was published before, that it could be
    of."""
    one = np.flatnonzero(hist >= 0)
    first = one[np.unique(hist[one], return_index=True)[1]]
    found = []
    for _, joint in tied.classes:
        record, of = people.fitting(joint)
        mine = joint.of[first]  # per persistent class the joint class that it lies in
        order = np.argsort(mine, kind="stable")
        start, stop = np.searchsorted(mine[order], of, "left"), np.searchsorted(mine[order], of, "right")
        width = stop - start
        found.append((np.repeat(record, width), order[np.repeat(start, width) + positions_in_runs(width)]))
    unseen = np.flatnonzero(~people.in_data[~np.array(people.lossy, dtype=np.bool_)].any(axis=0))
    found.append((unseen, np.full(len(unseen), -1, dtype=np.int64)))
    record, could = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    pairs = equivalence_classes_of([record, could + 1], rows=len(record))
    return record[pairs.first], could[pairs.first]
