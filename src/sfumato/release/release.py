"""A release: the published parts of a form, the public parameters, and the private provenance that is never published.

Invariants
    I1  Nothing in `parts` or in the fields of `form` helps to undo the release.
    I2  Rows are shuffled with the cryptographic source before they become a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.extras import bring, require
from sfumato.data.table import Table, decode_table
from sfumato.release.form import Form


class Part:
    """One published table: a pyarrow table that can also become a polars or pandas frame; or its different rows with
    counts."""

    def __init__(self, table: Any, counts: IntArray | None = None, beside: tuple[str, ...] = ()) -> None:
        self.held: pa.Table = pa.table(table) if not isinstance(table, pa.Table) else table
        """The table as it lies in memory: texts that repeat may be codes with a dictionary."""
        self.counts = counts
        """How many published rows each row stands for, where they lie elsewhere; one without."""
        self.beside = beside
        """Columns of these published rows that were not counted, because no claim speaks of them."""
        self.dtypes: Mapping[str, Any] = {}
        """What columns that are published as they are were in the frame of the data holder; they become that again."""

    @property
    def shown(self) -> list[str]:
        """The columns that are published."""
        return [*self.held.column_names, *self.beside]

    @cached_property
    def table(self) -> pa.Table:
        return decode_table(self.held)

    @cached_property
    def text(self) -> Table:
        """Return the part as a table of texts; every column is encoded only once."""
        return Table(self.held, counts=self.counts)

    def to_polars(self) -> Any:
        return bring("polars", "a polars frame").from_arrow(self.table)

    def to_pandas(self) -> Any:
        require("pandas", "a pandas frame")
        return self.table.to_pandas().astype(self.dtypes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("held", "table"):
            raise AttributeError(name)
        return getattr(self.table, name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __len__(self) -> int:
        return int(self.held.num_rows)

    def __eq__(self, other: object) -> bool:
        return bool(self.table.equals(other.table if isinstance(other, Part) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Part({self.held.num_rows} rows: {', '.join(self.held.column_names)})"


@dataclass(frozen=True)
class Provenance:
    """The key to undoing a release: which original record stands behind which published row. Private.

    A form whose audit needs more declares a trace of its own with further fields.
    """

    rows: Mapping[str, IntArray] = field(default_factory=dict)
    """Per part: the original record number behind each published row, −1 where there is none."""
    lasting: bool = field(default=False, kw_only=True)
    """Whether later audits need it: then it is kept beside the release folder, for the data holder only."""
    foreign: bool = field(default=False, kw_only=True)
    """Whether what lies beside the folder was written for another release, so that nothing was read from it."""

    def among(self, records: IntArray) -> Provenance:
        """Return the same provenance where the method was asked about some of the records only, given by their
        numbers."""
        rows = {part: np.where(np.asarray(mine) >= 0, records[mine], -1) for part, mine in self.rows.items()}
        return replace(self, rows=rows)

    def kept(self) -> Provenance:
        """What of it is kept when it lasts; all of it unless a form needs less."""
        return self


@dataclass(frozen=True, slots=True)
class Release:
    """What a method made: published parts of a form with its public parameters, and the private provenance."""

    form: Form
    """The form with its public parameters; both are in the manifest."""
    parts: Mapping[str, Part]  # I1, I2: the method owes both
    suppressed: int = 0
    trace: Provenance = field(default_factory=Provenance, repr=False)
    notes: tuple[str, ...] = ()
    """Assumptions and remarks of the method for the certificate."""
    method: Mapping[str, Any] | None = None
    """The method as the published policy names it, where it had to choose parameters that the policy leaves open."""
