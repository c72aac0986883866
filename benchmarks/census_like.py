"""A generator of census-like people with the attribute sizes of [sequential §7.1], correlated and skewed.

Columns: age 79, gender 2, education 16, marital 6, race 9, work class 9, country 83 and a sensitive occupation with 50
values. Nothing in it is real; correlations come from a hidden class of life, so that joins of projections are
informative."""

from __future__ import annotations

import numpy as np

SIZES = {"age": 79, "gender": 2, "education": 16, "marital": 6, "race": 9, "work": 9, "country": 83, "occupation": 50}
LEVELS = {
    "age": (5, 20),
    "gender": (),
    "education": (4,),
    "marital": (3,),
    "race": (),
    "work": (2, 4),
    "country": (10,),
}


def people(count: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Codes per column."""
    rng = np.random.default_rng(seed)
    life = rng.integers(0, 12, count)
    table = {}
    for name, size in SIZES.items():
        skew = {"race": 4.5, "country": 2.5}.get(name, 0.55)
        base = 1.0 / np.arange(1, size + 1) ** skew
        if name == "age":
            base = np.exp(-(((np.arange(size) - 22) / 21.0) ** 2)) + 1e-7
        chances = np.array([np.roll(base, 3 * c) * 0.45 + base for c in range(12)]) if name != "age" else _aged(base)
        chances = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        draw = rng.random(count)
        codes = np.empty(count, dtype=np.int64)
        for c in range(12):
            mine = life == c
            codes[mine] = np.minimum(np.searchsorted(chances[c], draw[mine]), size - 1)
        table[name] = codes
    return table


def _aged(base: np.ndarray) -> np.ndarray:
    ages = np.arange(len(base))
    return np.array([base * np.exp(-(((ages - 4 * c) / 40.0) ** 2)) + 3e-6 for c in range(12)])


def intervals(name: str) -> list[tuple[int, int]]:
    """Nodes of the column's taxonomy: leaves, groups of the given widths, root."""
    size = SIZES[name]
    nodes = [(x, x + 1) for x in range(size)] + [(0, size)]
    for width in LEVELS.get(name, ()):
        nodes += [(lo, min(lo + width, size)) for lo in range(0, size, width)]
    return nodes
