"""Which tables a rule joins: columns of another table than the one whose rows it is about are reached through a reference.

>>> from sfumato.policy.rules.parse import parse
>>> list(joins(parse("order.total = sum(line.price by line.order_id)").body))
[('line', 'order')]
>>> list(joins(parse("sum(a.x) = sum(b.y)").body))
[]
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.policy.rules.tree import Aggregate, ColumnValue, Condition, Node, Statement


def joins(part: Condition | Statement) -> Iterator[tuple[str | None, str | None]]:
    """Pairs of tables that a clause compares record by record: the table that it groups, or its first one, and another."""
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
