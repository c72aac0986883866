"""COUNT queries over published baskets: an answer from the bases, and bounds from doubtful items and thresholds.

Type I asks how many records contain all of some items, type II how many contain none of them. A published record certainly
qualifies when all its worlds do and possibly when one does, so the true count lies between `low` and `high`.

Paper
    [multitype 3.7.2]; query error is |answer − truth| / records.

>>> published = PublishedBaskets.of([["a"], ["a", "b"]], [["b"], []], [1, 0])
>>> count(published, present=["a", "b"])
BasketAnswer(estimate=1, low=1, high=2)
>>> count(published, absent=["b"])
BasketAnswer(estimate=1, low=0, high=1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.baskets import Baskets
from sfumato.data.sets import Sets
from sfumato.data.worlds import PublishedBaskets


@dataclass(frozen=True, slots=True)
class BasketAnswer:
    """What the bases say, and between which counts the truth lies."""

    estimate: int
    low: int
    high: int


def count(published: PublishedBaskets, *, present: Sequence[str] = (), absent: Sequence[str] = ()) -> BasketAnswer:
    """How many records contain all of `present` and none of `absent`."""
    base = item_columns(published.base, published.names, [*present, *absent])
    doubt = item_columns(published.doubt, published.names, [*present, *absent])
    wanted = np.array([True] * len(present) + [False] * len(absent), dtype=bool)
    wrong = base != wanted
    steps = wrong.sum(axis=1)
    now = steps == 0
    sure = now & ((~doubt).all(axis=1) | (published.threshold == 0))
    possible = (~wrong | doubt).all(axis=1) & (steps <= published.threshold)
    return BasketAnswer(int(now.sum()), int(sure.sum()), int(possible.sum()))


def true_count(original: Baskets, *, present: Sequence[str] = (), absent: Sequence[str] = ()) -> int:
    """The same on the original records."""
    has = item_columns(original.sets, original.names, [*present, *absent])
    return int((has == np.array([True] * len(present) + [False] * len(absent), dtype=bool)).all(axis=1).sum())


def item_columns(sets: Sets, names: tuple[str, ...], items: Sequence[str]) -> NDArray[np.bool_]:
    """Records x items: which records have each of the named items; an unknown item is in none."""
    place = {name: index for index, name in enumerate(names)}
    bits = np.zeros((len(sets), len(items)), dtype=bool)
    for column, item in enumerate(items):
        if item in place:
            bits[sets.having(place[item]), column] = True
    return bits


def workload_error(
    original: Baskets, published: PublishedBaskets, queries: int, sizes: tuple[int, int], seed: int = 0
) -> tuple[float, float]:
    """The mean query error of random type I and type II queries with |In|, |Ex| = sizes."""
    rng = np.random.default_rng(seed)
    before, after = _index(original.sets), _index(_aligned(published, original.names))
    found = []
    for kind, size in enumerate(sizes):
        errors = []
        for _ in range(queries):
            items = rng.choice(len(original.names), size=min(size, len(original.names)), replace=False)
            truth, answer = (_counted(index, items, kind == 0) for index in (before, after))
            errors.append(abs(truth - answer) / len(original))
        found.append(float(np.mean(errors)))
    return found[0], found[1]


def _aligned(published: PublishedBaskets, names: tuple[str, ...]) -> Sets:
    place = {name: index for index, name in enumerate(names)}
    moved = np.array([place[name] for name in published.names] or [0], dtype=np.int64)
    return published.base.renamed(moved, len(names))


def _index(sets: Sets) -> tuple[list[NDArray[np.int64]], int]:
    """For each item the records that have it, and the number of records."""
    order = np.argsort(sets.items, kind="stable")
    bounds = np.cumsum(sets.support())[:-1]
    return np.split(sets.owners[order], bounds), len(sets)


def _counted(index: tuple[list[NDArray[np.int64]], int], items: NDArray[np.int64], present: bool) -> int:
    having, records = index
    hits = np.zeros(records, dtype=np.int64)
    for item in items:
        hits[having[item]] += 1
    return int((hits == len(items)).sum() if present else (hits == 0).sum())
