"""t-closeness: the sensitive values among each person's candidates are distributed almost as in the whole release.

Guarantee: an adversary who links a person learns at most a distribution at distance t from the one everybody reads off
the release.

Distance of distributions (earth mover's), by kind
    equal         every two values are one apart: half the sum of absolute differences
    ordered       numbers (or days) in their order, neighbours 1/(m − 1) apart for m different ones; or the declared
                  `order`
    hierarchical  values of the declared `tree`: the height of the lowest node above both over the height of the tree

Notation, for `ordered`
    p₀, q₀        the share of missing values among the candidates, and in the whole release
    distance      |p₀ − q₀| + (1 − p₀) · (distance of the numbers among the candidates from all numbers), at most 1

Notation, for `hierarchical`
    h(v), H       the longest way from node v down to a leaf; that of the root
    p(v), q(v)    the share of the leaves below v among the candidates, and in the whole release
    distance      Σ (h(parent of v) − h(v)) / 2H · |p(v) − q(v)| over all nodes but the root: heights make the tree a
                  metric one, in which whatever is moved crosses every edge that has too much below it, and no edge
                  twice

Paper: Li, Li, Venkatasubramanian (2007), as cited in [boundaries §1].

Invariants
    I1  Joining groups cannot raise the largest distance: before it is cut off at 1, the distance is a sum of absolute
        values of functions that are linear in the distribution of the group.
    I2  An order is a fact about values, never about how they are spelt: ``1`` and ``1.0`` are one number, and a column
        without numbers is refused unless the policy declares its order. A value that the tree does not name, and a
        missing one, is one apart from every other, which is as far as anything can be.

Departures
    The paper has no missing values. A missing one has no place among numbers; it is taken to be one apart from each of
    them, which is as far as anything can be. The formula is the cost of moving the missing share first and the numbers
    then, so it is never below the earth mover's distance: what is certified is never too small. The paper's trees have
    all leaves at one level; here the height of a node is that of its deepest leaf.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"pay": (np.array([0, 1, 0, 1]), ("10", "20"))})
>>> TCloseness(t=0.1).achieved(link)
{'t': 0.0, 'distance': 'equal'}
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"pay": (np.array([0, 1, 2, 2]), ("9", "10", ""))})
>>> TCloseness(t=0.1, distance="ordered").achieved(link)
{'t': 0.5, 'distance': 'ordered'}
>>> tree = {"any": {"heart": ["angina", "stroke"], "lungs": ["asthma", "flu"]}}
>>> link = Linkage.of_groups(np.array([0, 0, 1, 1]), {"ill": (np.array([0, 1, 0, 2]), ("angina", "asthma", "stroke"))})
>>> TCloseness(t=0.3, distance="hierarchical", tree=tree).achieved(link)
{'t': 0.25, 'distance': 'hierarchical'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.core.wording import Wording
from sfumato.data.generalization import MISSING
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.text_values import parse_number
from sfumato.models.base import (
    ComparingModel,
    Demand,
    Example,
    Safer,
    Short,
    all_hold,
    example_classes,
    round_significant,
)

_CHUNK = 4_000_000


class TCloseness(ComparingModel):  # I1
    """In every equivalence class the sensitive values are distributed almost as in the whole release."""

    name: ClassVar[str] = "t-closeness"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="t-closeness",
        holds=(
            "The largest distance of an equivalence class from the whole release is {found.t} for {hide} (limit:"
            " {asked.t})."
        ),
        violated="An equivalence class is {found.t} away from the whole release for {hide} (limit: {asked.t}).",
        headline=(
            "An adversary who knows {given} sees {hide} distributed at most {found.t} (0 to 1) away from the whole"
            " release."
        ),
        limit=(
            "It bounds a distance of distributions, not a probability of guessing, and does not bound the class size."
        ),
    )
    sentence: ClassVar[str] = (
        "must find the values of {hide} distributed within {t} of the whole release "
        "(values {distance} apart; in the order {order}; in the tree {tree}; the whole release is counted {reference})"
    )
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"
    levels: ClassVar[Mapping[str, Safer]] = {"t": "less"}
    short: ClassVar[Short | None] = Short("closeness", "t")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"t": 0.4}, holds=example_classes("aab", "abb"), fails=example_classes("aaa", "abb", "bbb")),
        Example(
            {"t": 0.3, "distance": "ordered"}, holds=example_classes("123", "22"), fails=example_classes("112", "233")
        ),
        Example(
            {"t": 0.3, "distance": "hierarchical", "tree": {"any": {"early": ["a", "b"], "late": ["c", "d"]}}},
            holds=example_classes("ac", "bd"),
            fails=example_classes("ab", "cd"),
        ),
    )

    t: float = Field(ge=0, le=1, description="largest distance of distributions")
    distance: Literal["equal", "ordered", "hierarchical"] = Field(
        default="equal", description="distance between values: equal, ordered or hierarchical"
    )
    order: tuple[str, ...] | None = Field(
        default=None, description="values from least to most, if they are not numbers"
    )
    tree: Any = Field(
        default=None, description="for hierarchical distances: a nested root, {any: {heart: [angina, stroke]}}"
    )

    @field_validator("tree")
    @classmethod
    def _as_paths(cls, written: Any) -> tuple[tuple[str, ...], ...] | None:
        """Rows ``leaf, …, root``, which can be compared and kept."""
        if written is None:
            return None
        try:
            rows = written if isinstance(written, list | tuple) else Hierarchy.from_tree(written).paths()
            return tuple(tuple(row) for row in Hierarchy.from_paths(rows).paths())
        except (DataError, AttributeError, TypeError, IndexError, RecursionError):
            raise ValueError("must be a nested tree with one root, and every value once") from None

    @model_validator(mode="after")
    def _tree_where_needed(self) -> TCloseness:
        if (self.tree is not None) != (self.distance == "hierarchical"):
            raise ValueError("a hierarchical distance needs a 'tree', and no other does")
        return self

    @property
    def orders_values(self) -> bool:
        return self.distance != "equal"

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [distances <= self.t + 1e-12 for distances in self._distances(linkage)])

    def is_bound(self, linkage: Linkage) -> bool:
        """Among ordered values a missing one makes the distance a bound (see Departures)."""
        spreads = linkage.spread.values() if self.distance == "ordered" else ()
        return any(MISSING in s.labels and s.overall()[s.labels.index(MISSING)] > 0 for s in spreads)

    def demand(self) -> Demand:
        equal = self.distance == "equal"
        return Demand(distance=self.t if equal else 1.0, complete=equal)

    def covers(self, other: Any) -> bool:
        return isinstance(other, TCloseness) and self._measure() == other._measure() and self.t <= other.t

    def _measure(self) -> tuple[Any, ...]:
        return self.distance, self.order, self.tree, self.reference

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        farthest = [float(distances.max()) for distances in self._distances(linkage) if len(distances)]
        return {"t": round_significant(max(farthest, default=0.0)), "distance": self.distance}

    def _distances(self, linkage: Linkage) -> list[FloatArray]:
        if self.distance == "equal":
            return [_equal(spread) for spread in self.spreads(linkage).values()]
        if self.distance == "hierarchical":
            tree = Hierarchy.from_paths(self.tree)
            return [_hierarchical(spread, tree) for spread in self.spreads(linkage).values()]
        return [
            _ordered(spread, _ranks(spread, self.order or (), name)) for name, spread in self.spreads(linkage).items()
        ]


def _equal(spread: ValueDistribution) -> FloatArray:
    """Half the sum of |p − q|: values that do not occur in a kind contribute their overall share."""
    overall = spread.overall()
    shares = spread.shares()
    met = overall[spread.value]
    seen = np.bincount(spread.kind(), weights=np.abs(shares - met) - met, minlength=spread.kinds)
    distances: FloatArray = (seen + overall.sum()) / 2
    return np.maximum(distances, 0.0)


def _ordered(spread: ValueDistribution, rank: IntArray) -> FloatArray:
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


def _dense_ordered(
    spread: ValueDistribution, rank: IntArray, cumulative: FloatArray, missing: float, first: int, last: int
) -> FloatArray:
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


def _hierarchical(spread: ValueDistribution, tree: Hierarchy) -> FloatArray:
    """Σ (h(parent) − h(node)) / 2H · |p(node) − q(node)|, in pieces of bounded memory."""
    whole = _with_strangers(tree, spread.labels)
    leaf = np.array([whole.code_of[label] for label in spread.labels], dtype=np.int64)
    height = np.zeros(len(whole.names))
    for node in range(whole.root):  # children come before their parents
        height[whole.parent[node]] = max(height[whole.parent[node]], height[node] + 1)
    length = (height[whole.parent] - height) / (2 * max(height[-1], 1))
    overall = _below(whole, np.zeros(len(leaf), dtype=np.int64), leaf, spread.overall(), 1)[0]
    shares, step = spread.shares(), max(1, _CHUNK // len(whole.names))
    pieces = []
    for first in range(0, spread.kinds, step):
        last = min(first + step, spread.kinds)
        piece = slice(spread.start[first], spread.start[last])
        kind = np.repeat(np.arange(last - first), spread.distinct()[first:last])
        mass = _below(whole, kind, leaf[spread.value[piece]], shares[piece], last - first)
        pieces.append(np.abs(mass - overall) @ length)
    return np.concatenate(pieces) if pieces else np.zeros(0)


def _with_strangers(tree: Hierarchy, labels: tuple[str, ...]) -> Hierarchy:
    """The tree with values that it does not name directly under its root (I2)."""
    strange = [[label, tree.names[tree.root]] for label in labels if label not in tree.code_of]
    if any(label in tree.node_of for label, _ in strange):
        raise DataError("a group of the tree is named like a value", hint="rename the group in 'tree:' of the claim")
    return Hierarchy.from_paths([*tree.paths(), *strange]) if strange else tree


def _below(tree: Hierarchy, kind: IntArray, leaf: IntArray, share: FloatArray, kinds: int) -> FloatArray:
    """Per kind the share of the leaves below every node."""
    mass = np.zeros((kinds, len(tree.names)))
    node = leaf
    while len(node):
        np.add.at(mass, (kind, node), share)
        low = node != tree.root
        kind, node, share = kind[low], tree.parent[node[low]], share[low]
    return mass


def _ranks(spread: ValueDistribution, declared: tuple[str, ...], column: str) -> IntArray:
    """The place of every label among the different values of the release, −1 for a missing value or one that nobody has
    (I2)."""
    rank = np.full(len(spread.labels), -1, dtype=np.int64)
    used = np.union1d(np.flatnonzero(spread.overall() > 0), spread.value)
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
    value = parse_number(label)
    return None if value is None else float(value)


def _day(label: str) -> float | None:
    try:
        return float(date.fromisoformat(label).toordinal())
    except ValueError:
        return None
