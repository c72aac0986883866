"""A release: the published parts of a form, what is disclosed on purpose, and the private trace that never leaves the house.

Invariants
    I1  Nothing in `parts` or `public` helps to undo the release.
    I2  Rows are shuffled with the cryptographic source before they become a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Part:
    """One published table: a pyarrow table that can also become a polars or pandas frame."""

    def __init__(self, table: Any) -> None:
        self.table: pa.Table = pa.table(table) if not isinstance(table, pa.Table) else table

    def to_polars(self) -> Any:
        import polars as pl

        return pl.from_arrow(self.table)

    def to_pandas(self) -> Any:
        return self.table.to_pandas()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "table":
            raise AttributeError(name)
        return getattr(self.table, name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __eq__(self, other: object) -> bool:
        return bool(self.table.equals(other.table if isinstance(other, Part) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Part({self.table.num_rows} rows: {', '.join(self.table.column_names)})"


@dataclass(frozen=True, slots=True)
class Trace:
    """The key to undoing a release: which original record stands behind which published row. Private."""

    rows: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Per part: the original record number behind each published row, −1 where there is none."""
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a method wants the audit on the private side to know."""
    lasting: bool = False
    """Whether later audits need it: then it is kept beside the release folder, for the data holder only."""


@dataclass(frozen=True, slots=True)
class Release:
    """What a method made: published parts, public parameters, and the private trace."""

    form: str
    parts: Mapping[str, Part]  # I1, I2: the method owes both
    public: Mapping[str, Any] = field(default_factory=dict)
    """Disclosed on purpose; stands in the manifest."""
    suppressed: int = 0
    trace: Trace = field(default_factory=Trace, repr=False)
    notes: tuple[str, ...] = ()
    """Assumptions and remarks of the method for the certificate."""
