"""Rules against the columns of a table: unknown names and comparisons of unlike things are errors at their character.

A quoted text that stands against a date or a number is read as one. Columns whose kind is not declared (`None`) fit everywhere;
what they hold is settled when the data is there.

>>> from sfumato.policy.rules.parse import parse
>>> bind(parse("born >= '1990-01-01'"), {"born": "date"}).body.right
Date(value=datetime.date(1990, 1, 1))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction

from sfumato.policy.rules.functions import FUNCTIONS
from sfumato.policy.rules.kinds import columns_of
from sfumato.policy.rules.scan import RuleError
from sfumato.policy.rules.tree import (
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
    Implies,
    IntegrityRule,
    IsNull,
    Match,
    Membership,
    Negative,
    Not,
    Number,
    Own,
    Running,
    Statement,
    TextConstant,
    Valid,
)
from sfumato.registry import nearest

Kinds = Mapping[str, str | None]


def bind(rule: IntegrityRule, kinds: Kinds) -> IntegrityRule:
    """The rule with its constants read as their columns ask; `kinds` maps `name` or `table.name` to number, date, text, None."""
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
