"""People in several rows over several releases: how many rows of one person could stand behind a joint class.

A record (a row of the original, known again by its key) has a *bundle*: its rows in all releases. Outsiders know
each person's rows, how many there are, and which of them are in the data of which release (``cohorts: known``), and may
be told which rows of different releases are about the same record. They see *worlds*: ways to hand bundles out to
records that fit them.

Notation
    n, f    bundles of a joint class, and how many of them have a value
    M       records of a person that could have a bundle of the class: their values lie in all its cells, they are in
            the data of every release that shows it, and in that of another release only if that one left records out

Guarantee
    k       k·M ≤ n for all people. Bundles of a joint class are written alike, so a world stays one when they trade
            places, and they are equally likely to be a person's; in every world at most M of the n are. So each is with
            probability at most M/n ≤ 1/k, for an adversary who knows the rows of that person, or of all people.
    values  f + M ≤ n for every value: at least M bundles lack the value, so in some world all of the person's in this
            class do.
    share   besides, at most that share of the people of a class has a value, in whichever of their records.

    An adversary who does *not* know which rows belong together averages over all ways to link them. For each way that
    would pass the audit the bound holds, because n, f and M depend on how rows are linked and not on whose they are. So
    it holds for an adversary who trusts the certificate. Who gives weight to ways that would have been refused may be
    surer, and errs.

    Bundles are of releases that a column ties together which nobody is known by. One that shares none with the others,
    or has only quasi-identifiers, is judged alone (`kinds.person_evidence`): an adversary who could match its rows with
    rows of other tables is not bounded there, and nothing published reveals the match.

Fail closed: a release without stored persons, counterfeit rows, and changed values, sensitive or known, are not
assessed.

Cost: pairs of a point and a class that it could be in.


Linked people
-------------
People whose rows a pseudonym ties, over several releases: who shares everything that was ever published of them.

A record (a row of the original, known again by its key) has a *bundle*: its rows in all releases, or its absence from
some. All bundles of a person together are the person's *chain*: in every release one pseudonym, drawn anew each time.
Outsiders know each person's rows, how many there are, and which of them are in the data of which release (``cohorts:
known``), and may be told which pseudonyms of different releases are the same person. They see *worlds*: ways to hand
chains out to people, and the bundles of a chain to different records of that person that fit them.

Notation
    look    what a bundle shows in the columns that the adversary knows, release by release, absence included
    class   people whose chains have equally many bundles of every look: n of them
    slot    the bundles of a class that have one look
    ever    the values of a sensitive column that a person has in whichever bundle

Guarantee
    k       n ≥ k. Let a and b be chains of one class. A person whose records fit a also fits b, since fitting depends
            on published cells only. So a possible world stays possible if the people behind a and b exchange their
            chains. Every chain of the class is then equally likely a given person's, and each with at most 1/n ≤ 1/k,
            for an adversary who knows the rows of that person or of all people.
    events  Bundles of one slot trade places in the same way, within a chain and between chains. So a record of a person
            has a value with the share that the value has in a slot, and with no more than the largest such share.
    ever    Somebody has a value with the share of the people of a class who ever have it: it is certain only when all
            of them do.

    Equal bags of rows in every release are not enough: two visits that traded places between two releases tell, by
    their sensitive values, whose they are. The bundles must be alike, so rows that looked alike once look alike in
    every later release, row by row. Changed cells, rows that come later and rows that leave are looks like others, and
    free.

    A record that was left out of a release is absent from it like one that was not in its data: looks are all that a
    trade needs. An adversary who does *not* know which pseudonyms belong together averages over all ways to link them.
    The bound holds for each way that would pass the audit, so it holds for an adversary who trusts the certificate.

    Bundles are of releases that a column ties together which nobody is known by. Releases without one in common, and
    those that show quasi-identifiers alone, are judged each by itself, for who is not told which pseudonyms belong
    together: nothing says so.

Fail closed: releases that do not say whose rows they are, or say it otherwise, whose rows nothing ties, and values that
change are not judged; nor are adversaries who do not know who is in which release.

Cost: one sort of records for each table, one of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray, positions_in_runs
from sfumato.core.errors import LedgerError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalized_tuples import containing_pairs
from sfumato.data.persons import number_equal_multisets
from sfumato.history.persistent_classes import HiddenValues, PersistentClasses
from sfumato.history.published_cells import CellTable, LeafValues, PublishedCells, common_cells
from sfumato.models.base import Demand
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import NO_ROW, WHOSE, History


def require_same_persons(policy: Policy, history: History) -> None:
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
                f"release {past.number} publishes rows that {what}: both are not judged together",
                where="person",
                hint=hint,
            )


class PersonsOfHistory:
    """Everybody's records of all releases: whose they are, when they were in the data, and what they are known by."""

    def __init__(self, bundles: PublishedCells) -> None:
        self.bundles, self.values = bundles, LeafValues(bundles)
        memories = [past.memory for past in bundles.history.releases]
        whose = bundles.values.newest.get(WHOSE)
        told = all(WHOSE in memory.values.names for memory in memories)
        if whose is None or not told or (whose < 0).any() or any(memory.counterfeit.any() for memory in memories):
            raise LedgerError("not every release says whose its rows are", hint="begin a ledger of its own")
        if changed := sorted(bundles.values.changed & bundles.known):  # records fit by their known columns
            raise LedgerError(
                f"values of '{changed[0]}' changed between releases, and rows of people are known by values that stay"
            )
        self.whose = whose
        self.in_data = np.zeros((len(memories), bundles.people), dtype=np.bool_)
        for release, at in enumerate(bundles.places):
            self.in_data[release, at] = True
        self.lossy = [bool((memory.rows < 0).any()) for memory in memories]

    def most(self, joint: PersistentClasses) -> IntArray:
        """M of each joint class; at least 1."""
        record, of = self.fitting(joint)
        most = np.ones(len(joint.signs), dtype=np.int64)
        pairs = equivalence_classes_of([of, self.whose[record]], rows=len(of))
        np.maximum.at(most, of[pairs.first], pairs.counts)
        return most

    def fitting(self, joint: PersistentClasses) -> tuple[IntArray, IntArray]:
        """Pairs of a record, of a person who has several, and a joint class of which it could have a bundle."""
        records = np.flatnonzero(np.bincount(self.whose)[self.whose] > 1)
        names = sorted({name for some in joint.names for name in some})
        shown = self._shown(joint)
        member = np.zeros(len(joint.signs), dtype=np.int64)
        member[joint.of[joint.of >= 0]] = np.flatnonzero(joint.of >= 0)
        lo, hi = self._boxes(joint, names, member)
        leaf = np.array([np.maximum(self.values.codes(name)[records], 0) for name in names], dtype=np.int64)
        pattern = equivalence_classes_of([row[records].astype(np.int64) for row in self.in_data], rows=len(records))
        points = equivalence_classes_of([pattern.of, *leaf], rows=len(records))
        i, j = self._pairs(leaf.T.reshape(len(records), len(names))[points.first], lo, hi)
        could = self._could(records[pattern.first], shown, member)
        kept = could[pattern.of[points.first[i]], j]
        i, j = i[kept], j[kept]
        order, start = np.argsort(points.of, kind="stable"), np.concatenate([[0], np.cumsum(points.counts)])
        width = points.counts[i]
        return records[order[np.repeat(start[i], width) + positions_in_runs(width)]], np.repeat(j, width)

    @staticmethod
    def _pairs(leaf: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        if leaf.shape[1]:
            return containing_pairs(leaf, leaf + 1, lo, hi)
        every = np.indices((len(leaf), len(lo))).reshape(2, -1)  # nothing is known: everybody fits
        return every[0], every[1]

    def _boxes(self, joint: PersistentClasses, names: list[str], member: IntArray) -> tuple[IntArray, IntArray]:
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

    def _shown(self, joint: PersistentClasses) -> dict[int, BoolArray]:
        """Return per linked release the people in it."""
        tables: Iterator[CellTable] = (table for sheet in joint.sheets for table in sheet.tables())
        return {table.releases[0]: table.here for table in tables}

    def _could(self, records: IntArray, shown: dict[int, BoolArray], member: IntArray) -> BoolArray:
        """Per record and class: do the releases that show the class agree with those whose data has the record?"""
        could = np.ones((len(records), len(member)), dtype=np.bool_)
        for release, here in shown.items():
            mine, theirs = self.in_data[release, records][:, None], here[member][None, :]
            could &= np.where(theirs, mine, ~mine | self.lossy[release])
        return could


def violated_classes(
    whose: IntArray, sheets: Iterable[CellTable], of: IntArray, most: IntArray, hide: Iterable[str], demand: Demand
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
            pairs = equivalence_classes_of([of[at], value], rows=len(at))
            np.maximum.at(frequent, of[at][pairs.first], pairs.counts)
            broken |= (told > 0) & (frequent + most > told)
            if demand.largest_share < 1:
                broken |= exceeds_value_share(of[at], whose[at], value, demand.largest_share, len(most))
    return broken & (size > 0)


def exceeds_value_share(of: IntArray, person: IntArray, value: IntArray, share: float, classes: int) -> BoolArray:
    """Per class: has more than this share of its people a value, in whichever of their records?"""
    people = np.bincount(of[equivalence_classes_of([of, person], rows=len(of)).first], minlength=classes)
    once = equivalence_classes_of([of, person, value], rows=len(of)).first
    having = equivalence_classes_of([of[once], value[once]], rows=len(once))
    most = np.zeros(classes, dtype=np.int64)
    np.maximum.at(most, of[once][having.first], having.counts)
    verdict: BoolArray = most > share * people + 1e-9
    return verdict


# Linked people
# -------------


def links_rows(history: History) -> bool:
    """Whether pseudonyms tie the rows of a person, by the word of the newest release."""
    person = history.releases[-1].cover.policy.person if history else None
    return person is not None and person.linked


class LinkedPersons:
    """All people of a history: the person of every record, and the published values of records."""

    def __init__(self, bundles: PublishedCells) -> None:
        whose = bundles.values.newest.get(WHOSE)
        if whose is None or (whose < 0).any():
            raise LedgerError("not every release says whose its rows are", hint="begin a ledger of its own")
        self.bundles, self.whose = bundles, whose

    def classes(self, joint: PersistentClasses) -> IntArray:
        """Return the class of every person, −1 for people in no linked table."""
        told = joint.of >= 0
        people, person = np.unique(self.whose[told], return_inverse=True)
        of = np.full(int(self.whose.max(initial=-1)) + 1, -1, dtype=np.int64)
        of[people] = number_equal_multisets(person.astype(np.int64), joint.of[told])
        return of

    def values(self, joint: PersistentClasses, name: str) -> tuple[IntArray, tuple[str, ...]]:
        """Return the value of every record in a sensitive column, −1 where none was published, and the labels of
        values."""
        tables = [table for sheet in joint.sheets for table in sheet.tables()]
        told = HiddenValues.told(tables, name, self.bundles.people)
        if told.changed.any():
            raise LedgerError(
                f"values of '{name}' changed between releases, and people in several rows are known by values that stay"
            )
        rows = np.array([label != NO_ROW for label in told.labels], dtype=np.bool_)
        return np.where((told.of >= 0) & np.append(rows, False)[told.of], told.of, -1), told.labels
