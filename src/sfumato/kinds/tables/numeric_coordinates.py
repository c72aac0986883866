"""Records as points: the quasi-identifiers of a table in coordinates in which near records are like each other.

A column of numbers is one coordinate. A column of categories has one for each of its frequent values. Every column is
scaled to the same spread, so that none counts more than another.

Invariants
    I1  A missing number stands at the mean of its column, so that it draws nobody anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.core.arrays import FloatArray
from sfumato.data.generalization import MISSING
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import parse_number

_FREQUENT = 40
"""Values of a category that have a coordinate of their own; the others share one."""


def is_numeric(text: TextColumn) -> bool:
    """Whether all values that are there are numbers, and there is one."""
    known = [label for label in text.labels if label != MISSING]
    return bool(known) and all(parse_number(label) is not None for label in known)


def values_of(text: TextColumn) -> FloatArray:
    """A column of numbers, missing ones as nan."""
    labels = [float(parse_number(label) or 0) if label != MISSING else np.nan for label in text.labels]
    return np.array(labels, dtype=np.float64)[text.codes]


def coordinates_of(table: Table, names: Sequence[str], numeric: Sequence[str]) -> FloatArray:
    """The records in coordinates."""
    parts = [_line(values_of(table.text(name))) if name in numeric else _corners(table.text(name)) for name in names]
    return np.ascontiguousarray(np.concatenate(parts, axis=1)) if parts else np.zeros((table.rows, 0))


def _line(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    mean = float(values[known].mean()) if known.any() else 0.0
    centred = np.where(known, values - mean, 0.0)  # I1
    spread = float(np.sqrt((centred**2).mean())) if len(centred) else 0.0
    return (centred / (spread or 1.0))[:, None]


def _corners(text: TextColumn) -> FloatArray:
    counts = text.counts()
    place = np.full(len(counts), min(len(counts), _FREQUENT) - 1)
    place[np.argsort(-counts, kind="stable")[:_FREQUENT]] = np.arange(min(len(counts), _FREQUENT))
    own = place[text.codes]
    share = np.bincount(own) / max(len(own), 1)
    spread = float(np.sqrt((share * (1 - share)).sum()))
    corners = np.zeros((len(own), len(share)))
    corners[np.arange(len(own)), own] = 1.0 / (spread or 1.0)
    return corners
