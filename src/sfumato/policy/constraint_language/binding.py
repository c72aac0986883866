"""Rules against the columns of a table: unknown names and comparisons of unlike things are errors at their character.

A quoted text that stands against a date or a number is read as one. Columns whose kind is not declared (`None`) fit
everywhere; what they hold is settled when the data is there.

>>> from sfumato.policy.constraint_language.parser import parse
>>> bind(parse("born >= '1990-01-01'"), {"born": "date"}).body.right
Date(value=datetime.date(1990, 1, 1))


Kinds
-----
What a rule is about: its columns, whether it binds records together, and whether it looks at the original.

Paper
    [obfuscation §3.1]: a *global* rule restricts combinations of values over all records, a *per-record* rule each
    record by itself; a *general* rule holds without regard to the original, the others bind the output to it.

Notation
    linear form   Σ coefficient · atom + constant, atoms being columns, cells and aggregates; exact fractions
    throughout.

>>> from sfumato.policy.constraint_language.parser import parse
>>> classify(parse("a < b")), classify(parse("mean(a) = mean(original.a)"))
(Kind(is_global=False, against_original=False), Kind(is_global=True, against_original=True))


Joined
------
Which tables a rule joins: columns of another table than the one whose rows it is about are reached through a reference.

>>> from sfumato.policy.constraint_language.parser import parse
>>> list(joined_tables(parse("order.total = sum(line.price by line.order_id)").body))
[('line', 'order')]
>>> list(joined_tables(parse("sum(a.x) = sum(b.y)").body))
[]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from sfumato.core.registry import nearest
from sfumato.policy.constraint_language.functions import FUNCTIONS
from sfumato.policy.constraint_language.parser import RuleError, constant_value
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    Arithmetic,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Expression,
    Function,
    Histogram,
    Implies,
    IntegrityRule,
    IsNull,
    Localities,
    Match,
    Membership,
    Negative,
    Node,
    Not,
    Number,
    Own,
    Running,
    SameMultiset,
    Statement,
    TextConstant,
    Valid,
)

Kinds = Mapping[str, str | None]


def bind(rule: IntegrityRule, kinds: Kinds) -> IntegrityRule:
    """The rule with its constants read as their columns ask; `kinds` maps `name` or `table.name` to number, date, text,
    None."""
    binder = _Binder(rule.text, kinds)
    for column in columns_of(rule):
        binder.kind(column)
    body = rule.body if isinstance(rule.body, Statement) else binder.condition(rule.body)
    return IntegrityRule(rule.text, body)


class _Binder:
    def __init__(self, text: str, kinds: Kinds) -> None:
        self.text = text
        self.kinds = kinds

    def wrong(self, what: str, at: int, hint: str = "") -> RuleError:
        return RuleError(what, self.text, at, hint=hint)

    def kind(self, node: Expression) -> str | None:
        """number, date, text, or None when not yet known."""
        if isinstance(node, Number):
            return "number"
        if isinstance(node, TextConstant):
            return "text"
        if isinstance(node, Date):
            return "date"
        if isinstance(node, ColumnValue):
            return self._column(node)
        if isinstance(node, Cell):
            return self._column(node.column)
        if isinstance(node, Aggregate):
            return self._aggregate(node)
        if isinstance(node, Negative):
            return self._numeric(node.value)
        if isinstance(node, Function):
            return self._function(node)
        if isinstance(node, Running):
            return self._numeric(node.argument)
        assert isinstance(node, Arithmetic)
        return self._arithmetic(node)

    def _column(self, column: ColumnValue) -> str | None:
        name = column.name if column.table is None else f"{column.table}.{column.name}"
        if name not in self.kinds:
            raise self.wrong(f"there is no column '{name}'", column.at, nearest(name, list(self.kinds)))
        return self.kinds[name]

    def _function(self, node: Function) -> str | None:
        if node.name == "pair":
            return "number"
        spec = FUNCTIONS[node.name]
        for argument, wanted in zip(node.arguments, spec.arguments, strict=True):
            found = self.kind(argument)
            if wanted != "any" and found not in (None, wanted):
                raise self.wrong(f"'{node.name}' takes a {wanted}, and this is a {found}", argument.at)
        return spec.result

    def expression(self, node: Expression) -> Expression:
        """`+` between texts puts them together."""
        if isinstance(node, Arithmetic):
            left, right = self.expression(node.left), self.expression(node.right)
            if node.operator == "+" and "text" in (self.kind(left), self.kind(right)):
                return Function("concat", (left, right), at=node.at)
            return replace(node, left=left, right=right)
        if isinstance(node, Function) and node.name != "pair":
            made = tuple(self.expression(argument) for argument in node.arguments)
            kinds = FUNCTIONS[node.name].arguments
            return replace(node, arguments=tuple(self._as(one, kind) for one, kind in zip(made, kinds, strict=True)))
        return node

    def _numeric(self, node: Expression) -> str:
        if self.kind(node) == "text":
            raise self.wrong("a text cannot be calculated with", node.at)
        return "number"

    def _aggregate(self, node: Aggregate) -> str | None:
        if node.where is not None:
            self.condition(node.where)
        if node.function in ("count", "distinct", "correlation"):
            return "number"
        assert node.argument is not None
        if node.function in ("sum", "mean"):
            if self.kind(node.argument) == "date":
                raise self.wrong("dates have no sum", node.at, "compare their differences")
            return self._numeric(node.argument)
        return self.kind(node.argument)

    def _arithmetic(self, node: Arithmetic) -> str | None:
        left, right = self.kind(node.left), self.kind(node.right)
        if "text" in (left, right):
            raise self.wrong("a text cannot be calculated with", node.at)
        if "date" not in (left, right):
            return None if None in (left, right) else "number"
        if node.operator == "-" and left == right:
            return "number"
        if node.operator in "+-" and left == "date" and right != "date":
            return "date"
        if None in (left, right) and node.operator == "-":
            return None
        raise self.wrong("dates can be subtracted, or moved by a number of days", node.at)

    def condition(self, node: Condition) -> Condition:
        if isinstance(node, (All, Any_)):
            return replace(node, parts=tuple(self.condition(part) for part in node.parts))
        if isinstance(node, Not):
            return replace(node, part=self.condition(node.part))
        if isinstance(node, Implies):
            return replace(node, condition=self.condition(node.condition), consequence=self.condition(node.consequence))
        if isinstance(node, Compare):
            return self._compare(node)
        if isinstance(node, Membership):
            wanted = self.kind(node.value)
            return replace(node, options=tuple(self._as(option, wanted) for option in node.options))
        if isinstance(node, IsNull):
            self._column(node.value)
            return node
        if isinstance(node, (Valid, Own)):
            return node
        assert isinstance(node, Match)
        if self.kind(node.value) in ("number", "date"):
            raise self.wrong("a pattern is for texts", node.at)
        return node

    def _compare(self, node: Compare) -> Compare:
        node = replace(node, left=self.expression(node.left), right=self.expression(node.right))
        left, right = self._as(node.left, self.kind(node.right)), self._as(node.right, self.kind(node.left))
        kinds = {self.kind(left), self.kind(right)} - {None}
        if len(kinds) > 1:
            raise self.wrong(f"a {self.kind(left)} cannot be compared with a {self.kind(right)}", node.at)
        return replace(node, left=left, right=right)

    def _as(self, node: Expression, wanted: str | None) -> Expression:
        """A quoted constant as the other side's kind."""
        if not isinstance(node, TextConstant) or wanted not in ("date", "number"):
            return node
        try:
            if wanted == "date":
                return Date(date.fromisoformat(node.value), at=node.at)
            return Number(Fraction(node.value), at=node.at)
        except (ValueError, ZeroDivisionError):
            raise self.wrong(f"this is no {wanted}", node.at) from None


# Kinds
# -----


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
        return LinearForm(
            {atom: weight for atom, weight in terms.items() if weight}, self.constant + factor * other.constant
        )

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


# Joined
# ------


def joined_tables(part: Condition | Statement) -> Iterator[tuple[str | None, str | None]]:
    """Pairs of tables that a clause compares record by record: the table that it groups, or its first one, and
    another."""
    if isinstance(part, Statement):
        return
    grouped = dict.fromkeys(key.table for node in part.walk() if isinstance(node, Aggregate) for key in node.by)
    tables = list(dict.fromkeys([*grouped, *(column.table for column in _by_record(part))]))
    yield from ((tables[0], other) for other in tables[1:])


def _by_record(node: Node) -> Iterator[ColumnValue]:
    """Columns outside of aggregates."""
    if isinstance(node, ColumnValue):
        yield node
    elif not isinstance(node, Aggregate):
        for child in node.children():
            yield from _by_record(child)
