"""The kernel that counts rows of one person that fit a box, beside a plain loop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.kinds.tables.methods.kernels.person_partitioning import most_rows_of_one


@pytest.mark.twin(of=[most_rows_of_one])
def test_as_many_as_a_plain_count() -> None:
    draw = np.random.default_rng(5)
    for _ in range(200):
        columns, rows, boxes = draw.integers(1, 4), draw.integers(1, 30), draw.integers(1, 8)
        codes = draw.integers(0, 5, (rows, columns))
        guide = int(draw.integers(0, columns))
        codes = np.ascontiguousarray(codes[np.argsort(codes[:, guide], kind="stable")])
        person = draw.integers(0, 6, rows)
        lo = draw.integers(0, 5, (boxes, columns))
        hi = lo + draw.integers(1, 6 - lo)
        start = np.searchsorted(codes[:, guide], np.arange(6))
        tally = np.zeros(6, dtype=np.int64)
        found = most_rows_of_one(codes, person, guide, start, lo, hi, tally)
        assert found.tolist() == [plain_most(codes, person, lo[box], hi[box]) for box in range(boxes)]
        assert not tally.any()


def plain_most(codes: np.ndarray, person: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> int:
    fitting = Counter(int(whose) for row, whose in zip(codes, person, strict=True) if all(lo <= row) and all(row < hi))
    return max(fitting.values(), default=0)
