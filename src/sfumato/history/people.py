"""People in several rows over several releases: how many rows of one person could stand behind a joint class.

A record (a row of the original, known again by its key) has a *bundle*: its rows in all releases. Outsiders know everybody's rows,
how many there are, and which of them are in the data of which release (``cohorts: known``), and may be told which rows of different
releases are about the same record. They see *worlds*: ways to hand bundles out to records that fit them.

Notation
    n, f    bundles of a joint class, and how many of them have a value
    M       records of a person that could have a bundle of the class: their values lie in all its cells, they are in the data of
            every release that shows it, and in that of another release only if that one left records out

Guarantee
    k       k·M ≤ n for everybody. Bundles of a joint class are written alike, so a world stays one when they trade places, and they
            are equally likely to be a person's; in every world at most M of the n are. So each is with probability at most
            M/n ≤ 1/k, for whoever knows the rows of that person, or of everybody.
    values  f + M ≤ n for every value: at least M bundles lack the value, so in some world all of the person's in this class do.
    share   besides, at most that share of the people of a class has a value, in whichever of their records.

    Whoever is *not* told which rows belong together has an average over all ways to tie them. In each of them that an audit would
    have let pass the bound holds, because n, f and M follow from how rows are tied, and not from whose they are; so it holds for
    whoever believes the certificate. Who gives weight to ways that would have been refused may be surer, and errs.

    Bundles are of releases that a column ties together which nobody is known by. One that shares none with the others, or shows
    quasi-identifiers alone, is judged by itself (`audit.people`): whoever is told which of its rows is about the same record as a
    row elsewhere is not bounded there, and nothing published tells it.

Fail closed: a release that does not say whose its rows were, rows that stand in for records, and values that change, hidden or
known, are not judged.

Cost: pairs of a point and a class that it could be in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray, places_within
from sfumato.data.boxes import contained
from sfumato.data.classes import group
from sfumato.errors import LedgerError
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint
from sfumato.history.people_sheet import PeopleSheet
from sfumato.history.values import LeafValues, common_cells
from sfumato.models.base import Demand
from sfumato.policy.policy import Policy
from sfumato.release.past import WHOSE, History


def require_same_people(policy: Policy, history: History) -> None:
    """Refuse to continue a history in which it is not said, or said otherwise, whose rows they are."""
    for past in history.releases:
        before, now = past.cover.policy.person, policy.person
        if (None if before is None else before.unit) != (None if now is None else now.unit):
            hint = "name the same columns under 'person:' in every release of a ledger, or begin a ledger of its own"
            raise LedgerError(f"release {past.number} says otherwise whose rows they are", where="person", hint=hint)
        if before is not None and now is not None and before.linked != now.linked:
            what = "are tied" if before.linked else "nothing ties"
            hint = "say 'rows:' under 'person:' as in every earlier release of the ledger, or begin a ledger of its own"
            raise LedgerError(
                f"release {past.number} publishes rows that {what}: both are not judged together", where="person", hint=hint
            )


class PeopleOfHistory:
    """Everybody's records of all releases: whose they are, when they were in the data, and what they are known by."""

    def __init__(self, bundles: Bundles) -> None:
        self.bundles, self.values = bundles, LeafValues(bundles)
        memories = [past.memory for past in bundles.history.releases]
        whose = bundles.values.newest.get(WHOSE)
        told = all(WHOSE in memory.values.names for memory in memories)
        if whose is None or not told or (whose < 0).any() or any(memory.counterfeit.any() for memory in memories):
            raise LedgerError("not every release says whose its rows are", hint="begin a ledger of its own")
        if changed := sorted(bundles.values.changed & bundles.known):  # records are told to fit by what they are known by
            raise LedgerError(
                f"values of '{changed[0]}' changed between releases, and rows of people are known by values that stay"
            )
        self.whose = whose
        self.in_data = np.zeros((len(memories), bundles.people), dtype=np.bool_)
        for release, at in enumerate(bundles.places):
            self.in_data[release, at] = True
        self.lossy = [bool((memory.rows < 0).any()) for memory in memories]

    def most(self, joint: Joint) -> IntArray:
        """M of each joint class; at least 1."""
        record, of = self.fitting(joint)
        most = np.ones(len(joint.signs), dtype=np.int64)
        pairs = group([of, self.whose[record]], rows=len(of))
        np.maximum.at(most, of[pairs.first], pairs.counts)
        return most

    def fitting(self, joint: Joint) -> tuple[IntArray, IntArray]:
        """Pairs of a record, of somebody who has several, and a joint class of which it could have a bundle."""
        records = np.flatnonzero(np.bincount(self.whose)[self.whose] > 1)
        names = sorted({name for some in joint.names for name in some})
        shown = self._shown(joint)
        member = np.zeros(len(joint.signs), dtype=np.int64)
        member[joint.of[joint.of >= 0]] = np.flatnonzero(joint.of >= 0)
        lo, hi = self._boxes(joint, names, member)
        leaf = np.array([np.maximum(self.values.codes(name)[records], 0) for name in names], dtype=np.int64)
        pattern = group([row[records].astype(np.int64) for row in self.in_data], rows=len(records))
        points = group([pattern.of, *leaf], rows=len(records))
        i, j = self._pairs(leaf.T.reshape(len(records), len(names))[points.first], lo, hi)
        could = self._could(records[pattern.first], shown, member)
        kept = could[pattern.of[points.first[i]], j]
        i, j = i[kept], j[kept]
        order, start = np.argsort(points.of, kind="stable"), np.concatenate([[0], np.cumsum(points.counts)])
        width = points.counts[i]
        return records[order[np.repeat(start[i], width) + places_within(width)]], np.repeat(j, width)

    @staticmethod
    def _pairs(leaf: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        if leaf.shape[1]:
            return contained(leaf, leaf + 1, lo, hi)
        every = np.indices((len(leaf), len(lo))).reshape(2, -1)  # nothing is known: everybody fits
        return every[0], every[1]

    def _boxes(self, joint: Joint, names: list[str], member: IntArray) -> tuple[IntArray, IntArray]:
        """Per class and column the leaves that all its cells have in common."""
        lo = np.zeros((len(member), len(names)), dtype=np.int64)
        hi = np.zeros((len(member), len(names)), dtype=np.int64)
        for place, name in enumerate(names):
            domain = self.values.domain(name)
            hi[:, place] = domain.size
            for sheet, mine in zip(joint.sheets, joint.names, strict=True):
                if name in mine:
                    low, high = common_cells(self.bundles, sheet, name, domain)
                    code = sheet.cells[name][member]
                    lo[:, place] = np.where(code >= 0, np.maximum(lo[:, place], low[code]), lo[:, place])
                    hi[:, place] = np.where(code >= 0, np.minimum(hi[:, place], high[code]), hi[:, place])
        return lo, hi

    def _shown(self, joint: Joint) -> dict[int, BoolArray]:
        """Per release of the bundle who stands in it."""
        tables: Iterator[PeopleSheet] = (table for sheet in joint.sheets for table in sheet.tables())
        return {table.releases[0]: table.here for table in tables}

    def _could(self, records: IntArray, shown: dict[int, BoolArray], member: IntArray) -> BoolArray:
        """Per record and class: do the releases that show the class agree with those whose data has the record?"""
        could = np.ones((len(records), len(member)), dtype=np.bool_)
        for release, here in shown.items():
            mine, theirs = self.in_data[release, records][:, None], here[member][None, :]
            could &= np.where(theirs, mine, ~mine | self.lossy[release])
        return could


def broken_classes(
    whose: IntArray, sheets: Iterable[PeopleSheet], of: IntArray, most: IntArray, hide: Iterable[str], demand: Demand
) -> BoolArray | None:
    """Per class (`of` everybody, −1 for none): is something broken that is asked for people, with M as given?

    Nothing when that cannot be told, because a value changed.
    """
    inside, hidden = of >= 0, set(hide)
    size = np.bincount(of[inside], minlength=len(most))
    broken: BoolArray = demand.candidates * most > size
    for sheet in sheets if demand.of_values else ():
        for name in sorted(sheet.columns & hidden):
            lasting = sheet.lasting(name)
            if lasting is None:
                return None
            at = np.flatnonzero(sheet.here & inside)
            value = lasting[sheet.cells[name][at]]
            told, frequent = np.bincount(of[at], minlength=len(most)), np.zeros(len(most), dtype=np.int64)
            pairs = group([of[at], value], rows=len(at))
            np.maximum.at(frequent, of[at][pairs.first], pairs.counts)
            broken |= (told > 0) & (frequent + most > told)
            if demand.largest_share < 1:
                broken |= too_many_have_it(of[at], whose[at], value, demand.largest_share, len(most))
    return broken & (size > 0)


def too_many_have_it(of: IntArray, person: IntArray, value: IntArray, share: float, classes: int) -> BoolArray:
    """Per class: has more than this share of its people a value, in whichever of their records?"""
    people = np.bincount(of[group([of, person], rows=len(of)).first], minlength=classes)
    once = group([of, person, value], rows=len(of)).first
    having = group([of[once], value[once]], rows=len(once))
    most = np.zeros(classes, dtype=np.int64)
    np.maximum.at(most, of[once][having.first], having.counts)
    verdict: BoolArray = most > share * people + 1e-9
    return verdict
