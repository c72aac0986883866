"""Which original records may stand behind which published baskets: the possible worlds, read off the published columns.

A record r is compatible with a published record (base b, doubt d, threshold t) when r and b differ only in items of d, and in
at most t of them. Equal records and equal published rows are looked at once.

Paper
    [multitype 3.4, 3.5].
Notation
    sure ~ b minus d, items every world has; A, E, F ~ how many items r shares with sure, with b and d, with d minus b.
    Compatible: A = |sure|, A + E + F = |r|, and F + |b and d| − E ≤ t. One sparse product gives A + K·E + K²·F.
Cost
    Per kind of person the published rows that may hold the rarest items, in blocks of bounded memory.

>>> from sfumato.data.baskets import Baskets
>>> people = Baskets.of([["jogging", "swimming"], ["jogging", "soccer", "swimming"], ["tennis"]])
>>> Compatibility.of(people, PublishedBaskets.of([["jogging", "swimming"]], [["tennis", "soccer"]], [1])).candidates().tolist()
[1, 1, 0]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.baskets import Baskets
from sfumato.data.sets import Sets
from sfumato.data.worlds import PublishedBaskets

_BITS = 20
_ENTRIES = 20_000_000
_PAIRS = 500_000
_FEW = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Compatibility:
    """Kinds of people (equal sets) against kinds of published rows (equal base, doubt and threshold)."""

    pairs: Any
    """Sparse matrix, people's kinds x rows' kinds, 1 where compatible."""
    person: NDArray[np.int64]
    """The kind of each original record."""
    row: NDArray[np.int64]
    """The kind of each published row."""

    @classmethod
    def of(cls, original: Baskets, published: PublishedBaskets) -> Compatibility:
        """Every compatible pair."""
        sets, worlds = on_one_universe(original, published)
        first_person, person = sets.classes()
        first_row, row = _row_kinds(worlds)
        return cls(_pairs(sets.take(first_person), worlds.take(first_row)), person, row)

    @property
    def people(self) -> NDArray[np.int64]:
        return np.bincount(self.person, minlength=self.pairs.shape[0]).astype(np.int64)

    def candidates(self) -> NDArray[np.int64]:
        """How many published rows each kind of person may stand behind."""
        rows = np.bincount(self.row, minlength=self.pairs.shape[1])
        return np.asarray(self.pairs @ rows, dtype=np.int64)

    def spread(self, codes: NDArray[np.int64], values: int) -> Any:
        """Sparse matrix, people's kinds x values: how often each value stands among the candidates (codes < 0: not shown)."""
        from scipy.sparse import csr_matrix

        shown = codes >= 0
        ones = np.ones(int(shown.sum()), dtype=np.int64)
        counts = csr_matrix((ones, (self.row[shown], codes[shown])), shape=(self.pairs.shape[1], values))
        mixed = (self.pairs.astype(np.int64) @ counts).tocsr()
        mixed.sum_duplicates()
        mixed.sort_indices()
        return mixed


def on_one_universe(original: Baskets, published: PublishedBaskets) -> tuple[Sets, PublishedBaskets]:
    """Both sides over the union of their items."""
    names = tuple(dict.fromkeys([*original.names, *published.names]))
    place = {name: index for index, name in enumerate(names)}
    moved = np.array([place[name] for name in published.names], dtype=np.int64)

    def recoded(sets: Sets) -> Sets:
        return sets.renamed(moved, len(names)) if len(moved) else Sets(sets.starts, sets.items, len(names))

    worlds = PublishedBaskets(recoded(published.base), recoded(published.doubt), published.threshold, names, published.labels)
    return Sets(original.sets.starts, original.sets.items, len(names)), worlds


def _row_kinds(worlds: PublishedBaskets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    base, doubt = worlds.base.classes()[1], worlds.doubt.classes()[1]
    keys = np.stack([base, doubt, worlds.threshold], axis=1)
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), kind.reshape(-1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the test needs to know of each published row."""

    weights: Any
    sure: NDArray[np.int64]
    kept: NDArray[np.int64]
    threshold: NDArray[np.int64]


def _weighed(worlds: PublishedBaskets) -> _Rows:
    """Items of sure weigh 1, of base and doubt K, of doubt alone K²."""
    from scipy.sparse import csr_matrix

    shape = (len(worlds), worlds.base.width)
    base, doubt = worlds.base.matrix().astype(np.int64), worlds.doubt.matrix().astype(np.int64)
    both = base.multiply(doubt).tocsr()
    weights = base - both + (both * (1 << _BITS)) + (doubt - both) * (1 << 2 * _BITS)
    kept = np.asarray(both.sum(axis=1), dtype=np.int64).reshape(-1)
    return _Rows(csr_matrix(weights, shape=shape), worlds.base.sizes - kept, kept, worlds.threshold)


def fits(
    total: NDArray[np.int64],
    size: NDArray[np.int64],
    sure: NDArray[np.int64],
    kept: NDArray[np.int64],
    threshold: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """The test itself, on A + K·E + K²·F."""
    mask = (1 << _BITS) - 1
    a, e, f = total & mask, total >> _BITS & mask, total >> 2 * _BITS
    return np.asarray((a == sure) & (a + e + f == size) & (f + kept - e <= threshold))


def _pairs(sets: Sets, worlds: PublishedBaskets) -> Any:
    """First the rows that may hold a person's rarest items, then the test itself on those only."""
    from scipy.sparse import csr_matrix, vstack

    rows = _weighed(worlds)
    turned = rows.weights.T.tocsr()
    turned.data[:] = 1
    telling = _rarest(sets, np.diff(turned.indptr))
    blocks = []
    for first, last in _blocks(telling, np.diff(turned.indptr)):
        some = telling.take(np.arange(first, last))
        shared = (some.matrix().astype(np.int64) @ turned).tocoo()
        possible = shared.data == some.sizes[shared.row]
        person, row = _tested(sets, rows, first + shared.row[possible].astype(np.int64), shared.col[possible].astype(np.int64))
        empty = np.flatnonzero(some.sizes == 0)
        open_rows = np.flatnonzero((rows.sure == 0) & (rows.kept <= rows.threshold))
        person = np.concatenate([person - first, np.repeat(empty, len(open_rows))])
        row = np.concatenate([row, np.tile(open_rows, len(empty))])
        ones = np.ones(len(row), dtype=np.int64)
        blocks.append(csr_matrix((ones, (person, row)), shape=(last - first, len(worlds))))
    return vstack(blocks).tocsr()


def _rarest(sets: Sets, support: NDArray[np.int64]) -> Sets:
    """Of every row the rarest item, and the next ones while together they are in few published rows."""
    owner = sets.owners
    order = np.lexsort((support[sets.items], owner))
    items, reach = sets.items[order], support[sets.items[order]].astype(np.int64)
    together = np.cumsum(reach)
    before = np.concatenate([[0], together])[sets.starts[:-1]]
    first = np.arange(len(items)) == sets.starts[:-1][owner] if len(items) else np.zeros(0, dtype=bool)
    kept = first | (together - before[owner] <= _FEW)
    return Sets.from_flat(owner[kept], items[kept], len(sets), sets.width)


def _tested(
    sets: Sets, rows: _Rows, person: NDArray[np.int64], row: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of the pairs that are compatible."""
    good = np.empty(len(person), dtype=bool)
    for first in range(0, len(person), _PAIRS):
        some = slice(first, first + _PAIRS)
        good[some] = _fit(sets, rows, person[some], row[some])
    return person[good], row[good]


def _fit(sets: Sets, rows: _Rows, who: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.bool_]:
    matrix = sets.take(who).matrix().astype(np.int64)
    total = np.asarray(matrix.multiply(rows.weights[row]).sum(axis=1), dtype=np.int64).reshape(-1)
    return fits(total, sets.sizes[who], rows.sure[row], rows.kept[row], rows.threshold[row])


def _blocks(sets: Sets, support: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of people whose product with all rows stays within bounded memory."""
    entries = np.concatenate([[0], np.cumsum(support[sets.items])])[sets.starts]
    first = 0
    while first < len(sets):
        last = max(first + 1, int(np.searchsorted(entries, entries[first] + _ENTRIES, side="right")) - 1)
        yield first, last
        first = last


def edge_fits(
    original: Baskets, published: PublishedBaskets, people: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For given pairs of a record and a published row: compatible or not; without looking at any other pair."""
    sets, worlds = on_one_universe(original, published)
    verdict, by_row = np.empty(len(people), dtype=bool), np.argsort(rows, kind="stable")
    for first in range(0, len(people), _PAIRS):
        pairs = by_row[first : first + _PAIRS]
        lowest, highest = int(rows[pairs[0]]), int(rows[pairs[-1]])
        some = worlds.take(np.arange(lowest, highest + 1))
        verdict[pairs] = _fit(sets, _weighed(some), people[pairs], rows[pairs] - lowest)
    return verdict
