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
>>> from sfumato.policy.rules import parse
>>> v = ReplacedColumn(np.array([3, 5, 11, 27, 33, 45]), 0, 50)
>>> space = RuleSheet({"v": v}, 6).polytope([parse("v[1] + v[2] <= v[3]"), parse("v[3] + v[5] < 2 * v[4]")], Randomness(1))[0]
>>> space.part_count
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import DataError, PolicyError
from sfumato.methods.replacing.patterns.crossing import crossing
from sfumato.methods.replacing.patterns.distances import possible, quads
from sfumato.methods.replacing.patterns.localities import KeptPattern, localities
from sfumato.methods.replacing.patterns.partitions import classes_of, neighbourhoods, runs
from sfumato.methods.replacing.patterns.polytope import Polytope, PropertySheet
from sfumato.policy.rules import Inequality, IntegrityRule, conjuncts, linear_comparison
from sfumato.policy.rules.tree import (
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
from sfumato.randomness import Randomness


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
        """The pattern of a column with the localities between its partitions that the rule wants, if the data has as many."""
        assert isinstance(rule.body, Localities)
        wanted = rule.body.across
        if not wanted:
            return inside
        found = crossing(inside, self.replaced[name].levels, wanted, chance, loose=bool(rule.body.by))
        if len(found) < wanted:
            hint = "ask for fewer, or for smaller partitions; each takes three different values from several partitions"
            why = f"the data has no {wanted} localities across partitions of '{name}'"
            raise DataError(why, where=f"keep: {rule}", hint=hint)
        return inside.and_also(found)

    def _with_distances(self, kept: KeptPattern, name: str, rule: IntegrityRule, chance: Randomness) -> KeptPattern:
        """The pattern of a column with as many comparisons of two distances as the rule wants, if the data has twice as many."""
        assert isinstance(rule.body, Localities)
        wanted = rule.body.distances
        if not wanted:
            return kept
        if 2 * wanted > possible(kept.edges):
            hint = "ask for fewer, or for larger partitions; each takes four different values of a partition"
            raise DataError(f"the data has too few distances in '{name}' to compare {wanted}", where=f"keep: {rule}", hint=hint)
        by_point = np.empty(int(kept.edges[-1]), np.int64)
        by_point[kept.points] = self.replaced[name].levels
        return kept.and_order(quads(by_point, kept.edges, wanted, chance))

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
    from sfumato.methods.replacing.kernels.localities import WIDE

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
    space.add(row, pattern.quads.ravel() + first, weight, np.zeros(len(pattern.quads), np.int64), f"distances of {name}")
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
    if found is None or obstacle(rule):
        raise _refused(rule, obstacle(rule))
    return found


def obstacle(rule: IntegrityRule) -> str:
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
