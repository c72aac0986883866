"""Distortion: the average relative change of a replaced value.

Paper
    [multitype Eq. 5.9]: mean over cells of |t − t'| / |t|.

Departures
    The printed ratio has no value where t = 0; there the change is measured against the mean absolute value of the column.

>>> import numpy as np
>>> distortion(np.array([[10.0], [20.0]]), np.array([[15.0], [20.0]]))
0.25
>>> distortion(np.array([[0.0], [4.0]]), np.array([[1.0], [4.0]]))
0.25
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.metrics._replaced import PairedMetric, paired
from sfumato.release.exhibit import Exhibit


class Distortion(PairedMetric):
    """Average relative change of a replaced value."""

    name: ClassVar[str] = "distortion"
    range: ClassVar[str] = "0 …"
    paper: ClassVar[str] = "multitype Eq. 5.9"

    def measure(self, exhibit: Exhibit) -> float:
        return distortion(*paired(exhibit))


def distortion(before: FloatArray, after: FloatArray) -> float:
    """Mean relative change between two tables with the same records and columns."""
    if not before.size:
        return 0.0
    size = np.abs(before)
    usual = np.broadcast_to(size.mean(axis=0), size.shape)
    scale = np.where(size > 0, size, np.where(usual > 0, usual, 1.0))
    return float((np.abs(after - before) / scale).mean())
