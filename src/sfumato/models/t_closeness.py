"""t-closeness: the sensitive values among everybody's candidates are distributed almost as in the whole release.

Guarantee: an outsider who links a person learns at most a distribution at distance t from the one everybody reads off
the release.

Distance of distributions (earth mover's), by kind
    equal         every two values are one apart: half the sum of absolute differences
    ordered       numbers (or days) in their order, neighbours 1/(m − 1) apart for m different ones; or the declared `order`

Notation, for `ordered`
    p₀, q₀        the share of missing values among the candidates, and in the whole release
    distance      |p₀ − q₀| + (1 − p₀) · (distance of the numbers among the candidates from all numbers), at most 1

Paper: Li, Li, Venkatasubramanian (2007), as cited in [boundaries §1].

Invariants
    I1  Joining groups cannot raise the largest distance: before it is cut off at 1, the distance is a sum of absolute values
        of functions that are linear in the distribution of the group.
    I2  An order is a fact about values, never about how they are spelt: ``1`` and ``1.0`` are one number, and a column without
        numbers is refused unless the policy declares its order.

Departures
    The paper has no missing values. A missing one has no place among numbers; it is taken to be one apart from each of them, which
    is as far as anything can be. The formula is the cost of moving the missing share first and the numbers then, so it is
    never below the earth mover's distance: what is certified is never too small.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"pay": (np.array([0, 1, 0, 1]), ("10", "20"))})
>>> TCloseness(t=0.1).achieved(link)
{'t': 0.0, 'distance': 'equal'}
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"pay": (np.array([0, 1, 2, 2]), ("9", "10", ""))})
>>> TCloseness(t=0.1, distance="ordered").achieved(link)
{'t': 0.5, 'distance': 'ordered'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.generalization import MISSING
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.numbers import number
from sfumato.errors import DataError
from sfumato.models.base import Demand, Example, Model, Safer, Short, crowd, everywhere, rounded

_CHUNK = 4_000_000


class TCloseness(Model):  # I1
    """Sensitive values among everybody's candidates are distributed almost as in the whole release."""

    name: ClassVar[str] = "t-closeness"
    sentence: ClassVar[str] = (
        "must find the values of {hide} distributed within {t} of the whole table (values {distance} apart; in the order {order})"
    )
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"
    compares: ClassVar[bool] = True
    levels: ClassVar[Mapping[str, Safer]] = {"t": "less"}
    short: ClassVar[Short | None] = Short("closeness", "t")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"t": 0.4}, holds=crowd("aab", "abb"), fails=crowd("aaa", "abb", "bbb")),
        Example({"t": 0.3, "distance": "ordered"}, holds=crowd("123", "22"), fails=crowd("112", "233")),
    )

    t: float = Field(ge=0, le=1, description="largest distance of distributions")
    distance: Literal["equal", "ordered"] = Field(default="equal", description="how far apart two values are")
    order: tuple[str, ...] | None = Field(default=None, description="values from least to most, where they are no numbers")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return everywhere(linkage, [distances <= self.t + 1e-12 for distances in self._distances(linkage)])

    def demand(self) -> Demand:
        equal = self.distance == "equal"
        return Demand(distance=self.t if equal else 1.0, complete=equal)

    def covers(self, other: Any) -> bool:
        same = isinstance(other, TCloseness) and (self.distance, self.order) == (other.distance, other.order)
        return same and self.t <= other.t

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        farthest = [float(distances.max()) for distances in self._distances(linkage) if len(distances)]
        return {"t": rounded(max(farthest, default=0.0)), "distance": self.distance}

    def _distances(self, linkage: Linkage) -> list[FloatArray]:
        if self.distance == "equal":
            return [_equal(spread) for spread in linkage.spread.values()]
        return [_ordered(spread, _ranks(spread, self.order or (), name)) for name, spread in linkage.spread.items()]


def _equal(spread: Spread) -> FloatArray:
    """Half the sum of |p − q|: values that do not occur in a kind contribute their overall share."""
    overall = spread.overall()
    shares = spread.shares()
    met = overall[spread.value]
    seen = np.bincount(spread.kind(), weights=np.abs(shares - met) - met, minlength=spread.kinds)
    distances: FloatArray = (seen + overall.sum()) / 2
    return np.maximum(distances, 0.0)


def _ordered(spread: Spread, rank: IntArray) -> FloatArray:
    """The missing share apart from the numbers; cumulative distributions in pieces of bounded memory."""
    shares = spread.overall()
    placed = rank >= 0
    overall = np.bincount(rank[placed], weights=shares[placed], minlength=int(rank.max(initial=-1)) + 1)
    missing = float(shares[~placed].sum())
    cumulative = np.cumsum(overall) / max(float(overall.sum()), 1e-300)
    step = max(1, _CHUNK // max(len(overall), 1))
    pieces = [
        _dense_ordered(spread, rank, cumulative, missing, first, min(first + step, spread.kinds))
        for first in range(0, spread.kinds, step)
    ]
    return np.minimum(np.concatenate(pieces), 1.0) if pieces else np.zeros(0)


def _dense_ordered(spread: Spread, rank: IntArray, cumulative: FloatArray, missing: float, first: int, last: int) -> FloatArray:
    """|p₀ − q₀| + Σ |P − (1 − p₀) Q| / (m − 1) for some kinds, with P and Q the cumulative shares of numbers."""
    piece = slice(spread.start[first], spread.start[last])
    kind = np.repeat(np.arange(last - first), spread.distinct()[first:last])
    share = spread.weight[piece] / spread.total()[first:last][kind]
    place = rank[spread.value[piece]]
    placed = place >= 0
    dense = np.zeros((last - first, len(cumulative)))
    np.add.at(dense, (kind[placed], place[placed]), share[placed])
    present = dense.sum(axis=1, keepdims=True)
    gaps = np.abs(np.cumsum(dense, axis=1) - present * cumulative)[:, :-1]
    distances: FloatArray = np.abs(1 - present[:, 0] - missing) + gaps.sum(axis=1) / max(len(cumulative) - 1, 1)
    return distances


def _ranks(spread: Spread, declared: tuple[str, ...], column: str) -> IntArray:
    """The place of every label among the different values of the release, −1 for a missing value or one that nobody has (I2)."""
    rank = np.full(len(spread.labels), -1, dtype=np.int64)
    used = np.flatnonzero(spread.overall() > 0)
    shown = [int(code) for code in used if spread.labels[code] != MISSING]
    if shown:
        keys = _keys([spread.labels[code] for code in shown], declared, column)
        rank[shown] = np.unique(np.array(keys, dtype=np.float64), return_inverse=True)[1]
    return rank


def _keys(labels: list[str], declared: tuple[str, ...], column: str) -> list[float]:
    """What the labels are ordered by: the declared order, else numbers, else days."""
    places = {label: float(place) for place, label in enumerate(declared)}
    readers: tuple[Callable[[str], float | None], ...] = (places.get, _number, _day)
    for read in readers:
        keys = [key for key in map(read, labels) if key is not None]
        if len(keys) == len(labels):
            return keys
    of = f"of '{column}' " if column else ""
    what = f"the ordered distance needs an order, and the values {of}are neither numbers nor days"
    raise DataError(what, hint="write 'order: [mild, moderate, severe]' with every value, or 'distance: equal'")


def _number(label: str) -> float | None:
    value = number(label)
    return None if value is None else float(value)


def _day(label: str) -> float | None:
    try:
        return float(date.fromisoformat(label).toordinal())
    except ValueError:
        return None
