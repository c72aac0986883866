"""The arrays of the house, by what they hold: one name for each type, wherever it is used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Whole numbers: codes, counts, positions, ranks."""
CodeArray = NDArray[np.int32]
"""Codes of values, held small."""
FloatArray = NDArray[np.float64]
"""Real numbers: shares, costs, probabilities."""
BoolArray = NDArray[np.bool_]
"""Answers, one for each entry."""
