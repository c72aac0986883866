"""Records of people in several rows that could be of another history class than their own, as far as outsiders can tell.

Cells overlap, so a record may lie in all cells that another history class was published with. Whoever counts the rows of a person
that could stand behind a group (`history.people`) counts it there, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray, places_within
from sfumato.data.classes import group
from sfumato.history.people import PeopleOfHistory
from sfumato.methods.continuing import Continuation, Ties


@dataclass(frozen=True, eq=False)
class OtherClasses:
    """Pairs of a record that may be published and a history class, not its own, that it could be of."""

    record: IntArray
    history: IntArray
    left_out: IntArray
    """Per history class the most records of one person that could be of it and are withheld."""
    most_left_out: int
    """The most records of one person that are withheld."""

    def beside(self, history: IntArray | None, boxes: int) -> IntArray:
        """How many withheld records of one person count in each box, wherever they lie."""
        return np.full(boxes, self.most_left_out, dtype=np.int64) if history is None else self.left_out[history]


def other_classes(going: Continuation, person: IntArray) -> OtherClasses | None:
    """Who could be elsewhere; `person` is whose each record of the task's table is. Nothing when each row is a person."""
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
    left = group([history[out], person[record[out]]], rows=len(out))
    left_out = np.zeros(len(leaf), dtype=np.int64)
    np.maximum.at(left_out, history[out][left.first], left.counts)
    new = np.bincount(person[(inside < 0) & (of_record < 0)]).max(initial=0)  # who was never published could be any newcomer
    left_out[leaf[0]] += new if leaf[0] >= 0 else 0
    mine = np.flatnonzero(here & (inside[record] >= 0))
    mine = mine[going.apart[inside[record[mine]]] != history[mine]]
    most = int(np.bincount(person[inside < 0]).max(initial=0))
    return OtherClasses(inside[record[mine]], history[mine], left_out, most)


def _could_be_of(tied: Ties, people: PeopleOfHistory, hist: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of a record of the past and a history class, −1 where nobody was published before, that it could be of."""
    one = np.flatnonzero(hist >= 0)
    first = one[np.unique(hist[one], return_index=True)[1]]
    found = []
    for _, joint in tied.classes:
        record, of = people.fitting(joint)
        mine = joint.of[first]  # per history class the joint class that it lies in
        order = np.argsort(mine, kind="stable")
        start, stop = np.searchsorted(mine[order], of, "left"), np.searchsorted(mine[order], of, "right")
        width = stop - start
        found.append((np.repeat(record, width), order[np.repeat(start, width) + places_within(width)]))
    unseen = np.flatnonzero(~people.in_data[~np.array(people.lossy, dtype=np.bool_)].any(axis=0))
    found.append((unseen, np.full(len(unseen), -1, dtype=np.int64)))
    record, could = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    pairs = group([record, could + 1], rows=len(record))
    return record[pairs.first], could[pairs.first]
