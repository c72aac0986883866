"""Earlier releases of the same table, as the next one must see them: what was published, and which record stands where.

Notation
    key       the stable private name of a record across releases; never published
    memory    the key, the published row and the original values of every record behind a release; private

Invariants
    I1  A key stands for at most one record of a release.
    I2  Releases are only ever added; what one says never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.policy.policy import Policy

if TYPE_CHECKING:
    from sfumato.release.exhibit import Exhibit

SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Memory:
    """What the data holder remembers of a release, record by record."""

    keys: tuple[str, ...]
    """The key of each remembered record (I1)."""
    rows: IntArray
    """The published row of each remembered record in the main part."""
    values: Table
    """What the original said about each remembered record, in the columns that were published."""
    counterfeit: BoolArray
    """Which remembered records were no longer in the table."""

    @cached_property
    def place(self) -> dict[str, int]:
        """Key → remembered record."""
        return {key: place for place, key in enumerate(self.keys)}

    def taking(self, records: IntArray) -> Memory:
        """Some of the records."""
        values = Table(self.values.frame.take(pa.array(records)))
        return Memory(tuple(self.keys[i] for i in records), self.rows[records], values, self.counterfeit[records])

    def to_arrow(self) -> pa.Table:
        """One table, for the ledger."""
        values = self.values.frame
        columns = {f"value:{name}": values.column(name) for name in values.column_names}
        keys = pa.array(self.keys, pa.string())
        return pa.table({"key": keys, "row": pa.array(self.rows), "counterfeit": pa.array(self.counterfeit), **columns})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Memory:
        """What `to_arrow` wrote."""
        values = {name[6:]: table.column(name) for name in table.column_names if name.startswith("value:")}
        return cls(
            tuple(table.column("key").to_pylist()),
            table.column("row").to_numpy().astype(np.int64),
            Table(pa.table(values)),
            table.column("counterfeit").to_numpy().astype(np.bool_),
        )


@dataclass(frozen=True)
class PastRelease:
    """One publication: how it looks, and what the data holder remembers of it."""

    exhibit: Exhibit
    memory: Memory
    number: int
    when: str = ""

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the main part."""
        return tuple(self.exhibit.data.names)


@dataclass(frozen=True)
class History:
    """All releases so far, oldest first (I2)."""

    releases: tuple[PastRelease, ...] = ()  # I2

    def __len__(self) -> int:
        return len(self.releases)

    def __bool__(self) -> bool:
        return bool(self.releases)

    def column(self, name: str) -> list[str]:
        """Every value the originals had in a column, once each."""
        found: dict[str, None] = {}
        for past in self.releases:
            if name in past.memory.values.names:
                found.update(dict.fromkeys(past.memory.values.text(name).labels))
        return list(found)


def keys_of(policy: Policy, table: Table) -> tuple[str, ...]:
    """The private key of every record; duplicate and empty keys are data errors."""
    columns = [table.text(name) for name in policy.key]
    labels = [np.array(text.labels, dtype=object)[text.codes] for text in columns]
    keys = tuple(SEPARATOR.join(parts) for parts in zip(*labels, strict=True))
    where = ", ".join(policy.key)
    if len(set(keys)) < len(keys):  # I1
        twice = len(keys) - len(set(keys))
        raise DataError(
            f"{twice} record(s) repeat the key of another one", where=where, hint="a key must be unique; add a column to it"
        )
    if any(not key.strip(SEPARATOR) for key in keys):
        raise DataError("a record has an empty key", where=where, hint="every record needs a key that stays the same")
    return keys
