"""Continuing a history: who may stand with whom in the next release, so that all releases together keep every promise.

Guarantee
    Groups of the next release that lie within one *history class* and satisfy every claim make joint classes that satisfy every
    claim (`history.joint`), whichever method formed them. People who left are looked after before the method is asked: `leaving`.

Notation
    history class   people who were published alike wherever the new release can be joined with what claims hide; everybody who was
                    never there is one class. Its number is one more column that outsiders know and that nobody generalizes
    standing        claims of earlier releases: what was promised then is still promised

Invariants
    I1  The classes are those of every claim at once, the standing ones included: the common refinement.
    I2  A release that shows no column that hangs on a hidden one leaves all joint classes as they are, and is bound by nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.people import people_of
from sfumato.data.table import Table
from sfumato.errors import Infeasible
from sfumato.history.bundles import Bundles
from sfumato.history.changes import require_expected
from sfumato.history.joint import Joint, bundle_of, joint_classes
from sfumato.history.known_again import require_known_again, require_one_name, require_rows_known_again
from sfumato.history.people import PeopleOfHistory, require_same_people
from sfumato.history.people_sheet import PeopleSheet
from sfumato.history.promises import promises
from sfumato.methods.base import Task
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.release.past import History, keys_of

if TYPE_CHECKING:
    from sfumato.methods.lineages import Lineages


@dataclass(frozen=True)
class Continuation:
    """The records that the next release speaks about, and their history classes."""

    table: Table
    """Records of the task's table that may be published, then those who stand in for people who left."""
    some: IntArray | None
    """The record of the task's table behind each of them, −1 for stand-ins; none where each is its own."""
    apart: IntArray
    """The history class of each of them, numbered from 0."""
    withheld: int = 0
    """Records of the table that are left out."""
    stand_ins: tuple[tuple[str, ...], pa.Table] = field(default_factory=lambda: ((), pa.table({})))
    """Keys and last known values of the people that rows stand in for."""
    lineages: Lineages | None = None
    """Where outsiders do not know who is in which release: what becomes of everybody; the method is asked about the rest."""
    as_before: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """History classes with the same people as in the newest release, which had the same columns and claims: it was looked for a
    better way to publish them then, and there is no other now."""
    divisible: frozenset[int] = frozenset()
    """History classes of which some may be left out without anybody being known by it: those who were never published."""
    waiting: int = 0
    """How many more of those who were never published (the history class 0) may be left for a later release."""
    tied: Ties | None = None
    """How people in several records hang on the past, where a person may have several."""

    @classmethod
    def first(cls, table: Table, waiting: int = 0) -> Continuation:
        """Nothing was published before: everybody is of the history class 0, and so many may be left for a later release."""
        return cls(table, None, np.broadcast_to(np.int64(0), (table.rows,)), divisible=frozenset({0}), waiting=waiting)

    @property
    def behind(self) -> IntArray:
        """The record of the task's table behind each of them, −1 for stand-ins."""
        return np.arange(self.table.rows) if self.some is None else self.some


@dataclass(frozen=True)
class Ties:
    """How the next release hangs on the past: everybody ever published and everybody in the table, in one numbering."""

    bundles: Bundles
    person: IntArray
    """The person behind each record of the table; new people follow those of the past."""
    classes: tuple[tuple[Claim, Joint], ...]
    """Per claim that the release is bound by, the joint classes of the past."""
    people: PeopleOfHistory | None = None
    """Whose records they are, where people may have several and nothing ties them."""

    def history_class(self) -> IntArray:
        """The history class of everybody of the past, −1 for who was never published where it counts (I1)."""
        ids = [joint.of + 1 for _, joint in self.classes]
        if not ids:
            return np.full(self.bundles.people, -1, dtype=np.int64)
        of = group(ids).of
        return np.where(np.any([one > 0 for one in ids], axis=0), of, -1)


def ties(policy: Policy, history: History, keys: Iterable[str]) -> Ties:
    """What of the past binds a release under this policy."""
    bundles = Bundles(history)
    mine = pa.array(list(keys), pa.string())
    person = pc.fill_null(pc.index_in(mine, value_set=bundles.keys), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    new = person < 0
    person[new] = bundles.people + np.arange(int(new.sum()))
    claims = [replace(claim, model=claim.model.by_group()) for claim in promises(policy, history)]
    found = tuple((claim, joint) for claim in claims for joint in bound_classes(bundles, policy, claim))
    counted = policy.person is not None and not policy.person.linked
    return Ties(bundles, person, found, PeopleOfHistory(bundles) if counted else None)


def bound_classes(bundles: Bundles, policy: Policy, claim: Claim) -> list[Joint]:
    """The joint classes of a claim over the past, when the release would be part of its bundle (I2)."""
    absent = np.zeros(bundles.people, dtype=np.bool_)
    coming = PeopleSheet((len(bundles.history),), dict.fromkeys(policy.published, absent.astype(np.int64)), {}, absent)
    beyond = bundles.with_sheet(coming)
    among = [] if claim.hide else [coming]
    inside = bundle_of(beyond, claim.hide, among)
    if not any(sheet is coming for sheet in inside):
        return []
    return [joint_classes(beyond, claim.given, claim.hide, among=among, without=coming)]


def tied_to_the_past(task: Task, history: History, keys: tuple[str, ...]) -> Ties:
    """What of the past binds the table of a task, in which people, rows and columns are known again."""
    require_same_people(task.policy, history)
    if task.policy.person is not None:
        people_of(
            task.data, task.policy.person.unit
        )  # a row of nobody is told as such, and not as one that is another person's now
    require_known_again(task.policy, history, keys, task.data)
    tied = ties(task.policy, history, keys)
    require_expected(task.policy, tied.bundles, tied.person, task.data)
    require_one_name(tied.bundles, task.policy, tied.person, task.data)
    require_rows_known_again(tied.bundles, task.policy, tied.person, task.data)
    return tied


def continued(task: Task, *, may_stand_in: bool = True) -> Continuation:
    """The records of a task with their history classes; people who left are looked after."""
    if task.history is None:
        return Continuation.first(task.data)
    if not task.history:
        return Continuation.first(task.data, may_wait(task, 0))
    keys = keys_of(task.policy, task.data)
    tied = tied_to_the_past(task, task.history, keys)
    if (tied.history_class() < 0).all():  # nobody stands in a table that binds it
        return Continuation.first(task.data, may_wait(task, 0))
    from sfumato.methods.leaving import looked_after

    if task.policy.series.cohorts == "known" or not may_stand_in:
        going = looked_after(task, tied, keys, may_stand_in=may_stand_in)
        return going if tied.people is None else replace(going, tied=tied)
    found = _placed(task, tied)
    rest = Table(task.data.frame.take(pa.array(found.free)))
    spare = may_wait(task, len(found.withheld), found.waiting) if (found.apart < 0).any() else 0
    apart = group([found.apart + 1])
    new = frozenset(apart.of[found.apart < 0].tolist())  # of a lineage, who is left out alone stands with the others in no table
    return Continuation(rest, found.free, apart.of, len(found.withheld), lineages=found, waiting=spare, divisible=new)


def _placed(task: Task, tied: Ties) -> Lineages:
    """Where everybody stands; fewer newcomers wait where more records would be left out with them than the policy allows."""
    from sfumato.methods.lineages import lineages

    limit = task.policy.utility.suppress_at_most
    found = lineages(task, tied, may_wait(task, 0))
    while limit is not None and found.waiting and (over := len(found.withheld) - math.floor(limit * task.data.records + 1e-9)) > 0:
        found = lineages(task, tied, max(0, found.waiting - over))
    return found


def require_few_withheld(policy: Policy, withheld: int, records: int) -> None:
    """Refuse when more records than the policy allows would be left out because of earlier releases."""
    limit = policy.utility.suppress_at_most
    if limit is not None and withheld > limit * records + 1e-9:
        raise Infeasible(
            f"{withheld} of {records} records would have to be withheld, because they stand beside people who left or have no "
            f"place within the boundaries, and the policy allows {limit:.3%}",
            where="utility.suppress_at_most",
            hint=or_stand_ins(policy, "raise utility.suppress_at_most"),
        )


def or_stand_ins(policy: Policy, way: str) -> str:
    """A way out, and rows that stand in for people, or more of them, as another one, where nothing refuses them."""
    if policy.person is not None:
        return way
    if policy.series.leaving != "counterfeits":
        return f"{way}, or set 'series: {{leaving: counterfeits}}'"
    return way if policy.series.counterfeits_at_most is None else f"{way}, or raise series.counterfeits_at_most"


def most_stand_ins(policy: Policy, records: int) -> float:
    """How many rows may stand in for people who left, beside so many records; infinite where the policy does not say."""
    limit = policy.series.counterfeits_at_most
    return math.inf if limit is None else math.floor(limit * records + 1e-9)


def given_up(stand_ins: IntArray, stay: IntArray, most: float) -> IntArray:
    """Classes without stand-ins, so that there are no more than `most` in all: first those that need most for each who stays.

    >>> given_up(np.array([1, 2, 0, 1]), np.array([2, 1, 5, 3]), 2).tolist()
    [1]
    """
    some = np.flatnonzero(stand_ins)
    order = some[np.lexsort((stay[some], -stand_ins[some] / np.maximum(stay[some], 1)))]
    left = int(stand_ins.sum()) - np.cumsum(stand_ins[order]) + stand_ins[order]  # with this one and all that come later
    found: IntArray = order[left > most]
    return found


def lacks_a_value(tied: Ties, policy: Policy) -> BoolArray:
    """Of whom of the past a row could not stand in under a policy: of a column that it tells of people, nothing is remembered.

    An empty or a borrowed value there would tell which rows stand in for somebody, and so whose the others are.
    """
    hidden = {name for claim, _ in tied.classes for name in claim.hide}
    names = [name for name in policy.published if name in hidden or not tied.bundles.is_known(name)]
    lacks = np.zeros(tied.bundles.people, dtype=np.bool_)
    for name in names:
        lacks |= tied.bundles.values.newest.get(name, np.full(tied.bundles.people, -1, dtype=np.int64)) < 0
    return lacks


def may_wait(task: Task, withheld: int, waiting: int = 0) -> int:
    """How many more newcomers the policy lets wait for a later release, when so many records are withheld, some of them waiting."""
    most = int(task.policy.series.waiting * task.data.records + 1e-9) - waiting
    limit = task.policy.utility.suppress_at_most
    return max(0, most if limit is None else min(most, int(limit * task.data.records + 1e-9) - withheld))


def stand_ins_of(continuation: Continuation, rows: IntArray) -> tuple[IntArray, tuple[list[str], pa.Table] | None]:
    """Per published row the record of the task's table behind it, −1 for stand-ins; and who these stand in for, in their order."""
    behind = continuation.behind[rows]
    keys, values = continuation.stand_ins
    if not keys:
        return behind, None
    first = len(continuation.behind) - len(keys)
    mine = rows[behind < 0] - first
    return behind, ([keys[i] for i in mine.tolist()], values.take(pa.array(mine)))


def dealt_apart(apart: IntArray, deal: Callable[[IntArray, int], IntArray | None], chance: Randomness) -> IntArray:
    """Buckets that `deal` forms within every history class (rows, its number), −1 where it cannot; their numbers tell nothing."""
    order = np.argsort(apart, kind="stable")
    bucket, used = np.full(len(apart), -1, dtype=np.int64), 0
    for place, rows in enumerate(np.split(order, np.flatnonzero(np.diff(apart[order])) + 1)):
        mine = deal(rows, place) if len(rows) else None
        if mine is not None:
            bucket[rows] = np.where(mine >= 0, mine + used, -1)
            used += int(mine.max(initial=-1)) + 1
    number = chance.permutation(used)
    return np.where(bucket >= 0, number[bucket], -1) if used else bucket


def without(continuation: Continuation, dropped: BoolArray) -> Continuation:
    """The same without some of the records; stand-ins among them are given up, too."""
    rows, first = np.flatnonzero(~dropped), len(continuation.behind) - len(continuation.stand_ins[0])
    mine = rows[rows >= first] - first
    keys, values = continuation.stand_ins
    lost, counts = np.flatnonzero(dropped & (continuation.behind >= 0)), continuation.table.counts
    return replace(
        continuation,
        table=continuation.table.taking(rows),
        some=continuation.behind[rows],
        apart=group([continuation.apart[rows]]).of,
        as_before=np.zeros(0, dtype=np.int64),
        waiting=0,
        withheld=continuation.withheld + (len(lost) if counts is None else int(counts[lost].sum())),
        stand_ins=(tuple(keys[i] for i in mine.tolist()), values.take(pa.array(mine)) if keys else values),
    )


def _stood_in_for(continuation: Continuation, tied: Ties, out: BoolArray) -> IntArray:
    """The people whose stand-ins are published."""
    keys = continuation.stand_ins[0]
    there = pa.array([key for key, left_out in zip(keys, out[len(out) - len(keys) :], strict=True) if not left_out], pa.string())
    people: IntArray = pc.index_in(there, value_set=tied.bundles.keys).to_numpy(zero_copy_only=False).astype(np.int64)
    return people


def torn_classes(task: Task, continuation: Continuation, out: BoolArray) -> BoolArray:
    """Per history class: would suppressing only some of it leave a part that the past does not protect?"""
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
    from sfumato.methods.leaving import Parts, safe_classes

    tied = ties(task.policy, task.history, keys_of(task.policy, task.data))
    hist = tied.history_class()
    real = np.flatnonzero((continuation.behind >= 0) & ~out)
    counts = continuation.table.counts
    parts = Parts.of(tied, hist, continuation.behind[real], None if counts is None else counts[real])
    fine = safe_classes(tied, parts.without(_stood_in_for(continuation, tied, out), -1))  # who is stood in for is not missed
    old = np.flatnonzero(continuation.behind >= 0)
    who = tied.person[continuation.behind[old]]
    past = who < tied.bundles.people
    of = np.full(count, -1, dtype=np.int64)
    of[continuation.apart[old[past]]] = hist[who[past]]
    broken = np.zeros(count, dtype=np.bool_)
    broken[of >= 0] = ~(fine[0::2] & fine[1::2])[of[of >= 0]]
    return torn & broken
