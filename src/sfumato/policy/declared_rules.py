"""What a schema declares, as constraints with stable names; those that the rule language can say also as rules.

Notation
    identifier   `unique:customer(email)`: kind, table, columns. It stays the same as long as the schema does, so that a policy can
                 speak about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.data.database import ForeignKey, Schema, TableFacts
from sfumato.errors import PolicyError
from sfumato.policy.rules import IntegrityRule, bind, parse
from sfumato.policy.rules.tree import ColumnValue, References, Unique
from sfumato.policy.sql_checks import named, rule_text


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing the schema declares."""

    identifier: str
    kind: str
    """primary key, unique, foreign key, not null, value list or check"""
    table: str
    columns: tuple[str, ...]
    text: str
    rule: IntegrityRule | None = None
    """What the rule language makes of it; a check without one is left to the server."""


def constraints_of(schema: Schema, kinds: dict[str, str | None]) -> list[Constraint]:
    """Everything the schema declares, table by table."""
    return [constraint for table in schema.tables for constraint in _table(table, kinds)]


def _table(table: TableFacts, kinds: dict[str, str | None]) -> Iterator[Constraint]:
    if table.primary_key:
        yield _unique("primary key", table.name, table.primary_key)
    for columns in table.uniques:
        if columns != table.primary_key:
            yield _unique("unique", table.name, columns)
    for key in table.foreign_keys:
        yield _reference(key)
    for column in table.columns:
        where = f"{table.name}.{column.name}"
        if not column.nullable:
            yield Constraint(f"not-null:{where}", "not null", table.name, (column.name,), f"{where} is never null")
        if column.choices:
            text = f"{where} is one of {len(column.choices)} values of {column.native}"
            yield Constraint(f"value-list:{where}", "value list", table.name, (column.name,), text)
    for check in table.checks:
        yield _check(table, check.name, check.sql, kinds)


def _unique(kind: str, table: str, columns: tuple[str, ...]) -> Constraint:
    text = f"unique({', '.join(named(table, column) for column in columns)})"
    rule = IntegrityRule(text, Unique(tuple(ColumnValue(column, table) for column in columns)))
    return Constraint(f"{kind.replace(' ', '-')}:{table}({','.join(columns)})", kind, table, columns, text, rule)


def _reference(key: ForeignKey) -> Constraint:
    child = tuple(ColumnValue(name, key.table) for name in key.columns)
    parent = tuple(ColumnValue(name, key.parent) for name in key.parent_columns)
    sides = (", ".join(named(column.table or "", column.name) for column in side) for side in (child, parent))
    text = " references ".join(sides)
    identifier = f"foreign-key:{key.table}({','.join(key.columns)})"
    return Constraint(identifier, "foreign key", key.table, key.columns, text, IntegrityRule(text, References(child, parent)))


def _check(table: TableFacts, name: str, sql: str, kinds: dict[str, str | None]) -> Constraint:
    identifier = f"check:{table.name}.{name or hashlib.sha256(sql.encode()).hexdigest()[:8]}"
    text = rule_text(sql, table.name, table.names)
    mentioned = tuple(column for column in table.names if column.lower() in sql.lower())
    if text is None:
        return Constraint(identifier, "check", table.name, mentioned, sql)
    try:
        rule = bind(parse(text), kinds)
    except PolicyError:
        return Constraint(identifier, "check", table.name, mentioned, sql)
    return Constraint(identifier, "check", table.name, mentioned, text, rule)
