"""From the rules of `keep:` to the rows of a polytope.

Paper
    [multitype Def. 4]: a property of interest is a linear inequality between values of the table.

Notation
    level      a value as an integer: value · unit of its column (days for dates)
    instance   a rule over columns stands for one inequality in every record; a rule over cells `v[3]` or totals for one

Invariants
    I1  Rows are exact: coefficients and bounds are fractions, multiplied out to integers; on the lattice a strict inequality is
        one that is reached a unit later.
    I2  Columns that are not replaced and `original.v` are constants of their record.

>>> import numpy as np
>>> from sfumato.policy.constraint_language import parse
>>> v = ReplacedColumn(np.array([3, 5, 11, 27, 33, 45]), 0, 50)
>>> space = RuleSheet({"v": v}, 6).polytope([parse("v[1] + v[2] <= v[3]"), parse("v[3] + v[5] < 2 * v[4]")], Randomness(1))[0]
>>> space.part_count
2


Localities
----------
The locality properties of a column, cut into partitions: equal values tied, a share sampled, each with its order.

Paper
    [multitype §5.3, §5.5, §5.7.1]

Notation
    σ            the share of all localities of a partition that is sampled
    point        a distinct value of a partition; the records that share it move together
    locality     (i, j, k, side): points with d_i < d_j < d_k and which of the two gaps is at least as wide

Invariants
    I1  Every sampled locality comes with the order of the gap that its inequality does not imply: with `wide`
        (x_j − x_i ≥ x_k − x_j) it is x_j ≤ x_k, with `narrow` it is x_i ≤ x_j; the other order follows. So the sampled
        localities hold with absolute values, not only in their linear form.
    I2  Equal values are one point, so no locality is tight merely because two people agree.

Departures
    The printed method samples the linear forms alone; then 63 % of the sampled localities break once points pass each other. With
    σ = 1 only the localities that Rules 1 and 2 do not imply are posted, and the whole order with them.

>>> import numpy as np
>>> from sfumato.core.randomness import Randomness
>>> pattern = localities(np.array([3, 5, 11, 27]), np.zeros(4, int), 1.0, Randomness(1))
>>> pattern.points.tolist(), pattern.triples.tolist()
([0, 1, 2, 3], [[0, 1, 2, 0], [0, 2, 3, 0]])
>>> pattern.order.tolist()
[[0, 1], [1, 2], [2, 3]]


Partitions
----------
Partitions of the records: runs in the order of the data, the values of a column, or records that are near each other.

Paper
    [multitype §5.5]: partitions help to say which properties are kept. School classes are `partition by class`.

Notation
    home    the partition of every record, numbered without gaps

Departures
    The paper cuts every column in the order of the data. Then a partition spans the whole column, its values move over all of it,
    and each column moves for itself: what columns have in common is lost. Records of a partition
    `near` each other lie together in all the columns, and `range: partition` lets them move no farther than their neighbours.

>>> runs(7, 3).tolist(), runs(3, None).tolist()
([0, 0, 0, 1, 1, 1, 2], [0, 0, 0])


Crossing
--------
Localities between partitions: a uniform sample of the triples whose values lie in three partitions, or in two or three.

Paper
    [multitype §5.5], cross-partitions properties

Notation
    triple       points (i, j, k) with d_i < d_j < d_k in three different partitions; j is its middle. Where partitions are classes
                 of a column (`loose`) two are enough: a school may have no more
    rank         a triple's number when all are listed by middle, then by i, then by k

Invariants
    I1  Every triple has one rank, so different ranks drawn uniformly are different triples drawn uniformly.
    I2  Points of a partition are numbered upwards in value, as `points_of` does.

Departures
    The paper leaves the choice of such properties to the owner; here their number is given and chance chooses. Both gaps equal is
    `narrow`, as inside partitions.

Cost
    O(n log n) to count, O(n) for every triple drawn.

>>> import numpy as np
>>> from sfumato.kinds.testdata.methods.linear_properties import localities
>>> values = np.array([0, 9, 4])
>>> crossing_localities(localities(values, np.arange(3), 1.0, Randomness(1)), values, 5, Randomness(1)).tolist()      # 4 − 0 ≤ 9 − 4
[[0, 2, 1, 0]]


Distances
---------
The order of distances: of two pairs of values of a partition, which are farther apart.

A locality compares two gaps that share a value; here the four values are different, so that the order of distances in a whole
partition can be kept as far as one likes.

Paper
    [multitype ch. 5] names the order of distances as work to be done.

Notation
    quad    points (a, b, c, d) with d_a < d_b, d_c < d_d and d_b − d_a ≤ d_d − d_c: the first two are no farther apart

Invariants
    I1  x_b − x_a ≤ x_d − x_c is posted together with x_a ≤ x_b; then x_c ≤ x_d follows, and |x_b − x_a| ≤ |x_d − x_c|.
    I2  Every choice of four points of a partition and of one of their three pairings is as likely as any other; none comes twice.

>>> sample_quads(np.array([0, 1, 5, 20]), np.array([0, 4]), 1, Randomness(1)).shape
(1, 4)
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, floor, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray, positions_in_runs
from sfumato.core.errors import DataError, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.testdata.methods.polytope_walk import Polytope, PropertySheet
from sfumato.policy.constraint_language import Inequality, IntegrityRule, conjuncts, linear_comparison
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    Cell,
    ColumnValue,
    Condition,
    Date,
    Localities,
    Node,
    Number,
    Statement,
    TextConstant,
)


@dataclass(frozen=True, slots=True)
class ReplacedColumn:
    """A column to be replaced: its levels, the lowest and highest level of its domain, and the unit."""

    levels: IntArray
    low: int
    high: int
    unit: int = 1


@dataclass(frozen=True, slots=True)
class RuleSheet:
    """The table as rules see it; `fixed` gives the values of a column that is published as it is."""

    replaced: dict[str, ReplacedColumn]
    records: int
    fixed: Callable[[str], list[Fraction]] | None = None
    narrow: bool = False
    """Whether values of a partition stay between its least and largest one."""
    codes: Callable[[str], IntArray] | None = None
    """The values of a column that is published as it is, as numbers that tell them apart."""

    def polytope(
        self, rules: Iterable[IntegrityRule], chance: Randomness
    ) -> tuple[Polytope, dict[str, IntArray], dict[str, KeptPattern]]:
        """The space of tables that keep all rules, the variable of every cell, and the sampled localities by column."""
        rules = list(rules)
        patterns = self._patterns(rules, chance)
        variable = self._variables(patterns)
        space = self._gathering(variable)
        if self.narrow:
            _narrow(space, patterns, variable)
        for name, pattern in patterns.items():
            _post_pattern(space, pattern, int(variable[name].min()) if self.records else 0, name)
        for rule in rules:
            for part in conjuncts(rule.body):
                if not isinstance(part, Localities):
                    _Posting(self, space, variable, rule).post(_inequality(part, rule))
        return space.close(), variable, patterns

    def _patterns(self, rules: list[IntegrityRule], chance: Randomness) -> dict[str, KeptPattern]:
        found: dict[str, KeptPattern] = {}
        for rule, body in ((rule, rule.body) for rule in rules if isinstance(rule.body, Localities)):
            home = self.partition(body)
            for name in (column.name for column in body.columns):
                if name in found:
                    raise PolicyError(f"two rules name the localities of '{name}'", where=f"keep: {rule}")
                source = chance.child("localities").child(name)
                inside = localities(self.replaced[name].levels, home, float(body.sample), source)
                kept = self._widened(inside, name, rule, source.child("across"))
                found[name] = self._with_distances(kept, name, rule, source.child("distances"))
        return found

    def partition(self, rule: Localities) -> IntArray:
        """The partition of every record."""
        if rule.by:
            assert self.codes is not None
            return classes_of([self.codes(column.name) for column in rule.by], self.records)
        if rule.near:
            assert rule.partition is not None
            return neighbourhoods([self.replaced[column.name].levels for column in rule.columns], rule.partition)
        return runs(self.records, rule.partition)

    def _widened(self, inside: KeptPattern, name: str, rule: IntegrityRule, chance: Randomness) -> KeptPattern:
        """The pattern of a column with the localities between its partitions that the rule wants, if the data has as
        many."""
        assert isinstance(rule.body, Localities)
        wanted = rule.body.across
        if not wanted:
            return inside
        found = crossing_localities(inside, self.replaced[name].levels, wanted, chance, loose=bool(rule.body.by))
        if len(found) < wanted:
            hint = "ask for fewer, or for smaller partitions; each takes three different values from several partitions"
            why = f"the data has no {wanted} localities across partitions of '{name}'"
            raise DataError(why, where=f"keep: {rule}", hint=hint)
        return inside.and_also(found)

    def _with_distances(self, kept: KeptPattern, name: str, rule: IntegrityRule, chance: Randomness) -> KeptPattern:
        """The pattern of a column with as many comparisons of two distances as the rule wants, if the data has twice as
        many."""
        assert isinstance(rule.body, Localities)
        wanted = rule.body.distances
        if not wanted:
            return kept
        if 2 * wanted > count_possible_quads(kept.edges):
            hint = "ask for fewer, or for larger partitions; each takes four different values of a partition"
            raise DataError(
                f"the data has too few distances in '{name}' to compare {wanted}", where=f"keep: {rule}", hint=hint
            )
        by_point = np.empty(int(kept.edges[-1]), np.int64)
        by_point[kept.points] = self.replaced[name].levels
        return kept.and_order(sample_quads(by_point, kept.edges, wanted, chance))

    def _variables(self, patterns: dict[str, KeptPattern]) -> dict[str, IntArray]:
        found, taken = {}, 0
        for name in self.replaced:
            own = patterns[name].points if name in patterns else np.arange(self.records, dtype=np.int64)
            found[name] = own + taken
            taken += int(own.max(initial=-1)) + 1
        return found

    def _gathering(self, variable: dict[str, IntArray]) -> PropertySheet:
        count = 1 + max((int(own.max(initial=-1)) for own in variable.values()), default=-1)
        start, strand, lower, upper = (np.zeros(count, np.int64) for _ in range(4))
        for number, (name, own) in enumerate(variable.items()):
            column = self.replaced[name]
            start[own], strand[own], lower[own], upper[own] = column.levels, number, column.low, column.high
        return PropertySheet(start, strand, lower, upper)


def _narrow(space: PropertySheet, patterns: dict[str, KeptPattern], variable: dict[str, IntArray]) -> None:
    """Each partition's own least and largest value as the box of its variables."""
    for name, pattern in patterns.items():
        own = np.unique(variable[name])
        edges, values = pattern.edges[:-1], space.start[own]
        sizes = np.diff(pattern.edges)
        space.lower[own] = np.repeat(np.minimum.reduceat(values, edges), sizes)
        space.upper[own] = np.repeat(np.maximum.reduceat(values, edges), sizes)


def _post_pattern(space: PropertySheet, pattern: KeptPattern, first: int, name: str) -> None:
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import WIDE

    i, j, k, side = pattern.triples.T
    sign, row = np.where(side == WIDE, 1, -1), np.arange(i.size)
    space.add(
        np.concatenate([row, row, row]),
        np.concatenate([i, j, k]) + first,
        np.concatenate([-sign, 2 * sign, -sign]),
        np.zeros(i.size, np.int64),
        f"localities of {name}",
    )
    row, weight = np.repeat(np.arange(len(pattern.quads)), 4), np.tile([1, -1, -1, 1], len(pattern.quads))
    space.add(
        row, pattern.quads.ravel() + first, weight, np.zeros(len(pattern.quads), np.int64), f"distances of {name}"
    )
    space.add_order(pattern.order + first, f"localities of {name}")


@dataclass(slots=True)
class _Posting:
    """One rule on its way into the gathering."""

    sheet: RuleSheet
    space: PropertySheet
    variable: dict[str, IntArray]
    rule: IntegrityRule
    terms: list[tuple[IntArray, Fraction]] = field(default_factory=list)
    """(variables, coefficient): one variable per instance, or one for all of them."""
    totals: list[tuple[IntArray, Fraction]] = field(default_factory=list)
    """(all variables of a column, coefficient) of sums and means."""
    constants: list[tuple[list[Fraction], Fraction]] = field(default_factory=list)

    def post(self, wanted: Inequality) -> None:
        for atom, weight in wanted.terms.items():
            self._take(atom, weight)
        if not self.terms and not self.totals:
            return
        count = self.sheet.records if any(isinstance(atom, ColumnValue) for atom in wanted.terms) else 1
        for sign, operator, bound in _sides(wanted):
            self._add(sign, operator, bound, count)

    def _take(self, atom: Any, weight: Fraction) -> None:
        if isinstance(atom, Aggregate):
            return self._take_total(atom, weight)
        column, record = (atom.column, atom.record) if isinstance(atom, Cell) else (atom, None)
        if record is not None and record > self.sheet.records:
            hint = f"the data has {self.sheet.records} records"
            raise DataError(f"the rule names record {record}", where=f"keep: {self.rule}", hint=hint)
        chosen = slice(None) if record is None else slice(record - 1, record)
        replaced = self.sheet.replaced.get(column.name)
        if replaced is not None and not column.original:
            self.terms.append((self.variable[column.name][chosen], weight / replaced.unit))
        elif replaced is not None:  # I2
            self.constants.append(([Fraction(int(x), replaced.unit) for x in replaced.levels[chosen]], weight))
        elif self.sheet.fixed is not None:
            self.constants.append((self.sheet.fixed(column.name)[chosen], weight))

    def _take_total(self, atom: Aggregate, weight: Fraction) -> None:
        column = atom.argument
        assert isinstance(column, ColumnValue)
        replaced = self.sheet.replaced[column.name]
        share = Fraction(1, max(1, self.sheet.records)) if atom.function == "mean" else Fraction(1)
        if column.original:
            total = Fraction(int(replaced.levels.sum()), replaced.unit)
            self.constants.append(([total], weight * share))
        else:
            self.totals.append((self.variable[column.name], weight * share / replaced.unit))

    def _add(self, sign: int, operator: str, bound: Fraction, count: int) -> None:
        scale = lcm(*(weight.denominator for _, weight in (*self.terms, *self.totals)))
        bounds = [(bound - sign * constant) * scale for constant in self._constant(count)]
        row, variable, coefficient = self._rows(sign * scale, count)
        if operator == "=":
            if any(value.denominator != 1 for value in bounds):
                raise DataError("no values of the domains can satisfy the rule", where=f"keep: {self.rule}")
            self.space.add_equal(row, variable, coefficient, [int(value) for value in bounds], str(self.rule))
            return
        reached = [floor(value) + 1 if operator == ">" else ceil(value) for value in bounds]  # I1
        self.space.add(row, variable, coefficient, reached, str(self.rule))

    def _constant(self, count: int) -> list[Fraction]:
        total = [Fraction(0)] * count
        for values, weight in self.constants:
            spread = values if len(values) == count else values * count
            total = [one + weight * other for one, other in zip(total, spread, strict=True)]
        return total

    def _rows(self, scale: int, count: int) -> tuple[IntArray, IntArray, IntArray]:
        rows, variables, coefficients = [], [], []
        for own, weight in self.terms:
            rows.append(np.arange(count))
            variables.append(np.broadcast_to(own, count))
            coefficients.append(np.full(count, int(weight * scale)))
        for own, weight in self.totals:
            rows.append(np.zeros(own.size, np.int64))
            variables.append(own)
            coefficients.append(np.full(own.size, int(weight * scale)))
        return np.concatenate(rows), np.concatenate(variables), np.concatenate(coefficients)


def _sides(wanted: Inequality) -> Iterator[tuple[int, str, Fraction]]:
    """The comparison as one or two of: sign · terms ≥, > or = bound."""
    bound, slack = wanted.bound, wanted.tolerance
    if wanted.operator == "=" and slack:
        yield 1, ">=", bound - slack
        yield -1, ">=", -bound - slack
    elif wanted.operator in ("<", "<="):
        yield -1, wanted.operator.replace("<", ">"), -bound
    else:
        yield 1, wanted.operator, bound


def _inequality(part: Condition | Statement, rule: IntegrityRule) -> Inequality:
    found = linear_comparison(_numbered(part))
    if found is None or reason_not_linear(rule):
        raise _refused(rule, reason_not_linear(rule))
    return found


def reason_not_linear(rule: IntegrityRule) -> str:
    """Why the walk cannot keep the rule, known from its words alone; empty when it can."""
    return next((why for part in conjuncts(rule.body) if (why := _obstacle(part))), "")


def _obstacle(part: Condition | Statement) -> str:
    if isinstance(part, Localities):
        return ""
    found = linear_comparison(_numbered(part))
    if found is None:
        return "is not a linear inequality"
    if found.operator == "!=":
        return "excludes single values"
    totals = [atom for atom in found.terms if isinstance(atom, Aggregate)]
    if any(atom.function not in ("sum", "mean") or atom.where or atom.by for atom in totals):
        return "has a total other than sum or mean of a whole column"
    if not all(isinstance(atom.argument, ColumnValue) for atom in totals):
        return "has a total of more than one column"
    if totals and any(isinstance(atom, ColumnValue) for atom in found.terms):
        return "compares every record with a total"
    return ""


def _numbered(node: Any) -> Any:
    """The tree with days as day numbers, so that dates are linear too."""
    if isinstance(node, Date):
        return Number(Fraction(node.value.toordinal()), at=node.at)
    if isinstance(node, TextConstant) and (day := _day(node.value)) is not None:
        return Number(Fraction(day), at=node.at)
    if not isinstance(node, Node) or isinstance(node, ColumnValue):
        return node
    changes = {entry.name: _numbered(getattr(node, entry.name)) for entry in fields(node) if entry.name != "at"}
    return replace(node, **changes)


def _day(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None


def _refused(rule: IntegrityRule, why: str) -> PolicyError:
    hint = "write it as sums of values compared with <=, <, >=, > or =; other rules need the method 'obfuscation'"
    return PolicyError(f"pattern-walk cannot keep a rule that {why}", where=f"keep: {rule}", hint=hint)


# Localities
# ----------


@dataclass(frozen=True, slots=True)
class KeptPattern:
    """What a column keeps: `points[record]`, sampled `triples` (i, j, k, side) and `order` pairs (lower, upper) over
    points."""

    points: IntArray
    triples: IntArray
    order: IntArray
    edges: IntArray
    """The first point of every partition, and the number of points."""
    home: IntArray
    """The partition of every record."""
    quads: IntArray = field(default_factory=lambda: np.empty((0, 4), np.int64))
    """Points (a, b, c, d): the first two are no farther apart than the last two."""

    def and_order(self, quads: IntArray) -> KeptPattern:
        """The pattern with an order of distances, and the order of values it needs."""
        return replace(self, quads=quads, order=np.unique(np.concatenate([self.order, quads[:, :2]]), axis=0))

    def and_also(self, triples: IntArray) -> KeptPattern:
        """The pattern with more localities, each with the order it needs."""
        order = np.unique(np.concatenate([self.order, _order(triples)]), axis=0)
        return replace(self, triples=np.concatenate([self.triples, triples]), order=order)


def localities(values: IntArray, home: IntArray, sample: float, chance: Randomness) -> KeptPattern:
    """The pattern of a column; `home` is the partition of every record, numbered without gaps."""
    points = points_of(values, home)
    by_point, partition = (
        np.empty(points.max(initial=-1) + 1, np.float64),
        np.empty(points.max(initial=-1) + 1, np.int64),
    )
    by_point[points], partition[points] = values, home
    edges = np.searchsorted(partition, np.arange(home.max(initial=-1) + 2))
    complete = sample >= 1.0
    found = [_of_partition(by_point, start, end, complete) for start, end in pairwise(edges)]
    counts = np.array([rows.shape[0] for rows in found], dtype=np.int64)
    triples = np.concatenate([np.empty((0, 4), np.int64), *found])[sampled(counts, sample, chance)]
    return KeptPattern(points, triples, _chain(edges) if complete else _order(triples), edges, home)


def points_of(values: IntArray, home: IntArray) -> IntArray:
    """The point of every record: distinct (partition, value) pairs, numbered in that order."""
    order = np.lexsort((values, home))
    fresh = np.zeros(values.size, dtype=np.int64)
    fresh[1:] = (np.diff(home[order]) != 0) | (np.diff(values[order]) != 0)
    points = np.empty(values.size, dtype=np.int64)
    points[order] = np.cumsum(fresh)  # I2
    return points


def _of_partition(by_point: NDArray[np.float64], start: int, end: int, pruned: bool) -> IntArray:
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import extract

    rows: IntArray = extract(by_point[start:end], pruned)
    rows[:, :3] += start
    return rows


def sampled(counts: IntArray, share: float, chance: Randomness) -> IntArray:
    """Indices of a uniform sample of round(share · count) entries from every group of `counts` consecutive ones."""
    total = int(counts.sum())
    if share >= 1.0:
        return np.arange(total, dtype=np.int64)
    group = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((chance.words(total), group))
    rank = positions_in_runs(counts)
    wanted = np.repeat(np.floor(share * counts + 0.5).astype(np.int64), counts)
    return np.sort(order[rank < wanted])


def _chain(edges: IntArray) -> IntArray:
    """All neighbours (p − 1, p) inside the partitions that `edges` delimit."""
    upper = np.setdiff1d(np.arange(edges[-1], dtype=np.int64), edges)
    return np.column_stack([upper - 1, upper])


def _order(triples: IntArray) -> IntArray:
    """The pairs (lower, upper) that the triples need beside their inequality."""
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import WIDE

    i, j, k, side = triples.T
    pairs: IntArray = np.unique(
        np.column_stack([np.where(side == WIDE, j, i), np.where(side == WIDE, k, j)]), axis=0
    )  # I1
    return pairs


# Partitions
# ----------


def runs(records: int, size: int | None) -> IntArray:
    """Runs of so many records in the order given, the last one perhaps shorter; without a size one for all."""
    return np.arange(records, dtype=np.int64) // max(1, records if size is None else size)


def classes_of(columns: Sequence[IntArray], records: int) -> IntArray:
    """One partition for every combination of values."""
    found: IntArray = np.asarray(equivalence_classes_of(list(columns), rows=records).of, dtype=np.int64)
    return found


def neighbourhoods(columns: Sequence[IntArray], fewest: int) -> IntArray:
    """Partitions of at least so many records and fewer than twice as many, near each other in all columns at once.

    The records are cut across the column in which they are spread widest, beside its spread in the whole table, at the
    widest gap between its quarters, as long as both sides are large enough.

    >>> neighbourhoods([np.array([1, 90, 2, 91]), np.array([5, 5, 6, 6])], 2).tolist()
    [0, 1, 0, 1]
    """
    points = (
        np.column_stack([values / (float(values.std()) or 1.0) for values in columns]) if columns else np.empty((0, 0))
    )
    home, waiting, count = np.zeros(len(points), np.int64), [np.arange(len(points))], 0
    while waiting:
        rows = waiting.pop()
        if len(rows) < 2 * fewest:
            home[rows], count = count, count + 1
            continue
        widest = int(points[rows].std(axis=0).argmax())
        order = rows[np.argsort(points[rows, widest], kind="stable")]
        first = max(fewest, len(rows) // 4)
        gaps = np.diff(points[order[first - 1 : len(rows) - first + 1], widest])
        cut = first + int(gaps.argmax()) if gaps.max() > 0 else len(rows) // 2
        waiting += [order[cut:], order[:cut]]
    return home


# Crossing
# --------


LARGEST = 1 << 62
"""The most triples whose ranks fit a word."""


def crossing_localities(
    inside: KeptPattern, values: IntArray, count: int, chance: Randomness, *, loose: bool = False
) -> IntArray:
    """Rows (i, j, k, side) of `count` different localities between the partitions of `inside`, or of all when there are
    fewer."""
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import NARROW, WIDE

    by_point = np.empty(int(inside.edges[-1]) if values.size else 0, np.int64)
    by_point[inside.points] = values
    home = np.repeat(np.arange(inside.edges.size - 1), np.diff(inside.edges))
    ends = np.cumsum(middles(by_point, home, inside.edges, loose=loose))
    ranks = _ranks(int(ends[-1]) if ends.size else 0, count, chance)
    middle = np.searchsorted(ends, ranks, side="right")
    before = np.concatenate([[0], ends])[middle]
    found = [_triple(by_point, home, int(j), int(left), loose) for j, left in zip(middle, ranks - before, strict=True)]
    i, j, k = np.array(found, dtype=np.int64).reshape(-1, 3).T
    side = np.where(by_point[j] - by_point[i] <= by_point[k] - by_point[j], NARROW, WIDE)
    return np.column_stack([i, j, k, side]).astype(np.int64)


def middles(by_point: IntArray, home: IntArray, edges: IntArray, *, loose: bool = False) -> IntArray:
    """For every point, how many triples it is the middle of."""
    ranked = np.sort(by_point)
    below = np.searchsorted(ranked, by_point, side="left")
    above = by_point.size - np.searchsorted(ranked, by_point, side="right")
    own_below = np.arange(by_point.size) - edges[home]  # I2
    own_above = edges[home + 1] - 1 - np.arange(by_point.size)
    paired = _around(by_point, own_below, own_above) - own_below * own_above
    apart = (below - own_below) * (above - own_above) - paired
    found: IntArray = below * above - own_below * own_above if loose else apart
    if float(found.sum(dtype=np.float64)) >= LARGEST:
        raise DataError("the column has too many different values for localities across partitions")
    return found


def _around(by_point: IntArray, own_below: IntArray, own_above: IntArray) -> IntArray:
    """For every point, the pairs of one partition with a smaller and a larger value, over all partitions.

    Upwards through the values, a point that is reached stops being a partner of those below it in its partition; once
    it is passed, it is one for those above."""
    order = np.argsort(by_point, kind="stable")
    ranked = by_point[order]
    reached, passed = np.cumsum(own_below[order]), np.cumsum(own_above[order])
    last = np.searchsorted(ranked, by_point, side="right") - 1
    first = np.searchsorted(ranked, by_point, side="left")
    found: IntArray = np.concatenate([[0], passed])[first] - reached[last]
    return found


def _ranks(total: int, count: int, chance: Randomness) -> IntArray:
    """The first `count` different ones of a stream of uniform ranks, sorted; all ranks when there are no more."""
    if total <= count:
        return np.arange(total, dtype=np.int64)
    drawn = np.empty(0, np.int64)
    while drawn.size < count:
        drawn = np.concatenate([drawn, chance.integers(total, 2 * count)])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # I1
    return np.sort(drawn[:count])


def _triple(by_point: IntArray, home: IntArray, j: int, left: int, loose: bool) -> tuple[int, int, int]:
    """The triple with middle j that has `left` others of that middle before it."""
    elsewhere = loose | (home != home[j])
    lower = np.flatnonzero(elsewhere & (by_point < by_point[j]))
    upper = np.flatnonzero(elsewhere & (by_point > by_point[j]))
    banned = np.bincount(home[upper], minlength=int(home[-1]) + 1)[home[lower]]
    partners = upper.size - (np.where(home[lower] == home[j], banned, 0) if loose else banned)
    ends = np.cumsum(partners)
    place = int(np.searchsorted(ends, left, side="right"))
    i = int(lower[place])
    allowed = upper if loose and home[i] != home[j] else upper[home[upper] != home[i]]
    return i, j, int(allowed[left - int(ends[place] - partners[place])])


# Distances
# ---------


_PAIRINGS = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]])


def count_possible_quads(edges: IntArray) -> int:
    """How many quads partitions with so many points have."""
    return sum(3 * comb(int(size), 4) for size in np.diff(edges))


def sample_quads(by_point: IntArray, edges: IntArray, count: int, chance: Randomness) -> IntArray:
    """Rows (a, b, c, d) of `count` different quads inside partitions; `by_point` are the values, ascending in each
    partition."""
    sizes = np.diff(edges)
    ways = np.array([comb(int(size), 4) for size in sizes], dtype=np.float64)
    ends = np.cumsum(ways) / max(ways.sum(), 1)
    drawn: set[tuple[int, ...]] = set()
    turn = 0
    while len(drawn) < count:  # I2
        source = chance.child(turn)
        home = np.minimum(np.searchsorted(ends, source.child("home").uniform(2 * count), side="right"), len(sizes) - 1)
        places = np.floor(source.child("points").uniform(8 * count).reshape(-1, 4) * sizes[home][:, None]).astype(
            np.int64
        )
        pairing = source.child("pairing").integers(3, 2 * count)
        for own, four, way in zip(home.tolist(), np.sort(places, axis=1), pairing.tolist(), strict=True):
            if len(drawn) < count and len(set(four.tolist())) == 4:
                drawn.add(tuple((edges[own] + four[_PAIRINGS[way]]).tolist()))
        turn += 1
    return _oriented(by_point, np.array(sorted(drawn), dtype=np.int64).reshape(-1, 4))


def _oriented(by_point: IntArray, pairs: IntArray) -> IntArray:
    """The nearer pair first; each pair upwards."""
    near = by_point[pairs[:, 1]] - by_point[pairs[:, 0]] <= by_point[pairs[:, 3]] - by_point[pairs[:, 2]]
    found: IntArray = np.where(near[:, None], pairs, pairs[:, [2, 3, 0, 1]])  # I1
    return found
