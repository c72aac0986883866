"""How many people of a population look like the rows of a sample: said by weights, or bounded from the share that was
sampled.

Notation
    f, F    rows of a class, people of the population who look like them
    π       the share of the population that is in the table, everybody with the same chance

Guarantee
    `population_lower_bound`: the smallest F that is not refuted by f rows at the confidence 1 − α. A class that is seen
    at all has at least one row, so f is binomial (F, π) given that it is not 0; an F is refuted when f rows or more had
    a chance of at most α.

Paper: El Emam, Dankar (2008), who test F < k with the same law; here the test is turned into a bound on F.

>>> population_lower_bound(np.array([1, 2, 3, 5]), 0.1, 0.9).tolist()
[1, 3, 10, 25]
>>> rows_needed(5, 0.1, 0.9)
3
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.persons import number_equal_multisets
from sfumato.data.table import Table
from sfumato.data.text_values import parse_number
from sfumato.models.delta_presence import IN

_OUT = "0"
_SCALE = 1 << 40
"""Bounds on a presence are written as shares of so many."""


def read_weights(table: Table, name: str) -> FloatArray:
    """How many people each row stands for, as a column of weights says it."""
    text = table.text(name)
    values = [parse_number(label) for label in text.labels]
    if any(value is None or value <= 0 for value in values):
        raise DataError(f"'{name}' must say of every record for how many people it stands, above 0")
    return np.array([float(value) for value in values if value is not None])[text.codes]


def population_lower_bound(rows: IntArray, fraction: float, confidence: float) -> IntArray:
    """For classes of so many rows how many people of the population they stand for at least, at this confidence."""
    if fraction >= 1 or not len(rows):
        return rows.astype(np.int64)
    sizes, of = np.unique(rows, return_inverse=True)
    low, high = sizes.astype(np.int64), np.ceil(sizes / fraction).astype(np.int64) + 1
    while (low < high).any():
        middle = (low + high) // 2
        plausible = _chance(sizes, middle, fraction) > 1 - confidence
        low, high = np.where(plausible, low, middle + 1), np.where(plausible, middle, high)
        low = np.minimum(low, high)
    return high[of]


def _chance(rows: IntArray, people: IntArray, fraction: float) -> FloatArray:
    """That so many rows or more are drawn of so many people, given that one is."""
    from scipy.stats import binom

    drawn: FloatArray = binom.sf(rows - 1, people, fraction) / -np.expm1(people * np.log1p(-fraction))
    return drawn


def rows_needed(people: int, fraction: float, confidence: float) -> int:
    """The smallest class that stands for at least so many people."""
    low, high = 1, people
    while low < high:
        middle = (low + high) // 2
        enough = int(population_lower_bound(np.array([middle]), fraction, confidence)[0]) >= people
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def presence_bounds(people: IntArray, rows: IntArray, point: IntArray, box: IntArray, outside: int) -> Linkage:
    """Everybody of a population by the classes they fit, with the bounds of their chance to be in them.

    `people[p]` people look like p, `rows[c]` rows are in class c, and p fits c for every pair of `point` and `box`;
    `outside` people fit nothing.
    """
    if not len(point):
        return _shares(np.zeros(1), np.array([max(outside, 1)]))
    met, place = np.unique(point, return_inverse=True)
    kind = number_equal_multisets(place, box)
    many = np.bincount(kind, weights=people[met])
    pairs = equivalence_classes_of([kind[place], box])
    of, mine = kind[place][pairs.first], box[pairs.first]
    fits = np.bincount(mine, minlength=len(rows))
    most = np.bincount(of, weights=rows[mine], minlength=len(many))
    least = np.bincount(of, weights=np.where(fits[mine] == 1, rows[mine], 0), minlength=len(many))
    none = np.zeros(1 if outside else 0)
    chance = np.concatenate([np.minimum(most / many, 1.0), np.minimum(least / many, 1.0), none])
    return _shares(chance, np.concatenate([many, many, np.full(len(none), outside)]).astype(np.int64))


def _shares(chance: FloatArray, people: IntArray) -> Linkage:
    """Kinds of people with a chance each to be in the table."""
    inside = np.rint(chance * _SCALE).astype(np.int64)
    weight = np.stack([_SCALE - inside, inside], axis=1).ravel()
    value = np.tile(np.arange(2), len(chance))
    kind = np.repeat(np.arange(len(chance)), 2)
    return Linkage(people, people, {"presence": ValueDistribution.count(kind, value, len(chance), (_OUT, IN), weight)})
