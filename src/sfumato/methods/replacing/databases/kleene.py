"""Conditions over records in which some columns are null, as plain conditions over the others.

In three-valued logic a comparison with a null is unknown. `may_hold` is the condition under which the whole is not false (a check
constraint is satisfied), `must_hold` the one under which it is true (a WHERE clause takes the record).

>>> from sfumato.policy.rules import parse
>>> rule = parse("a > 1 and b > 2").body
>>> may_hold(rule, [ColumnValue("a")]) == rule.parts[1], must_hold(rule, [ColumnValue("a")])
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import All, Any_, ColumnValue, Condition, Implies, IsNull, Not

Simple = Condition | bool


def may_hold(node: Condition, missing: Collection[ColumnValue]) -> Simple:
    """When the condition is not false, given that these columns are null."""
    return _simple(node, missing, unknown=True)


def must_hold(node: Condition, missing: Collection[ColumnValue]) -> Simple:
    """When the condition is true, given that these columns are null."""
    return _simple(node, missing, unknown=False)


def _simple(node: Condition, missing: Collection[ColumnValue], *, unknown: bool) -> Simple:
    if isinstance(node, Implies):
        return _simple(Any_((Not(node.condition), node.consequence)), missing, unknown=unknown)
    if isinstance(node, Not):
        inner = _simple(node.part, missing, unknown=not unknown)
        return not inner if isinstance(inner, bool) else Not(inner)
    if isinstance(node, All):
        return _joined([_simple(part, missing, unknown=unknown) for part in node.parts], All, settles=False)
    if isinstance(node, Any_):
        return _joined([_simple(part, missing, unknown=unknown) for part in node.parts], Any_, settles=True)
    if isinstance(node, IsNull):
        return ColumnValue(node.value.name, node.value.table) in {ColumnValue(c.name, c.table) for c in missing}
    return unknown if any(column in missing for column in columns_of(node)) else node


def _joined(parts: list[Simple], kind: Callable[[tuple[Condition, ...]], Condition], *, settles: bool) -> Simple:
    if any(part is settles for part in parts):
        return settles
    left = tuple(part for part in parts if not isinstance(part, bool))
    if not left:
        return not settles
    return left[0] if len(left) == 1 else kind(left)
