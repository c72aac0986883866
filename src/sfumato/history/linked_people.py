"""People whose rows a pseudonym ties, over several releases: who shares everything that was ever published of them.

A record (a row of the original, known again by its key) has a *bundle*: its rows in all releases, or its absence from some. All
bundles of a person together are the person's *chain*: in every release one pseudonym, drawn anew each time. Outsiders know
everybody's rows, how many there are, and which of them are in the data of which release (``cohorts: known``), and may be told which
pseudonyms of different releases are the same person. They see *worlds*: ways to hand chains out to people, and the bundles of a
chain to different records of that person that fit them.

Notation
    look    what a bundle shows in the columns that the outsider knows, release by release, absence included
    class   people whose chains have equally many bundles of every look: n of them
    slot    the bundles of a class that have one look
    ever    the values of a hidden column that somebody has in whichever bundle

Guarantee
    k       n ≥ k. Let a and b be chains of one class. Whoever has records that fit a has records that fit b, since fitting is a
            matter of looks; so a world stays one when the people who have a and b trade their chains. Every chain of the class is
            then equally likely a given person's, and each with at most 1/n ≤ 1/k, for whoever knows the rows of that person or of
            everybody.
    events  Bundles of one slot trade places in the same way, within a chain and between chains. So a record of somebody has a value
            with the share that the value has in a slot, and with no more than the largest such share.
    ever    Somebody has a value with the share of the people of a class who ever have it: it is certain only when all of them do.

    Equal bags of rows in every release are not enough: two visits that traded places between two releases tell, by their hidden
    values, whose they are. The bundles must be alike, so rows that looked alike once look alike in every later release, row by row.
    Changed cells, rows that come later and rows that leave are looks like others, and free.

    A record that was left out of a release is absent from it like one that was not in its data: looks are all that a trade needs.
    Whoever is *not* told which pseudonyms belong together has an average over all ways to tie them; in each that an audit would
    have let pass the bound holds, so it holds for whoever believes the certificate.

    Bundles are of releases that a column ties together which nobody is known by. Releases without one in common, and those that
    show quasi-identifiers alone, are judged each by itself, for who is not told which pseudonyms belong together: nothing says so.

Fail closed: releases that do not say whose rows they are, or say it otherwise, whose rows nothing ties, and values that change
are not judged; nor are outsiders who do not know who is in which release.

Cost: one sort of records for each table, one of people.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.bags import alike_bags
from sfumato.errors import LedgerError
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint
from sfumato.history.trees import HiddenValues
from sfumato.release.past import NO_ROW, WHOSE, History


def ties_rows(history: History) -> bool:
    """Whether pseudonyms tie the rows of a person, by the word of the newest release."""
    person = history.releases[-1].cover.policy.person if history else None
    return person is not None and person.linked


class LinkedPeople:
    """Everybody of a history: the person of every record, and what was told of records."""

    def __init__(self, bundles: Bundles) -> None:
        whose = bundles.values.newest.get(WHOSE)
        if whose is None or (whose < 0).any():
            raise LedgerError("not every release says whose its rows are", hint="begin a ledger of its own")
        self.bundles, self.whose = bundles, whose

    def classes(self, joint: Joint) -> IntArray:
        """The class of everybody, −1 for who stands in no table of the bundle."""
        told = joint.of >= 0
        people, person = np.unique(self.whose[told], return_inverse=True)
        of = np.full(int(self.whose.max(initial=-1)) + 1, -1, dtype=np.int64)
        of[people] = alike_bags(person.astype(np.int64), joint.of[told])
        return of

    def values(self, joint: Joint, name: str) -> tuple[IntArray, tuple[str, ...]]:
        """The value of every record in a hidden column, −1 where none was told, and the labels of values."""
        tables = [table for sheet in joint.sheets for table in sheet.tables()]
        told = HiddenValues.told(tables, name, self.bundles.people)
        if told.changed.any():
            raise LedgerError(
                f"values of '{name}' changed between releases, and people in several rows are known by values that stay"
            )
        rows = np.array([label != NO_ROW for label in told.labels], dtype=np.bool_)
        return np.where((told.of >= 0) & np.append(rows, False)[told.of], told.of, -1), told.labels
