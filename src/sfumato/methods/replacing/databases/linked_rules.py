"""What rules ask of linked columns: some they keep by themselves, some narrow the domain, the others are refused.

A one-to-one map keeps everything that only asks whether values are equal: unique, references, determines, at_least, groups, and
comparisons by = and != inside a link. A condition on one linked column alone narrows its domain. Anything else would tie a key to
other values.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.errors import PolicyError
from sfumato.methods.replacing.databases.maps import single_column
from sfumato.policy.bound_policy import BoundPolicy, LinkedColumns
from sfumato.policy.rules import IntegrityRule, columns_of, conjuncts
from sfumato.policy.rules.tree import (
    Aggregate,
    AtLeast,
    ColumnValue,
    Compare,
    Condition,
    Determines,
    Node,
    References,
    Statement,
    Unique,
)

_EQUALITY = (Unique, References, Determines, AtLeast)


def narrowing(bound: BoundPolicy) -> dict[ColumnValue, list[Condition]]:
    """Conditions on the root of each link; raises for rules that a map cannot keep."""
    found: dict[ColumnValue, list[Condition]] = {link.root: [] for link in bound.links}
    for rule in bound.drawn_rules:
        for part in conjuncts(rule.body):
            for link, condition in _asked(bound, rule, part):
                found[link.root].append(single_column(condition, link.root, link.columns))
    return found


def _asked(bound: BoundPolicy, rule: IntegrityRule, part: Condition | Statement) -> Iterator[tuple[LinkedColumns, Condition]]:
    looked = [column for column in values_in(part) if not column.original]
    linked = {id(bound.mapped[column]): bound.mapped[column] for column in looked if column in bound.mapped}
    if not linked or isinstance(part, _EQUALITY):
        return
    link = next(iter(linked.values()))
    inside = len(linked) == 1 and all(column in link.columns for column in values_in(part))
    if inside and isinstance(part, Compare) and part.operator in ("=", "!=") and _plain(part):
        return
    alone = len({*looked}) == 1 and not any(column.original for column in values_in(part))
    if not inside or not alone or not isinstance(part, Condition) or any(isinstance(node, Aggregate) for node in part.walk()):
        what = f"the rule \"{rule}\" ties the linked column '{looked[0]}' to other values"
        raise PolicyError(what, where="keep", hint="a key keeps equality only; drop the rule or publish the key as it is")
    yield link, part


def _plain(part: Compare) -> bool:
    return isinstance(part.left, ColumnValue) and isinstance(part.right, ColumnValue) and not part.tolerance


def values_in(node: Node) -> list[ColumnValue]:
    """Columns whose values matter, not only whether they are equal: all but those behind `by`."""
    grouping = {id(column) for found in node.walk() if isinstance(found, Aggregate) for column in found.by}
    return [found for found in node.walk() if isinstance(found, ColumnValue) and id(found) not in grouping]


def apart(bound: BoundPolicy, link: LinkedColumns) -> bool:
    """Whether something needs different values of a link to stay different."""
    for rule in bound.rules:
        grouped = [c for node in rule.body.walk() if isinstance(node, Aggregate) for c in node.by]
        asked = columns_of(rule) if isinstance(rule.body, _EQUALITY) else grouped
        if any(column in link.columns for column in asked):
            return True
    return False
