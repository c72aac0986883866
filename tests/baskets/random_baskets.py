"""Small random instances for the tests of set-valued records."""

from __future__ import annotations

import numpy as np

from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets


def random_sets(rng: np.random.Generator, count: int, width: int, density: float = 0.4) -> Sets:
    return Sets.from_dense(rng.random((count, width)) < density)


def regular_targets(rng: np.random.Generator, count: int, degree: int) -> np.ndarray:
    """A random regular bipartite graph without repeated edges: disjoint permutations, redrawn where they collide."""
    rows: list[np.ndarray] = []
    while len(rows) < degree:
        new = rng.permutation(count)
        if not any((new == old).any() for old in rows):
            rows.append(new)
    return np.stack(rows, axis=1).astype(np.int32)


def table_3_1() -> Baskets:
    rows = [
        ["jogging", "swimming"],
        ["swimming", "tennis"],
        ["jogging", "swimming", "soccer"],
        ["swimming", "tennis", "soccer"],
        ["jogging", "swimming", "tennis"],
        ["jogging", "tennis", "soccer"],
    ]
    creed = ["Christian", "Christian", "Muslim", "Buddhist", "Buddhist", "Muslim"]
    return Baskets.of(rows, {"religion": creed}, names=["jogging", "swimming", "tennis", "soccer"])
