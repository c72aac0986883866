"""Persistent classes when the adversary does not know who is in which release; new records may join them.

A lineage is a union of persistent classes that only presence tells apart (`history.persistent_classes`). As long as its
members are published alike, an adversary who joins all releases cannot tell them apart, including those who left and
those who joined. So a new record whose values are covered by all cells of a class may join it. The remaining members
cover a member who leaves, as long as they satisfy the requirements.

    steady    a class with new or departed members is published as before: its cells in columns that were published
              before stay, other columns show the smallest interval around all past and present members, or the root if
              a value of a departed member is unknown
    free      a class whose members were always present together; the method may split it further
    beyond    a class whose cells lie above a boundary of a present member is suppressed, because its cells are fixed;
    so is one with a departed member of unknown value that no cell covers
    thin      a class whose present members violate a requirement. New records repair it (`insertions`), else as few
    counterfeits as needed, at most two per remaining member and no more than the policy allows; else it is suppressed
    until others join. A person with an unknown value in a published column gets no counterfeit

Invariants
    I1  In every table the present members of a class satisfy every requirement. If the table omits a sensitive column,
        the values that earlier tables published count.
    I2  Every cell that was ever published of a lineage covers everybody in it.
    I3  The number of a lineage never changes; the memory of a release keeps it, and the audit looks whether it is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import ROOT
from sfumato.data.linkage import Linkage
from sfumato.data.table import TextColumn
from sfumato.history.constrain.constraints import (
    HistoryLinks,
    cannot_be_counterfeited,
    classes_over_counterfeit_limit,
    counterfeit_limit,
    excluded_records,
)
from sfumato.history.constrain.insertions import (
    ClassBelowLevel,
    ClassRequirements,
    NewRecordKinds,
    defer_records,
    form_new_classes,
    repair_classes,
)
from sfumato.history.persistent_classes import PersistentClasses, merge_classes, values_from_other_tables
from sfumato.history.published_cells import cell_table_of_release, common_cells, remembered_codes
from sfumato.history.standing_requirements import known_columns
from sfumato.policy.generalizations import generalization_of
from sfumato.release.method import Task
from sfumato.release.past_releases import SEPARATOR

_CHUNK = 20_000_000
_MOVED, _WAITS = -2, -3
"""Records without a class that may not join one: their values changed or are excluded, or they are deferred new
records."""
_STAND_INS = 2
"""Most counterfeits per remaining record: suppressing a record loses all its cells, a counterfeit costs one row."""


@dataclass(frozen=True)
class FixedClassRows:
    """Rows that are published as their lineages were."""

    records: IntArray
    """Records of the task's table."""
    carried: IntArray
    """Past people with a counterfeit record."""
    labels: dict[str, list[str]]
    """Per known column the label of each record, then of each counterfeit."""
    lineage: IntArray
    """The number of the lineage of each of these rows (I3)."""

    @property
    def rows(self) -> int:
        return len(self.lineage)


@dataclass(frozen=True)
class RecordPlacement:
    """What becomes of every record of a task."""

    steady: FixedClassRows
    free: IntArray
    """Records that the method may group."""
    apart: IntArray
    """Their class, −1 for new records that no class covers."""
    withheld: IntArray
    waiting: int
    """How many of them are new records that are deferred."""
    next_number: int
    keys: dict[int, str]
    """Keys of the people with a counterfeit record."""
    remembered: dict[str, list[str]]
    """Per published column the values of the people with a counterfeit record."""


def place_records(task: Task, tied: HistoryLinks, most: int) -> RecordPlacement:
    """Assign every record of the task's table to a class; defer at most so many new records."""
    board = _LineageBoard(task, tied)
    moved = board.leave_out(
        board.moved() | excluded_records(task, [*task.policy.claims, *(claim for claim, _ in tied.classes)])
    )
    board.join_newcomers(most)
    waits = np.flatnonzero(board.of_record == _WAITS)
    moved = np.union1d(moved, waits)
    board.of_record[moved] = -1
    thin = ~board.satisfied()
    carried = board.stand_ins(thin) if task.policy.series.leaving == "counterfeits" else np.zeros(0, dtype=np.int64)
    thin &= ~board.rescued
    thin |= board.mixed & (board.beyond(carried) | board.untold())
    carried = carried[~thin[board.union[carried]]]
    of = board.of_record
    known = of >= 0
    withheld = np.union1d(np.flatnonzero(known & thin[np.maximum(of, 0)]), moved)
    mixed = known & board.mixed[np.maximum(of, 0)] & ~thin[np.maximum(of, 0)]
    records = np.flatnonzero(mixed)
    numbers = board.number[np.concatenate([of[records], board.union[carried]])]
    steady = FixedClassRows(records, carried, board.labels(records, carried), numbers)
    free = np.flatnonzero(~mixed & ~np.isin(np.arange(len(of)), withheld))
    keys = dict(zip(carried.tolist(), tied.bundles.keys.take(pa.array(carried)).to_pylist(), strict=True))
    remembered = {name: board.remembered(name, carried) for name in task.policy.published}
    return RecordPlacement(steady, free, of[free], withheld, len(waits), board.next_number, keys, remembered)


class _LineageBoard:
    """Lineages of the past, and the records of the table in them."""

    def __init__(self, task: Task, tied: HistoryLinks) -> None:
        self.task, self.tied, self.policy = task, tied, task.policy
        self.joint = _combined(tied)
        named = tied.bundles.lineage
        united = merge_classes(tied.bundles, self.joint)
        self.union = equivalence_classes_of([united.of + 1]).of - int((united.of < 0).any())
        self.count = int(self.union.max(initial=-1)) + 1
        self.number, self.next_number = _numbered(self.union, named, self.count)
        old = tied.person < tied.bundles.people
        self.of_record = np.where(old, self.union[np.where(old, tied.person, 0)], -1)
        self.present = np.zeros(tied.bundles.people, dtype=np.bool_)
        self.present[tied.person[old]] = True
        known = {name for sheet in self.joint.sheets for name in sheet.columns if tied.bundles.is_known(name)}
        self.columns = sorted(name for name in known if not name.startswith(SEPARATOR))
        self.domains = {name: self._domain(name) for name in {*self.columns, *self._published()}}
        self.codes = {name: self._codes(name) for name in self.domains}
        self.lo, self.hi = self._boxes()
        self.rescued = np.zeros(self.count, dtype=np.bool_)
        sizes = np.bincount(self.union[self.union >= 0], minlength=self.count)
        stay = np.bincount(self.union[(self.union >= 0) & self.present], minlength=self.count)
        self.mixed = (sizes != stay) | self._several()

    def _published(self) -> list[str]:
        """Columns that adversaries know people by, by the word of earlier policies or of this one for the first
        time."""
        known = known_columns([self.policy])
        return [name for name in self.policy.published if name in known or self.tied.bundles.is_known(name)]

    def _several(self) -> BoolArray:
        """Lineages of more than one persistent class: their people were not always present together."""
        pairs = equivalence_classes_of([self.union[self.union >= 0], self.joint.of[self.union >= 0]])
        found: BoolArray = np.bincount(self.union[self.union >= 0][pairs.first], minlength=self.count) > 1
        return found

    def _domain(self, name: str) -> Generalization:
        labels = dict.fromkeys(self.tied.bundles.values.ever(name))
        if name in self.task.data.names:
            labels |= dict.fromkeys(self.task.data.text(name).labels)
        owner = next(policy for policy in (self.policy, *self.tied.bundles.policies) if name in policy.columns)
        return generalization_of(owner, name, list(labels))

    def _codes(self, name: str) -> IntArray:
        """The leaf of every record of the table, −1 where the table does not say."""
        if name not in self.task.data.names:
            return np.full(self.task.data.rows, -1, dtype=np.int64)
        text = self.task.data.text(name)
        codes: IntArray = np.array([self.domains[name].code_of[label] for label in text.labels], dtype=np.int64)[
            text.codes
        ]
        return codes

    def _boxes(self) -> tuple[IntArray, IntArray]:
        """Return per class and column the intersection of all its cells: a value inside is covered by all of them
        (I2)."""
        lo = np.zeros((self.count, len(self.columns)), dtype=np.int64)
        hi = np.tile(np.array([self.domains[name].size for name in self.columns]), (self.count, 1))
        for sheet in {id(sheet): sheet for sheet in self.joint.sheets}.values():
            here = np.flatnonzero(sheet.here & (self.union >= 0))
            for place, name in enumerate(self.columns):
                if name in sheet.columns:
                    low, high = common_cells(self.tied.bundles, sheet, name, self.domains[name])
                    pairs = equivalence_classes_of([self.union[here], sheet.cells[name][here]])
                    union, code = self.union[here][pairs.first], sheet.cells[name][here][pairs.first]
                    np.maximum.at(lo[:, place], union, low[code])
                    np.minimum.at(hi[:, place], union, high[code])
        return lo, hi

    def moved(self) -> BoolArray:
        """Records whose values changed, so that cells of their lineage no longer cover them: they are absent from now
        on (I2)."""
        of = np.maximum(self.of_record, 0)
        inside = np.ones(len(of), dtype=np.bool_)
        for place, name in enumerate(self.columns):
            code = self.codes[name]
            inside &= (code < 0) | ((self.lo[of, place] <= code) & (code < self.hi[of, place]))
        found: BoolArray = (self.of_record >= 0) & ~inside
        return found

    def leave_out(self, out: BoolArray) -> IntArray:
        """Take records out of their lineages, and keep them from joining one."""
        records = np.flatnonzero(out)
        self.mixed[np.unique(self.of_record[out & (self.of_record >= 0)])] = True
        self.of_record[records] = _MOVED
        return records

    # -- who joins -----------------------------------------------------------------------------------------------------

    def join_newcomers(self, most: int) -> None:
        """Assign new records: repair classes below level, defer, form new classes, or join the smallest class that
        covers."""
        new = np.flatnonzero(self.of_record == -1)
        if not len(new) or not self.count or not set(self.columns) <= set(self.policy.published):
            # a new record has no remembered value in columns that are not published, and no cell covers an unknown
            # value
            return
        hidden = sorted(
            {name for claim, _ in self.tied.classes for name in claim.hide if name in self.policy.published}
        )
        told = {name: np.asarray(self.task.data.text(name).codes, dtype=np.int64) for name in hidden}
        classes = equivalence_classes_of(
            [self.codes[name][new] for name in self.columns] + [told[name][new] for name in hidden], rows=len(new)
        )
        one = new[classes.first]
        codes = (
            np.array([self.codes[name][one] for name in self.columns], dtype=np.int64)
            .reshape(len(self.columns), len(one))
            .T
        )
        cost, thin, carries = self._costs(), ~self.satisfied(), self.policy.series.leaving == "counterfeits"
        some = (
            (np.bincount(self.of_record[self.of_record >= 0], minlength=self.count) > 0)
            & ~self._in_buckets()
            & self._open()
        )
        best = self._smallest(codes, cost, some & (~thin | carries))
        price = np.where(best >= 0, cost[np.maximum(best, 0)], np.inf)
        kinds = NewRecordKinds(codes, [told[name][one] for name in hidden], classes.counts.copy(), price)
        wants = ClassRequirements.of([(claim.model.demand(), claim.hide) for claim, _ in self.tied.classes], hidden)
        mended = repair_classes(
            kinds, wants, self._thin(np.flatnonzero(thin & some), list(told.values())), whole=not carries
        )
        domains = [self.domains[name] for name in self.columns]
        wait = defer_records(kinds, wants, domains, most)
        part = form_new_classes(kinds, wants, domains)
        seats = [*mended, *((-1, kind) for kind in np.repeat(np.arange(len(part)), part).tolist())]
        seats += [(_WAITS, kind) for kind in np.repeat(np.arange(len(wait)), wait).tolist()]
        self._seat(new[np.argsort(classes.of, kind="stable")], classes.counts, seats, best)

    def _in_buckets(self) -> BoolArray:
        """Lineages with people in buckets, whose numbers cover nobody who was not there (I2)."""
        found = np.zeros(self.count, dtype=np.bool_)
        for sheet in self.joint.sheets:
            if any(name.startswith(SEPARATOR) for name in sheet.columns):
                found[self.union[sheet.here & (self.union >= 0)]] = True
        return found

    def _thin(self, lineages: IntArray, told: list[IntArray]) -> Iterator[ClassBelowLevel]:
        order = np.argsort(self.of_record, kind="stable")
        first = np.searchsorted(self.of_record[order], lineages, "left")
        last = np.searchsorted(self.of_record[order], lineages, "right")
        for place, start, stop in zip(lineages.tolist(), first.tolist(), last.tolist(), strict=True):
            mine = order[start:stop]
            counts = [Counter(column[mine].tolist()) for column in told]
            yield ClassBelowLevel(place, self.lo[place], self.hi[place], len(mine), counts)

    def _seat(self, records: IntArray, counts: IntArray, seats: list[tuple[int, int]], best: IntArray) -> None:
        """Assign new records by kind; one without an assigned class joins the smallest class that covers it."""
        start = np.cumsum(counts) - counts
        of = np.repeat(best, counts)
        for lineage, kind in seats:
            of[start[kind]] = lineage
            start[kind] += 1
        self.of_record[records] = of
        self.mixed[np.unique(of[of >= 0])] = True

    def _costs(self) -> FloatArray:
        cost = np.zeros(self.count)
        for m, name in enumerate(self.columns):
            cost += self.domains[name].width(self.lo[:, m], self.hi[:, m])
        return cost

    def _smallest(self, codes: IntArray, cost: FloatArray, allowed: BoolArray) -> IntArray:
        """For each tuple of leaves the cheapest lineage, of those allowed, whose cells all cover it; −1 when there is
        none."""
        order = np.flatnonzero(allowed)
        order = order[np.argsort(cost[order], kind="stable")]
        points = equivalence_classes_of([codes[:, m] for m in range(codes.shape[1])], rows=len(codes))
        codes = codes[points.first]
        best = np.full(len(codes), -1, dtype=np.int64)
        step = max(1, _CHUNK // max(len(order), 1))
        for first in range(0, len(codes) if len(order) else 0, step):
            some = codes[first : first + step]
            inside = np.ones((len(some), len(order)), dtype=np.bool_)
            for m in range(len(self.columns)):
                inside &= (self.lo[order, m] <= some[:, m, None]) & (some[:, m, None] < self.hi[order, m])
            found = inside.any(axis=1)
            best[first : first + step][found] = order[inside[found].argmax(axis=1)]
        return best[points.of]

    # -- who keeps the promises ----------------------------------------------------------------------------------------

    def satisfied(self, more: IntArray | None = None) -> BoolArray:
        """Per lineage: do those who are present keep every promise, with `more` people of the past standing in? (I1)"""
        extra = np.zeros(0, dtype=np.int64) if more is None else more
        of = np.concatenate([self.of_record, self.union[extra]])
        inside = of >= 0
        fine = np.ones(self.count, dtype=np.bool_)
        for claim, joint in self.tied.classes:
            told = [name for name in claim.hide if name in self.policy.published]
            classes = equivalence_classes_of([of[inside]])
            spread = {name: self._hidden(name, extra, inside) for name in told}
            holds = np.asarray(claim.model.satisfied(Linkage.of_groups(classes.of, spread)))
            fine[of[inside][classes.first][~holds]] = False
            for name in claim.hide:
                for there, value, labels in self._from_other_tables(joint, name, extra):
                    classes = equivalence_classes_of([there])
                    holds = np.asarray(claim.model.satisfied(Linkage.of_groups(classes.of, {name: (value, labels)})))
                    fine[there[classes.first][~holds]] = False
        return fine

    def _from_other_tables(
        self, joint: PersistentClasses, name: str, extra: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, tuple[str, ...]]]:
        """Per table without a sensitive column, this release included: lineages of people whose value another one
        publishes."""
        told = name in self.policy.published
        if told and all(name in sheet.columns for sheet in joint.sheets):
            return
        people = max(self.tied.bundles.people, int(self.tied.person.max(initial=-1)) + 1)
        of = np.concatenate([self.union, np.full(people - len(self.union), -1, dtype=np.int64)])
        new = self.tied.person >= len(self.union)
        of[self.tied.person[new]] = self.of_record[new]
        inside = np.concatenate([self.of_record, self.union[extra]]) >= 0
        who = np.concatenate([self.tied.person, extra])[inside]
        codes, labels = self._hidden(name, extra, inside) if told else (np.zeros(0, dtype=np.int64), ())
        shown = {name: TextColumn(codes.astype(np.int32), labels)} if told else {}
        now = cell_table_of_release(len(self.tied.bundles.history), shown, who, people)
        tables = [*(sheet.among(people) for sheet in joint.sheets), now]
        for there, value, names in values_from_other_tables(tables, name, people):
            known = of[there] >= 0
            yield of[there][known], value[known], names

    def _hidden(self, name: str, extra: IntArray, inside: BoolArray) -> tuple[IntArray, tuple[str, ...]]:
        text = self.task.data.text(name)
        known = {label: code for code, label in enumerate(text.labels)}
        then = [known.setdefault(label, len(known)) for label in self.remembered(name, extra)]
        codes = np.concatenate([text.codes, np.array(then, dtype=np.int64)])
        return codes[inside], tuple(known)

    def _labels_of_records(self, name: str) -> list[str]:
        """Per record its value in a sensitive column, as it is published now or was remembered; empty where nothing
        is."""
        if name in self.policy.published:
            text = self.task.data.text(name)
            return [text.labels[code] for code in text.codes.tolist()]
        old, found = self.tied.person < self.tied.bundles.people, [""] * len(self.tied.person)
        for record, label in zip(
            np.flatnonzero(old).tolist(), self.remembered(name, self.tied.person[old]), strict=True
        ):
            found[record] = label
        return found

    def remembered(self, name: str, people: IntArray) -> list[str]:
        return [label or "" for label in self.tied.bundles.values.of_people(name, people)]

    def stand_ins(self, thin: BoolArray) -> IntArray:
        """Return the departed people with a counterfeit, one more per class below level until its requirements hold."""
        gone = np.flatnonzero((self.union >= 0) & ~self.present & thin[np.maximum(self.union, 0)])
        gone = gone[~cannot_be_counterfeited(self.tied, self.policy)[gone]]
        for (
            name
        ) in self._published():  # a memory says what is true of a person, or later cells would be taken to cover them
            gone = gone[self._remembered_codes(name)[gone] >= 0]
        carried = np.zeros(0, dtype=np.int64)
        left = thin & (np.bincount(self.of_record[self.of_record >= 0], minlength=self.count) > 0)
        while left.any() and len(gone):
            mine = gone[left[self.union[gone]]]
            if not len(mine):
                break
            chosen = self._next(mine, carried)
            carried = np.concatenate([carried, chosen])
            gone = np.setdiff1d(gone, chosen)
            left &= ~self.satisfied(carried)
        stay = np.bincount(self.of_record[self.of_record >= 0], minlength=self.count)
        many = np.bincount(self.union[carried], minlength=self.count)
        few = many <= _STAND_INS * stay
        self.rescued = (
            thin & self.satisfied(carried) & (stay > 0) & few
        )  # if too many counterfeits were needed, the remaining records are suppressed instead
        self.rescued[
            classes_over_counterfeit_limit(
                np.where(self.rescued, many, 0), stay, counterfeit_limit(self.policy, self.task.data.records)
            )
        ] = False
        return carried[self.rescued[self.union[carried]]]

    def _next(self, gone: IntArray, carried: IntArray) -> IntArray:
        """One of each lineage, whose value nobody there has yet if there is such a one."""
        known = np.zeros(len(gone), dtype=np.bool_)
        for claim, _ in self.tied.classes:
            for name in claim.hide:
                met = {
                    (int(u), label)
                    for u, label in zip(self.of_record, self._labels_of_records(name), strict=True)
                    if u >= 0
                }
                met |= set(zip(self.union[carried].tolist(), self.remembered(name, carried), strict=True))
                pairs = zip(self.union[gone].tolist(), self.remembered(name, gone), strict=True)
                known |= np.array([pair in met for pair in pairs])
        order = np.lexsort((known, self.union[gone]))
        found: IntArray = gone[order][np.unique(self.union[gone][order], return_index=True)[1]]
        return found

    # -- how they are written ------------------------------------------------------------------------------------------

    def labels(self, records: IntArray, carried: IntArray) -> dict[str, list[str]]:
        """Per published known column the cell of each record and counterfeit: as it was, or around everybody of the
        lineage."""
        of = np.concatenate([self.of_record[records], self.union[carried]])
        written = {}
        for name in self._published():
            lo, hi = self._cells(name)
            written[name] = self.domains[name].labels(lo[of], hi[of])
        return written

    def beyond(self, carried: IntArray) -> BoolArray:
        """Return per class whether its cells lie above the boundary of a member or of a person with a counterfeit."""
        found = np.zeros(self.count, dtype=np.bool_)
        inside = np.flatnonzero(self.of_record >= 0)
        for name in self._bounded():
            domain, (lo, hi) = self.domains[name], self._cells(name)
            known = [
                (domain.code_of[label], place) for place, label in enumerate(self.remembered(name, carried)) if label
            ]
            then, whose = np.array(known, dtype=np.int64).reshape(-1, 2).T  # an unknown value has no boundary
            code = np.concatenate([self.codes[name][inside], then])
            of = np.concatenate([self.of_record[inside], self.union[carried[whose]]])
            low, high = domain.ceiling()
            found[of[(lo[of] < low[code]) | (high[code] < hi[of])]] = True
        return found

    def untold(self) -> BoolArray:
        """Return per class whether a departed member has an unknown value in a column that its cells restrict. (I2)"""
        found, gone = np.zeros(self.count, dtype=np.bool_), self._gone()
        for name in self._published():
            domain, (lo, hi) = self.domains[name], self._cells(name)
            mute = (lo == 0) & (hi == domain.size) & (domain.label(0, domain.size) == ROOT)
            of = self.union[gone[self._remembered_codes(name)[gone] < 0]]
            found[of[~mute[of]]] = True
        return found

    def _open(self) -> BoolArray:
        """Lineages whose cells lie within the boundaries of all that they cover."""
        found = np.ones(self.count, dtype=np.bool_)
        for name in self._bounded():
            low, high = self.domains[name].ceiling()
            for place, (lo, hi) in enumerate(zip(*self._cells(name), strict=True)):
                found[place] &= bool((low[lo:hi] <= lo).all() and (hi <= high[lo:hi]).all())
        return found

    def _bounded(self) -> list[str]:
        """Columns under a boundary whose cells a lineage keeps."""
        return [name for name in self._published() if self.policy.columns[name].boundary is not None]

    def _cells(self, name: str) -> tuple[IntArray, IntArray]:
        if name in self.columns:
            place = self.columns.index(name)
            lo, hi = self.lo[:, place], self.hi[:, place]
            return self.domains[name].close(lo, hi)
        lo, hi = np.full(self.count, self.domains[name].size), np.zeros(self.count, dtype=np.int64)
        here, gone = np.flatnonzero(self.of_record >= 0), self._gone()
        of = np.concatenate([self.of_record[here], self.union[gone]])
        code = np.concatenate([self.codes[name][here], self._remembered_codes(name)[gone]])
        np.minimum.at(lo, of, code)
        np.maximum.at(hi, of, code + 1)
        unknown = (lo >= hi) | (lo < 0)  # nobody is there, or a person may have any value (I2)
        return self.domains[name].close(np.where(unknown, 0, lo), np.where(unknown, self.domains[name].size, hi))

    def _gone(self) -> IntArray:
        """Return the members of classes who are no longer present, with or without a counterfeit."""
        stays = np.zeros(self.tied.bundles.people, dtype=np.bool_)
        placed = self.tied.person[self.of_record >= 0]
        stays[placed[placed < len(stays)]] = True
        return np.flatnonzero((self.union >= 0) & ~stays)

    def _remembered_codes(self, name: str) -> IntArray:
        """Everybody's leaf in a column by the newest release that told it, −1 where none did."""
        return remembered_codes(self.tied.bundles, name, self.domains[name])


def _combined(tied: HistoryLinks) -> PersistentClasses:
    """The persistent classes of all claims at once, with what they look like in every table of every bundle."""
    of = tied.history_class()
    count = int(of.max(initial=-1)) + 1
    people = np.zeros(count, dtype=np.int64)
    people[of[of >= 0]] = np.flatnonzero(of >= 0)
    signs = [
        np.where((joint.of[people] < 0)[:, None], -1, joint.signs[joint.of[people]])
        for _, joint in tied.classes
        if joint.sheets
    ]
    sheets = tuple(sheet for _, joint in tied.classes for sheet in joint.sheets)
    names = tuple(some for _, joint in tied.classes for some in joint.names)
    seen = np.concatenate(signs, axis=1) if signs else np.zeros((count, 0), dtype=np.int64)
    divided = frozenset().union(*(joint.divided for _, joint in tied.classes))
    return PersistentClasses(sheets, of, seen, names, divided=divided)


def _numbered(union: IntArray, named: IntArray, count: int) -> tuple[IntArray, int]:
    """A lasting number for every union: the one that its people have, else a new one (I3)."""
    number = np.full(count, -1, dtype=np.int64)
    inside = (union >= 0) & (named >= 0)
    number[union[inside]] = named[inside]
    fresh = np.flatnonzero(number < 0)
    start = int(named.max(initial=-1)) + 1
    number[fresh] = start + np.arange(len(fresh))
    return number, start + len(fresh)
