"""Earlier releases of the same table, as the next one must see them: what was published, and which record stands where.

Notation
    key       the stable private name of a record across releases; never published
    memory    the key, the published row and the original values of every record behind a release; private. Where rows
    stay on a cluster (`history.persistent_classes`) records with equal values are remembered as one, with their count
    sheet     one published table, with one row per remembered record; a release is a list of tables

Invariants
    I1  A key stands for at most one record of a release.
    I2  Releases are only ever added; what one says never changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.baskets import Baskets
from sfumato.data.equivalence_classes import class_counts
from sfumato.data.table import RelatedTable, Table, TextColumn
from sfumato.policy.policy import Policy

if TYPE_CHECKING:
    from sfumato.release.view import ReleaseView


SEPARATOR = "\x1f"
_PLACE, _LINEAGE, _COUNT = "place:", "lineage", "count"
WHOSE = f"{SEPARATOR}whose"
"""Among remembered values: the name of the person whose record it is, where people may have several."""
NO_ROW = f"{SEPARATOR}no row"
"""Placeholder in the columns of rows, and in the key, for a person without rows."""


@dataclass(frozen=True)
class Memory:
    """What the data holder remembers of a release, record by record."""

    keys: tuple[str, ...]
    """The key of each remembered record (I1)."""
    rows: IntArray
    """The published row of each remembered record in the main part; −1 of one that was left out (`with_persons`)."""
    values: Table
    """What the original said about each remembered record, in the columns that were published."""
    counterfeit: BoolArray
    """Which remembered records were no longer in the table."""
    places: Mapping[str, IntArray] = field(default_factory=dict)
    """Of forms with several tables: the row of each remembered record in each of them, −1 where it has none."""
    lineage: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The number of each record's lineage, where the method formed lineages; else empty."""
    counts: IntArray | None = None
    """For how many people each remembered record stands, on a cluster; one without."""

    @cached_property
    def place(self) -> dict[str, int]:
        """Key → remembered record."""
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def key_column(self) -> pa.Array:
        """The keys as a column: large histories are put together by it."""
        return pa.array(self.keys, pa.string())

    def taking(self, records: IntArray) -> Memory:
        """Some of the records."""
        values = Table(self.values.frame.take(pa.array(records)))
        places = {part: rows[records] for part, rows in self.places.items()}
        lineage = self.lineage[records] if len(self.lineage) else self.lineage
        counts = None if self.counts is None else self.counts[records]
        keys = tuple(self.keys[i] for i in records)
        return Memory(keys, self.rows[records], values, self.counterfeit[records], places, lineage, counts)

    def to_arrow(self) -> pa.Table:
        """One table, for the ledger."""
        values = self.values.frame
        columns = {f"value:{name}": values.column(name) for name in values.column_names}
        columns |= {f"{_PLACE}{part}": pa.array(rows) for part, rows in self.places.items()}
        columns |= {_LINEAGE: pa.array(self.lineage)} if len(self.lineage) else {}
        columns |= {} if self.counts is None else {_COUNT: pa.array(self.counts)}
        return pa.table(
            {"key": self.key_column, "row": pa.array(self.rows), "counterfeit": pa.array(self.counterfeit), **columns}
        )

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Memory:
        """What `to_arrow` wrote."""
        values = {name[6:]: table.column(name) for name in table.column_names if name.startswith("value:")}
        return cls(
            tuple(table.column("key").to_pylist()),
            table.column("row").to_numpy().astype(np.int64),
            Table(pa.table(values)),
            table.column("counterfeit").to_numpy().astype(np.bool_),
            {
                name.removeprefix(_PLACE): table.column(name).to_numpy().astype(np.int64)
                for name in table.column_names
                if name.startswith(_PLACE)
            },
            table.column(_LINEAGE).to_numpy().astype(np.int64)
            if _LINEAGE in table.column_names
            else np.zeros(0, dtype=np.int64),
            table.column(_COUNT).to_numpy().astype(np.int64) if _COUNT in table.column_names else None,
        )


@dataclass(frozen=True)
class RememberedTable:
    """One published table, with one row per remembered record of its release."""

    columns: Mapping[str, TextColumn]
    """The published cell of every remembered record, in every column."""
    here: BoolArray
    """Which remembered records the table contains."""
    links: frozenset[str] = frozenset()
    """Columns that mean nothing outside the release, such as the number of a bucket."""


def rows_covered_once(rows: IntArray, published: int) -> bool:
    """Whether every published row is behind exactly one remembered record."""
    told = np.sort(rows[rows >= 0])
    return len(told) == published and bool(np.array_equal(told, np.arange(published)))


def rows_covered_as_counted(memory: Memory, published: IntArray) -> bool:
    """Whether as many people are remembered behind every published row as it stands for."""
    there = memory.rows >= 0
    return memory.counts is not None and bool(
        np.array_equal(class_counts(memory.rows[there], memory.counts[there], len(published)), published)
    )


def counts_agree(published: Mapping[tuple[str, ...], int], remembered: Sequence[Sequence[str]]) -> bool:
    """Whether tuples that are published with counts are those of the remembered records."""
    return Counter(zip(*remembered, strict=True)) == Counter(published)


def remembered_table_of(table: Table, rows: IntArray, links: frozenset[str] = frozenset()) -> RememberedTable:
    """The sheet of a published table, given the row of every remembered record, −1 where it has none."""
    here = rows >= 0
    at = np.where(here, rows, 0)
    columns = {name: TextColumn(table.text(name).codes[at], table.text(name).labels) for name in table.names}
    return RememberedTable(columns, here, links)


@dataclass(frozen=True)
class PastRelease:
    """One publication: how it looks, and what the data holder remembers of it."""

    exhibit: ReleaseView
    memory: Memory
    number: int
    when: str = ""

    @property
    def cover(self) -> ReleaseView:
        """Its form and its policy; not more need be there."""
        return self.exhibit

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of people that it shows, in whatever table."""
        return self.exhibit.form.shown(self.exhibit)

    @cached_property
    def sheets(self) -> tuple[RememberedTable, ...]:
        """Its tables, record by record."""
        return self.exhibit.form.sheets(self.exhibit, self.memory)


class StoredRelease(PastRelease):
    """A publication that is read when a person looks inside it."""

    _opened: Callable[[], PastRelease]
    _covered: Callable[[], ReleaseView]

    @classmethod
    def of(
        cls, number: int, when: str, cover: Callable[[], ReleaseView], release: Callable[[], PastRelease]
    ) -> StoredRelease:
        """The release with this number; `cover` reads form and policy, `release` everything."""
        made = cls.__new__(cls)
        made.__dict__.update(number=number, when=when, _covered=cover, _opened=release)
        return made

    @cached_property
    def _whole(self) -> PastRelease:
        return self._opened()

    @cached_property
    def exhibit(self) -> ReleaseView:
        return self._whole.exhibit

    @cached_property
    def memory(self) -> Memory:
        return self._whole.memory

    @cached_property
    def cover(self) -> ReleaseView:
        return self.__dict__["exhibit"] if "exhibit" in self.__dict__ else self._covered()


@dataclass(frozen=True)
class History:
    """All releases so far, oldest first (I2)."""

    releases: tuple[PastRelease, ...] = ()  # I2
    kept: pa.Table | None = None
    """What a ledger kept of the first of them, all together (`history.published_cells`), so that these need not be read
    again."""

    def then(self, past: PastRelease) -> History:
        """The history with one more release."""
        return replace(self, releases=(*self.releases, past))

    def __len__(self) -> int:
        return len(self.releases)

    def __bool__(self) -> bool:
        return bool(self.releases)

    @property
    def counted(self) -> bool:
        """Whether all that is remembered are people with a count, as on a cluster (`history.persistent_classes`)."""
        return bool(self.releases) and all(past.memory.counts is not None for past in self.releases)

    def column(self, name: str) -> list[str]:
        """Every value the originals had in a column, once each."""
        found: dict[str, None] = {}
        for past in self.releases:
            if name in past.memory.values.names:
                found.update(dict.fromkeys(past.memory.values.text(name).labels))
        return list(found)


def remember(
    policy: Policy,
    original: Table,
    behind: IntArray,
    names: Sequence[str],
    places: Mapping[str, IntArray] | None = None,
) -> Memory:
    """The memory of the records behind the rows of a main part, each of which has one."""
    keys = keys_of(policy, original) if policy.key else tuple(str(i) for i in range(original.rows))
    values = pa.table({name: text_of(original, name).take(pa.array(behind)) for name in names})
    nobody = np.zeros(len(behind), dtype=np.bool_)
    return Memory(tuple(keys[i] for i in behind), np.arange(len(behind)), Table(values), nobody, places or {})


def with_persons(policy: Policy, original: Table, memory: Memory) -> Memory:
    """The memory with whose records they are, and with records that were left out: they could have been behind a
    row."""
    keys = keys_of(policy, original) if policy.key else tuple(str(i) for i in range(original.rows))
    number = {key: place for place, key in enumerate(keys)}
    behind = [number[key] for key in memory.keys]
    left = np.setdiff1d(np.arange(original.rows), behind)
    every = pa.array(np.concatenate([np.array(behind, dtype=np.int64), left]))
    columns = {name: text_of(original, name) for name in memory.values.names} | {
        WHOSE: persons_of_records(policy, original)
    }
    nowhere, nobody = np.full(len(left), -1, dtype=np.int64), np.zeros(len(left), dtype=np.bool_)
    return Memory(
        (*memory.keys, *(keys[i] for i in left.tolist())),
        np.concatenate([memory.rows, nowhere]),
        Table(pa.table({name: column.take(every) for name, column in columns.items()})),
        np.concatenate([memory.counterfeit, nobody]),
    )


def persons_of_records(policy: Policy, table: Table) -> pa.Array:
    """The name of the person behind every record, where people may have several."""
    assert policy.person is not None
    names = [text_of(table, name) for name in policy.person.unit]
    return names[0] if len(names) == 1 else pc.binary_join_element_wise(*names, SEPARATOR)


def text_of(table: Table, name: str) -> pa.Array:
    """A column as text, a missing value as the value it is."""
    text = table.text(name)
    return pa.array(list(text.labels), pa.string()).take(pa.array(text.codes))


def keys_of(policy: Policy, table: Table | Baskets) -> tuple[str, ...]:
    """The private key of every record; duplicate and empty keys are data errors."""
    columns = [table.text(name) for name in policy.key]
    labels = [np.array(text.labels, dtype=object)[text.codes].tolist() for text in columns]
    keys = tuple(labels[0]) if len(labels) == 1 else tuple(map(SEPARATOR.join, zip(*labels, strict=True)))
    if (
        isinstance(table, RelatedTable) and table.absent.any()
    ):  # the line of a person without rows has the person's own key
        names = persons_of_records(policy, table).to_pylist()
        keys = tuple(
            f"{NO_ROW}{SEPARATOR}{names[i]}" if absent else keys[i] for i, absent in enumerate(table.absent.tolist())
        )
    where = ", ".join(policy.key)
    if len(set(keys)) < len(keys):  # I1
        twice = len(keys) - len(set(keys))
        raise DataError(
            f"{twice} record(s) repeat the key of another one",
            where=where,
            hint="a key must be unique; add a column to it",
        )
    if pc.any(pc.equal(pc.utf8_trim(pa.array(keys, pa.string()), SEPARATOR), "")).as_py():
        raise DataError("a record has an empty key", where=where, hint="every record needs a key that stays the same")
    return keys


# Related  people part rows part
# ------------------------------


PEOPLE_PART, ROWS_PART = "people", "rows"
