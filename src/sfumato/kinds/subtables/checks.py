"""Agreement: the sub-tables of a release speak about the same people, show every column, and with the original say the
truth.

From the published files: columns that two tables share are distributed alike in both, and every column the policy
publishes is in some table. With the original: every table is the original's own projection (values as they are, or
generalized truthfully), and sensitive values are the original's, in their bucket where no other bucket has a row that
looks alike. With the private provenance: every bucket holds its own rows' values, and no two tables have the same row
order. Records that a release of a history suppresses are in no table: as many as the release states, and with the
provenance the same ones in all tables. Without it every table must be a part of the original's projection, and the
values of its buckets are not assessed.

If rows stay on a cluster only distinct rows with counts are available, and equal buckets are one. There the rows are
assigned to buckets again with the secret of the provenance, and compared with the source on the cluster.


Truthful buckets
----------------
Truthful buckets: with the original, an anatomy shows the original's own rows, and each bucket lists values of its own
rows.

Rows of an anatomy are exact, so the table with buckets must be the original's projection, row for row. The record
behind a row determines the value in its bucket. It is known for every row with the private provenance, and otherwise
for every kind of row that occurs in one bucket only. If equal rows occur in several buckets, each bucket must list at
least the values of rows that occur in no other. All buckets together must list exactly the original's values, and an
assignment of all rows must exist (see `placing`). Records that a release of a history suppresses stand nowhere: then
only the provenance tells which values belong to nobody.

If rows stay on a cluster they are assigned again there with the secret of the provenance, and compared with what was
written.

Guarantee
    With the provenance, and where people who look alike share one bucket, the number is exact; else at least so many
    values are wrong. None are only where a way to seat everybody was found; where none was found in time, nothing is
    judged.


Placing
-------
Placing: whether the values that buckets list can be those of their rows.

Rows that look alike are one kind. For every kind the number of rows per bucket and the values of its people are known;
for every bucket the values it lists. Who of a kind stands where, nobody knows: the lists are possible when some way to
seat the people gives every bucket its list. Kinds that occur in one bucket are placed already; for the others an
integer program searches an assignment.

Guarantee
    ``True``: a way was found and counted again. ``False``: there is none. ``None``: too large, or not decided in time.

Notation
    x[k, b, v]   people of kind k with value v in bucket b;  its three sums over one index are given

Cost: one program over the kinds in several buckets and the values left there; `_LARGEST` unknowns, `_SECONDS` at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray, positions_in_runs
from sfumato.core.wording import Wording
from sfumato.data.equivalence_classes import EquivalenceClasses, class_counts, equivalence_classes_of
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.person_evidence import listed_values
from sfumato.kinds.subtables.form import BUCKET as form_BUCKET
from sfumato.kinds.subtables.form import AnatomyForm, SubTables, sensitive_part, sub_tables
from sfumato.kinds.subtables.joint_estimate import BUCKET, Published, PublishedSubTables
from sfumato.kinds.tables.form import Recoded
from sfumato.kinds.tables.truthfulness import count_changed_rows, count_uncovered_rows
from sfumato.release.certificate import NOT_JUDGED, SOME_FOUND, Finding, one_sided_verdict
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView

Columns = Mapping[str, IntArray]
_SAME_PLACE = 0.5
_FOREIGN = "has buckets that do not list the values of their own rows"


class Agreement(Check):
    """Sub-tables are complete, agree with each other, and with the original when it is at hand."""

    name: ClassVar[str] = "agreement"
    words: ClassVar[Wording] = Wording(
        title="Sub-tables",
        code="subtables-agree",
        holds=(
            "All {details.tables} tables are complete and agree on shared columns.",
            "All tables are complete and agree on shared columns.",
        ),
        violated="The tables contradict each other or the original: {reason}",
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        tables = exhibit.once(sub_tables)
        wrong, unsure = [*_incomplete(exhibit, tables), *_contradictions(tables)], 0
        if exhibit.private:
            wrong += [f"{table.name} {what}" for table in tables.tables for what in _untrue(exhibit, tables, table)]
            hiding = [table for table in tables.tables if table.bucket is not None]
            own = [_own_values(exhibit, tables, table) for table in hiding]
            wrong += [f"{table.name} {_FOREIGN}" for table, fits in zip(hiding, own, strict=True) if fits is False]
            wrong += [f"{exhibit.strangers} rows are no record of the original"] if exhibit.strangers else []
            unsure = own.count(None)
        if exhibit.behind is not None:
            wrong += [*_linked(exhibit), *_different_people(exhibit)]
        why = f"whose values the buckets of {unsure} table(s) list is not judged without the private provenance"
        said = one_sided_verdict(
            not wrong, SOME_FOUND if unsure else "exact", {"tables": len(wrong)}, "; ".join(wrong), why
        )
        return Finding(self.name, required={"tables": 0}, **said)


def _incomplete(exhibit: ReleaseView, tables: PublishedSubTables) -> list[str]:
    shown = frozenset().union(*(table.columns for table in tables.tables))
    lost = [f"no table shows column '{name}'" for name in exhibit.policy.published if name not in shown]
    return lost + [
        f"column '{name}' is published but not by the policy" for name in sorted(shown - set(exhibit.policy.published))
    ]


def _contradictions(tables: PublishedSubTables) -> list[str]:
    """Shared visible columns must have the same joint distribution in both tables."""
    wrong = []
    for one, other in combinations(tables.tables, 2):
        shared = sorted(set(one.visible) & set(other.visible))
        if shared and not _same(one.visible, one.often, other.visible, other.often, shared):
            wrong.append(f"{one.name} and {other.name} do not agree on the columns they share")
    return wrong


def _same(one: Columns, often: IntArray, other: Columns, times: IntArray, names: list[str]) -> bool:
    """Whether some columns have the same tuples, each equally often, in two tables."""
    classes = equivalence_classes_of([np.concatenate([one[name], other[name]]) for name in names])
    half = len(often)
    left, right = (
        class_counts(classes.of[:half], often, len(classes)),
        class_counts(classes.of[half:], times, len(classes)),
    )
    return bool((left == right).all())


def _untrue(exhibit: ReleaseView, tables: PublishedSubTables, table: Published) -> Iterator[str]:
    original = _behind(exhibit, table)
    exact = _exact(tables, table, original) if exhibit.behind is None else _exact_by_row(exhibit, table)
    if not 0 <= exhibit.original.records - table.people <= count_suppressed_records(exhibit):
        yield "does not have as many rows as the original"
        return
    if table.visible and not exact and (_elsewhere(exhibit, table) or _uncovered(exhibit, table)):
        yield "has rows that stand for no record of the original"
    for name in table.hidden:
        if not _hidden_values(tables, table, original, name):
            yield f"lists values of '{name}' that are not the original's"


def _behind(exhibit: ReleaseView, table: Published) -> Table:
    """Return the records behind a table: all of them, or those in the provenance if some are suppressed."""
    original: Table = exhibit.original
    if exhibit.behind is None or original.records == table.people:
        return original
    return Table(original.frame.take(pa.array(exhibit.behind[table.name])))


def _recoded(tables: PublishedSubTables, original: Table, name: str) -> IntArray:
    """The original column in the codes of the published one; values never published get codes of their own."""
    known = {label: code for code, label in enumerate(tables.labels[name])}
    text = original.text(name)
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(text.labels)], dtype=np.int64)
    return codes[text.codes]


def _exact(tables: PublishedSubTables, table: Published, original: Table) -> bool:
    """Whether every row is a record of its own, as it is; then no record lacks a row where there are as many rows."""
    names = sorted(table.visible)
    both = equivalence_classes_of(
        [np.concatenate([table.visible[name], _recoded(tables, original, name)]) for name in names]
    )
    shown = class_counts(both.of[: table.rows], table.weights, len(both))
    return bool((shown <= class_counts(both.of[table.rows :], original.counts, len(both))).all())


def _exact_by_row(exhibit: ReleaseView, table: Published) -> bool:
    """Whether every row is the very record behind it, as it is."""
    return not count_changed_rows(exhibit, exhibit.tables[table.name], sorted(table.visible), table.name)


def _uncovered(exhibit: ReleaseView, table: Published) -> bool:
    """Generalized columns: some row covers no record of its own."""
    if any(
        exhibit.policy.columns[name].hierarchy is None and name not in exhibit.original.names for name in table.visible
    ):
        return True
    known = set(table.visible)
    columns = {
        name: column.model_copy(
            update={"role": "quasi-identifier" if name in known else "other", "publish": name in known}
        )
        for name, column in exhibit.policy.columns.items()
    }
    part = exhibit.parts[table.name].table
    part = part.drop_columns([BUCKET]) if BUCKET in part.column_names else part
    trace = Provenance() if exhibit.behind is None else Provenance({"data": exhibit.behind[table.name]})
    policy = replace(exhibit.policy, columns=columns)
    inner = replace(exhibit, form=Recoded(), parts={"data": Part(part)}, policy=policy, trace=trace)
    return bool(count_uncovered_rows(inner, bounded=True).rows)


def _hidden_values(tables: PublishedSubTables, table: Published, original: Table, name: str) -> bool:
    """Compare the counts of a sensitive column with the original; fewer are allowed if values are suppressed."""
    assert table.entry_count is not None
    truth = class_counts(_recoded(tables, original, name), original.counts, len(tables.labels[name]))
    listed = np.bincount(table.hidden[name], weights=table.entry_count, minlength=len(truth))
    fewer = table.withheld or table.people < original.records
    return bool((listed <= truth).all()) if fewer else bool((listed == truth).all())


def _own_values(exhibit: ReleaseView, tables: PublishedSubTables, table: Published) -> bool | None:
    """Whether buckets list the values of their own rows; nothing where that cannot be told."""
    if _elsewhere(exhibit, table):
        return None if exhibit.misplaced is None else exhibit.misplaced == 0
    if exhibit.original.rows < table.rows:
        return False
    return (
        _as_traced(exhibit, tables, table) if exhibit.behind is not None else _possible_values(exhibit, tables, table)
    )


def _elsewhere(exhibit: ReleaseView, table: Published) -> bool:
    """Whether only different rows with counts are at hand; such tables are exact, and buckets were compared where rows
    lie."""
    return table.weights is not None or exhibit.original.counts is not None


def _as_traced(exhibit: ReleaseView, tables: PublishedSubTables, table: Published) -> bool:
    assert exhibit.behind is not None
    assert table.bucket is not None
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    shown = table.bucket >= 0
    names = sorted(table.hidden)
    truth = [_recoded(tables, exhibit.original, name)[exhibit.behind[table.name]][shown] for name in names]
    own = [table.bucket[shown], *truth]
    listed = [table.entry_bucket, *(table.hidden[name] for name in names)]
    classes = equivalence_classes_of([np.concatenate(pair) for pair in zip(own, listed, strict=True)])
    half, weight = int(shown.sum()), table.entry_count.astype(np.float64)
    stated = np.bincount(classes.of[half:], weights=weight, minlength=len(classes))
    return bool((np.bincount(classes.of[:half], minlength=len(classes)) == stated).all())


def _possible_values(exhibit: ReleaseView, tables: PublishedSubTables, table: Published) -> bool | None:
    """Without provenance: check that an assignment exists, if no row is suppressed and nothing is generalized."""
    assert table.bucket is not None
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    fewer = table.withheld or table.rows < exhibit.original.rows
    if fewer or not table.visible or not _exact(tables, table, exhibit.original):
        return None
    truth = {name: _recoded(tables, exhibit.original, name) for name in table.columns}
    kinds = equivalence_classes_of([np.concatenate([codes, truth[name]]) for name, codes in table.visible.items()]).of
    values = equivalence_classes_of([np.concatenate([codes, truth[name]]) for name, codes in table.hidden.items()]).of
    entries = len(table.entry_bucket)
    seats = BucketRows(kinds[: table.rows], table.bucket, int(table.bucket.max(initial=0)) + 1)
    listed = table.entry_bucket, values[:entries], table.entry_count
    wrong, sure = seats.unplaced(kinds[table.rows :], values[entries:], listed)
    return False if wrong else True if sure else None


def _different_people(exhibit: ReleaseView) -> list[str]:
    """Check that all tables are about the same records; the view has checked that each is in a table once."""
    assert exhibit.behind is not None
    told = {name: np.sort(rows) for name, rows in exhibit.behind.items()}
    first = next(iter(told.values()), np.zeros(0, dtype=np.int64))
    return [f"{name} is not about the same records" for name, rows in told.items() if not np.array_equal(rows, first)]


def _linked(exhibit: ReleaseView) -> list[str]:
    """Two tables whose rows at the same place stand for the same person more often than not are linked by their
    order."""
    assert exhibit.behind is not None
    wrong = []
    for (one, left), (other, right) in combinations(exhibit.behind.items(), 2):
        if len(left) == len(right) and len(left) > 20 and float((left == right).mean()) > _SAME_PLACE:
            wrong.append(f"{one} and {other} have the same row order")
    return wrong


# Truthful buckets
# ----------------


class TruthfulBuckets(Check):
    """Every row is a record's own, and every bucket lists the values of its rows."""

    name: ClassVar[str] = "truthful buckets"
    words: ClassVar[Wording] = Wording(
        title="Buckets",
        code="buckets-truthful",
        holds="Every row is an original record, and every bucket lists the values of its own rows.",
    )
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (AnatomyForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
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
        why = "only the private provenance tells the bucket of a row, if any"
        said = one_sided_verdict(not wrong, "exact" if exact else SOME_FOUND, achieved, "; ".join(wrong), why)
        return Finding(self.name, required={"rows": 0, "values": 0}, **said)

    def _elsewhere(self, exhibit: ReleaseView) -> Finding:
        """Rows lie elsewhere, and buckets that list the same are one here: what was compared there, and rows again by
        classes."""
        if exhibit.strangers is None or exhibit.misplaced is None:
            reason = "only the private provenance tells the bucket of a row, where the rows are stored"
            return Finding(self.name, True, {"rows": 0, "values": 0}, {}, grade=NOT_JUDGED, reason=reason)
        rows, values = max(exhibit.strangers, _strangers(exhibit, _alike(exhibit))), exhibit.misplaced
        wrong = [f"{rows} rows are no record of the original"] if rows else []
        wrong += [f"{values} listed values belong to nobody in their bucket"] if values else []
        achieved = {"rows": rows, "values": values}
        return Finding(self.name, not wrong, {"rows": 0, "values": 0}, achieved, reason="; ".join(wrong))


def _hidden(exhibit: ReleaseView) -> list[str]:
    return [
        name for name in exhibit.policy.sensitive if name in exhibit.policy.published and name not in exhibit.data.names
    ]


def _shared(now: TextColumn, before: TextColumn) -> IntArray:
    """Published cells and original ones in the same codes, one after the other."""
    known = {label: code for code, label in enumerate(before.labels)}
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(now.labels)], dtype=np.int64)
    return np.concatenate([codes[now.codes], before.codes.astype(np.int64)])


def _alike(exhibit: ReleaseView) -> EquivalenceClasses:
    """Rows and records that look alike in everything visible, rows first."""
    table, original = exhibit.data, exhibit.original
    return equivalence_classes_of(
        [_shared(table.text(name), original.text(name)) for name in _visible(exhibit)], rows=table.rows + original.rows
    )


def _visible(exhibit: ReleaseView) -> list[str]:
    return [name for name in exhibit.policy.published if name in exhibit.data.names]


def _strangers(exhibit: ReleaseView, people: EquivalenceClasses) -> int:
    """Return rows without a record of their own, and records without a row beyond the stated number of suppressed ones.

    With provenance a row must be the very record behind it: rows that trade places among buckets are found by nothing
    else."""
    rows = exhibit.data.rows
    shown = class_counts(people.of[:rows], exhibit.data.counts, len(people))
    real = class_counts(people.of[rows:], exhibit.original.counts, len(people))
    lacking = max(int(np.maximum(real - shown, 0).sum()) - count_suppressed_records(exhibit), 0)
    if exhibit.behind is None:
        return int(np.maximum(shown - real, 0).sum()) + lacking
    return count_changed_rows(exhibit, exhibit.data, _visible(exhibit)) + lacking


def count_suppressed_records(exhibit: ReleaseView) -> int:
    """Records that the release says it does not show; the suppression check judges that number."""
    return exhibit.records.suppressed if exhibit.records is not None else 0


def _misplaced(exhibit: ReleaseView, people: EquivalenceClasses, name: str) -> tuple[int, bool]:
    """Listed values too many or too few in some bucket, and whether that is all that can be wrong."""
    text = exhibit.data.text(form_BUCKET)
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
    if rows < exhibit.original.rows:  # whose values need not be listed only the provenance tells
        ones = np.ones(len(own) + rows, dtype=np.int64)
        more = _difference(own, ones[: len(own)], value[: len(listed)], weight, only_missing=True)
        return max(more, _difference(of_bucket, weight, bucket, ones[:rows])), False
    seats = BucketRows(people.of[:rows], bucket, buckets)
    return seats.unplaced(people.of[rows:], own, (of_bucket, value[: len(listed)], weight))


@dataclass(frozen=True)
class BucketRows:
    """Possible assignments: kinds of equal rows, and the buckets in which they occur."""

    kind: IntArray
    bucket: IntArray
    buckets: int

    def unplaced(self, kind: IntArray, own: IntArray, listed: tuple[IntArray, IntArray, IntArray]) -> tuple[int, bool]:
        """Of people of these kinds with these values: listed (bucket, value, count) too many or too few, and whether
        that is all.

        Check that kinds in one bucket have their values listed there, and that the others can be assigned in some way.
        """
        of_bucket, value, weight = listed
        ones = np.ones(len(own), dtype=np.int64)
        width = int(max(value.max(initial=0), own.max(initial=0))) + 1
        home, single = _homes(
            self.kind, self.bucket, int(max(self.kind.max(initial=0), kind.max(initial=0))) + 1, self.buckets
        )
        sure = single[kind]
        forced = home[kind[sure]] * width + own[sure]
        lost = _difference(of_bucket * width + value, weight, forced, ones[: len(forced)], only_missing=not sure.all())
        everywhere = _difference(value, weight, own, ones)
        uneven = _difference(of_bucket, weight, self.bucket, np.ones(len(self.bucket), dtype=np.int64))
        wrong = max(lost, everywhere, uneven)
        if wrong or sure.all():
            return wrong, bool(sure.all())
        way = can_be_assigned(
            PairCounts.of(self.kind, self.bucket), PairCounts.of(kind, own), PairCounts.of(of_bucket, value, weight)
        )
        return int(way is False), way is True


def _homes(kind: IntArray, bucket: IntArray, kinds: int, buckets: int) -> tuple[IntArray, IntArray]:
    """Return the bucket of every kind of row, and which kinds occur in no other."""
    pairs = np.unique(kind * buckets + bucket)
    home = np.zeros(kinds, dtype=np.int64)
    home[pairs // buckets] = pairs % buckets
    return home, np.bincount(pairs // buckets, minlength=kinds) == 1


def _difference(
    one: IntArray, weight: IntArray, other: IntArray, often: IntArray, *, only_missing: bool = False
) -> int:
    """How much two bags differ; `only_missing`: what the second has and the first lacks."""
    keys, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    left = np.bincount(place[: len(one)], weights=weight, minlength=len(keys))
    right = np.bincount(place[len(one) :], weights=often, minlength=len(keys))
    missing = float(np.maximum(right - left, 0).sum())
    return round(missing if only_missing else max(missing, float(np.maximum(left - right, 0).sum())))


# Placing
# -------


_LARGEST, _SECONDS = 200_000, 8.0


@dataclass(frozen=True)
class PairCounts:
    """How often each pair of codes occurs."""

    left: IntArray
    right: IntArray
    count: IntArray

    @classmethod
    def of(cls, left: IntArray, right: IntArray, count: IntArray | None = None) -> PairCounts:
        width = int(right.max(initial=0)) + 1
        pairs, place = np.unique(left * width + right, return_inverse=True)
        weights = None if count is None else count.astype(np.float64)
        many = np.bincount(place.reshape(-1), weights=weights, minlength=len(pairs)).astype(np.int64)
        return cls(pairs // width, pairs % width, many)

    def where(self, chosen: NDArray[np.bool_]) -> PairCounts:
        return PairCounts(self.left[chosen], self.right[chosen], self.count[chosen])


def can_be_assigned(rows: PairCounts, people: PairCounts, listed: PairCounts) -> bool | None:
    """Rows by (kind, bucket), people by (kind, value) and lists by (bucket, value): whether they can belong
    together."""
    kinds = int(max(rows.left.max(initial=0), people.left.max(initial=0))) + 1
    single = np.bincount(rows.left, minlength=kinds) == 1
    rest = _without_seated(rows, people, listed, single)
    if rest is None:
        return False
    rows, people = rows.where(~single[rows.left]), people.where(~single[people.left])
    return _by_program(rows, people, rest) if len(rows.count) else not len(rest.count)


def _without_seated(
    rows: PairCounts, people: PairCounts, listed: PairCounts, single: NDArray[np.bool_]
) -> PairCounts | None:
    """Return the lists without the values of kinds that occur in one bucket; None if a list lacks one of them."""
    home = np.zeros(len(single), dtype=np.int64)
    home[rows.left] = rows.right
    seated = people.where(single[people.left])
    left = PairCounts.of(
        np.concatenate([listed.left, home[seated.left]]),
        np.concatenate([listed.right, seated.right]),
        np.concatenate([listed.count, -seated.count]),
    )
    return None if (left.count < 0).any() else left.where(left.count > 0)


def _by_program(rows: PairCounts, people: PairCounts, listed: PairCounts) -> bool | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    seat, entry = _meeting(rows.right, listed.left)  # every row kind beside every value of its bucket
    width = int(max(listed.right.max(initial=0), people.right.max(initial=0))) + 1
    owned = people.left * width + people.right
    wanted = rows.left[seat] * width + listed.right[entry]
    order = np.argsort(owned, kind="stable")
    place = np.minimum(np.searchsorted(owned[order], wanted), len(owned) - 1)
    able = owned[order][place] == wanted
    seat, entry, owner = seat[able], entry[able], order[place][able]
    if len(seat) > _LARGEST:
        return None
    sums = np.concatenate([rows.count, people.count, listed.count])
    line = np.concatenate([seat, len(rows.count) + owner, len(rows.count) + len(people.count) + entry])
    column = np.tile(np.arange(len(seat)), 3)
    if not len(seat):
        return not sums.any()
    matrix = coo_array((np.ones(len(line)), (line, column)), shape=(len(sums), len(seat))).tocsr()
    equal = LinearConstraint(matrix, sums, sums)
    most: FloatArray = np.minimum(rows.count[seat], listed.count[entry]).astype(np.float64)
    found = milp(
        np.zeros(len(seat)),
        constraints=equal,
        integrality=np.ones(len(seat)),
        bounds=Bounds(0, most),
        options={"time_limit": _SECONDS},
    )
    if found.x is not None:
        way = np.rint(found.x).astype(np.int64)
        return True if (way >= 0).all() and (matrix @ way == sums).all() else None
    return False if found.status == _INFEASIBLE else None


_INFEASIBLE = 2
"""SciPy's word for a program without a solution."""


def _meeting(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of places with equal codes."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, side="left")
    many = np.searchsorted(right[order], left, side="right") - first
    one = np.repeat(np.arange(len(left)), many)
    other = positions_in_runs(many) + np.repeat(first, many)
    return one, order[other]
