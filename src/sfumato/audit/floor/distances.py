"""How far apart the hidden values of a group and those of the whole release are, from the definitions of t-closeness.

*Equal*: half of the sum of |p − q| over all values.

*Ordered*: the m different numbers of the release in their order, neighbours 1/(m − 1) apart. The order is the one the
policy declares, if it names every value, else that of numbers, else that of days; other text has no such distance. An empty cell
is one apart from every number, and the two are compared one after the other: |p₀ − q₀| for empty or not, then (1 − p₀) times the
distance of the numbers in the group from all numbers, together at most 1.

*Hierarchical*: two values are as far apart as the height of the lowest node above both, over the height of the tree. From
the bottom up every node joins what is too much below some of its children with what lacks below others: that costs its height over
the tree's for the smaller of the two, and the rest is handed on. A value that the tree does not name, an empty one too, stands
directly under the root.

>>> whole = {"9": 1, "10": 1, "100": 2}
>>> equal([{"9": 1, "10": 1}], whole), ordered([{"9": 1, "10": 1}], whole, ())
(0.5, 0.375)
>>> hierarchical([{"9": 1, "10": 1}], whole, [["9", "few", "any"], ["10", "few", "any"], ["100", "many", "any"]])
0.5
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import accumulate, pairwise

from sfumato.errors import ReleaseError

Weights = Mapping[str, int]
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


def hierarchical(spreads: Iterable[Weights], whole: Weights, rows: Sequence[Sequence[str]]) -> float:
    """The largest distance in a tree, from rows leaf, …, root."""
    tree = _Tree(whole, rows)
    return max(tree.distance(spread) for spread in spreads)


class _Tree:
    """Who stands below whom, how high every node is, and the weight of the whole release below it."""

    def __init__(self, whole: Weights, rows: Sequence[Sequence[str]]) -> None:
        self.up = {child: node for row in rows for child, node in pairwise(row) if child != node}
        self.root = rows[0][-1]
        self.up |= {value: self.root for value in whole if value not in self.up}
        self.height: dict[str, int] = {}
        for leaf in self.up.keys() - set(self.up.values()):
            for height, node in enumerate(self._above(leaf)):
                self.height[node] = max(self.height.get(node, 0), height)
        self.whole, self.total = self._below(whole), sum(whole.values())

    def _above(self, node: str) -> Iterable[str]:
        yield node
        while node != self.root:
            node = self.up[node]
            yield node

    def _below(self, spread: Weights) -> dict[str, int]:
        weights: dict[str, int] = {}
        for value, weight in spread.items():
            for node in self._above(value):
                weights[node] = weights.get(node, 0) + weight
        return weights

    def distance(self, spread: Weights) -> float:
        """Σ height · min(over, short) / H; where a group has nothing below a node, all is short and nothing moves."""
        size = sum(spread.values())
        extra = {node: weight * self.total - self.whole[node] * size for node, weight in self._below(spread).items()}
        over: dict[str, int] = {}
        for node, much in extra.items():
            if node != self.root:
                over[self.up[node]] = over.get(self.up[node], 0) + max(much, 0)
        moved = sum(self.height[node] * min(much, much - extra[node]) for node, much in over.items())
        return moved / (self.height[self.root] * size * self.total)


def equal(spreads: Iterable[Weights], whole: Weights) -> float:
    """½ Σ |p − q|, the largest: values that a group lacks contribute their q."""
    everything = sum(whole.values())
    farthest = 0.0
    for spread in spreads:
        total = sum(spread.values())
        met = sum(abs(weight * everything - whole[value] * total) - whole[value] * total for value, weight in spread.items())
        farthest = max(farthest, (met + everything * total) / (2 * everything * total))
    return farthest


def ordered(spreads: Iterable[Weights], whole: Weights, declared: Sequence[str]) -> float:
    """The largest distance of numbers in their order."""
    order = _Order(whole, declared)
    return max(order.distance(spread) for spread in spreads)


class _Order:
    """The numbers of a release in their order, with cumulative weights, and the weight of empty cells."""

    def __init__(self, whole: Weights, declared: Sequence[str]) -> None:
        self.key = _keys([value for value in whole if value], declared)
        different = sorted(set(self.key.values()))
        self.rank = {key: rank for rank, key in enumerate(different)}
        weights = [0] * len(different)
        for value, key in self.key.items():
            weights[self.rank[key]] += whole[value]
        self.below = list(accumulate(weights))  # Q · N₁: weight of the numbers up to each rank
        self.sums = [0, *accumulate(self.below)]
        self.numbers, self.empty = sum(weights), whole.get("", 0)

    def distance(self, spread: Weights) -> float:
        """|p₀ − q₀| + (1 − p₀) Σ |P − Q| / (m − 1), at most 1."""
        total, everything = sum(spread.values()), self.numbers + self.empty
        apart = abs(spread.get("", 0) * everything - self.empty * total) / (total * everything)
        return min(apart + self._among_numbers(spread) / total, 1.0)

    def _among_numbers(self, spread: Weights) -> float:
        """The weight of the group's numbers times Σ |P − Q| / (m − 1); P is constant from one of them to the next."""
        mine = sorted((self.rank[self.key[value]], weight) for value, weight in spread.items() if value)
        total, last = sum(weight for _, weight in mine), len(self.below) - 1
        if not total or last < 1:
            return 0.0
        gaps, before, start = 0, 0, 0
        for rank, weight in [*mine, (last, 0)]:
            gaps += self._between(start, rank, before, total)
            before, start = before + weight, rank
        return gaps / (self.numbers * last)

    def _between(self, start: int, end: int, before: int, total: int) -> int:
        """Σ |before · N₁ − Q · total| over the ranks from `start` up to `end`."""
        turn = min(max(bisect_right(self.below, before * self.numbers // total), start), end)  # Q is at most P up to here
        low, high = self.sums[turn] - self.sums[start], self.sums[end] - self.sums[turn]
        return before * self.numbers * ((turn - start) - (end - turn)) + total * (high - low)


def _keys(values: list[str], declared: Sequence[str]) -> dict[str, float]:
    """What each value is ordered by."""
    places = {value: float(place) for place, value in enumerate(declared)}
    readers: tuple[Callable[[str], float | None], ...] = (places.get, number, _day)
    for read in readers:
        keys = {value: key for value in values if (key := read(value)) is not None}
        if len(keys) == len(values):
            return keys
    raise ReleaseError("values without an order have no ordered distance")


def number(text: str) -> float | None:
    """Digits with a sign, a point and an exponent; nothing else that the language would also take for a number."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) and abs(number) < 1e40 else None


def _day(text: str) -> float | None:
    try:
        return float(date.fromisoformat(text).toordinal())
    except ValueError:
        return None
