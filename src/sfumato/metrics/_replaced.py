"""The replaced numeric columns of a release beside the original, record by record."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.errors import DataError
from sfumato.forms.replaced import Replaced
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class PairedMetric(Metric):
    """A metric that must know which published row belongs to which record: on the data holder's side only."""

    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return "data" in (exhibit.behind or {}) and bool(numeric(exhibit))


def numeric(exhibit: Exhibit) -> tuple[str, ...]:
    """The replaced columns that hold numbers or days in the original and in the release."""
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
    assert exhibit.behind is not None
    names = numeric(exhibit)
    before = np.column_stack([exhibit.original.numbers(name) for name in names])
    return before[exhibit.behind["data"]], np.column_stack([exhibit.data.numbers(name) for name in names])
