"""The replaced numeric columns of a release beside the original, record by record.

Departures: in tables of more than 5,000 rows all figures are measured on that many, evenly spaced (parameter `sample`; 0 takes
all): a figure of utility must not cost more than the release.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.forms.replaced import Replaced
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.release import Part, Trace

_SAMPLE = 5_000


class PairedMetric(Metric):
    """A metric that must know which published row belongs to which record: on the data holder's side only."""

    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return "data" in (exhibit.behind or {}) and bool(exhibit.once(numeric))


def sampled(exhibit: Exhibit) -> Exhibit:
    """The release and its original on some rows, the same records where the trace tells; ask with ``exhibit.once(sampled)``."""
    most = int(exhibit.parameters.get("sample", _SAMPLE))
    if not most or exhibit.data.rows <= most or exhibit.original is None:
        return exhibit
    chosen = np.linspace(0, exhibit.data.rows - 1, most).astype(np.int64)
    behind = (exhibit.behind or {}).get("data")
    before = chosen if behind is None else behind[chosen]
    before = np.minimum(before, exhibit.original.rows - 1)
    parts = {**exhibit.parts, "data": Part(_some(exhibit.data, chosen))}
    trace = exhibit.trace if behind is None else Trace({"data": np.arange(most, dtype=np.int64)})
    return replace(exhibit, parts=parts, original=Table(_some(exhibit.original, before)), trace=trace)


def _some(table: Table, rows: IntArray) -> pa.Table:
    """These rows; their codes are looked at again, because not every text of a column is among them."""
    return table.held.take(pa.array(rows)).replace_schema_metadata(None)


def numeric(exhibit: Exhibit) -> tuple[str, ...]:
    """The replaced columns that hold numbers or days in the original and in the release; ask with ``exhibit.once(numeric)``."""
    exhibit = exhibit.once(sampled)
    return tuple(name for name in exhibit.policy.with_role("replaced") if name in exhibit.data.names and _is_numeric(exhibit, name))


def _is_numeric(exhibit: Exhibit, name: str) -> bool:
    try:
        exhibit.original.numbers(name)
        exhibit.data.numbers(name)
    except DataError:
        return False
    return True


def paired(exhibit: Exhibit) -> tuple[FloatArray, FloatArray]:
    """Original and published values, one row per published record, one column per numeric replaced column."""
    exhibit = exhibit.once(sampled)
    assert exhibit.behind is not None
    names = exhibit.once(numeric)
    before = np.column_stack([exhibit.original.numbers(name) for name in names])
    return before[exhibit.behind["data"]], np.column_stack([exhibit.data.numbers(name) for name in names])
