"""The published parts of a release as tables an outsider can compute with: columns, labels, buckets, hidden values.

``table-n`` holds visible columns and, when it hides any, a ``bucket``; ``table-n-sensitive`` holds, per bucket, the hidden values
with their counts: ``bucket,value,count,column`` for one hidden column, ``bucket,<columns>,count`` for several hidden together. A
row in bucket ``*`` has its hidden values withheld. One recoded table or an anatomy is a set with one table.

Invariants
    I1  Labels are shared: a column has the same code for the same text in every table.
    I2  Counts of a bucket add up to its rows; every table speaks about the same number of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import weighed
from sfumato.data.table import Table
from sfumato.decomposition.estimate import Counted, SubTableSheet
from sfumato.errors import ReleaseError

BUCKET, COUNT, VALUE, COLUMN = "bucket", "count", "value", "column"
RESERVED = (BUCKET, COUNT, VALUE, COLUMN)
WITHHELD = "*"
SENSITIVE = "-sensitive"


@dataclass(frozen=True, slots=True)
class Published:
    """One published table: codes per row, and per entry of its buckets."""

    name: str
    visible: Mapping[str, IntArray]
    hidden: Mapping[str, IntArray]
    rows: int
    bucket: IntArray | None = None
    entry_bucket: IntArray | None = None
    entry_count: IntArray | None = None
    weights: IntArray | None = None
    """For how many people each row stands, where rows lie elsewhere and buckets that list the same are one; one without."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.visible) | frozenset(self.hidden)

    @property
    def people(self) -> int:
        """How many people it speaks about."""
        return self.rows if self.weights is None else int(self.weights.sum())

    @property
    def often(self) -> IntArray:
        """For how many people each row stands."""
        return np.ones(self.rows, dtype=np.int64) if self.weights is None else self.weights

    @property
    def withheld(self) -> int:
        """People whose hidden values are not published."""
        return 0 if self.bucket is None else int(self.often[self.bucket < 0].sum())

    def sheet(self, sizes: Mapping[str, int]) -> SubTableSheet:
        """The table for the estimate; `sizes` is the number of labels of each column."""
        if self.bucket is None or self.entry_bucket is None or self.entry_count is None:
            return SubTableSheet(frozenset(self.visible), Counted.of(self.visible, self.weights))
        key = f"#{self.name}"
        entries = Counted.of({**self.hidden, key: self.entry_bucket}, self.entry_count.astype(np.float64))
        return SubTableSheet.of_parts(self.visible, self.bucket, entries, key, sizes, self.weights)


@dataclass(frozen=True, slots=True)
class PublishedSubTables:
    """All published tables with the labels of their columns."""

    tables: tuple[Published, ...]
    labels: Mapping[str, tuple[str, ...]]

    def sheets(self) -> list[SubTableSheet]:
        sizes = {name: len(labels) for name, labels in self.labels.items()}
        return [table.sheet(sizes) for table in self.tables]

    @property
    def people(self) -> int:
        """How many people every table speaks about."""
        return self.tables[0].people if self.tables else 0


def read_tables(parts: Mapping[str, Table], sensitive: str = VALUE) -> PublishedSubTables:
    """The tables among the parts of a release: ``table-n`` with ``table-n-sensitive``, or ``data`` with ``sensitive``.

    `sensitive` names the hidden column of a part that does not name it itself.
    """
    names = sorted((name for name in parts if _is_table(name)), key=_number)
    if not names:
        raise ReleaseError("the release has no tables", hint="expected table-1, table-2, … or data")
    labels = _Labels()
    tables = tuple(_read_table(name, parts, labels, sensitive) for name in names)
    if len({table.people for table in tables}) > 1:  # I2
        raise ReleaseError("the tables do not speak about the same number of people")
    return PublishedSubTables(tables, {name: tuple(known) for name, known in labels.known.items()})


def _is_table(name: str) -> bool:
    return name == "data" or (name.startswith("table-") and name.removeprefix("table-").isdigit())


def _number(name: str) -> int:
    return 0 if name == "data" else int(name.removeprefix("table-"))


class _Labels:
    """Codes for texts, the same in every table (I1)."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, int]] = {}

    def codes(self, table: Table, column: str, name: str) -> IntArray:
        known = self.known.setdefault(name, {})
        text = table.text(column)
        numbers = np.array([known.setdefault(label, len(known)) for label in text.labels], dtype=np.int64)
        return numbers[text.codes] if len(numbers) else np.zeros(0, dtype=np.int64)


def _read_table(name: str, parts: Mapping[str, Table], labels: _Labels, column: str) -> Published:
    table = parts[name]
    visible = {each: labels.codes(table, each, each) for each in table.names if each != BUCKET}
    if BUCKET not in table.names:
        return Published(name, visible, {}, table.rows, weights=table.counts)
    part = "sensitive" if name == "data" else f"{name}{SENSITIVE}"
    if part not in parts:
        raise ReleaseError(f"{name} has buckets but there is no {part}", hint="all hidden values of a table stand in one part")
    numbers, bucket = _buckets(table)
    entry_bucket, count = _entry_buckets(parts[part], numbers), _counts(parts[part])
    _check_sums(bucket, table.counts, entry_bucket, count, len(numbers))
    hidden = {each: labels.codes(parts[part], place, each) for each, place in _hidden_columns(parts[part], column)}
    return Published(name, visible, hidden, table.rows, bucket, entry_bucket, count, table.counts)


def _buckets(table: Table) -> tuple[dict[str, int], IntArray]:
    text = table.text(BUCKET)
    shown = [label for label in text.labels if label != WITHHELD]
    numbers = {label: number for number, label in enumerate(shown)}
    codes = np.array([numbers.get(label, -1) for label in text.labels], dtype=np.int64)
    return numbers, codes[text.codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _entry_buckets(part: Table, numbers: Mapping[str, int]) -> IntArray:
    text = part.text(BUCKET)
    if any(label not in numbers for label in text.labels):
        raise ReleaseError("hidden values are listed for buckets that no row belongs to")
    codes = np.array([numbers[label] for label in text.labels], dtype=np.int64)
    return codes[text.codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _counts(part: Table) -> IntArray:
    """The count of every entry; of buckets that list the same, all of them together."""
    text = part.text(COUNT)
    try:
        weight = np.array([int(label) for label in text.labels], dtype=np.int64)
    except ValueError:
        raise ReleaseError("a count of hidden values is no number") from None
    if (weight <= 0).any():
        raise ReleaseError("a count of hidden values is not positive")
    listed: IntArray = weight[text.codes] if len(weight) else np.zeros(0, dtype=np.int64)
    return listed if part.counts is None else listed * part.counts


def _hidden_columns(part: Table, column: str) -> Iterable[tuple[str, str]]:
    """Pairs of a hidden column's name and the place where its values stand."""
    if VALUE not in part.names:
        return [(name, name) for name in part.names if name not in (BUCKET, COUNT)]
    names = part.text(COLUMN).labels if COLUMN in part.names else (column,)
    if len(names) != 1:
        raise ReleaseError("one table of hidden values speaks about several columns")
    return [(names[0], VALUE)]


def _check_sums(bucket: IntArray, often: IntArray | None, entry_bucket: IntArray, count: IntArray, buckets: int) -> None:
    shown = bucket >= 0
    rows = weighed(bucket[shown], None if often is None else often[shown], buckets)
    listed = np.bincount(entry_bucket, weights=count, minlength=buckets).astype(np.int64)
    if (rows != listed).any():  # I2
        raise ReleaseError(f"{int((rows != listed).sum())} bucket(s) do not have as many hidden values as rows")


def aligned(tables: PublishedSubTables, original: Table) -> dict[str, IntArray] | None:
    """The original's columns in the codes of the published tables; None when a column was generalized."""
    columns = {}
    for name, labels in tables.labels.items():
        known = {label: code for code, label in enumerate(labels)}
        text = original.text(name)
        if any(label not in known for label in text.labels) or len(known) != len(text.labels):
            return None
        columns[name] = np.array([known[label] for label in text.labels], dtype=np.int64)[text.codes]
    return columns
