"""Sorting by digits, and classes of so many rows that they are sorted so."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.arrays import IntArray
from sfumato.core.kernels.radix_sort import BITS, sort_by_digits
from sfumato.data import equivalence_classes
from sfumato.data.equivalence_classes import equivalence_classes_of


def plain_order(keys: list[int]) -> list[int]:
    """The places of the keys in ascending order, equal keys as they come."""
    return sorted(range(len(keys)), key=lambda place: keys[place])


@pytest.mark.twin(of=[sort_by_digits])
@pytest.mark.parametrize("bits", [1, BITS, BITS + 1, 2 * BITS, 40, 62])
def test_keys_are_sorted_with_their_places(bits: int) -> None:
    draw = np.random.default_rng(bits)
    keys = draw.integers(0, 1 << bits, 300)
    keys[draw.integers(0, 300, 100)] = keys[0]
    keys[5] = (1 << bits) - 1
    asked, places, room, other = (
        keys.copy(),
        np.arange(300),
        np.zeros(300, dtype=np.int64),
        np.zeros(300, dtype=np.int64),
    )
    found = (room, other) if sort_by_digits(asked, places, room, other, bits) else (asked, places)
    expected = plain_order(keys.tolist())
    assert found[1].tolist() == expected
    assert found[0].tolist() == sorted(keys.tolist())


@pytest.mark.parametrize("columns", [1, 3])
def test_many_rows_have_the_classes_that_few_have(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answer whichever way is taken."""
    draw = np.random.default_rng(columns)
    codes: list[IntArray] = [draw.integers(0, 1 << 15, 2000) for _ in range(columns)]
    plain = equivalence_classes_of(codes)
    monkeypatch.setattr(equivalence_classes, "_MANY", 1)
    monkeypatch.setattr(equivalence_classes, "_sorts_fast", lambda: True)
    found = equivalence_classes_of(codes)
    assert len(plain) > 1000
    assert found.of.tolist() == plain.of.tolist()
    assert found.first.tolist() == plain.first.tolist()
    assert found.counts.tolist() == plain.counts.tolist()
