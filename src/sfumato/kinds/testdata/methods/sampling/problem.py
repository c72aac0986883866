"""A table (or several) to be made anew, the rules it must obey, and the independent parts they fall into.

Paper
    [obfuscation §3.1, Definitions 5.1 and 5.2, Stage 1.1]: the *rule graph* has a vertex for every replaced column and
    joins the columns of a rule; its components are independent problems.

Notation
    clause    one conjunct of a rule; per-record, or about the whole table
    given     columns that are published as they are and the original's values: constants for the solver and the
              samplers
    context   records that agree on the given columns a part's rules mention; they share one space of legal records

Departures
    Columns that are not replaced are no vertices: a rule about two parts of which one is constant does not join them.


Wanted
------
Rules about whole columns in the one form the samplers understand: bounds on sums of per-record contributions.

    mean(x) = b            Σ x = N·b
    mean(x where c) = b    Σ_c (x − b) = 0 and at least one record with c
    count(c) <= b          Σ [c] ≤ b
    max(x) = b             x ≤ b in every record, and Σ [x ≥ b] ≥ 1; min, <=, >= and `within` alike
    sum(x) = sum(original.x)   the right side is a constant

Aggregates of columns that are not replaced are constants, computed here exactly.


Forms
-----
Linear comparisons between ordered columns, in terms of their codes and whole numbers.

>>> limits("<", Fraction(5, 2), Fraction(0)), limits("=", Fraction(3), Fraction(1, 2))
((None, 2), (3, 3))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Steps, facts
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Columns, Vector, holds, value
from sfumato.policy.constraint_language import IntegrityRule, columns_of, conjuncts, linear_comparison
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Arithmetic,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Expression,
    Implies,
    Number,
    References,
    Running,
    Statement,
)


@dataclass(frozen=True)
class WholeTable:
    """What is known of a table of which only a share is at hand."""

    records: int
    constants: Mapping[Aggregate, Fraction] = field(default_factory=dict)
    """Aggregates over columns that are not replaced."""


@dataclass(frozen=True)
class SampledTable:
    """One table: how many records, what is replaced, and the texts of the original."""

    count: int
    replaced: Mapping[str, Levels]
    original: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """How often each code is to be drawn, for columns whose frequencies are learned; all others are uniform."""
    whole: WholeTable | None = None
    """Of a share of a larger table: what is known of all of it."""

    @property
    def everybody(self) -> int:
        """The records of the whole table."""
        return self.count if self.whole is None else self.whole.records


@dataclass(frozen=True)
class Clause:
    """One conjunct of a rule."""

    rule: IntegrityRule
    body: Condition | Statement

    @property
    def is_whole(self) -> bool:
        """Whether it is about more than one record at a time."""
        return any(isinstance(node, (Statement, Aggregate, Cell, Running)) for node in self.body.walk())


@dataclass(frozen=True)
class RulePart:
    """Columns joined by rules, with those rules."""

    columns: tuple[ColumnValue, ...]
    clauses: tuple[Clause, ...]

    @property
    def per_record(self) -> list[Condition]:
        return [c.body for c in self.clauses if not c.is_whole and not isinstance(c.body, Statement)]

    @property
    def whole(self) -> list[Clause]:
        return [clause for clause in self.clauses if clause.is_whole]

    @property
    def rules(self) -> list[IntegrityRule]:
        return list(dict.fromkeys(clause.rule for clause in self.clauses))


class SamplingProblem:
    """Tables by name (None for a single table) and rules between their columns."""

    def __init__(self, sources: Mapping[str | None, SampledTable], rules: Sequence[IntegrityRule]) -> None:
        self.sources = sources
        self.rules = list(rules)
        self._facts: dict[ColumnValue, Vector] = {}

    def is_new(self, column: ColumnValue) -> bool:
        return not column.original and column.name in self.source(column).replaced

    def source(self, column: ColumnValue) -> SampledTable:
        try:
            return self.sources[column.table]
        except KeyError:
            raise PolicyError(f"there is no table for column '{column}'") from None

    def levels(self, column: ColumnValue) -> Levels:
        return self.source(column).replaced[column.name]

    def weights(self, column: ColumnValue) -> NDArray[np.float64] | None:
        return self.source(column).weights.get(column.name)

    def given(self, column: ColumnValue) -> Vector:
        """The values of a column that is not made anew, or of the original."""
        key = ColumnValue(column.name, column.table)
        if key not in self._facts:
            original = self.source(column).original
            if column.name not in original:
                raise PolicyError(f"rules cannot mention column '{column.name}' here", hint="it is not in the source")
            self._facts[key] = facts(original[column.name])
        return self._facts[key]

    @cached_property
    def clauses(self) -> list[Clause]:
        return [Clause(rule, body) for rule in self.rules for body in conjuncts(rule.body)]

    @cached_property
    def columns(self) -> list[ColumnValue]:
        return [ColumnValue(name, table) for table, source in self.sources.items() for name in source.replaced]

    @cached_property
    def references(self) -> list[References]:
        return [clause.body for clause in self.clauses if isinstance(clause.body, References)]

    @cached_property
    def parts(self) -> list[RulePart]:
        """The components of the rule graph, in the order of the columns (Stage 1.1)."""
        label = {column: place for place, column in enumerate(self.columns)}
        binding = [clause for clause in self.clauses if not isinstance(clause.body, References)]
        for clause in binding:
            joined = {label[column] for column in columns_of(clause.body) if column in label}
            if joined:
                label = {column: min(joined) if own in joined else own for column, own in label.items()}
        found = []
        for own in dict.fromkeys(label.values()):
            members = tuple(column for column in self.columns if label[column] == own)
            clauses = tuple(c for c in binding if not set(columns_of(c.body)).isdisjoint(members))
            found.append(RulePart(members, clauses))
        return found

    def edges(self) -> list[tuple[ColumnValue, ColumnValue]]:
        """The edges of the rule graph."""
        found: dict[tuple[ColumnValue, ColumnValue], None] = {}
        for rule in self.rules:
            own = [column for column in columns_of(rule) if self.is_new(column)]
            found.update({(one, two): None for place, one in enumerate(own) for two in own[place + 1 :]})
        return list(found)


@dataclass(frozen=True)
class Context:
    """Records with the same given values: those values (one row) and the record numbers."""

    given: dict[ColumnValue, Vector]
    records: IntArray


def contexts(problem: SamplingProblem, part: RulePart, conditions: Sequence[Condition]) -> list[Context]:
    """The records of the part's table, grouped by the given values that the conditions mention."""
    count = problem.source(part.columns[0]).count
    mentioned = dict.fromkeys(column for c in conditions for column in columns_of(c) if not problem.is_new(column))
    if not mentioned:
        return [Context({}, np.arange(count, dtype=np.int64))]
    values = {column: problem.given(column) for column in mentioned}
    label = np.zeros(count, dtype=np.int64)
    for vector in values.values():
        distinct, inverse = np.unique(vector.as_text(), return_inverse=True)
        _, label = np.unique(label * len(distinct) + inverse, return_inverse=True)
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [
        Context({column: vector.at(rows[:1]) for column, vector in values.items()}, rows.astype(np.int64))
        for rows in groups
    ]


# Wanted
# ------


_ARRANGED = ("median", "quantile", "distinct", "correlation")
"""Statistics that no sum over records says."""


@dataclass(frozen=True)
class Summand:
    """factor · argument in the records where `where` holds; no argument counts records."""

    factor: Fraction
    argument: Expression | None
    where: Condition | None


@dataclass(frozen=True)
class Total:
    """Σ over all records of the summands, compared with a constant."""

    rule: IntegrityRule
    summands: tuple[Summand, ...]
    operator: str
    bound: Fraction
    tolerance: Fraction = Fraction(0)

    def contributions(self, columns: Columns, size: int) -> tuple[IntArray, int]:
        """What each row adds, times the returned unit."""
        parts: list[tuple[Vector, Fraction]] = []
        for summand in self.summands:
            own = (
                Vector(np.ones(size, dtype=np.int64), 1)
                if summand.argument is None
                else value(summand.argument, columns)
            )
            levels = np.broadcast_to(own.levels, (size,))
            if summand.where is not None:
                levels = np.where(np.broadcast_to(holds(summand.where, columns), (size,)), levels, 0)
            parts.append((Vector(levels, own.unit), summand.factor))
        unit = math.lcm(1, *((factor / vector.unit).denominator for vector, factor in parts))
        found = np.zeros(size, dtype=np.int64)
        for vector, factor in parts:
            found = found + vector.levels * int(factor / vector.unit * unit)
        return found, unit

    def limits(self, unit: int) -> tuple[int | None, int | None]:
        """The wanted sums in that unit, as an interval."""
        return limits(self.operator, self.bound * unit, self.tolerance * unit)


@dataclass(frozen=True)
class PartDemands:
    """What a part's rules come to: conditions on single records, totals, and what fits neither."""

    conditions: list[Condition]
    totals: list[Total]
    others: list[Clause]


def demands_of_part(problem: SamplingProblem, part: RulePart) -> PartDemands:
    """All clauses of a part sorted into the three kinds."""
    conditions, totals, others = list(part.per_record), [], []
    for clause in part.whole:
        found = _totals(problem, clause)
        if found is None:
            others.append(clause)
        else:
            conditions += found[0]
            totals += found[1]
    return PartDemands(conditions, totals, others)


def is_total(body: Condition | Statement) -> bool:
    """Whether a clause compares sums, means, counts or extremes over all records, and nothing else."""
    form = linear_comparison(body)
    if form is None or form.operator == "!=" or not form.terms:
        return False
    return all(isinstance(atom, Aggregate) and not atom.by and atom.function not in _ARRANGED for atom in form.terms)


def aggregates_in(body: Condition | Statement) -> list[Aggregate]:
    """What a total compares."""
    form = linear_comparison(body)
    return [atom for atom in form.terms if isinstance(atom, Aggregate)] if form is not None else []


def _totals(problem: SamplingProblem, clause: Clause) -> tuple[list[Condition], list[Total]] | None:
    form = linear_comparison(clause.body)
    if form is None or form.operator == "!=":
        return None
    extreme = _bounded_groups(clause)
    if extreme is not None:
        return [extreme], []
    bound = form.bound
    varying: list[tuple[Aggregate, Fraction]] = []
    for atom, factor in form.terms.items():
        if not isinstance(atom, Aggregate) or atom.by or atom.function in _ARRANGED:
            return None
        if any(problem.is_new(column) for column in columns_of(atom)):
            varying.append((atom, factor))
        else:
            bound -= factor * constant(problem, atom)
    if any(a.function in ("min", "max") or (a.function == "mean" and a.where) for a, _ in varying):
        return _single(clause.rule, varying, form.operator, bound, form.tolerance) if len(varying) == 1 else None
    summands = tuple(_summand(problem, atom, factor) for atom, factor in varying)
    return [], [Total(clause.rule, summands, form.operator, bound, form.tolerance)]


def _bounded_groups(clause: Clause) -> Condition | None:
    """`min(x by g) >= c` says x >= c of every record, and `max(x by g) <= c` x <= c."""
    body = clause.body
    if not isinstance(body, Compare) or not isinstance(body.left, Aggregate) or not isinstance(body.right, Number):
        return None
    signs = {"min": (">", ">="), "max": ("<", "<=")}.get(body.left.function, ())
    if not body.left.by or body.left.where is not None or body.operator not in signs or body.left.argument is None:
        return None
    return Compare(body.operator, body.left.argument, body.right)


def _summand(problem: SamplingProblem, atom: Aggregate, factor: Fraction) -> Summand:
    if atom.function == "mean":
        factor = factor / _count(problem, atom)
    return Summand(factor, None if atom.function == "count" else atom.argument, atom.where)


def _count(problem: SamplingProblem, atom: Aggregate) -> int:
    return max(problem.source(columns_of(atom)[0]).everybody, 1)


def _single(
    rule: IntegrityRule, varying: list[tuple[Aggregate, Fraction]], operator: str, bound: Fraction, tolerance: Fraction
) -> tuple[list[Condition], list[Total]]:
    ((atom, factor),) = varying
    bound, tolerance = bound / factor, tolerance / abs(factor)
    if factor < 0:
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    assert atom.argument is not None
    if atom.function == "mean":
        return [], _mean(rule, atom, operator, bound, tolerance)
    return _extreme(rule, atom, operator, bound, tolerance)


def _mean(rule: IntegrityRule, atom: Aggregate, operator: str, bound: Fraction, tolerance: Fraction) -> list[Total]:
    assert atom.argument is not None
    some = Total(rule, (Summand(Fraction(1), None, atom.where),), ">=", Fraction(1))

    def compared(sign: str, aim: Fraction) -> Total:
        centred = Arithmetic("-", atom.argument or Number(aim), Number(aim))
        return Total(rule, (Summand(Fraction(1), centred, atom.where),), sign, Fraction(0))

    if tolerance:
        return [compared(">=", bound - tolerance), compared("<=", bound + tolerance), some]
    return [compared(operator, bound), some]


def _extreme(
    rule: IntegrityRule, atom: Aggregate, operator: str, bound: Fraction, tolerance: Fraction
) -> tuple[list[Condition], list[Total]]:
    assert atom.argument is not None
    all_sign, some_sign = ("<=", ">=") if atom.function == "max" else (">=", "<=")
    outer = bound + (tolerance if atom.function == "max" else -tolerance)
    inner = bound - (tolerance if atom.function == "max" else -tolerance)
    strict = operator in "<>"
    conditions: list[Condition] = []
    totals: list[Total] = []
    if operator == "=" or operator.startswith(all_sign[0]):
        every: Condition = Compare(all_sign[0] if strict else all_sign, atom.argument, Number(outer))
        conditions.append(every if atom.where is None else Implies(atom.where, every))
    if operator == "=" or operator.startswith(some_sign[0]):
        reached: Condition = Compare(some_sign[0] if strict else some_sign, atom.argument, Number(inner))
        found = reached if atom.where is None else All((atom.where, reached))
        totals.append(Total(rule, (Summand(Fraction(1), None, found),), ">=", Fraction(1)))
    return conditions, totals


def constant(problem: SamplingProblem, atom: Aggregate) -> Fraction:
    """The exact value of an aggregate over columns that are not replaced."""
    if not columns_of(atom):  # count() of a single table
        return Fraction(next(iter(problem.sources.values())).everybody)
    source = problem.source(columns_of(atom)[0])
    if source.whole is not None:
        return source.whole.constants[atom]
    columns = {column: problem.given(column) for column in columns_of(atom)}
    return aggregated(atom, columns, np.ones(source.count, dtype=np.int64))


def aggregated(atom: Aggregate, columns: Columns, counts: IntArray) -> Fraction:
    """The exact value of an aggregate over rows that stand for so many records each."""
    count = len(counts)
    keep = np.ones(count, dtype=bool) if atom.where is None else np.broadcast_to(holds(atom.where, columns), (count,))
    often = counts[keep]
    if atom.function == "count":
        return Fraction(int(often.sum()))
    assert atom.argument is not None
    own = value(atom.argument, columns)
    levels = np.broadcast_to(own.levels, (count,))[keep]
    if atom.function in ("min", "max"):
        return Fraction(int(levels.min() if atom.function == "min" else levels.max()), own.unit)
    total = Fraction(sum(map(mul, levels.tolist(), often.tolist())), own.unit)
    return total if atom.function == "sum" else total / max(int(often.sum()), 1)


# Forms
# -----


Numberings = Mapping[ColumnValue, Levels]


@dataclass(frozen=True)
class IntegerForm:
    """Σ factors[column] · code ⋛ bound, all integers."""

    factors: dict[ColumnValue, int]
    operator: str
    low: int | None
    high: int | None

    def interval(self) -> tuple[int | None, int | None]:
        return self.low, self.high


def integer_form(condition: Condition, levels: Numberings, given: Columns) -> IntegerForm | None:
    """A comparison of ordered columns in terms of their codes, or None when it is not one (or is `!=`)."""
    form = linear_comparison(condition)
    if form is None or form.operator == "!=":
        return None
    bound = form.bound
    terms: dict[ColumnValue, Fraction] = {}
    for atom, weight in form.terms.items():
        if not isinstance(atom, ColumnValue):
            return None
        numbering = levels.get(atom)
        if isinstance(numbering, Steps):
            terms[atom] = weight / numbering.unit
            bound -= weight * Fraction(numbering.low, numbering.unit)
        elif atom in given and not given[atom].is_text:
            bound -= weight * Fraction(int(given[atom].levels[0]), given[atom].unit)
        else:
            return None
    scale = math.lcm(1, *(weight.denominator for weight in terms.values()))
    factors = {column: int(weight * scale) for column, weight in terms.items()}
    return IntegerForm(factors, form.operator, *limits(form.operator, bound * scale, form.tolerance * scale))


def limits(operator: str, bound: Fraction, tolerance: Fraction) -> tuple[int | None, int | None]:
    """The integers n with n ⋛ bound, as an interval."""
    if operator == "=":
        return math.ceil(bound - tolerance), math.floor(bound + tolerance)
    if operator in ("<", "<="):
        return None, math.floor(bound) if operator == "<=" else math.ceil(bound) - 1
    return (math.ceil(bound) if operator == ">=" else math.floor(bound) + 1), None
