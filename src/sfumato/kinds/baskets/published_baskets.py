"""What is published about a set-valued record: a base set, the items that may differ, and how many of them at most.

Each published record stands for every set that differs from its base only in doubtful items and in at most `threshold`
of them: its possible worlds. The original record is one of them.

Paper
    [multitype 3.4, 3.5]: base characteristic vector r', distance bitmap d, distance threshold t.
Notation
    base ~ r', doubt ~ d (as the set of its ones), threshold ~ t.

>>> published = PublishedBaskets.of([["jogging", "swimming"]], [["tennis", "soccer"]], [1])
>>> sorted(sorted(world) for world in published.possible(0))
[['jogging', 'soccer', 'swimming'], ['jogging', 'swimming'], ['jogging', 'swimming', 'tennis']]


Published baskets
-----------------
Published set-valued records as a table and back: the columns items, distance_items, threshold, then the labels.

Items of a cell are in reading order (by number or alphabet), separated by `separator`; the order of the source is not
published.

>>> from sfumato.kinds.baskets.published_baskets import PublishedBaskets
>>> table = to_table(PublishedBaskets.of([["b", "a"]], [["c"]], [1], {"creed": ["x"]}))
>>> table.to_pylist()
[{'items': 'a b', 'distance_items': 'c', 'threshold': 1, 'creed': 'x'}]
>>> from_table(Table(table)).threshold.tolist()
[1]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.errors import DataError
from sfumato.data.baskets import Baskets, reading_order, split_item_columns
from sfumato.data.item_sets import Sets
from sfumato.data.table import Table

WITHHELD = ""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedBaskets:
    """Published records over the item `names`; a suppressed label is the empty text."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]
    names: tuple[str, ...]
    labels: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base: Sequence[Sequence[str]],
        doubt: Sequence[Sequence[str]],
        threshold: Sequence[int],
        labels: Mapping[str, Sequence[str]] | None = None,
        names: Sequence[str] = (),
    ) -> PublishedBaskets:
        """From rows of item names, as a reader of the published file sees them."""
        both = Baskets.of([*base, *doubt], names=names)
        half = len(base)
        columns = {name: np.array(list(column), dtype=object) for name, column in (labels or {}).items()}
        first, second = both.sets.take(np.arange(half)), both.sets.take(np.arange(half, len(both)))
        return cls(first, second, np.asarray(threshold, dtype=np.int64), both.names, columns)

    def __len__(self) -> int:
        return len(self.base)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> PublishedBaskets:
        chosen = np.asarray(rows, dtype=np.int64)
        columns = {name: column[chosen] for name, column in self.labels.items()}
        return PublishedBaskets(
            self.base.take(chosen), self.doubt.take(chosen), self.threshold[chosen], self.names, columns
        )

    def possible(self, record: int) -> Iterator[frozenset[str]]:
        """Every set the published record may stand for; exponential in the threshold, for small examples and tests."""
        base = {self.names[item] for item in self.base.row(record)}
        doubt = [self.names[item] for item in self.doubt.row(record)]
        for size in range(int(self.threshold[record]) + 1):
            for changed in combinations(doubt, size):
                yield frozenset(base.symmetric_difference(changed))


# Published baskets
# -----------------


ITEMS, DOUBT, THRESHOLD = "items", "distance_items", "threshold"
_ROWS = 100_000
OWN = (ITEMS, DOUBT, THRESHOLD)


def to_table(worlds: PublishedBaskets, separator: str = " ") -> pa.Table:
    """Return the records as a table, like ``data.csv``."""
    names = reading_order(worlds.names)
    rank = _rank(worlds, names)
    columns = {
        ITEMS: pa.array(_written(worlds.base, rank, names, separator), pa.string()),
        DOUBT: pa.array(_written(worlds.doubt, rank, names, separator), pa.string()),
        THRESHOLD: pa.array(worlds.threshold, pa.int64()),
    }
    return pa.table(columns | {name: pa.array(column.tolist(), pa.string()) for name, column in worlds.labels.items()})


def _rank(worlds: PublishedBaskets, names: tuple[str, ...]) -> NDArray[np.int64]:
    place = {name: index for index, name in enumerate(names)}
    return np.array([place[name] for name in worlds.names], dtype=np.int64)


def _written(sets: Sets, rank: NDArray[np.int64], names: tuple[str, ...], separator: str) -> list[str]:
    """One text per row, in pieces that bound the memory of the words."""
    named, written = np.array([*names, ""], dtype=object), []
    for first in range(0, len(sets), _ROWS):
        rows = sets.take(np.arange(first, min(first + _ROWS, len(sets)))).renamed(rank, max(len(names), 1))
        words = named[rows.items].tolist()
        written += [separator.join(words[begin:end]) for begin, end in pairwise(rows.starts.tolist())]
    return written


def from_table(table: Table, separator: str = " ", beside: Collection[str] = ()) -> PublishedBaskets:
    """What a reader of the published file sees; refuses files that are not of this form. Columns `beside` are no
    labels."""
    missing = [name for name in OWN if name not in table.names]
    if missing:
        raise DataError(f"the published baskets lack the column '{missing[0]}'", where="data")
    text = table.text(THRESHOLD)
    if not all(label.isdigit() for label in text.labels):
        raise DataError("a threshold is no whole number", where="data")
    threshold = np.array([int(label) for label in text.labels], dtype=np.int64)[text.codes]
    labels = {}
    for name in (name for name in table.names if name not in OWN and name not in beside):
        column = table.text(name)
        labels[name] = np.array(column.labels, dtype=object)[column.codes]
    (base, doubt), names = split_item_columns([table.column(ITEMS), table.column(DOUBT)], separator)
    return PublishedBaskets(base, doubt, threshold, names, labels)
