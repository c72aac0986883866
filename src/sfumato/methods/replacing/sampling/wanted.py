"""Rules about whole columns in the one form the samplers understand: bounds on sums of per-record contributions.

    mean(x) = b            Σ x = N·b
    mean(x where c) = b    Σ_c (x − b) = 0 and at least one record with c
    count(c) <= b          Σ [c] ≤ b
    max(x) = b             x ≤ b in every record, and Σ [x ≥ b] ≥ 1; min, <=, >= and `within` alike
    sum(x) = sum(original.x)   the right side is a constant

Aggregates of columns that are not replaced are constants, computed here exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.methods.replacing.sampling.forms import limits
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SamplingProblem
from sfumato.methods.replacing.sampling.vectors import Columns, Vector, holds, value
from sfumato.policy.rules import IntegrityRule, columns_of, linear_comparison
from sfumato.policy.rules.tree import Aggregate, All, Arithmetic, Compare, Condition, Expression, Implies, Number, Statement

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
            own = Vector(np.ones(size, dtype=np.int64), 1) if summand.argument is None else value(summand.argument, columns)
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


def wanted(problem: SamplingProblem, part: RulePart) -> PartDemands:
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
