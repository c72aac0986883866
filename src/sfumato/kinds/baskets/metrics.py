"""COUNT queries over published baskets: an answer from the bases, and bounds from doubtful items and thresholds.

Type I asks how many records contain all of some items, type II how many contain none of them. A published record
certainly qualifies when all its worlds do and possibly when one does, so the true count lies between `low` and `high`.

Paper
    [multitype 3.7.2]; query error is |answer − truth| / records.

>>> published = PublishedBaskets.of([["a"], ["a", "b"]], [["b"], []], [1, 0])
>>> count(published, present=["a", "b"])
BasketAnswer(estimate=1, low=1, high=2)
>>> count(published, absent=["b"])
BasketAnswer(estimate=1, low=0, high=1)


Basket query error
------------------
Query error of baskets: COUNT queries that ask for items present (type I) or absent (type II).

Sizes of the queries are those of the thesis for dense and for sparse data; the figure is the mean error of both types
over the number of records.

Paper: [multitype 3.7.2]


Bit error rate
--------------
Bit error rate: how many items of the published base are wrong for a record, relative to the record's size.

The mean of |record xor base| / |record| over all records, where every published row that may stand for the record
counts alike: that is what the files say, and what any person with the original finds, so it is one figure in the report
and in `measure`. With more than 2,000 records an evenly spread sample of 2,000 is measured. `true_error_rate` is the
same over the true rows alone, which only the data holder knows; it is lower.

Paper
    [multitype 3.7.1], ER.
Departures
    A record without items counts with size 1.


True error rate
---------------
True error rate: how many items of the published base are wrong for the record that it was made from.

The mean of |record xor base| / |record| over the true pairs of record and row. Only the data holder can say it: it
needs the private provenance. `bit_error_rate` is what everybody else finds.

Paper
    [multitype 3.7.1]


Known width
-----------
Width of known columns: how much of a column a published cell beside the items stands for, on average.

Per quasi-identifier of baskets the mean width of its cells: 0 where single values are shown, 1 where all show the whole
column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.form import Basket, BasketBlocks, published_baskets
from sfumato.kinds.baskets.known_columns import generalization_and_codes, known_columns
from sfumato.kinds.baskets.published_baskets import PublishedBaskets
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView


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


# Basket query error
# ------------------


class BasketQueryError(Metric):
    """Mean error of queries for items present and for items absent, over the number of records."""

    name: ClassVar[str] = "query_error of baskets"
    title: ClassVar[str] = "Error of count queries"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.2"

    def measure(self, exhibit: ReleaseView) -> float:
        published = exhibit.once(published_baskets)
        sets = exhibit.original.sets
        dense = len(sets.items) > 0.2 * len(sets) * max(sets.width, 1)
        asked = {"queries": 200, "present": 3 if dense else 1, "absent": 4 if dense else 5} | dict(exhibit.parameters)
        sizes = (int(asked["present"]), int(asked["absent"]))
        return sum(workload_error(exhibit.original, published, int(asked["queries"]), sizes)) / 2


# Bit error rate
# --------------


_SAMPLE = 2_000


class BitErrorRate(Metric):
    """Wrong items of the published base, relative to the size of the record."""

    name: ClassVar[str] = "bit_error_rate"
    title: ClassVar[str] = "Wrong items"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.1"

    def measure(self, exhibit: ReleaseView) -> float:
        published = exhibit.once(published_baskets)
        original = exhibit.original.recoded(union_of_items(exhibit.original.names, published.names))
        chosen = np.unique(np.linspace(0, len(original) - 1, _SAMPLE).astype(np.int64))
        return error_rate(original.sets.take(chosen), published, original.names)


def union_of_items(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Every item of both, once."""
    return tuple(dict.fromkeys([*first, *second]))


def _on(sets: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> Sets:
    """Published sets over the universe `names`."""
    place = {name: index for index, name in enumerate(names)}
    moved = np.array([place[name] for name in published.names] or [0], dtype=np.int64)
    return sets.renamed(moved, len(names))


def true_rate(people: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> float:
    """The rate over the true pairs: row i stands for person i."""
    return float((people.hamming(_on(published.base, published, names)) / np.maximum(people.sizes, 1)).mean())


def error_rate(people: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> float:
    """The mean, over people, of the mean relative distance to the bases of their compatible rows."""
    base, doubt = _on(published.base, published, names), _on(published.doubt, published, names)
    matrices = [sets.matrix().T.tocsr() for sets in (base, doubt)]
    both = base.matrix().multiply(doubt.matrix())
    kept = np.asarray(both.sum(axis=1)).reshape(-1)
    rates = []
    for first in range(0, len(people), 50):
        rows = people.take(np.arange(first, min(first + 50, len(people))))
        with_base, with_doubt = (np.asarray((rows.matrix() @ matrix).todense()) for matrix in matrices)
        with_both = np.asarray((rows.matrix() @ both.T.tocsr()).todense())
        apart = rows.sizes[:, None] + base.sizes[None, :] - 2 * with_base
        doubted = with_doubt + kept[None, :] - 2 * with_both
        fits = (apart == doubted) & (apart <= published.threshold[None, :])
        mean = (apart * fits).sum(axis=1) / np.maximum(fits.sum(axis=1), 1)
        rates.append(mean / np.maximum(rows.sizes, 1))
    return float(np.concatenate(rates).mean())


# True error rate
# ---------------


class TrueErrorRate(Metric):
    """Wrong items of the published base of the true row, relative to the size of the record; only the data holder knows
    it."""

    name: ClassVar[str] = "true_error_rate"
    title: ClassVar[str] = "Wrong items of the true record"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.1"

    def ready(self, exhibit: ReleaseView) -> bool:
        return super().ready(exhibit) and exhibit.behind is not None

    def measure(self, exhibit: ReleaseView) -> float:
        published = exhibit.once(published_baskets)
        original = exhibit.original.recoded(union_of_items(exhibit.original.names, published.names))
        assert exhibit.behind is not None
        return true_rate(original.sets.take(exhibit.behind["data"]), published, original.names)


# Known width
# -----------


class KnownWidth(Metric):
    """Average width of the quasi-identifier cells of baskets, per column."""

    name: ClassVar[str] = "known_width"
    title: ClassVar[str] = "Width of known cells"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "sequential §7"
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return super().ready(exhibit) and bool(known_columns(exhibit.policy))

    def measure(self, exhibit: ReleaseView) -> dict[str, float]:
        found = {}
        for name in known_columns(exhibit.policy):
            domain, _ = generalization_and_codes(exhibit.policy, exhibit.original, name)
            labels, often = np.unique(exhibit.once(published_baskets).labels[name].astype(str), return_counts=True)
            cells = np.array([domain.interval(label) or (0, domain.size) for label in labels.tolist()], dtype=np.int64)
            found[name] = float(np.average(domain.width(cells[:, 0], cells[:, 1]), weights=often))
        return found
