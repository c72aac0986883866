"""Rules that were found in a sample, judged by the server on all rows: exactly, or not at all.

A rule that no query says exactly (patterns, totals, texts compared by their order) stays a line, switched off.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from sfumato.data.database import Schema
from sfumato.discover.proposal import Proposal
from sfumato.io.sql.names import quoted
from sfumato.io.sql.sampling import RowCounter
from sfumato.policy.rules import columns_of, conjuncts, parse
from sfumato.policy.rules.tree import (
    Arithmetic,
    ColumnValue,
    Compare,
    Condition,
    Determines,
    Expression,
    Membership,
    Negative,
    Number,
    References,
    Statement,
    TextConstant,
    Unique,
)

_EXACT, _ORDERED = ("integer", "decimal"), ("date", "timestamp")
SAMPLED = "found in a sample, and not confirmed by the server"


def confirmed(proposals: Iterable[Proposal], schema: Schema, sampled: Collection[str], counter: RowCounter) -> list[Proposal]:
    """The proposals; those about sampled tables stay on only when the server finds nothing against them."""
    found = []
    for each in proposals:
        body = parse(each.rule).body
        concerned = {str(column.table) for column in columns_of(body)} & set(sampled)
        if each.active and not each.declared and concerned:
            counts = [_against(part, schema, counter) for part in conjuncts(body)]
            if None in counts:
                each = replace(each, off=SAMPLED)
            elif any(counts):
                each = replace(each, off=f"found in a sample; broken {sum(count or 0 for count in counts):,} time(s)")
        found.append(each)
    return found


def _against(part: Condition | Statement, schema: Schema, counter: RowCounter) -> int | None:
    """How often a rule is broken, or None where no query says it exactly."""
    columns = columns_of(part)
    table = str(columns[0].table) if columns else ""
    if isinstance(part, References):
        pairs = {c.name: p.name for c, p in zip(part.child, part.parent, strict=True)}
        return counter.dangling(str(part.child[0].table), pairs, str(part.parent[0].table))
    if len({column.table for column in columns}) != 1:
        return None
    if isinstance(part, Unique):
        return counter.repeated(table, [column.name for column in part.columns])
    if isinstance(part, Determines) and len(part.right) == 1:
        return counter.undetermined(table, [column.name for column in part.left], part.right[0].name)
    if isinstance(part, Membership) and isinstance(part.value, ColumnValue):
        texts = [option.value for option in part.options if isinstance(option, TextConstant)]
        return counter.outside(table, part.value.name, texts) if len(texts) == len(part.options) else None
    if isinstance(part, Compare) and not part.tolerance:
        kinds = {schema.table(table).column(column.name).kind for column in columns}
        plain = isinstance(part.left, ColumnValue) and isinstance(part.right, ColumnValue)
        left, right = _sql(part.left), _sql(part.right)
        exact = kinds <= set(_EXACT) or (plain and len(kinds) == 1 and kinds <= set(_ORDERED))
        return counter.broken(table, f"{left} {part.operator.replace('!=', '<>')} {right}") if exact and left and right else None
    return None


def _sql(node: Expression) -> str:
    """A sum, difference or product of columns and whole numbers, or nothing."""
    if isinstance(node, ColumnValue):
        return quoted(node.name)
    if isinstance(node, Number):
        return str(node.value) if node.value.denominator == 1 else ""
    if isinstance(node, Negative):
        inner = _sql(node.value)
        return f"(-{inner})" if inner else ""
    if isinstance(node, Arithmetic) and node.operator in "+-*":
        left, right = _sql(node.left), _sql(node.right)
        return f"({left} {node.operator} {right})" if left and right else ""
    return ""
