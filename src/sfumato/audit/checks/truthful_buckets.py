"""Truthful buckets: with the original, an anatomy shows the original's own rows, and each bucket lists values of its own rows.

Rows of an anatomy are exact, so the table with buckets must be the original's projection, row for row. Which record stands behind
a row tells which value belongs into its bucket: with the private trace of every row, without it of every kind of row that stands in
one bucket only. Where people who look alike stand in several buckets, each bucket must list at least the values of those who stand
in no other, all buckets together exactly the original's values, and there must be a way to seat everybody (see `placing`). Records
that a release of a history withholds stand nowhere: then only the trace tells which values belong to nobody.

Where rows lie elsewhere they are dealt once more there with the secret that the trace keeps, and compared with what was written.

Guarantee
    With the trace, and where people who look alike share one bucket, the number is exact; else at least so many values are wrong.
    None are only where a way to seat everybody was found; where none was found in time, nothing is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.listed_values import listed_values
from sfumato.audit.placing import PairCounts, can_be_seated
from sfumato.data.arrays import IntArray
from sfumato.data.classes import Classes, group, weighed
from sfumato.data.table import TextColumn
from sfumato.errors import DataError
from sfumato.forms.anatomy import BUCKET, AnatomyForm, sensitive_part
from sfumato.release.certificate import NOT_JUDGED, SOME_FOUND, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class TruthfulBuckets(Check):
    """Every row is a record's own, and every bucket lists the values of its rows."""

    name: ClassVar[str] = "truthful buckets"
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (AnatomyForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        if exhibit.counted:
            return self._elsewhere(exhibit)
        people = _alike(exhibit)
        rows, exact = _strangers(exhibit, people), True
        wrong = [f"{rows} rows are no record of the original"] if rows else []
        values = 0
        for name in _hidden(exhibit):
            lost, sure = _misplaced(exhibit, people, name)
            exact &= sure
            values += lost
            wrong += [f"{lost} listed values of '{name}' belong to nobody in their bucket"] if lost else []
        achieved = {"rows": rows, "values": values}
        why = "who stands in which bucket, or in none, only the private trace tells"
        said = unless_refuted(not wrong, "exact" if exact else SOME_FOUND, achieved, "; ".join(wrong), why)
        return Finding(self.name, required={"rows": 0, "values": 0}, **said)

    def _elsewhere(self, exhibit: Exhibit) -> Finding:
        """Rows lie elsewhere, and buckets that list the same are one here: what was compared there, and rows again by classes."""
        if exhibit.strangers is None or exhibit.misplaced is None:
            reason = "who stands in which bucket only the private trace tells, where the rows lie"
            return Finding(self.name, True, {"rows": 0, "values": 0}, {}, grade=NOT_JUDGED, reason=reason)
        rows, values = max(exhibit.strangers, _strangers(exhibit, _alike(exhibit))), exhibit.misplaced
        wrong = [f"{rows} rows are no record of the original"] if rows else []
        wrong += [f"{values} listed values belong to nobody in their bucket"] if values else []
        achieved = {"rows": rows, "values": values}
        return Finding(self.name, not wrong, {"rows": 0, "values": 0}, achieved, reason="; ".join(wrong))


def _hidden(exhibit: Exhibit) -> list[str]:
    return [name for name in exhibit.policy.sensitive if name in exhibit.policy.published and name not in exhibit.data.names]


def _shared(now: TextColumn, before: TextColumn) -> IntArray:
    """Published cells and original ones in the same codes, one after the other."""
    known = {label: code for code, label in enumerate(before.labels)}
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(now.labels)], dtype=np.int64)
    return np.concatenate([codes[now.codes], before.codes.astype(np.int64)])


def _alike(exhibit: Exhibit) -> Classes:
    """Rows and records that look alike in everything visible, rows first."""
    table, original = exhibit.data, exhibit.original
    names = [name for name in exhibit.policy.published if name in table.names]
    return group([_shared(table.text(name), original.text(name)) for name in names], rows=table.rows + original.rows)


def _strangers(exhibit: Exhibit, people: Classes) -> int:
    """Rows more than records, and records more than rows, of each kind; as many records as are said to be withheld may lack one."""
    rows = exhibit.data.rows
    if exhibit.behind is not None and len(exhibit.behind["data"]) != rows:
        raise DataError("the private trace does not belong to as many rows as are published")
    shown = weighed(people.of[:rows], exhibit.data.counts, len(people))
    real = weighed(people.of[rows:], exhibit.original.counts, len(people))
    return int(np.maximum(shown - real, 0).sum() + max(np.maximum(real - shown, 0).sum() - withheld(exhibit), 0))


def withheld(exhibit: Exhibit) -> int:
    """Records that the release says it does not show; the suppression check judges that number."""
    return exhibit.records.suppressed if exhibit.records is not None else 0


def _misplaced(exhibit: Exhibit, people: Classes, name: str) -> tuple[int, bool]:
    """Listed values too many or too few in some bucket, and whether that is all that can be wrong."""
    text = exhibit.data.text(BUCKET)
    bucket, buckets = text.codes.astype(np.int64), len(text.labels)
    counts = exhibit.tables[sensitive_part(exhibit, name)]
    of_bucket, listed, weight = listed_values(counts, {label: code for code, label in enumerate(text.labels)})
    value = _shared(counts.text("value"), exhibit.original.text(name))
    own = value[len(listed) :]
    if exhibit.behind is not None:
        width = int(value.max(initial=0)) + 1
        entry, truth = of_bucket * width + value[: len(listed)], bucket * width + own[exhibit.behind["data"]]
        return _difference(entry, weight, truth, np.ones(len(truth), dtype=np.int64)), True
    rows = exhibit.data.rows
    if rows < exhibit.original.rows:  # whose values need not be listed only the trace tells
        ones = np.ones(len(own) + rows, dtype=np.int64)
        more = _difference(own, ones[: len(own)], value[: len(listed)], weight, only_missing=True)
        return max(more, _difference(of_bucket, weight, bucket, ones[:rows])), False
    seats = Seats(people.of[:rows], bucket, buckets)
    return seats.unplaced(people.of[rows:], own, (of_bucket, value[: len(listed)], weight))


@dataclass(frozen=True)
class Seats:
    """Who may sit where: kinds of rows that look alike, and the buckets they stand in."""

    kind: IntArray
    bucket: IntArray
    buckets: int

    def unplaced(self, kind: IntArray, own: IntArray, listed: tuple[IntArray, IntArray, IntArray]) -> tuple[int, bool]:
        """Of people of these kinds with these values: listed (bucket, value, count) too many or too few, and whether that is all.

        People whose kind stands in one bucket have their value listed there; the others can be seated in some way.
        """
        of_bucket, value, weight = listed
        ones = np.ones(len(own), dtype=np.int64)
        width = int(max(value.max(initial=0), own.max(initial=0))) + 1
        home, single = _homes(self.kind, self.bucket, int(max(self.kind.max(initial=0), kind.max(initial=0))) + 1, self.buckets)
        sure = single[kind]
        forced = home[kind[sure]] * width + own[sure]
        lost = _difference(of_bucket * width + value, weight, forced, ones[: len(forced)], only_missing=not sure.all())
        everywhere = _difference(value, weight, own, ones)
        uneven = _difference(of_bucket, weight, self.bucket, np.ones(len(self.bucket), dtype=np.int64))
        wrong = max(lost, everywhere, uneven)
        if wrong or sure.all():
            return wrong, bool(sure.all())
        way = can_be_seated(
            PairCounts.of(self.kind, self.bucket), PairCounts.of(kind, own), PairCounts.of(of_bucket, value, weight)
        )
        return int(way is False), way is True


def _homes(kind: IntArray, bucket: IntArray, kinds: int, buckets: int) -> tuple[IntArray, IntArray]:
    """The bucket of every kind of row, and which kinds stand in no other."""
    pairs = np.unique(kind * buckets + bucket)
    home = np.zeros(kinds, dtype=np.int64)
    home[pairs // buckets] = pairs % buckets
    return home, np.bincount(pairs // buckets, minlength=kinds) == 1


def _difference(one: IntArray, weight: IntArray, other: IntArray, often: IntArray, *, only_missing: bool = False) -> int:
    """How much two bags differ; `only_missing`: what the second has and the first lacks."""
    keys, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    left = np.bincount(place[: len(one)], weights=weight, minlength=len(keys))
    right = np.bincount(place[len(one) :], weights=often, minlength=len(keys))
    missing = float(np.maximum(right - left, 0).sum())
    return round(missing if only_missing else max(missing, float(np.maximum(left - right, 0).sum())))
