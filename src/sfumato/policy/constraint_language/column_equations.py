"""Columns that an equation defines: `email = lower(first) + "@example.org"`, `total = sum(line.price by
line.order_id)`.

A defined column is not drawn: it is calculated when everything it depends on is there. Other rules about it speak, in
truth, about what it is made of, and are rewritten so where its equation is about one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sfumato.core.errors import PolicyError
from sfumato.policy.constraint_language.binding import columns_of, conjuncts
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    Arithmetic,
    ColumnValue,
    Compare,
    Condition,
    Expression,
    Function,
    IntegrityRule,
    Negative,
    Node,
    Running,
    Statement,
    Unique,
)


@dataclass(frozen=True, slots=True)
class ColumnEquation:
    """A column and the expression it is equal to."""

    column: ColumnValue
    expression: Expression
    rule: IntegrityRule

    @property
    def by_record(self) -> bool:
        """Whether only the record's own columns are needed."""
        own = all(column.table == self.column.table for column in columns_of(self.expression))
        return own and not any(isinstance(node, (Aggregate, Running)) for node in self.expression.walk())


def column_definitions(
    rules: Sequence[IntegrityRule], new: Callable[[ColumnValue], bool], computed: Callable[[ColumnValue], bool]
) -> tuple[list[ColumnEquation], list[IntegrityRule]]:
    """Definitions, each after those it needs, and the rules that are left; `computed` columns must have one."""
    found: dict[ColumnValue, ColumnEquation] = {}
    left: list[IntegrityRule] = []
    for rule in rules:
        made = _definition(rule, new, computed)
        if made is None or made.column in found:
            left.append(rule)
        else:
            found[made.column] = made
    ordered = _ordered(found)
    return ordered, [clause for rule in left for clause in _rewritten(rule, ordered)]


def _definition(
    rule: IntegrityRule, new: Callable[[ColumnValue], bool], computed: Callable[[ColumnValue], bool]
) -> ColumnEquation | None:
    body = rule.body
    if not isinstance(body, Compare) or body.operator != "=" or body.tolerance:
        return None
    for column, expression in ((body.left, body.right), (body.right, body.left)):
        if (
            not isinstance(column, ColumnValue)
            or column.original
            or not new(column)
            or column in columns_of(expression)
        ):
            continue
        calls = any(isinstance(node, (Function, Running)) for node in expression.walk())
        if computed(column) or (calls and isinstance(expression, (Function, Running))):
            return ColumnEquation(column, expression, rule)
    return None


def _ordered(found: Mapping[ColumnValue, ColumnEquation]) -> list[ColumnEquation]:
    ordered: list[ColumnEquation] = []
    waiting = dict(found)
    while waiting:
        ready = [one for one in waiting.values() if not any(column in waiting for column in columns_of(one.expression))]
        if not ready:
            named = " and ".join(f'"{one.rule}"' for one in waiting.values())
            raise PolicyError(
                f"{named} define each other in a circle", where="keep", hint="one of the columns needs a domain"
            )
        ordered += ready
        for one in ready:
            del waiting[one.column]
    return ordered


def _rewritten(rule: IntegrityRule, definitions: Sequence[ColumnEquation]) -> Iterable[IntegrityRule]:
    """The rule without defined columns; what cannot be said without them is left to the audit."""
    made = {one.column: one for one in reversed(definitions)}
    mentioned = [made[column] for column in columns_of(rule) if column in made]
    if not mentioned:
        return [rule]
    if not all(one.by_record for one in mentioned):
        return []
    if isinstance(rule.body, Unique):
        parts = [columns_of(made[c].expression) if c in made else (c,) for c in rule.body.columns]
        return [IntegrityRule(rule.text, Unique(tuple(dict.fromkeys(column for part in parts for column in part))))]
    if isinstance(rule.body, Statement):
        return []
    body: Any = rule.body
    while any(column in made for column in columns_of(body)):
        body = substituted(body, {one.column: one.expression for one in definitions})
    return [IntegrityRule(rule.text, part) for part in conjuncts(body) if isinstance(part, Condition)]


def doubtful_definitions(rules: Sequence[IntegrityRule], definitions: Sequence[ColumnEquation]) -> list[str]:
    """Sentences about defined columns that must be unique although different values may come to the same."""
    made = {one.column: one for one in definitions}
    found = {
        str(rule): column
        for rule in rules
        if isinstance(rule.body, Unique)
        for column in rule.body.columns
        if column in made and not _one_to_one(made[column].expression)
    }
    return [
        f"\"{rule}\": '{column}' is computed, and different values may come to the same; a release in which two do is"
        " refused"
        for rule, column in found.items()
    ]


def _one_to_one(node: Expression) -> bool:
    """Whether different values of its only column surely give different results."""
    if isinstance(node, ColumnValue):
        return True
    if isinstance(node, Negative):
        return _one_to_one(node.value)
    joined = isinstance(node, Function) and node.name == "concat"
    if not joined and not (isinstance(node, Arithmetic) and node.operator in "+-"):
        return False
    moving = [part for part in node.children() if columns_of(part)]
    return len(moving) == 1 and isinstance(moving[0], Expression) and _one_to_one(moving[0])


def substituted(node: Node, values: Mapping[ColumnValue, Expression]) -> Node:
    """The tree with expressions in place of columns."""
    if isinstance(node, ColumnValue):
        return values.get(node, node)
    changes: dict[str, Any] = {}
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            changes[entry.name] = substituted(value, values)
        elif isinstance(value, tuple):
            changes[entry.name] = tuple(substituted(part, values) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)
