"""Published set-valued records as a table and back: the columns items, distance_items, threshold, then the labels.

Items of a cell stand in reading order (by number or alphabet), separated by `separator`; the order of the source shows nowhere.

>>> from sfumato.data.worlds import PublishedBaskets
>>> table = to_table(PublishedBaskets.of([["b", "a"]], [["c"]], [1], {"creed": ["x"]}))
>>> table.to_pylist()
[{'items': 'a b', 'distance_items': 'c', 'threshold': 1, 'creed': 'x'}]
>>> from_table(Table(table)).threshold.tolist()
[1]
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.baskets import reading_order
from sfumato.data.sets import Sets
from sfumato.data.splitting import split_columns
from sfumato.data.table import Table
from sfumato.data.worlds import PublishedBaskets
from sfumato.errors import DataError

ITEMS, DOUBT, THRESHOLD = "items", "distance_items", "threshold"
_ROWS = 100_000
OWN = (ITEMS, DOUBT, THRESHOLD)


def to_table(worlds: PublishedBaskets, separator: str = " ") -> pa.Table:
    """The records as they stand in ``data.csv``."""
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
    """What a reader of the published file sees; refuses files that are not of this form. Columns `beside` are no labels."""
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
    (base, doubt), names = split_columns([table.column(ITEMS), table.column(DOUBT)], separator)
    return PublishedBaskets(base, doubt, threshold, names, labels)
