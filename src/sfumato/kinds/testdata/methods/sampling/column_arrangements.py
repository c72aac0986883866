"""Rules about whole columns that an arrangement of draws keeps: capacities, orders in groups, intervals apart, variety.

Every engine draws legal records first and then arranges them, so the result obeys the rule by construction. None is
uniform among all legal tables, and each says so.


Binned
------
`histogram(amount, 50)`: as many records in every bin as in the original; inside its bin every value is drawn anew.

Guarantee
    The bins of the original are assigned to the records in a random order (inside their groups, with `by`), and each
    record gets a legal value of its bin, uniformly: so every table with this histogram is equally likely. The counts of
    the bins are published.

Notation
    bin b    the values v with b · width ≤ v < (b + 1) · width; days are numbered


Quantiles
---------
Medians and quantiles of a column or of every group: some places of the sorted values are settled, the others drawn
around.

Notation
    place     a record's number, from 0, among the values of its group in ascending order
    quantile  `quantile(x, q)` of n values is the one at place ⌈q·n⌉ − 1: the smallest that at least the share q does
              not exceed; `median(x)` is the mean of the values at places ⌊(n−1)/2⌋ and ⌊n/2⌋
    bounds    the codes, in ascending order of their values, that may stand at a place

Invariants
    I1  Bounds rise from place to place, and a settled value is never below an earlier one, so the places keep their
        order.
    I2  Between two fixed positions values are drawn between theirs, so that sorting leaves the fixed ones in place.

The draws are not uniform among all legal tables, and the engine says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import keyed_randomness
from sfumato.kinds.testdata.methods.sampling.column_values import Listed, Steps, facts
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import holds
from sfumato.kinds.testdata.methods.sampling.problem import Clause, RulePart, SamplingProblem, limits
from sfumato.kinds.testdata.methods.sampling.record_samplers import NewColumn, PartSampler, Spaces, _without_repetition
from sfumato.policy.constraint_language import columns_of
from sfumato.policy.constraint_language.parser import constant_value
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    AtMost,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Expression,
    Histogram,
    Increasing,
    NoOverlap,
    Number,
)


class _Arranged:
    uniform = False
    reads_original = False


class Capped(_Arranged):
    """`at_most(n, …)`: every combination has n places, and records take different places."""

    name = "places with a capacity"

    def __init__(self, spaces: Spaces, clause: Clause, most: int) -> None:
        assert spaces.single is not None
        self.spaces, self.most = spaces, most
        self.count = len(spaces.contexts[0].records)
        self.size = spaces.single.space.size
        if self.size * most < self.count:
            what = f"{self.size} combinations of at most {most} records each do not hold {self.count} records"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen a domain or raise the number")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        key, numbers, places = random.bytes(16), np.arange(self.count, dtype=np.int64), self.size * self.most
        small = places <= keyed_randomness.LARGEST
        taken = (
            keyed_randomness.Permutation(key, places)(numbers) if small else _without_repetition(key, places, numbers)
        )
        return self.spaces.merged([self.spaces.single.space.codes(taken // self.most)])


class Reordered(_Arranged):
    """`increasing(…)`: records are drawn without regard to the order and then assigned to their group in that order."""

    name = "draws in order"

    def __init__(self, problem: SamplingProblem, inner: PartSampler, body: Increasing) -> None:
        self.problem, self.inner, self.body = problem, inner, body
        self.reads_original = inner.reads_original

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        made = self.inner.run(random)
        values = made[self.body.column].vector().levels
        along = self.problem.given(self.body.along).levels
        label = labels(self.problem, self.body.by, len(values))
        target = np.lexsort((along, label))
        source = np.lexsort((values, label))
        found = {}
        for column, one in made.items():
            codes = one.codes.copy()
            codes[target] = one.codes[source]
            found[column] = NewColumn(one.levels, codes)
        return found


class Apart(_Arranged):
    """`no_overlap(start, end by …)`: twice as many points as records in every group, paired in order."""

    name = "points in pairs"

    def __init__(self, problem: SamplingProblem, body: NoOverlap, low: int, high: int, rules: str) -> None:
        self.problem, self.body, self.low, self.size = problem, body, low, high - low + 1
        self.label = labels(problem, body.by, problem.source(body.start).count)
        most = int(np.bincount(self.label).max(initial=0))
        if 2 * most > self.size:
            what = f"{most} intervals of one group do not fit into {self.size} values"
            raise Infeasible(what, where=f'rule "{rules}"', hint="widen the domains")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        start, end = (self.problem.levels(column) for column in (self.body.start, self.body.end))
        assert isinstance(start, Steps)
        assert isinstance(end, Steps)
        starts, ends = np.zeros(len(self.label), dtype=np.int64), np.zeros(len(self.label), dtype=np.int64)
        order = np.argsort(self.label, kind="stable")
        for group, rows in enumerate(np.split(order, np.flatnonzero(np.diff(self.label[order])) + 1)):
            if not len(rows):
                continue
            own = keyed_randomness.Permutation(random.child(group).bytes(16), self.size)(
                np.arange(2 * len(rows), dtype=np.int64)
            )
            points = np.sort(own).reshape(-1, 2) + self.low
            shuffled = rows[random.child(f"order {group}").permutation(len(rows))]
            starts[shuffled], ends[shuffled] = points[:, 0] - start.low, points[:, 1] - end.low
        return {self.body.start: NewColumn(start, starts), self.body.end: NewColumn(end, ends)}


class Several(_Arranged):
    """`distinct(x) = k`: k values are chosen, each gets a record, the rest is spread over them."""

    name = "a number of values"

    def __init__(self, spaces: Spaces, clause: Clause, wanted: int) -> None:
        assert spaces.single is not None
        self.spaces, self.wanted = spaces, wanted
        self.count, size = len(spaces.contexts[0].records), spaces.single.space.size
        if not (1 <= wanted <= min(self.count, size)):
            what = f"{self.count} records and {size} possible values do not make {wanted} different ones"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="change the number or the domain")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        space = self.spaces.single.space
        chosen = keyed_randomness.Permutation(random.bytes(16), min(space.size, keyed_randomness.LARGEST))(
            np.arange(self.wanted, dtype=np.int64)
        )
        place = np.concatenate([np.arange(self.wanted), random.integers(self.wanted, self.count - self.wanted)])
        return self.spaces.merged([space.codes(chosen[place[random.permutation(self.count)]])])


class Correlated(_Arranged):
    """`correlation(a, b)` near a number: both are drawn, then one is put into an order between chance and the
    other's."""

    name = "draws in a common order"

    def __init__(
        self, inner: PartSampler, one: ColumnValue, two: ColumnValue, aim: float, tolerance: float, rule: str
    ) -> None:
        self.inner, self.one, self.two, self.aim, self.tolerance, self.rule = inner, one, two, aim, tolerance, rule
        self.reads_original = inner.reads_original

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        made = self.inner.run(random)
        left = made[self.one].vector().levels.astype(float)
        right = made[self.two]
        chance = np.argsort(random.permutation(len(left))).astype(float) / max(len(left), 1) - 0.5
        own = np.argsort(np.argsort(left, kind="stable"), kind="stable") / max(len(left), 1) - 0.5
        ordered = right.codes[np.argsort(right.vector().levels, kind="stable")]
        low, high = -1.0, 1.0
        for _ in range(60):
            share = (low + high) / 2
            mixed = share * own + (1 - abs(share)) * chance
            codes = ordered[np.argsort(np.argsort(mixed, kind="stable"), kind="stable")]
            found = float(np.corrcoef(left, right.levels.vector(codes).levels.astype(float))[0, 1])
            if abs(found - self.aim) <= self.tolerance * 0.9:
                return {**made, self.two: NewColumn(right.levels, codes)}
            low, high = (share, high) if found < self.aim else (low, share)
        what = f"no order reaches a correlation within {self.tolerance:g} of {self.aim:g}"
        raise Infeasible(what, where=f'rule "{self.rule}"', hint="allow a larger difference, or other domains")


def labels(problem: SamplingProblem, by: tuple[ColumnValue, ...], count: int) -> NDArray[np.int64]:
    """The number of every record's group."""
    label = np.zeros(count, dtype=np.int64)
    for column in by:
        distinct, inverse = np.unique(problem.given(column).as_text(), return_inverse=True)
        _, label = np.unique(label * len(distinct) + inverse, return_inverse=True)
    return label


def column_arrangement_for(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any
) -> PartSampler | None:
    """The engine for one such rule beside conditions on records, or None; `rest` makes the engine without the rule."""
    body = clause.body
    if isinstance(body, Increasing):
        fixed = not any(problem.is_new(column) for column in (*body.by, body.along))
        alike = all(problem.is_new(column) for condition in conditions for column in columns_of(condition))
        inner = (
            rest(RulePart(part.columns, tuple(c for c in part.clauses if c is not clause))) if fixed and alike else None
        )
        return Reordered(problem, inner, body) if inner is not None else None
    if isinstance(body, Histogram):
        return histogram_sampler_for(
            problem, part, clause, conditions, labels(problem, body.by, problem.source(body.column).count)
        )
    if isinstance(body, NoOverlap):
        return _apart(problem, part, clause, body, conditions)
    if isinstance(body, AtMost) and set(body.columns) == set(part.columns):
        spaces = Spaces(problem, part, conditions)
        return Capped(spaces, clause, body.count) if spaces.single is not None else None
    return _statistic(problem, part, clause, conditions, rest) if isinstance(body, Compare) else None


def _apart(
    problem: SamplingProblem, part: RulePart, clause: Clause, body: NoOverlap, conditions: list[Condition]
) -> PartSampler | None:
    start, end = (problem.levels(column) if problem.is_new(column) else None for column in (body.start, body.end))
    plain = all(
        isinstance(c, Compare) and (c.left, c.operator, c.right) in _ordered_pair(body) and not c.tolerance
        for c in conditions
    )
    if (
        set(part.columns) != {body.start, body.end}
        or not isinstance(start, Steps)
        or not isinstance(end, Steps)
        or not plain
    ):
        return None
    if start.unit != end.unit or any(problem.is_new(column) for column in body.by):
        return None
    low, high = max(start.low, end.low), min(start.low + start.size, end.low + end.size) - 1
    return Apart(problem, body, low, high, str(clause.rule))


def _ordered_pair(body: NoOverlap) -> set[tuple[ColumnValue, str, ColumnValue]]:
    forwards = {(body.start, sign, body.end) for sign in ("<", "<=")}
    return forwards | {(body.end, sign, body.start) for sign in (">", ">=")}


def _statistic(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any
) -> PartSampler | None:
    body = clause.body
    assert isinstance(body, Compare)
    atom, aim = (body.left, body.right) if isinstance(body.left, Aggregate) else (body.right, body.left)
    if not isinstance(atom, Aggregate) or body.operator != "=" or atom.by or atom.where:
        return None
    if atom.function == "correlation":
        return _correlated(problem, part, clause, conditions, rest)
    if not isinstance(aim, Number):
        return None
    spaces = Spaces(problem, part, conditions)
    if spaces.single is None or part.columns != columns_of(atom):
        return None
    whole = aim.value.denominator == 1 and not body.tolerance
    return Several(spaces, clause, int(aim.value)) if atom.function == "distinct" and whole else None


def _correlated(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any
) -> PartSampler | None:
    """Two new columns whose correlation is near a number, or near that of two columns that are given."""
    body = clause.body
    assert isinstance(body, Compare)
    sides = [side for side in (body.left, body.right) if any(problem.is_new(column) for column in columns_of(side))]
    if len(sides) != 1 or not all(problem.is_new(column) for column in columns_of(sides[0])):
        return None
    one, two = columns_of(sides[0])
    other = body.right if sides[0] is body.left else body.left
    aim = _given_correlation(problem, other) if isinstance(other, Aggregate) else constant_value(other)
    inner = rest(RulePart(part.columns, tuple(c for c in part.clauses if c is not clause)))
    alone = not any(two in columns_of(condition) and len(columns_of(condition)) > 1 for condition in conditions)
    if inner is None or aim is None or not alone:
        return None
    return Correlated(inner, one, two, float(aim), float(body.tolerance), str(clause.rule))


def _given_correlation(problem: SamplingProblem, node: Aggregate) -> float | None:
    """The correlation of two columns as they are."""
    if node.function != "correlation" or len(columns_of(node)) != 2:
        return None
    one, two = (problem.given(column) for column in columns_of(node))
    if one.is_text or two.is_text or min(np.ptp(one.levels), np.ptp(two.levels)) == 0:
        return None
    return float(np.corrcoef(one.levels.astype(float), two.levels.astype(float))[0, 1])


# Binned
# ------


_LISTED = 1 << 20
"""Values that are looked at one by one when further rules bind the column."""


class Binned:
    """Values drawn inside the bins of the original; the bins are reassigned at random."""

    name = "draws in bins"
    uniform = True
    reads_original = True

    def __init__(
        self, problem: SamplingProblem, clause: Clause, legal: NDArray[np.int64] | None, groups: NDArray[np.int64]
    ) -> None:
        assert isinstance(clause.body, Histogram)
        self.column, self.groups = clause.body.column, groups
        self.levels = problem.levels(self.column)
        texts = np.asarray(problem.source(self.column).original[self.column.name], dtype=np.str_)
        self.there = np.flatnonzero(texts != "")
        assert isinstance(self.levels, Steps)
        bins, of = np.unique(_bins(texts[self.there].tolist(), clause.body.width), return_inverse=True)
        step = clause.body.width * self.levels.unit
        edges = [(_ceiling(one * step), _ceiling((one + 1) * step)) for one in bins.tolist()]
        low, high = (
            np.array([edge[side] for edge in edges], dtype=np.int64).reshape(-1) - self.levels.low for side in (0, 1)
        )
        self.legal = legal
        if legal is None:
            self.first, self.last = np.clip(low, 0, self.levels.size), np.clip(high, 0, self.levels.size)
        else:
            self.first, self.last = np.searchsorted(legal, low), np.searchsorted(legal, high)
        if (self.last <= self.first).any():
            what = f"{int((self.last <= self.first).sum())} bins of the original have no legal value in the domain"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen the domain, or the bins")
        self.of = of.astype(np.int64)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        dealt = self.of[_within_groups(self.groups[self.there], random.child("bins"))]
        chosen = self.first[dealt] + random.child("values").below(self.last[dealt] - self.first[dealt])
        codes = np.zeros(len(self.groups), dtype=np.int64)
        codes[self.there] = chosen if self.legal is None else self.legal[chosen]
        return {self.column: NewColumn(self.levels, codes)}


def _bins(texts: list[str], width: Fraction) -> NDArray[np.int64]:
    found = facts(texts)
    if not found.unit:
        raise Infeasible("the original has values that are neither numbers nor days", hint="leave the histogram out")
    return np.array(
        [int(level) * width.denominator // (found.unit * width.numerator) for level in found.levels], dtype=np.int64
    )


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _within_groups(groups: NDArray[np.int64], random: Randomness) -> NDArray[np.int64]:
    """A random order of the records in which every record changes places with records of its own group only."""
    shuffled = random.permutation(len(groups))
    found = np.empty(len(groups), dtype=np.int64)
    found[np.argsort(groups, kind="stable")] = shuffled[np.argsort(groups[shuffled], kind="stable")]
    return found


def histogram_sampler_for(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], groups: NDArray[np.int64]
) -> Binned | None:
    """The engine for a histogram of the part's only column, beside rules on that column; None otherwise."""
    body = clause.body
    assert isinstance(body, Histogram)
    levels = problem.levels(body.column) if problem.is_new(body.column) else None
    if (
        part.columns != (body.column,)
        or not isinstance(levels, Steps)
        or any(problem.is_new(column) for column in body.by)
    ):
        return None
    if not conditions:
        return Binned(problem, clause, None, groups)
    if levels.size > _LISTED or any(set(columns_of(condition)) != {body.column} for condition in conditions):
        return None
    vector = {body.column: levels.vector(np.arange(levels.size, dtype=np.int64))}
    masks = [np.broadcast_to(holds(condition, vector), (levels.size,)) for condition in conditions]
    return Binned(problem, clause, np.flatnonzero(np.logical_and.reduce(masks)).astype(np.int64), groups)


# Quantiles
# ---------


QUANTILES = ("median", "quantile")
_QUANTILES_LISTED = 1 << 24
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

    def __init__(
        self, column: ColumnValue, ordered: OrderedCodes, groups: list[IntArray], rules: list[PlacedValue]
    ) -> None:
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
            raise Infeasible(
                what, where=where, hint="choose values that the column can have, or allow a difference with 'within'"
            )
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


def quantiles(
    problem: SamplingProblem, part: RulePart, clauses: list[Clause], conditions: list[Condition]
) -> PartSampler | None:
    """The engine when all rules about the whole of one column are medians and quantiles of the same groups, else
    None."""
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
            given = (
                _is_plain(other)
                and other.by == atom.by
                and not any(problem.is_new(column) for column in columns_of(other))
            )
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
    return (
        OrderedCodes(levels, space.codes(np.arange(space.size, dtype=np.int64))[column])
        if space.size <= _QUANTILES_LISTED
        else None
    )


def _groups(problem: SamplingProblem, by: tuple[ColumnValue, ...], count: int) -> list[IntArray]:
    pass

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
