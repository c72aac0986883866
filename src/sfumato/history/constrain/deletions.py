"""People who leave: the remaining and the missing members of a class must both satisfy the requirements.

An adversary who knows who is in which release sees a persistent class fall into those who left and those who stay. Both
parts must keep every promise by what was published before. If both do, the people who left are simply absent from now
on. Where they do not,

    counterfeits   every person who left gets a counterfeit record, until enough members (or the whole class) have left;
                   then all counterfeits of the class end at once. It has what requirements hide of the person, and
                   stands beside those who stay. If a published value is not remembered for a member, or the counterfeit
                   limit is reached, companions are suppressed instead
    suppress       companions are suppressed, as few as keep both parts safe, if necessary the whole class
    refuse         nothing is published

Paper: counterfeits are those of Xiao and Tao's m-invariance, to which [sequential §6] points for deletions.

Invariants
    I1  Every part of a persistent class that the next release makes, present or absent, satisfies all promises over the
        past.
    I2  A counterfeit has the sensitive values that were remembered of its person; what adversaries know people by is
        that of a person of its class who stays. A person who left is not in the release, so no cell must cover their
        values. In an exchange the remaining person takes the row of the counterfeit, whose cells cover the remaining
        people, and the own row becomes the counterfeit. With values that requirements hide permuted in a class, the
        same rows would have been published.
    I3  Where people have several records (`history.persons`) each part is safe for them as well: k of them for all
        records of a person that could be in its class, because whether a record left or was left out is not told apart
        here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage
from sfumato.data.table import Table
from sfumato.history.constrain.constraints import (
    HistoryConstraint,
    HistoryLinks,
    cannot_be_counterfeited,
    classes_over_counterfeit_limit,
    counterfeit_limit,
    deferral_limit,
    excluded_records,
    hint_counterfeits,
    require_few_withheld,
)
from sfumato.history.persistent_classes import PersistentClasses
from sfumato.history.persons import PersonsOfHistory, violated_classes
from sfumato.history.published_cells import PublishedCells
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.method import Task
from sfumato.release.past_releases import text_of


def protect_deleted(
    task: Task, tied: HistoryLinks, keys: tuple[str, ...], *, may_stand_in: bool = True
) -> HistoryConstraint:
    """Return the records that may be published and, if the policy says so, counterfeit records for people who left."""
    hist = tied.history_class()
    excluded = excluded_records(task, [*task.policy.claims, *(claim for claim, _ in tied.classes)])
    may, counts = np.flatnonzero(~excluded), task.data.counts
    parts = ClassParts.of(tied, hist, may, None if counts is None else counts[may])
    split = unsafe_splits(tied, parts)
    carried = np.zeros(0, dtype=np.int64)
    hidden = np.zeros(tied.bundles.people, dtype=np.int64)
    leaving, most = task.policy.series.leaving, counterfeit_limit(task.policy, task.data.records)
    if split.any():
        gone = (hist >= 0) & split[hist] & (parts.missing > 0)
        if leaving == "refuse":
            raise _refused(task.policy, tied.bundles.many(gone))
        stand_in = split & (leaving == "counterfeits" and may_stand_in)
        stand_in[hist[gone & cannot_be_counterfeited(tied, task.policy)]] = False
        stay = np.bincount(hist[parts.stay], minlength=len(split))
        stand_in[
            classes_over_counterfeit_limit(np.bincount(hist[gone & stand_in[hist]], minlength=len(split)), stay, most)
        ] = False
        carried = np.flatnonzero(gone & stand_in[hist])
        if (split & ~stand_in).any():
            hidden = companions(tied, parts, split & ~stand_in)
    return _continuation(task, tied, keys, hist, carried, hidden, excluded)


@dataclass(frozen=True)
class ClassParts:
    """History classes in two parts each: who stays, and who is missing. Of one who stands for several people some may
    do either."""

    hist: IntArray
    """The persistent class of all people of the past, −1 outside."""
    many: IntArray
    """For how many people everybody stands."""
    missing: IntArray
    """How many of these are missing."""

    @classmethod
    def of(cls, tied: HistoryLinks, hist: IntArray, records: IntArray, counts: IntArray | None) -> ClassParts:
        """The parts where some records of the table are published, each for so many people (one without)."""
        weights = tied.bundles.weights
        many = np.ones(tied.bundles.people, dtype=np.int64) if weights is None else weights
        person = tied.person[records]
        old = person < tied.bundles.people
        missing = many.copy()
        missing[person[old]] -= 1 if counts is None else counts[old]
        return cls(hist, many, missing)

    @property
    def classes(self) -> int:
        return int(self.hist.max(initial=-1)) + 1

    @property
    def stay(self) -> BoolArray:
        """Return which records are in a persistent class with a remaining member."""
        found: BoolArray = (self.hist >= 0) & (self.many > self.missing)
        return found

    @property
    def gone(self) -> BoolArray:
        """Return which records are in a persistent class with a missing member."""
        found: BoolArray = (self.hist >= 0) & (self.missing > 0)
        return found

    def without(self, people: IntArray, many: IntArray | int) -> ClassParts:
        """The same parts where so many more of some people are missing."""
        missing = self.missing.copy()
        missing[people] += many
        return replace(self, missing=missing)

    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """Who is in a part, which part (two for each class: who is missing, who stays), and how many they are there."""
        stay, gone = np.flatnonzero(self.stay), np.flatnonzero(self.gone)
        of = np.concatenate([self.hist[stay] * 2 + 1, self.hist[gone] * 2])
        return np.concatenate([stay, gone]), of, np.concatenate([(self.many - self.missing)[stay], self.missing[gone]])


def unsafe_splits(tied: HistoryLinks, parts: ClassParts) -> BoolArray:
    """Per persistent class: do some stay and some leave, and one of the two parts breaks a promise over the past?
    (I1)"""
    stay = np.bincount(parts.hist[parts.stay], minlength=parts.classes) > 0
    gone = np.bincount(parts.hist[parts.gone], minlength=parts.classes) > 0
    mixed = stay & gone
    if not mixed.any():
        return mixed
    fine = safe_classes(tied, parts)
    return mixed & ~(fine[0::2] & fine[1::2])


def safe_classes(tied: HistoryLinks, parts: ClassParts) -> BoolArray:
    """Per part of a persistent class: does every promise hold in it, in every table that binds the next release?"""
    who, of, many = parts.entries()
    fine = np.ones(2 * parts.classes, dtype=np.bool_)
    for claim, joint in tied.classes:
        for sheet in joint.sheets:
            told = [name for name in claim.hide if name in sheet.columns]
            if claim.hide and not told:
                continue
            for there, codes in sheet.tellings(told, each=claim.model.compares_release):
                here = there[who]
                classes = equivalence_classes_of([of[here]])
                spread = {name: (codes[name][who[here]], sheet.labels[name]) for name in told}
                holds = np.asarray(claim.model.satisfied(Linkage.of_groups(classes.of, spread, many[here])))
                fine[of[here][classes.first][~holds]] = False
        if tied.people is not None:
            part = np.full(tied.bundles.people, -1, dtype=np.int64)
            part[who] = of
            fine &= ~_broken_for_people(tied.people, claim, joint, part, len(fine))
    return fine


def _broken_for_people(
    people: PersonsOfHistory, claim: PrivacyRequirement, joint: PersistentClasses, of: IntArray, count: int
) -> BoolArray:
    """The same for people with several records: of a part as many could be one person's as of its whole class (I3)."""
    inside = (of >= 0) & (joint.of >= 0)
    most = np.ones(count, dtype=np.int64)
    np.maximum.at(most, of[inside], people.most(joint)[joint.of[inside]])
    broken = violated_classes(
        people.whose, joint.sheets, np.where(inside, of, -1), most, claim.hide, claim.model.demand()
    )
    return np.ones(count, dtype=np.bool_) if broken is None else broken


def companions(tied: HistoryLinks, left: ClassParts, split: BoolArray) -> IntArray:
    """Return how many companions to suppress per group of equal records: as few as keep both parts safe, else the whole
    class."""
    parts, open_classes = left, split.copy()
    alone = any(
        claim.model.compares_release for claim, _ in tied.classes
    )  # such a model is judged on whole tables only
    for _ in range(0 if alone else 12):
        chosen = _one_more(tied, parts, open_classes)
        if not len(chosen):
            break
        parts = parts.without(chosen, 1)
        fine = safe_classes(tied, parts)
        open_classes &= ~(fine[0::2] & fine[1::2])
        if not open_classes.any():
            break
    lost = np.flatnonzero((parts.hist >= 0) & open_classes[parts.hist])
    return parts.without(lost, (parts.many - parts.missing)[lost]).missing - left.missing


def _one_more(tied: HistoryLinks, parts: ClassParts, open_classes: BoolArray) -> IntArray:
    """One more companion for each class: a person whose value the ones who left do not have yet, where there is one."""
    hist = parts.hist
    stay, gone = np.flatnonzero(parts.stay & open_classes[np.maximum(hist, 0)]), np.flatnonzero(parts.gone)
    if not len(stay):
        return stay
    known = np.zeros(len(stay), dtype=np.bool_)
    for claim, joint in tied.classes:
        for sheet in joint.sheets:
            told = sheet.columns & set(claim.hide)
            for name, code in (
                (name, code) for _, codes in sheet.tellings(told, each=False) for name, code in codes.items()
            ):
                width = len(sheet.labels[name]) + 1
                had = np.unique(hist[gone] * width + code[gone] + 1)
                known |= np.isin(hist[stay] * width + code[stay] + 1, had)
    order = np.lexsort((known, hist[stay]))
    return stay[order][np.unique(hist[stay][order], return_index=True)[1]]


def _continuation(
    task: Task,
    tied: HistoryLinks,
    keys: tuple[str, ...],
    hist: IntArray,
    carried: IntArray,
    hidden: IntArray,
    excluded: BoolArray,
) -> HistoryConstraint:
    table: Table = task.data
    old = tied.person < tied.bundles.people
    of_record = np.where(old, hist[np.where(old, tied.person, 0)], -1)
    out = np.where(old, hidden[np.where(old, tied.person, 0)], 0)
    out = np.where(excluded, 1 if table.counts is None else table.counts, out)
    stay = (1 if table.counts is None else table.counts) - out
    rows = np.flatnonzero(stay > 0)
    withheld = int(out.sum())
    require_few_withheld(task.policy, withheld, table.records)
    if not len(rows):
        hint = hint_counterfeits(task.policy, "publish when others have come")
        raise Infeasible(
            "every record of the table shares a class with people who left, and would be suppressed",
            where="key",
            hint=hint,
        )
    classes = equivalence_classes_of([np.concatenate([of_record[rows], hist[carried]]) + 1])
    behind = np.concatenate([rows, np.full(len(carried), -1)])
    published = np.zeros(tied.bundles.people, dtype=np.bool_)
    published[tied.person[old & (out == 0)]] = True
    before = np.isin(np.append(of_record[rows], hist[carried])[classes.first], _as_before(task, tied, hist, published))
    spare = deferral_limit(task, withheld) if (of_record[rows] < 0).any() else 0
    new = frozenset(np.unique(classes.of[: len(rows)][of_record[rows] < 0]).tolist())
    going = HistoryConstraint(
        table, behind, classes.of, withheld, as_before=np.flatnonzero(before), waiting=spare, divisible=new
    )
    if not len(carried):
        return replace(going, table=table.taking(rows, stay[rows]))
    names = [
        name
        for name in table.names
        if name not in task.policy.columns or task.policy.columns[name].role != "identifier"
    ]
    frame = pa.table({name: text_of(table, name).take(pa.array(rows)) for name in names})
    beside = frame.take(pa.array(_companion(task.randomness.child("stand-ins"), of_record[rows], hist[carried])))
    remembered = _remembered(tied, carried, beside)
    both = pa.concat_tables([frame, _in_place(tied, remembered, beside)]).combine_chunks()
    who = tuple(tied.bundles.keys.take(pa.array(carried)).to_pylist())
    return replace(going, table=Table(both), stand_ins=(who, remembered))


def _asked(policy: Policy, bundles: PublishedCells) -> tuple[object, ...]:
    """What the values of the newest release could be published as under a policy, and what is claimed of them."""
    columns: dict[str, object] = {}
    for name in policy.quasi_identifiers:
        labels = bundles.values.known_to(len(bundles.history) - 1, name)
        if labels is not None:
            domain = generalization_of(policy, name, labels)
            nodes = (
                set(zip(domain.lo.tolist(), domain.hi.tolist(), strict=True)) if isinstance(domain, Hierarchy) else None
            )
            columns[name] = domain.leaves, nodes, [side.tolist() for side in domain.ceiling()]
    return (
        policy.published,
        columns,
        [(claim.model, claim.given, claim.hide) for claim in policy.claims],
        policy.utility.minimize,
    )


def _as_before(task: Task, tied: HistoryLinks, hist: IntArray, published: BoolArray) -> IntArray:
    """History classes of which those are published who were in the newest release, where that was made under the same
    policy."""
    assert task.history is not None
    newest = task.history.releases[-1]
    if _asked(newest.cover.policy, tied.bundles) != _asked(task.policy, tied.bundles):
        return np.zeros(0, dtype=np.int64)
    there = np.zeros(tied.bundles.people, dtype=np.bool_)
    real = newest.memory.key_column.filter(pa.array(~newest.memory.counterfeit & (newest.memory.rows >= 0)))
    there[pc.index_in(real, value_set=tied.bundles.keys).to_numpy(zero_copy_only=False)] = True
    changed = np.bincount(hist[(hist >= 0) & (there != published)], minlength=int(hist.max(initial=-1)) + 1)
    return np.flatnonzero(changed == 0)


def _remembered(tied: HistoryLinks, carried: IntArray, beside: pa.Table) -> pa.Table:
    """Return the values of people with counterfeits; where none are remembered, those of the remaining members `beside`
    them.

    Such a value is never published (`cannot_be_counterfeited`)."""
    columns = {}
    for name in beside.column_names:
        told = zip(tied.bundles.values.of_people(name, carried), beside.column(name).to_pylist(), strict=True)
        columns[name] = pa.array([value if mine is None else mine for mine, value in told], pa.string())
    return pa.table(columns)


def _in_place(tied: HistoryLinks, remembered: pa.Table, beside: pa.Table) -> pa.Table:
    """What is published of counterfeits: what adversaries know people by is that of who stays, everything else is
    remembered (I2)."""
    hidden = {name for claim, _ in tied.classes for name in claim.hide}
    lent = [name for name in beside.column_names if tied.bundles.is_known(name) and name not in hidden]
    return pa.table({name: (beside if name in lent else remembered).column(name) for name in beside.column_names})


def _companion(chance: Randomness, classes: IntArray, mine: IntArray) -> IntArray:
    """For everybody who is carried on a record of the same class, drawn at random; any record where the class has
    none."""
    order = np.argsort(classes, kind="stable")
    first, last = np.searchsorted(classes[order], mine, "left"), np.searchsorted(classes[order], mine, "right")
    none = last <= first
    first, last = np.where(none, 0, first), np.where(none, len(order), last)
    drawn: IntArray = order[first + chance.below(np.maximum(last - first, 1))]
    return drawn


def _refused(policy: Policy, gone: int) -> Infeasible:
    return Infeasible(
        f"{gone} record(s) of earlier releases are no longer in the table, and what is missing would tell who they are",
        where="key",
        hint=hint_counterfeits(policy, "keep them in the data, set 'series: {leaving: withhold}'"),
    )
