"""The divergence a schema can be expected to have, from class counts alone, before anything is dealt into buckets.

Guarantee
    Exact for tables without hidden columns. For a bucketized table the expectation over the random deal, up to O(1/n) terms; the
    divergence reported with a release is measured on what was published.

Paper
    [versatile Eq. 3]: D(p‖p̃) = Σ p log(p/p̃) with p̃ the maximum-likelihood estimate.

Notation
    D = −H(all columns) + Σ over tables of the mean of −log p̃(table) − Σ over shared columns of H(shared).
    In a bucket of size b a row keeps its own value with weight 1/b and meets value s otherwise with chance
    (b − 1)·c(s)/(n − c(s)), so n·p̃(v, s) = n(v,s)/b + (n(v) − n(v,s))·(b − 1)/b·c(s)/(n − c(s)).

Invariants
    I1  Every column set is counted once; a schema that differs in one table costs one new count.

Cost
    One pass over the distinct rows per new column set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.jointree import join_tree


class ExpectedDivergence:
    """Scores schemas over one table given as class codes with counts."""

    def __init__(
        self,
        columns: Mapping[str, IntArray],
        sizes: Mapping[str, float],
        members: Mapping[str, Sequence[str]],
        counts: IntArray | None = None,
    ) -> None:
        """`sizes`: bucket size of each column that may be hidden; `members`: columns of each unit; `counts`: records per row."""
        self._units = {name: group([columns[one] for one in inner]).of for name, inner in members.items()}
        whole = group(list(self._units.values()), weights=counts)
        self._units = {name: codes[whole.first] for name, codes in self._units.items()}
        self._weight = whole.counts.astype(np.float64)
        self._total = float(self._weight.sum())
        self._sizes = dict(sizes)
        self._codes: dict[frozenset[str], IntArray] = {}
        self._means: dict[tuple[frozenset[str], str], float] = {}
        self._floor = self._entropy(frozenset(self._units))

    def __call__(self, tables: Sequence[SubTable]) -> float:
        links = join_tree([table.columns for table in tables])
        if links is None:
            return float("inf")
        return sum(map(self._surprise, tables)) - sum(self._entropy(link.shared) for link in links) - self._floor

    def _surprise(self, table: SubTable) -> float:
        """Mean of −log p̃ over the people, in one table."""
        return self._guarded(table.visible, *table.guarded) if table.guarded else self._entropy(table.columns)

    def _entropy(self, names: frozenset[str]) -> float:
        if not names:
            return 0.0
        return self._remembered(names, "", lambda: self._mean_log(self._counts(names)))

    def _guarded(self, visible: frozenset[str], hidden: str) -> float:
        return self._remembered(visible, hidden, lambda: self._mean_log(self._estimated(visible, hidden)))

    def _estimated(self, visible: frozenset[str], hidden: str) -> FloatArray:
        size, own = self._sizes[hidden], self._counts(frozenset({hidden}))
        here, both = self._counts(visible), self._counts(visible | {hidden})
        estimate: FloatArray = both / size + (here - both) * ((size - 1) / size) * own / np.maximum(self._total - own, 1.0)
        return estimate

    def _remembered(self, names: frozenset[str], hidden: str, compute: Callable[[], float]) -> float:
        key = (names, hidden)
        if key not in self._means:  # I1
            self._means[key] = compute()
        return self._means[key]

    def _mean_log(self, counts: FloatArray) -> float:
        return float(-(self._weight * np.log(counts / self._total)).sum() / self._total)

    def _counts(self, names: frozenset[str]) -> FloatArray:
        """For each class of people: how many agree with it on `names`."""
        if not names:
            return np.full(len(self._weight), self._total)
        codes = self._codes_of(names)
        counts = np.bincount(codes, weights=self._weight).astype(np.float64)
        return counts[codes]

    def _codes_of(self, names: frozenset[str]) -> IntArray:
        if names not in self._codes:
            known = next((names - {one} for one in sorted(names) if names - {one} in self._codes), None)
            parts = [self._units[one] for one in sorted(names - (known or frozenset()))]
            self._codes[names] = group([*parts, self._codes[known]] if known else parts).of
        return self._codes[names]
