"""t-closeness: the sensitive values among everybody's candidates are distributed almost as in the whole release.

Guarantee: an outsider who links a person learns at most a distribution at distance t from the one everybody reads off
the release.

Distance of distributions (earth mover's), by kind
    equal         every two values are one apart: half the sum of absolute differences
    ordered       values in numeric order (alphabetic when they are no numbers), neighbours 1/(m − 1) apart

Paper: Li, Li, Venkatasubramanian (2007), as cited in [boundaries §1].
Invariants: both distances are convex, so joining groups cannot raise the largest distance.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"pay": (np.array([0, 1, 0, 1]), ("10", "20"))})
>>> TCloseness(t=0.1).achieved(link)
{'t': 0.0, 'distance': 'equal'}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.linkage import Linkage, Spread
from sfumato.models.base import Example, Model, Safer, Short, crowd, everywhere, rounded

_CHUNK = 4_000_000


class TCloseness(Model):
    """Sensitive values among everybody's candidates are distributed almost as in the whole release."""

    name: ClassVar[str] = "t-closeness"
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"
    levels: ClassVar[Mapping[str, Safer]] = {"t": "less"}
    short: ClassVar[Short | None] = Short("closeness", "t")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"t": 0.4}, holds=crowd("aab", "abb"), fails=crowd("aaa", "abb", "bbb")),
        Example({"t": 0.3, "distance": "ordered"}, holds=crowd("abc", "bb"), fails=crowd("aab", "bcc")),
    )

    t: float = Field(ge=0, le=1, description="largest distance of distributions")
    distance: Literal["equal", "ordered"] = Field(default="equal", description="how far apart two values are")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return everywhere(linkage, [self._distance(spread) <= self.t + 1e-12 for spread in linkage.spread.values()])

    def covers(self, other: Any) -> bool:
        return isinstance(other, TCloseness) and self.distance == other.distance and self.t <= other.t

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        farthest = [float(self._distance(spread).max()) for spread in linkage.spread.values() if spread.kinds]
        return {"t": rounded(max(farthest, default=0.0)), "distance": self.distance}

    def _distance(self, spread: Spread) -> FloatArray:
        return _ordered(spread) if self.distance == "ordered" else _equal(spread)


def _equal(spread: Spread) -> FloatArray:
    """Half the sum of |p − q|: values that do not occur in a kind contribute their overall share."""
    overall = spread.overall()
    shares = spread.shares()
    met = overall[spread.value]
    seen = np.bincount(spread.kind(), weights=np.abs(shares - met) - met, minlength=spread.kinds)
    distances: FloatArray = (seen + overall.sum()) / 2
    return np.maximum(distances, 0.0)


def _ordered(spread: Spread) -> FloatArray:
    """Mean absolute difference of the cumulative distributions, in pieces of bounded memory."""
    shares = spread.overall()
    order = np.array([i for i in _numeric_order(spread.labels) if shares[i] > 0], dtype=np.int64)  # values nobody has do not count
    overall = np.cumsum(shares[order])
    width = len(order)
    if width < 2:
        return np.zeros(spread.kinds)
    rank = np.zeros(len(spread.labels), dtype=np.int64)
    rank[order] = np.arange(width)
    step = max(1, _CHUNK // width)
    distances = [_dense_ordered(spread, rank, overall, i, min(i + step, spread.kinds)) for i in range(0, spread.kinds, step)]
    return np.concatenate(distances) if distances else np.zeros(0)


def _dense_ordered(spread: Spread, rank: IntArray, overall: FloatArray, first: int, last: int) -> FloatArray:
    piece = slice(spread.start[first], spread.start[last])
    kind = np.repeat(np.arange(last - first), spread.distinct()[first:last])
    dense = np.zeros((last - first, len(overall)))
    dense[kind, rank[spread.value[piece]]] = spread.weight[piece]
    dense /= dense.sum(axis=1, keepdims=True)
    distances: FloatArray = np.abs(np.cumsum(dense, axis=1) - overall)[:, :-1].sum(axis=1) / (len(overall) - 1)
    return distances


def _numeric_order(labels: tuple[str, ...]) -> IntArray:
    try:
        keys: list[Any] = [float(label) for label in labels]
    except ValueError:
        keys = list(labels)
    return np.array(sorted(range(len(labels)), key=lambda i: keys[i]), dtype=np.int64)
