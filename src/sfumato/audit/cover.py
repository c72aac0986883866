"""Cover: can every published row stand for a record of its own among the originals?

A published row covers an original record when each quasi-identifier cell stands for a set that contains the original value
(and, for boundaries, does not reach beyond what that value allows) and every other column is the same. A release is truthful when
all rows can be matched to different records at once. On classes with counts that is a flow; with the private trace it is one
exhibit per row.

Cost: pairs of classes that agree on the exactly published columns; beyond `PAIRS` only necessary conditions are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray, NarrowArray, narrowed
from sfumato.data.classes import Classes, group, one_each, weighed
from sfumato.data.generalization import Generalization
from sfumato.data.table import Table, TextColumn
from sfumato.errors import DataError

PAIRS = 400_000_000
_CHUNK = 8_000_000
_LARGE = 50_000
_MOST, _WORD = (1 << 31) - 1, 1 << 62
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the matching: rows as codes per recoded column, and as one number over the exact columns."""

    recoded: tuple[NarrowArray, ...]
    exact: IntArray
    counts: IntArray | None = None
    """How many records each row stands for; one without."""

    def of(self, rows: IntArray) -> Side:
        """Some of the rows."""
        counts = None if self.counts is None else self.counts[rows]
        return Side(tuple(codes[rows] for codes in self.recoded), self.exact[rows], counts)

    def many(self) -> IntArray:
        return one_each(len(self.exact)) if self.counts is None else self.counts


@dataclass(frozen=True, slots=True)
class Unmatched:
    """How many published rows stand for nobody, and whether that is the exact number or at least that many."""

    rows: int
    exact: bool = True


def sides(published: Table, original: Table, recoded: Sequence[str], same: Sequence[str]) -> tuple[Side, Side]:
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
        Side(tuple(_narrow(published.text(name)) for name in recoded), left, published.counts),
        Side(tuple(_narrow(original.text(name)) for name in recoded), right, original.counts),
    )


def _narrow(text: TextColumn) -> NarrowArray:
    return narrowed(text.codes, len(text.labels))


@dataclass(frozen=True)
class Allowed:
    """Which published label may stand for which original value: the leaves that each label covers, the leaf of each value.

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


def allowed(label: TextColumn, value: TextColumn, domain: Generalization, *, bounded: bool) -> Allowed:
    """What the labels of a column may stand for (within the ceiling of each value, when `bounded`)."""
    spans = [domain.interval(text) or (0, 0) for text in label.labels]
    lo, hi = np.array([span[0] for span in spans], dtype=np.int64), np.array([span[1] for span in spans], dtype=np.int64)
    leaf = np.array([domain.code_of.get(text, -1) for text in value.labels], dtype=np.int64)
    if not bounded:
        return Allowed(lo, hi, leaf)
    floor, roof = domain.ceiling()
    return Allowed(lo, hi, leaf, floor[leaf], roof[leaf])


def mismatched(left: Side, right: Side, may: Sequence[Allowed], behind: IntArray) -> Unmatched:
    """With the trace: rows that do not cover the record behind them, or ask more of a class of records than it has."""
    wrong = left.exact != right.exact[behind]
    for mine, theirs, may_be in zip(left.recoded, right.recoded, may, strict=True):
        wrong |= ~may_be.beside(mine, theirs[behind])
    asked = weighed(behind, left.counts, len(right.exact))
    repeated = int(np.maximum(asked - right.many(), 0).sum())
    return Unmatched(int(left.many()[wrong].sum()) + repeated)


def unmatched(left: Side, right: Side, may: Sequence[Allowed]) -> Unmatched:
    """Without the trace: published rows left over by the best matching."""
    rows = group([left.exact, *left.recoded], weights=left.counts)
    records = group([right.exact, *right.recoded], weights=right.counts)
    component = _components(left.exact[rows.first], right.exact[records.first])
    if int((component.left_size * component.right_size).sum()) > PAIRS:
        return Unmatched(_column_by_column(left, right, may), exact=False)
    pairs = _pairs(left, right, rows, records, component, may)
    return Unmatched(_leftover(pairs, rows.counts, records.counts))


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
    left: Side, right: Side, rows: Classes, records: Classes, component: _Components, may: Sequence[Allowed]
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
    component: _Components, i: int, mine: list[NarrowArray], theirs: list[NarrowArray], may: Sequence[Allowed]
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
        raise DataError("more records than can be matched without the private trace")
    a, b = pairs
    demand = np.minimum(demand, int(supply.sum()))
    source, sink = len(supply) + len(demand), len(supply) + len(demand) + 1
    tail = np.concatenate([np.full(len(supply), source), a, len(supply) + np.arange(len(demand))])
    head = np.concatenate([np.arange(len(supply)), len(supply) + b, np.full(len(demand), sink)])
    capacity = np.concatenate([supply, np.minimum(supply[a], demand[b]), demand]).astype(np.int32)
    network = csr_array((capacity, (tail, head)), shape=(sink + 1, sink + 1))
    return int(supply.sum()) - int(maximum_flow(network, source, sink).flow_value)


def _column_by_column(left: Side, right: Side, may: Sequence[Allowed]) -> int:
    """Rows that cannot be placed even when each column is looked at alone: a lower bound."""
    worst = 0
    for mine, theirs, may_be in zip(left.recoded, right.recoded, may, strict=True):
        one, other = Side((mine,), left.exact), Side((theirs,), right.exact)
        rows, records = group([left.exact, mine], weights=left.counts), group([right.exact, theirs], weights=right.counts)
        pairs = _pairs(one, other, rows, records, _components(left.exact[rows.first], right.exact[records.first]), [may_be])
        worst = max(worst, _leftover(pairs, rows.counts, records.counts))
    return worst
