"""The maximum-likelihood distribution behind several published sub-tables, in closed form.

Paper
    [versatile §5.1]: log-linear model of the published marginals; decomposable, so p̃ = Π tables / Π shared columns.

Notation
    A *sheet* is one published sub-table in codes: rows (visible columns, weight, bucket) and, when it has buckets, entries
    (bucket, hidden columns, weight). Inside a bucket rows and hidden values are independent: a sheet with buckets is two
    marginals that share only the bucket number.

Invariants
    I1  p̃ agrees with every published marginal, and columns in different parts are independent given what their tables share.
    I2  Every published sheet describes the same people, so all have the same total.

Cost
    A COUNT query is linear in the number of distinct rows of the sheets it touches; a log-likelihood is one sparse product of
    rows × buckets and buckets × values (n·l entries) per sheet with buckets.

>>> left = SubTableSheet.of_rows({"a": np.array([0, 0, 1]), "b": np.array([0, 1, 1])})
>>> right = SubTableSheet.of_rows({"b": np.array([0, 1, 1]), "c": np.array([0, 0, 1])})
>>> JointEstimate([left, right]).count({"a": np.array([False, True]), "c": np.array([False, True])})
0.5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.decomposition.jointree import TreeEdge, join_tree
from sfumato.errors import ReleaseError

Columns = Mapping[str, IntArray]
_WITHHELD = 2_000_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Distinct rows of codes with weights."""

    columns: Columns
    weight: FloatArray

    @classmethod
    def of(cls, columns: Columns, weight: FloatArray | IntArray | None = None) -> Counted:
        classes = group(list(columns.values()))
        totals = np.bincount(classes.of, weights=weight, minlength=len(classes)).astype(np.float64)
        return cls({name: codes[classes.first] for name, codes in columns.items()}, totals)

    def total(self) -> float:
        return float(self.weight.sum())


@dataclass(frozen=True, slots=True)
class SubTableSheet:
    """One published sub-table in codes; `entries` when it has buckets."""

    visible: frozenset[str]
    rows: Counted
    hidden: frozenset[str] = frozenset()
    entries: Counted | None = None
    bucket: str = ""
    """The name under which rows and entries carry the bucket number."""

    @property
    def columns(self) -> frozenset[str]:
        return self.visible | self.hidden

    @classmethod
    def of_rows(
        cls, visible: Columns, buckets: IntArray | None = None, hidden: Columns | None = None, *, name: str = ""
    ) -> SubTableSheet:
        """From one row per person; `hidden` is published through `buckets` only."""
        if buckets is None or not hidden:
            return cls(frozenset(visible), Counted.of(visible))
        shown = buckets >= 0
        entries = Counted.of({**{column: codes[shown] for column, codes in hidden.items()}, f"#{name}": buckets[shown]})
        sizes = {column: int(codes.max()) + 1 for column, codes in hidden.items()}
        return cls.of_parts(visible, buckets, entries, f"#{name}", sizes)

    @classmethod
    def of_parts(
        cls,
        visible: Columns,
        buckets: IntArray,
        entries: Counted,
        name: str,
        sizes: Mapping[str, int],
        weights: IntArray | None = None,
    ) -> SubTableSheet:
        """From the two published tables of an anatomy; rows in bucket −1 have their hidden values withheld.

        Withheld means anything: every combination of the hidden columns' values (`sizes`) is taken as equally likely. `weights`
        say for how many people each row stands.
        """
        withheld = buckets < 0
        if withheld.any():
            number = int(buckets.max()) + 1
            buckets = np.where(withheld, number, buckets)
            people = withheld.sum() if weights is None else weights[withheld].sum()
            entries = _with_anything(entries, name, number, float(people), sizes)
        rows = Counted.of({**visible, name: buckets}, weights)
        return cls(frozenset(visible), rows, frozenset(entries.columns) - {name}, entries, name)

    def marginals(self) -> list[Counted]:
        return [self.rows] if self.entries is None else [self.rows, self.entries]

    def share_at(self, records: Columns) -> FloatArray:
        """The estimated probability of the records' values in this sheet's columns."""
        if self.entries is None:
            return _share(self.rows, self.visible, records)
        from scipy import sparse

        rows, of_row, of_record = _matched(self.rows, self.visible, records)
        entries, of_entry, of_value = _matched(self.entries, self.hidden, records)
        by_row, by_entry = self.rows.columns[self.bucket], self.entries.columns[self.bucket]
        count = int(max(by_row.max(), by_entry.max())) + 1
        size = np.bincount(by_entry, weights=self.entries.weight, minlength=count)
        left = sparse.csr_array((self.rows.weight, (of_row, by_row)), shape=(rows, count))
        right = sparse.csr_array((self.entries.weight / size[by_entry], (of_entry, by_entry)), shape=(entries, count)).T.tocsr()
        joint = (left @ right).tocsr()
        return np.asarray(joint[of_record, of_value]).ravel() / self.rows.total()

    def share_of(self, shared: frozenset[str], records: Columns) -> FloatArray:
        """The probability of the records' values in columns that this sheet publishes exactly."""
        source = self.rows if shared <= self.visible or self.entries is None else self.entries
        return _share(source, shared, records)


def _with_anything(entries: Counted, bucket: str, number: int, weight: float, sizes: Mapping[str, int]) -> Counted:
    """The entries with one more bucket in which every combination of hidden values has the same weight."""
    names = [name for name in entries.columns if name != bucket]
    volume = int(np.prod([sizes[name] for name in names], dtype=np.float64))
    if volume > _WITHHELD:
        raise ReleaseError("too many combinations of withheld values to estimate with", hint="publish fewer hidden columns")
    grid = np.unravel_index(np.arange(volume), [sizes[name] for name in names])
    columns = {name: np.concatenate([entries.columns[name], codes]) for name, codes in zip(names, grid, strict=True)}
    columns[bucket] = np.concatenate([entries.columns[bucket], np.full(volume, number)])
    return Counted(columns, np.concatenate([entries.weight, np.full(volume, weight / volume)]))


def _matched(part: Counted, names: frozenset[str], records: Columns) -> tuple[int, IntArray, IntArray]:
    """Common class numbers for the rows of `part` and for `records` on the columns `names`: how many, of rows, of records."""
    size, others = len(part.weight), len(next(iter(records.values())))
    classes = group([np.concatenate([part.columns[name], records[name]]) for name in sorted(names)], rows=size + others)
    return len(classes), classes.of[:size], classes.of[size:]


def _share(part: Counted, names: frozenset[str], records: Columns) -> FloatArray:
    count, of_row, of_record = _matched(part, names, records)
    shares: FloatArray = np.bincount(of_row, weights=part.weight, minlength=count)[of_record] / part.total()
    return shares


def _tree(sets: list[frozenset[str]]) -> list[TreeEdge]:
    links = join_tree(sets)
    if links is None:
        raise ReleaseError("the published tables overlap in a cycle", hint="the estimate needs a decomposable schema")
    return links


@dataclass(frozen=True)
class JointEstimate:
    """The estimate from all sheets together."""

    sheets: Sequence[SubTableSheet]
    _marginals: list[Counted] = field(init=False, repr=False)
    _tree: list[TreeEdge] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        marginals = [marginal for sheet in self.sheets for marginal in sheet.marginals()]
        tree = _tree([frozenset(marginal.columns) for marginal in marginals])
        object.__setattr__(self, "_marginals", marginals)
        object.__setattr__(self, "_tree", tree)

    @property
    def total(self) -> float:
        return self._marginals[0].total()  # I2

    @cached_property
    def _shared(self) -> list[tuple[int, IntArray, IntArray]]:
        """Per link: number of shared tuples, and the shared tuple of each row of parent and child."""
        parts = self._marginals
        return [_matched(parts[link.parent], link.shared, parts[link.child].columns) for link in self._tree]

    def count(self, where: Mapping[str, NDArray[Any]]) -> float:
        """Expected number of people whose code in each named column is marked true (or counts with the share given there)."""
        factors = {place: self._selected(place, where) for place in range(len(self._marginals)) if self._touches(place, where)}
        for link, shared in zip(reversed(self._tree), reversed(self._shared), strict=True):
            if link.child in factors:
                message = self._message(link, shared, factors[link.child])
                factors[link.parent] = factors.get(link.parent, np.ones(1)) * message
        root = self._marginals[0]
        return float((root.weight * factors.get(0, np.ones(1))).sum())

    def _touches(self, place: int, where: Mapping[str, NDArray[Any]]) -> bool:
        return any(name in where for name in self._marginals[place].columns)

    def _selected(self, place: int, where: Mapping[str, NDArray[Any]]) -> FloatArray:
        part = self._marginals[place]
        chosen = np.ones(len(part.weight))
        for name in part.columns.keys() & where.keys():
            chosen *= where[name][part.columns[name]]
        return chosen

    def _message(self, link: TreeEdge, shared: tuple[int, IntArray, IntArray], factor: FloatArray) -> FloatArray:
        """Per row of the parent: the probability, given the shared values, that the child's side is selected."""
        tuples, of_parent, of_child = shared
        weight = self._marginals[link.child].weight
        whole = np.bincount(of_child, weights=weight, minlength=tuples)
        part = np.bincount(of_child, weights=weight * factor, minlength=tuples)
        message: FloatArray = (part / np.maximum(whole, 1e-300))[of_parent]  # I1
        return message

    def log_probability(self, records: Columns) -> FloatArray:
        """log p̃ of every record; −∞ where the published tables exclude it."""
        tree = _tree([sheet.columns for sheet in self.sheets])
        with np.errstate(divide="ignore"):
            logs = sum((np.log(sheet.share_at(records)) for sheet in self.sheets), start=np.zeros(1))
            for link in tree:
                if link.shared:
                    shared = self._exact(link).share_of(link.shared, records)
                    logs = logs - np.log(np.where(shared > 0, shared, 1.0))  # where it is 0 a table has said −∞ already
        return np.asarray(logs)

    def _exact(self, link: TreeEdge) -> SubTableSheet:
        ends = (self.sheets[link.parent], self.sheets[link.child])
        return next(sheet for sheet in ends if link.shared <= sheet.visible or link.shared <= sheet.hidden)
