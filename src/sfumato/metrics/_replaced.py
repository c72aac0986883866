"""The replaced numeric columns of a release beside the original, record by record."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.errors import DataError
from sfumato.metrics.base import Comparison, Metric


class PairedMetric(Metric):
    """A metric that must know which published row belongs to which record: on the data holder's side only."""

    forms: ClassVar[tuple[str, ...]] = ("replaced table",)

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and "data" in (comparison.behind or {}) and bool(numeric(comparison))


def numeric(comparison: Comparison) -> tuple[str, ...]:
    """The replaced columns that hold numbers or days in the original and in the release."""
    return tuple(name for name in comparison.replaced if name in comparison.data.names and _is_numeric(comparison, name))


def _is_numeric(comparison: Comparison, name: str) -> bool:
    try:
        comparison.original.numbers(name)
        comparison.data.numbers(name)
    except DataError:
        return False
    return True


def paired(comparison: Comparison) -> tuple[FloatArray, FloatArray]:
    """Original and published values, one row per published record, one column per numeric replaced column."""
    assert comparison.behind is not None
    names = numeric(comparison)
    before = np.column_stack([comparison.original.numbers(name) for name in names])
    return before[comparison.behind["data"]], np.column_stack([comparison.data.numbers(name) for name in names])
