"""Medians and quantiles of a column or of every group: some places of the sorted values are settled, the others drawn around.

Notation
    place     a record's number, from 0, among the values of its group in ascending order
    quantile  `quantile(x, q)` of n values is the one at place ⌈q·n⌉ − 1: the smallest that at least the share q does not exceed;
              `median(x)` is the mean of the values at places ⌊(n−1)/2⌋ and ⌊n/2⌋
    bounds    the codes, in ascending order of their values, that may stand at a place

Invariants
    I1  Bounds rise from place to place, and a settled value is never below an earlier one, so the places keep their order.
    I2  Between two settled places everything is drawn between their values: whoever sorts finds the settled ones where they belong.

The draws are not uniform among all legal tables, and the engine says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.engines import Engine, NewColumn, Spaces
from sfumato.methods.replacing.sampling.forms import limits
from sfumato.methods.replacing.sampling.levels import Listed, Steps
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SamplingProblem
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import Aggregate, ColumnValue, Compare, Condition, Date, Expression, Number
from sfumato.randomness import Randomness

QUANTILES = ("median", "quantile")
_LISTED = 1 << 24
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class PlacedValue:
    """One rule: the quantile (or the median, without a share) of every group, and what it is compared with there."""

    clause: Clause
    atom: Aggregate
    operator: str
    aims: list[Fraction]
    """For every group."""


def settled_places(atom: Aggregate, count: int) -> tuple[int, ...]:
    """The places of a group of that many records that a median or quantile looks at."""
    if atom.function == "median":
        return tuple(sorted({(count - 1) // 2, count // 2}))
    return (max(math.ceil(atom.share * count) - 1, 0),)


class OrderedCodes:
    """The legal codes of a column in ascending order of their values."""

    def __init__(self, levels: Steps | Listed, codes: IntArray | None) -> None:
        self.levels, self.unit = levels, levels.vector(np.zeros(1, dtype=np.int64)).unit
        self.codes = self.values = None
        self.size = levels.size
        if codes is not None:
            values = levels.vector(codes).levels
            order = np.argsort(values, kind="stable")
            self.codes, self.values, self.size = codes[order], values[order], len(codes)

    def between(self, low: int | None, high: int | None) -> tuple[int, int]:
        """The first and the last place of values within bounds; the last is before the first when there is none."""
        if self.values is None:
            start = self.levels.low if isinstance(self.levels, Steps) else 0
            first = 0 if low is None else max(low - start, 0)
            return first, self.size - 1 if high is None else min(high - start, self.size - 1)
        first = 0 if low is None else int(np.searchsorted(self.values, low, "left"))
        return first, self.size - 1 if high is None else int(np.searchsorted(self.values, high, "right")) - 1

    def value(self, place: int) -> int:
        """The value at a place, in units."""
        if self.values is None:
            return place + (self.levels.low if isinstance(self.levels, Steps) else 0)
        return int(self.values[place])

    def at(self, places: IntArray) -> IntArray:
        return places if self.codes is None else self.codes[places]


class Placed:
    """Values around settled medians and quantiles."""

    name = "draws around quantiles"
    uniform = False
    reads_original = False

    def __init__(self, column: ColumnValue, ordered: OrderedCodes, groups: list[IntArray], rules: list[PlacedValue]) -> None:
        self.column, self.ordered, self.groups = column, ordered, groups
        self.bounds = [self._settled(number, len(rows), rules) for number, rows in enumerate(groups)]

    def _settled(self, group: int, count: int, rules: list[PlacedValue]) -> dict[int, tuple[int, int]]:
        """The bounds of every settled place of a group, rising (I1)."""
        found: dict[int, tuple[int, int]] = {}
        for rule in rules:
            for place, (low, high) in self._asked(rule, group, count).items():
                before = found.get(place, (0, self.ordered.size - 1))
                found[place] = max(low, before[0]), min(high, before[1])
        order = sorted(found)
        for earlier, later in pairwise(order):
            found[later] = max(found[earlier][0], found[later][0]), found[later][1]
        for earlier, later in reversed(list(pairwise(order))):
            found[earlier] = found[earlier][0], min(found[earlier][1], found[later][1])
        if any(low > high for low, high in found.values()):
            what = f"no values of a group of {count} records have the medians or quantiles that are asked for"
            where = f'rule "{rules[0].clause.rule}"' if len(rules) == 1 else "keep"
            raise Infeasible(what, where=where, hint="choose values that the column can have, or allow a difference with 'within'")
        return found

    def _asked(self, rule: PlacedValue, group: int, count: int) -> dict[int, tuple[int, int]]:
        aim, compare = rule.aims[group], rule.clause.body
        assert isinstance(compare, Compare)
        scaled = aim * self.ordered.unit
        low, high = self.ordered.between(*limits(rule.operator, scaled, compare.tolerance * self.ordered.unit))
        places = settled_places(rule.atom, count)
        if low <= high or len(places) == 1 or rule.operator != "=":
            return dict.fromkeys(places, (low, high))
        pair = self._around(scaled)
        return dict(zip(places, pair, strict=True)) if pair else dict.fromkeys(places, (low, high))

    def _around(self, middle: Fraction) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The nearest two values whose mean is the middle, for groups of even size."""
        place = self.ordered.between(None, math.floor(middle))[1]
        for lower in range(place, max(place - 10_000, -1), -1):
            mirrored = 2 * middle - self.ordered.value(lower)
            first, last = self.ordered.between(math.ceil(mirrored), math.floor(mirrored))
            if first <= last:
                return (lower, lower), (first, last)
        return None

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        count = sum(len(rows) for rows in self.groups)
        codes = np.zeros(count, dtype=np.int64)
        chance, order = random.child("values"), random.child("order")
        for rows, bounds in zip(self.groups, self.bounds, strict=True):
            made = self._drawn(len(rows), bounds, chance)
            codes[rows] = self.ordered.at(made)[order.permutation(len(rows))]
        return {self.column: NewColumn(self.ordered.levels, codes)}

    def _drawn(self, count: int, bounds: dict[int, tuple[int, int]], random: Randomness) -> IntArray:
        """The places of a group's values, the settled ones where they belong (I2)."""
        low, high = np.zeros(count, dtype=np.int64), np.full(count, self.ordered.size - 1, dtype=np.int64)
        least, after = 0, 0
        for place in sorted(bounds):
            first, last = max(bounds[place][0], least), bounds[place][1]
            chosen = first + random.integer(last - first + 1)
            low[after:place], high[after:place] = least, chosen
            low[place] = high[place] = chosen
            least, after = chosen, place + 1
        low[after:] = least
        return low + random.below(high - low + 1)


def quantiles(problem: SamplingProblem, part: RulePart, clauses: list[Clause], conditions: list[Condition]) -> Engine | None:
    """The engine when all rules about the whole of one column are medians and quantiles of the same groups, else None."""
    found = [one for clause in clauses if (one := _rule(problem, clause)) is not None]
    keys = {atom.by for atom, _, _ in found}
    if len(part.columns) != 1 or not found or len(found) < len(clauses) or len(keys) != 1:
        return None
    if any(atom.argument != part.columns[0] or any(map(problem.is_new, atom.by)) for atom, _, _ in found):
        return None
    ordered = _ordered(Spaces(problem, part, conditions), part.columns[0], bool(conditions))
    if ordered is None:
        return None
    groups = _groups(problem, found[0][0].by, problem.source(part.columns[0]).count)
    rules = []
    for clause, (atom, operator, other) in zip(clauses, found, strict=True):
        rules.append(PlacedValue(clause, atom, operator, _aims(problem, other, groups)))
    return Placed(part.columns[0], ordered, groups, rules)


def _rule(problem: SamplingProblem, clause: Clause) -> tuple[Aggregate, str, Expression] | None:
    """The quantile, the comparison and the other side: a constant, or a quantile of values that are not made anew."""
    body = clause.body
    if not isinstance(body, Compare) or body.operator == "!=":
        return None
    turned = _TURNED.get(body.operator, body.operator)
    for atom, other, sign in ((body.left, body.right, body.operator), (body.right, body.left, turned)):
        if _is_plain(atom) and any(problem.is_new(column) for column in columns_of(atom)):
            given = _is_plain(other) and other.by == atom.by and not any(problem.is_new(column) for column in columns_of(other))
            return (atom, sign, other) if given or isinstance(other, (Number, Date)) else None
    return None


def _is_plain(node: Expression) -> TypeGuard[Aggregate]:
    """A median or quantile of a column, of all its records."""
    if not isinstance(node, Aggregate) or node.where is not None:
        return False
    return node.function in QUANTILES and isinstance(node.argument, ColumnValue)


def _ordered(spaces: Spaces, column: ColumnValue, narrowed: bool) -> OrderedCodes | None:
    levels = spaces.levels[column]
    if spaces.single is None or not isinstance(levels, (Steps, Listed)) or levels.kind == "text":
        return None
    if not narrowed and isinstance(levels, Steps):
        return OrderedCodes(levels, None)
    space = spaces.single.space
    return OrderedCodes(levels, space.codes(np.arange(space.size, dtype=np.int64))[column]) if space.size <= _LISTED else None


def _groups(problem: SamplingProblem, by: tuple[ColumnValue, ...], count: int) -> list[IntArray]:
    from sfumato.methods.replacing.sampling.arranged import labels

    label = labels(problem, by, count)
    order = np.argsort(label, kind="stable").astype(np.int64)
    return [rows for rows in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(rows)]


def _aims(problem: SamplingProblem, other: Expression, groups: list[IntArray]) -> list[Fraction]:
    """A constant, or the figure of given values in every group."""
    if isinstance(other, (Number, Date)):
        aim = other.value if isinstance(other, Number) else Fraction(other.value.toordinal())
        return [aim] * len(groups)
    assert isinstance(other, Aggregate)
    assert isinstance(other.argument, ColumnValue)
    given = problem.given(other.argument)
    found = []
    for rows in groups:
        values = np.sort(given.levels[rows]).tolist()
        chosen = [values[place] for place in settled_places(other, len(values))]
        found.append(Fraction(sum(chosen), given.unit * len(chosen)))
    return found
