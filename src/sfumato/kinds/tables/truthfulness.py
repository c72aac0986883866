"""Truthfulness: every published cell covers the original value, and every row stands for a record of its own.


Boundaries
----------
Boundaries: no value is generalized beyond what the policy allows for it.

From the published files alone: no label stands that no value at all may rise to. With the original: the rows can be
matched to records such that no record is generalized beyond its own ceiling.

Paper: [boundaries Def. 5-7]


Cover
-----
Cover: can every published row stand for a record of its own among the originals?

A published row covers an original record when each quasi-identifier cell stands for a set that contains the original
value (and, for boundaries, does not reach beyond what that value allows) and every other column is the same. A release
is truthful when all rows can be matched to different records at once. On classes with counts that is a flow; with the
private provenance it is one comparison per row.

Cost: pairs of classes that agree on the exactly published columns; beyond `PAIRS` only necessary conditions are
checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray, NarrowArray, narrow_codes
from sfumato.core.errors import DataError
from sfumato.core.wording import Wording, join_names
from sfumato.data.equivalence_classes import EquivalenceClasses, class_counts, equivalence_classes_of, unit_weights
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.table import Table, TextColumn
from sfumato.io.hierarchy_files import is_standing
from sfumato.kinds.subtables.form import AnatomyForm, SubTables
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.generalizations import generalization_of
from sfumato.release.certificate import NOT_JUDGED, SOME_FOUND, Finding, one_sided_verdict
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class Truthfulness(Check):
    """Every published row covers a record of its own."""

    name: ClassVar[str] = "truthfulness"
    words: ClassVar[Wording] = Wording(
        title="Truthfulness",
        code="truthfulness",
        holds=(
            "All {details.rows} published records cover an original record each, in {details.compared}.",
            "Of {details.shown} published records, all but the {details.invented} declared counterfeit ones cover an"
            " original record each.",
            "All {details.rows} published records cover an original record each.",
            "Every published record that is not a declared counterfeit covers an original record.",
        ),
        violated=(
            "{found.rows published row/published rows} cover no original record.",
            "{reason}",
        ),
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private or exhibit.strangers is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        result = count_uncovered_rows(exhibit, bounded=False) if exhibit.private else UnmatchedRows(0)
        beside = [name for part in exhibit.parts.values() for name in part.beside]
        if beside and exhibit.strangers is None:
            reason = f"{len(beside)} column(s) beside the classes were not compared with the original"
            what = f"{result.rows} published rows cover no original record of their own; {reason}"
            said = one_sided_verdict(not result.rows, SOME_FOUND, {"rows": result.rows}, what, reason)
            return Finding(self.name, required={"rows": 0}, **said)
        result = replace(result, rows=max(result.rows, exhibit.strangers or 0))
        found = truthfulness_finding(self.name, result, "published rows cover no original record of their own")
        if not found.judged:
            return found
        return replace(found, details=_compared(exhibit), reason=found.reason or _left_out(exhibit))


def _compared(exhibit: ReleaseView) -> dict[str, Any]:
    """Return how many records were compared, beside how many that stand for nobody, and where not all columns were, in
    which."""
    invented, left_out = exhibit.of(Recoded).counterfeits, _beside_the_rows(exhibit)
    if invented:
        return {"shown": exhibit.data.records, "invented": invented}
    if not left_out:
        return {"rows": exhibit.data.records}
    return {"rows": exhibit.data.records, "compared": f"all columns but {join_names(left_out)}"}


def _beside_the_rows(exhibit: ReleaseView) -> list[str]:
    """Return the columns that other checks compare: shifted dates and calibrated weights."""
    policy = exhibit.policy
    return [name for name in policy.published if policy.columns[name].dates is not None or name == policy.calibrated]


def _left_out(exhibit: ReleaseView) -> str:
    """What was not compared record by record, or not with every row, in sentences; empty when everything was."""
    names, invented = _beside_the_rows(exhibit), exhibit.of(Recoded).counterfeits
    said = (
        [f"{', '.join(names)}: shifted dates and calibrated weights are compared by checks of their own"]
        if names
        else []
    )
    said += [f"up to {invented} rows may be counterfeit records"] if invented and exhibit.behind is None else []
    return "; ".join(said)


def count_changed_rows(exhibit: ReleaseView, table: Table, names: Sequence[str], part: str = "data") -> int:
    """Count rows of a part that are not published as they were in these columns.

    With provenance: rows that differ from the record behind them, that have none, or whose record stands behind another
    row, too. Without it: rows that no record of their own equals."""
    left, right = matching_sides(table, exhibit.original, (), names)
    if exhibit.behind is None:
        return count_unmatched_rows(left, right, ()).rows
    behind = exhibit.behind[part]
    real = np.flatnonzero(behind >= 0)
    return len(behind) - len(real) + count_mismatched_rows(left.of(real), right, (), behind[real]).rows


def count_uncovered_rows(exhibit: ReleaseView, *, bounded: bool) -> UnmatchedRows:
    """Rows that cannot stand for a record; `bounded`: within the boundaries of the policy."""
    policy, table, original = exhibit.policy, exhibit.data, exhibit.original
    may_change = [
        name for name in policy.published if policy.columns[name].role == "other" and policy.columns[name].hierarchy
    ]
    recoded = [name for name in (*policy.quasi_identifiers, *may_change) if name in table.names]
    as_is = [name for name in policy.published if policy.columns[name].dates is None and name != policy.calibrated]
    same = [name for name in as_is if name in table.names and name not in recoded]
    left, right = matching_sides(table, original, recoded, same)
    may = [
        allowed_labels(
            table.text(name),
            original.text(name),
            generalization_of(policy, name, original.text(name).labels),
            bounded=bounded,
        )
        for name in recoded
    ]
    invented = exhibit.of(Recoded).counterfeits
    if exhibit.behind is not None:
        return _without_counterfeits(left, right, may, exhibit.behind["data"], invented)
    result = count_unmatched_rows(left, right, may)
    return replace(result, rows=max(0, result.rows - invented))


def _without_counterfeits(
    left: MatchingSide, right: MatchingSide, may: list[AllowedLabels], behind: IntArray, invented: int
) -> UnmatchedRows:
    """Rows with nobody behind them must be the counterfeits that the manifest admits to; all others are compared."""
    real = behind >= 0
    shown = left if real.all() else left.of(np.flatnonzero(real))
    result = count_mismatched_rows(shown, right, may, behind[real])
    return replace(result, rows=result.rows + abs(int(left.many().sum()) - int(shown.many().sum()) - invented))


def truthfulness_finding(name: str, result: UnmatchedRows, what: str) -> Finding:
    """The finding for a number of rows that fail."""
    grade, why = (
        "exact" if result.exact else SOME_FOUND,
        "too many rows may stand for too many records to compare them all",
    )
    reason = f"{result.rows} {what}" if result.rows else ""
    said = one_sided_verdict(
        not result.rows, grade, {"rows": result.rows}, reason, f"{why}; none that was compared is wrong"
    )
    return Finding(name, required={"rows": 0}, **said)


# Boundaries
# ----------


class Boundaries(Check):
    """No value is generalized beyond its boundary."""

    name: ClassVar[str] = "boundaries"
    words: ClassVar[Wording] = Wording(
        title="Generalization limits",
        code="generalization-limits",
        holds="No value is generalized beyond its limit.",
        violated=(
            "{found.cells cell/cells} are generalized beyond their limit.",
            "{found.rows row/rows} can only stand for records generalized beyond their limit.",
        ),
    )
    on_classes: ClassVar[bool] = True
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm, SubTables)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(_bounded(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        names = _bounded(exhibit)
        known = [name for name in names if exhibit.private or is_standing(exhibit.policy.columns[name].hierarchy)]
        counted = [_beyond(exhibit, name, table) for name in known for table in _showing(exhibit, name)]
        alone, unsure = sum(wrong for wrong, _ in counted), sum(unsure for _, unsure in counted)
        if not alone and exhibit.private and isinstance(exhibit.form, Recoded):
            words = "rows can only stand for records generalized beyond their boundary"
            return truthfulness_finding(self.name, _beyond_alone(exhibit), words)
        if not alone and len(known) < len(names):
            reason = (
                f"hierarchies of {len(names) - len(known)} column(s) are built from original values; give the original"
                " to judge them"
            )
            return Finding(self.name, True, {"cells": 0}, {}, grade=NOT_JUDGED, reason=reason)
        reason = f"{alone} cells are generalized beyond every boundary" if alone else ""
        why = (
            f"{unsure} cells lie above the boundary of some values they may stand for; give the original to judge them"
        )
        said = one_sided_verdict(not alone, SOME_FOUND if unsure else "exact", {"cells": alone}, reason, why)
        return Finding(self.name, required={"cells": 0}, **said)


def _beyond_alone(exhibit: ReleaseView) -> UnmatchedRows:
    """Rows that cover records, and none within its boundary; those that cover no record at all are untruthful, which
    is a finding of its own."""
    within = count_uncovered_rows(exhibit, bounded=True)
    if not within.rows:
        return within
    anywhere = count_uncovered_rows(exhibit, bounded=False)
    return UnmatchedRows(max(0, within.rows - anywhere.rows), within.exact and anywhere.exact)


def _bounded(exhibit: ReleaseView) -> list[str]:
    """Published columns with a boundary."""
    return [name for name in exhibit.policy.published if exhibit.policy.columns[name].boundary is not None]


def _showing(exhibit: ReleaseView, name: str) -> list[Table]:
    """The parts that show a column; one that shows it nowhere is missed by the form."""
    return [table for table in exhibit.tables.values() if name in table.names]


def _beyond(exhibit: ReleaseView, name: str, table: Table) -> tuple[int, int]:
    """Cells of a column whose label no leaf may rise to, or that is no label at all; and those that some leaves may not
    rise to."""
    text = table.text(name)
    values = exhibit.original.text(name).labels if exhibit.original is not None else ()
    domain = generalization_of(exhibit.policy, name, values or [label for label in text.labels if label == MISSING])
    floor, roof = domain.ceiling()
    order = np.argsort(floor, kind="stable")
    start, reach = (
        floor[order],
        np.maximum.accumulate(roof[order]),
    )  # the furthest end of a ceiling that begins here or before
    spans = np.array([domain.interval(label) or (-1, 0) for label in text.labels], dtype=np.int64).reshape(-1, 2)
    place = np.searchsorted(start, spans[:, 0], side="right") - 1
    wrong = (spans[:, 0] < 0) | (place < 0) | (reach[np.maximum(place, 0)] < spans[:, 1])
    some = ~wrong & np.array(
        [(floor[lo:hi] > lo).any() or (roof[lo:hi] < hi).any() for lo, hi in spans.tolist()], dtype=np.bool_
    )
    return int(text.counts()[wrong].sum()), int(text.counts()[some].sum())


# Cover
# -----


PAIRS = 400_000_000
_CHUNK = 8_000_000
_LARGE = 50_000
_MOST, _WORD = (1 << 31) - 1, 1 << 62
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class MatchingSide:
    """One side of the matching: rows as codes per recoded column, and as one number over the exact columns."""

    recoded: tuple[NarrowArray, ...]
    exact: IntArray
    counts: IntArray | None = None
    """How many records each row stands for; one without."""

    def of(self, rows: IntArray) -> MatchingSide:
        """Some of the rows."""
        counts = None if self.counts is None else self.counts[rows]
        return MatchingSide(tuple(codes[rows] for codes in self.recoded), self.exact[rows], counts)

    def many(self) -> IntArray:
        return unit_weights(len(self.exact)) if self.counts is None else self.counts


@dataclass(frozen=True, slots=True)
class UnmatchedRows:
    """How many published rows stand for nobody, and whether that is the exact number or at least that many."""

    rows: int
    exact: bool = True


def matching_sides(
    published: Table, original: Table, recoded: Sequence[str], same: Sequence[str]
) -> tuple[MatchingSide, MatchingSide]:
    """Both sides, with the exact columns numbered alike."""
    left, right, span = np.zeros(published.rows, dtype=np.int64), np.zeros(original.rows, dtype=np.int64), 1
    for name in same:
        mine, theirs = published.text(name), original.text(name)
        known = {label: code for code, label in enumerate(theirs.labels)}
        translate = np.array([known.get(label, len(known) + i) for i, label in enumerate(mine.labels)], dtype=np.int64)
        radix = len(known) + len(mine.labels)
        if span * radix >= _WORD:
            both = np.unique(np.concatenate([left, right]), return_inverse=True)[1]
            left, right, span = both[: len(left)], both[len(left) :], len(both)
        left, right, span = left * radix, right * radix, span * radix
        left += translate[mine.codes]
        right += theirs.codes
    return (
        MatchingSide(tuple(_narrow(published.text(name)) for name in recoded), left, published.counts),
        MatchingSide(tuple(_narrow(original.text(name)) for name in recoded), right, original.counts),
    )


def _narrow(text: TextColumn) -> NarrowArray:
    return narrow_codes(text.codes, len(text.labels))


@dataclass(frozen=True)
class AllowedLabels:
    """Which published label may stand for which original value: the leaves that each label covers, the leaf of each
    value.

    No matrix of labels and values is made until pairs of all with all are asked for.
    """

    lo: IntArray
    hi: IntArray
    leaf: IntArray
    """−1 for a value that is no leaf: no label stands for it."""
    floor: IntArray | None = None
    roof: IntArray | None = None
    """The ceiling of each value, when labels must lie within it."""

    def pairs(self, label: NDArray[np.integer], value: NDArray[np.integer]) -> BoolArray:
        """For each label beside its value: may it stand for it?"""
        lo, hi, leaf = self.lo[label], self.hi[label], self.leaf[value]
        fits: BoolArray = (lo <= leaf) & (leaf < hi) & (leaf >= 0)
        if self.floor is not None and self.roof is not None:
            fits &= (self.floor[value] <= lo) & (hi <= self.roof[value])
        return fits

    def beside(self, label: NarrowArray, value: NarrowArray) -> BoolArray:
        """`pairs` for many rows: every label with every value is looked at once, where that is less."""
        if len(self.lo) * len(self.leaf) > len(label):
            return self.pairs(label, value)
        fits: BoolArray = self.products(np.arange(len(self.lo)), np.arange(len(self.leaf))).ravel()
        chosen: BoolArray = fits[label.astype(np.int64) * len(self.leaf) + value]
        return chosen

    def products(self, label: NDArray[np.integer], value: NDArray[np.integer]) -> BoolArray:
        """For every label with every value."""
        return self.pairs(label[:, None], value[None, :])


def allowed_labels(label: TextColumn, value: TextColumn, domain: Generalization, *, bounded: bool) -> AllowedLabels:
    """What the labels of a column may stand for (within the ceiling of each value, when `bounded`)."""
    spans = [domain.interval(text) or (0, 0) for text in label.labels]
    lo, hi = (
        np.array([span[0] for span in spans], dtype=np.int64),
        np.array([span[1] for span in spans], dtype=np.int64),
    )
    leaf = np.array([domain.code_of.get(text, -1) for text in value.labels], dtype=np.int64)
    if not bounded:
        return AllowedLabels(lo, hi, leaf)
    floor, roof = domain.ceiling()
    return AllowedLabels(lo, hi, leaf, floor[leaf], roof[leaf])


def count_mismatched_rows(
    left: MatchingSide, right: MatchingSide, may: Sequence[AllowedLabels], behind: IntArray
) -> UnmatchedRows:
    """With the provenance: rows that do not cover the record behind them, or ask more of a class of records than it
    has."""
    wrong = left.exact != right.exact[behind]
    for mine, theirs, may_be in zip(left.recoded, right.recoded, may, strict=True):
        wrong |= ~may_be.beside(mine, theirs[behind])
    asked = class_counts(behind, left.counts, len(right.exact))
    repeated = int(np.maximum(asked - right.many(), 0).sum())
    return UnmatchedRows(int(left.many()[wrong].sum()) + repeated)


def count_unmatched_rows(left: MatchingSide, right: MatchingSide, may: Sequence[AllowedLabels]) -> UnmatchedRows:
    """Without the provenance: published rows left over by the best matching."""
    rows = equivalence_classes_of([left.exact, *left.recoded], weights=left.counts)
    records = equivalence_classes_of([right.exact, *right.recoded], weights=right.counts)
    component = _components(left.exact[rows.first], right.exact[records.first])
    if int((component.left_size * component.right_size).sum()) > PAIRS:
        return UnmatchedRows(_column_by_column(left, right, may), exact=False)
    pairs = _pairs(left, right, rows, records, component, may)
    return UnmatchedRows(_leftover(pairs, rows.counts, records.counts))


@dataclass(frozen=True, slots=True)
class _Components:
    """Classes of both sides sorted by their exact columns, with the slice of each value that occurs on the left."""

    left_order: IntArray
    right_order: IntArray
    left_start: IntArray
    left_size: IntArray
    right_start: IntArray
    right_size: IntArray

    def members(self, i: int) -> tuple[IntArray, IntArray]:
        """The classes of both sides in component i."""
        mine = self.left_order[self.left_start[i] : self.left_start[i] + self.left_size[i]]
        theirs = self.right_order[self.right_start[i] : self.right_start[i] + self.right_size[i]]
        return mine, theirs


def _components(left: IntArray, right: IntArray) -> _Components:
    left_order, right_order = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    value, start, size = np.unique(left[left_order], return_index=True, return_counts=True)
    right_start = np.searchsorted(right[right_order], value, side="left")
    right_size = np.searchsorted(right[right_order], value, side="right") - right_start
    return _Components(left_order, right_order, start, size, right_start, right_size)


def _pairs(
    left: MatchingSide,
    right: MatchingSide,
    rows: EquivalenceClasses,
    records: EquivalenceClasses,
    component: _Components,
    may: Sequence[AllowedLabels],
) -> tuple[IntArray, IntArray]:
    """Pairs of classes (published, original) where the first may stand for the second."""
    mine = [codes[rows.first] for codes in left.recoded]
    theirs = [codes[records.first] for codes in right.recoded]
    weight = component.left_size * component.right_size
    large, small = np.flatnonzero(weight > _LARGE), np.flatnonzero((weight > 0) & (weight <= _LARGE))
    found = [pair for i in large for pair in _block(component, int(i), mine, theirs, may)]
    for batch in np.split(small, np.flatnonzero(np.diff(np.cumsum(weight[small]) // _CHUNK)) + 1):
        a, b = _products(component, batch)
        for my_codes, their_codes, may_be in zip(mine, theirs, may, strict=True):
            fits = may_be.pairs(my_codes[a], their_codes[b])
            a, b = a[fits], b[fits]
        found.append((a, b))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _block(
    component: _Components, i: int, mine: list[NarrowArray], theirs: list[NarrowArray], may: Sequence[AllowedLabels]
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs inside one large component, from boolean matrices of bounded size."""
    a, b = component.members(i)
    step = max(1, _CHUNK // len(b))
    for first in range(0, len(a), step):
        part = a[first : first + step]
        fits = np.ones((len(part), len(b)), dtype=np.bool_)
        for my_codes, their_codes, may_be in zip(mine, theirs, may, strict=True):
            fits &= may_be.products(my_codes[part], their_codes[b])
        row, column = np.nonzero(fits)
        yield part[row], b[column]


def _products(component: _Components, batch: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs inside some small components."""
    left, right = [_NONE], [_NONE]
    for i in batch:
        mine, theirs = component.members(int(i))
        left.append(np.repeat(mine, len(theirs)))
        right.append(np.tile(theirs, len(mine)))
    return np.concatenate(left), np.concatenate(right)


def _leftover(pairs: tuple[IntArray, IntArray], supply: IntArray, demand: IntArray) -> int:
    """Published rows that a maximum flow cannot place."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    if int(supply.sum()) > _MOST:
        raise DataError("more records than can be matched without the private provenance")
    a, b = pairs
    demand = np.minimum(demand, int(supply.sum()))
    source, sink = len(supply) + len(demand), len(supply) + len(demand) + 1
    tail = np.concatenate([np.full(len(supply), source), a, len(supply) + np.arange(len(demand))])
    head = np.concatenate([np.arange(len(supply)), len(supply) + b, np.full(len(demand), sink)])
    capacity = np.concatenate([supply, np.minimum(supply[a], demand[b]), demand]).astype(np.int32)
    network = csr_array((capacity, (tail, head)), shape=(sink + 1, sink + 1))
    return int(supply.sum()) - int(maximum_flow(network, source, sink).flow_value)


def _column_by_column(left: MatchingSide, right: MatchingSide, may: Sequence[AllowedLabels]) -> int:
    """Rows that cannot be placed even when each column is looked at alone: a lower bound."""
    worst = 0
    for mine, theirs, may_be in zip(left.recoded, right.recoded, may, strict=True):
        one, other = MatchingSide((mine,), left.exact), MatchingSide((theirs,), right.exact)
        rows, records = (
            equivalence_classes_of([left.exact, mine], weights=left.counts),
            equivalence_classes_of([right.exact, theirs], weights=right.counts),
        )
        pairs = _pairs(
            one, other, rows, records, _components(left.exact[rows.first], right.exact[records.first]), [may_be]
        )
        worst = max(worst, _leftover(pairs, rows.counts, records.counts))
    return worst
