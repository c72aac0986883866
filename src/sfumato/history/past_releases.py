"""Earlier releases of the same table, as the next one must see them: what was published, and which record stands where.

Notation
    chapter   one earlier publication: its parts, its policy, and the private memory of the records behind the rows
    key       the stable private name of a record across releases; never published

Invariants
    I1  A key stands for at most one record of a chapter.
    I2  Chapters are only ever added; what one says never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Certificate, Records
from sfumato.release.release import Part, Release

SEPARATOR = "\x1f"


@dataclass(frozen=True)
class PastRelease:
    """One earlier publication."""

    number: int
    when: str
    form: str
    parts: Mapping[str, Part]
    policy: Policy
    certificate: Certificate
    keys: tuple[str, ...]
    """The key of each remembered record."""
    rows: IntArray
    """The published row of each remembered record in the main part."""
    values: Table
    """What the original said about each remembered record, in the columns that were published."""
    counterfeit: np.ndarray
    """Which remembered records were no longer in the table."""
    public: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[str, int]:
        """Key → remembered record."""
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def data(self) -> Table:
        """The main part."""
        return Table(self.parts["data"].table)

    def memory(self) -> pa.Table:
        """The private part of the chapter as one table, for the ledger."""
        return remembered(self.keys, self.rows, self.values.frame, self.counterfeit)

    @property
    def published(self) -> tuple[str, ...]:
        return tuple(self.data.names)


@dataclass(frozen=True)
class History:
    """All chapters so far, oldest first."""

    chapters: tuple[PastRelease, ...] = ()  # I2

    def __len__(self) -> int:
        return len(self.chapters)

    def __bool__(self) -> bool:
        return bool(self.chapters)

    def column(self, name: str) -> list[str]:
        """Every value the originals of the chapters had in a column, once each."""
        found: dict[str, None] = {}
        for chapter in self.chapters:
            if name in chapter.values.names:
                found.update(dict.fromkeys(chapter.values.text(name).labels))
        return list(found)


def new_release(number: int, policy: Policy, release: Release, table: Table) -> PastRelease:
    """The chapter of a release that was just made, from its private trace."""
    behind = np.asarray(release.trace.rows["data"])
    keys = keys_of(policy, table) if policy.key else tuple(str(i) for i in range(table.rows))
    real = behind[behind >= 0]
    values = pa.table(
        {name: pa.array(_texts(table, name)).take(pa.array(real)) for name in release.parts["data"].table.column_names}
    )
    named, rows = [keys[i] for i in real], np.flatnonzero(behind >= 0)
    stand_ins = release.trace.extra.get("stand_ins")
    if stand_ins is not None:
        named += stand_ins[0]
        values = pa.concat_tables([values, stand_ins[1].select(values.column_names)])
        rows = np.concatenate([rows, np.flatnonzero(behind < 0)])
    counterfeit = np.arange(len(named)) >= len(real)
    empty = Certificate((), Records(0, 0, 0))
    return PastRelease(
        number, "", release.form, release.parts, policy, empty, tuple(named), rows.astype(np.int64), Table(values.combine_chunks()),
        counterfeit, release.public,
    )  # fmt: skip


def _texts(table: Table, name: str) -> list[str]:
    text = table.text(name)
    return [text.labels[code] for code in text.codes.tolist()]


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


def remembered(keys: tuple[str, ...], rows: IntArray, values: pa.Table, counterfeit: np.ndarray) -> pa.Table:
    """The memory of a release as one table."""
    columns = {f"value:{name}": values.column(name) for name in values.column_names}
    return pa.table({"key": pa.array(keys, pa.string()), "row": pa.array(rows), "counterfeit": pa.array(counterfeit), **columns})


def recalled(memory: pa.Table) -> tuple[tuple[str, ...], IntArray, Table, np.ndarray]:
    """The four columns groups of `remembered` again."""
    values = {name[6:]: memory.column(name) for name in memory.column_names if name.startswith("value:")}
    return (
        tuple(memory.column("key").to_pylist()),
        memory.column("row").to_numpy().astype(np.int64),
        Table(pa.table(values)),
        memory.column("counterfeit").to_numpy().astype(np.bool_),
    )
