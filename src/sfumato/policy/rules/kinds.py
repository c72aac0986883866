"""What a rule is about: its columns, whether it binds records together, and whether it looks at the original.

Paper
    [obfuscation §3.1]: a *global* rule restricts combinations of values over all records, a *per-record* rule each record by
    itself; a *general* rule holds without regard to the original, the others bind the output to it.

Notation
    linear form   Σ coefficient · atom + constant, atoms being columns, cells and aggregates; exact fractions throughout.

>>> from sfumato.policy.rules.parse import parse
>>> classify(parse("a < b")), classify(parse("mean(a) = mean(original.a)"))
(Kind(is_global=False, against_original=False), Kind(is_global=True, against_original=True))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sfumato.policy.rules.parse import constant_value
from sfumato.policy.rules.tree import (
    Aggregate,
    All,
    Arithmetic,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Expression,
    Histogram,
    IntegrityRule,
    Localities,
    Negative,
    Node,
    Running,
    SameMultiset,
    Statement,
)

Atom = ColumnValue | Cell | Aggregate


@dataclass(frozen=True, slots=True)
class Kind:
    """The two questions of [obfuscation §3.1]."""

    is_global: bool
    against_original: bool

    def __str__(self) -> str:
        scope = "global" if self.is_global else "per-record"
        return f"{scope}, {'against the original' if self.against_original else 'general'}"


def classify(rule: IntegrityRule) -> Kind:
    """Per-record or global, general or against the original."""
    nodes = list(rule.body.walk())
    return Kind(
        is_global=any(isinstance(node, (Statement, Aggregate, Cell, Running)) for node in nodes),
        against_original=any(_looks_back(node) for node in nodes),
    )


def _looks_back(node: Node) -> bool:
    return isinstance(node, (SameMultiset, Histogram, Localities)) or (isinstance(node, ColumnValue) and node.original)


def columns_of(node: Node | IntegrityRule) -> tuple[ColumnValue, ...]:
    """Every column in reading order, without repetition; the original's columns included."""
    body = node.body if isinstance(node, IntegrityRule) else node
    return tuple(dict.fromkeys(found for found in body.walk() if isinstance(found, ColumnValue)))


def conjuncts(node: Condition | Statement) -> tuple[Condition | Statement, ...]:
    """The parts of a rule that must each hold: `a and b` gives two."""
    if isinstance(node, All):
        return tuple(found for part in node.parts for found in conjuncts(part))
    return (node,)


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Σ terms[atom] · atom + constant."""

    terms: Mapping[Atom, Fraction]
    constant: Fraction

    def plus(self, other: LinearForm, factor: Fraction = Fraction(1)) -> LinearForm:
        """self + factor · other; atoms that cancel vanish."""
        terms = dict(self.terms)
        for atom, weight in other.terms.items():
            terms[atom] = terms.get(atom, Fraction(0)) + factor * weight
        return LinearForm({atom: weight for atom, weight in terms.items() if weight}, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> LinearForm:
        return LinearForm({}, Fraction(0)).plus(self, factor)


def linear(node: Expression) -> LinearForm | None:
    """The linear form of an expression, or None when it has none (a product of columns, a text); days are numbers."""
    value = constant_value(node)
    if value is not None:
        return LinearForm({}, value)
    if isinstance(node, Date):
        return LinearForm({}, Fraction(node.value.toordinal()))
    if isinstance(node, (ColumnValue, Cell, Aggregate)):
        return LinearForm({node: Fraction(1)}, Fraction(0))
    if isinstance(node, Negative):
        inner = linear(node.value)
        return None if inner is None else inner.times(Fraction(-1))
    if isinstance(node, Arithmetic):
        return _combine(node)
    return None


def _combine(node: Arithmetic) -> LinearForm | None:
    left, right = linear(node.left), linear(node.right)
    if left is None or right is None:
        return None
    if node.operator in "+-":
        return left.plus(right, Fraction(1 if node.operator == "+" else -1))
    if node.operator == "/":
        return left.times(1 / right.constant)
    if not left.terms:
        return right.times(left.constant)
    return left.times(right.constant) if not right.terms else None


@dataclass(frozen=True, slots=True)
class Inequality:
    """Σ terms[atom] · atom ⋛ bound with operator one of = != < <= > >= and, for =, a tolerance."""

    terms: Mapping[Atom, Fraction]
    operator: str
    bound: Fraction
    tolerance: Fraction = Fraction(0)


def linear_comparison(node: Node) -> Inequality | None:
    """A comparison with everything that varies on the left and a constant on the right, or None."""
    if not isinstance(node, Compare):
        return None
    left, right = linear(node.left), linear(node.right)
    if left is None or right is None:
        return None
    moved = left.plus(right, Fraction(-1))
    return Inequality(moved.terms, node.operator, -moved.constant, node.tolerance)
