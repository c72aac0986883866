"""What a schema declares, as constraints with stable names; those that the rule language can say also as rules.

Notation
    identifier   `unique:customer(email)`: kind, table, columns. It stays the same as long as the schema does, so that a
                 policy can speak about it.


Sql checks
----------
Check constraints as rules: the part of SQL that the rule language can say, else nothing.

Comparisons, sums and products, `and`, `or`, `not`, `in` and `between` are said. `x IS NULL OR c` is `c` when every
comparison in `c` mentions `x` and nothing around it is negated: with a null neither says anything. Everything else is
left to the server, which enforces it anyway.

Departures: a check is satisfied when it is not false, and so is a rule; the two agree also on nulls. A release folder
does not say which dialect its checks are written in; what rules can say means the same in both, whichever of them can
read it.

>>> rule_text("((qty > (0)::numeric) AND (status)::text = ANY ((ARRAY['a'::text, 'b'::text])))", "t", ["qty", "status"])
't.qty > 0 and t.status in {"a", "b"}'
>>> rule_text("length(name) > 2", "t", ["name"]) is None
True
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import PolicyError
from sfumato.data.database import ForeignKey, Schema, TableFacts
from sfumato.io.sql.sql_syntax import condition
from sfumato.policy.constraint_language import IntegrityRule, bind, parse
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, References, Unique

PARTIAL = "partial reference"
"""What some partitions declare: rows that refer to a row still do, and rows that do not are allowed."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing the schema declares."""

    identifier: str
    kind: str
    """primary key, unique, foreign key, partial reference, not null, value list or check"""
    table: str
    columns: tuple[str, ...]
    text: str
    rule: IntegrityRule | None = None
    """What the rule language makes of it; a check without one is left to the server."""

    @property
    def judged(self) -> bool:
        """Whether all rows must keep it and rules can say it."""
        return self.kind != PARTIAL and (self.kind != "check" or self.rule is not None)


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
        yield _reference(key, "foreign key")
    for key in table.partial_keys:
        yield _reference(key, PARTIAL)
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
    text = f"unique({', '.join(qualified_name(table, column) for column in columns)})"
    rule = IntegrityRule(text, Unique(tuple(ColumnValue(column, table) for column in columns)))
    return Constraint(f"{kind.replace(' ', '-')}:{table}({','.join(columns)})", kind, table, columns, text, rule)


def _reference(key: ForeignKey, kind: str) -> Constraint:
    child = tuple(ColumnValue(name, key.table) for name in key.columns)
    parent = tuple(ColumnValue(name, key.parent) for name in key.parent_columns)
    sides = (", ".join(qualified_name(column.table or "", column.name) for column in side) for side in (child, parent))
    text = " references ".join(sides)
    identifier = f"{kind.replace(' ', '-')}:{key.table}({','.join(key.columns)})"
    return Constraint(identifier, kind, key.table, key.columns, text, IntegrityRule(text, References(child, parent)))


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


# Sql checks
# ----------


_COMPARED = {"eq": "=", "neq": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_SUMMED = {"add": "+", "sub": "-", "mul": "*"}
_TESTS = (*_COMPARED, "in", "between")
_NUMBER = re.compile(r"\d{1,40}(\.\d{1,40})?")
_RESERVED = {
    *(
        "and",
        "or",
        "not",
        "if",
        "then",
        "in",
        "within",
        "of",
        "determines",
        "references",
        "by",
        "where",
        "original",
        "match",
    ),
    *("unique", "same_multiset", "histogram", "at_least", "localities", "sum", "mean", "min", "max", "count"),
}


class _Unknown(Exception):
    """Something the rule language cannot say."""


def rule_text(sql: str, table: str, columns: Collection[str]) -> str | None:
    """The rule that says the same, or None."""
    readings = (condition(sql, columns, dialect) for dialect in ("postgresql", "sqlite"))
    tree = next((reading for reading in readings if reading is not None), None)
    try:
        return None if tree is None else _Writer(table).condition(tree)
    except _Unknown:
        return None


def qualified_name(table: str, column: str) -> str:
    """`table.column` as rules write it."""
    return f"{_name(table)}.{_name(column)}"


def _name(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name not in _RESERVED
    return name if plain else f"`{name}`"


class _Writer:
    """Writes nodes of the tree, known by their `key`, as rule text; what has no writer is unknown."""

    def __init__(self, table: str) -> None:
        self.table = table

    def condition(self, node: Any, *, negated: bool = False) -> str:
        node = node.unnest()
        if node.key in ("and", "or"):
            return self.joined(node, negated)
        if node.key == "not":
            inner = node.this.unnest()
            return (
                self.membership(inner, " not") if inner.key == "in" else f"not ({self.condition(inner, negated=True)})"
            )
        if node.key in _TESTS and not any(below.key == "column" for below in node.walk()):
            raise _Unknown  # without a column a rule is about the table, and an empty one would break it
        if node.key == "in":
            return self.membership(node, "")
        if node.key == "between" and not node.args.get("symmetric"):
            value = self.value(node.this)
            return f"{value} >= {self.value(node.args['low'])} and {value} <= {self.value(node.args['high'])}"
        if node.key in _COMPARED:
            return f"{self.value(node.this)} {_COMPARED[node.key]} {self.value(node.expression)}"
        raise _Unknown

    def joined(self, node: Any, negated: bool) -> str:
        parts = list(node.flatten())
        if node.key == "or" and not negated:
            parts = _without_nulls(parts)
        if len(parts) == 1:
            return self.condition(parts[0])
        other = {"and": ("or",), "or": ("and", "between")}[node.key]
        texts = [(part.key in other, self.condition(part, negated=negated)) for part in parts]
        return f" {node.key} ".join(f"({text})" if bracketed else text for bracketed, text in texts)

    def membership(self, node: Any, refused: str) -> str:
        if not node.expressions:
            raise _Unknown
        options = ", ".join(map(_constant, node.expressions))
        return f"{self.value(node.this)}{refused} in {{{options}}}"

    def value(self, node: Any) -> str:
        if node.key == "paren":
            inner = self.value(node.this)
            return f"({inner})" if node.this.key in _SUMMED else inner
        if node.key == "column" and "`" not in self.table + node.name:
            return qualified_name(self.table, node.name)
        if node.key in _SUMMED:
            return f"{self.value(node.this)} {_SUMMED[node.key]} {self.value(node.expression)}"
        return _constant(node)


def _constant(node: Any) -> str:
    node = node.unnest()
    if node.key == "neg" and node.this.unnest().key == "literal" and not node.this.unnest().is_string:
        return f"-{_constant(node.this)}"
    if node.key != "literal":
        raise _Unknown
    return _quoted(node.name) if node.is_string else _checked(node.name)


def _checked(number: str) -> str:
    if not _NUMBER.fullmatch(number):
        raise _Unknown
    return number


def _quoted(text: str) -> str:
    if "\\" in text or ('"' in text and "'" in text):
        raise _Unknown
    return f"'{text}'" if '"' in text else f'"{text}"'


def _without_nulls(parts: list[Any]) -> list[Any]:
    """`x is null or c`: only `c`, when every comparison of `c` mentions x."""
    nulls = [part.this.unnest() for part in parts if _is_null(part)]
    rest = [part for part in parts if not _is_null(part)]
    tests = [node for part in rest for node in part.walk() if node.key in _TESTS]
    for value in nulls:
        if value.key != "column" or not tests or not all(_mentions(test, value.name) for test in tests):
            raise _Unknown
    return rest


def _is_null(node: Any) -> bool:
    return node.key == "is" and node.expression.key == "null" and not node.args.get("negate")


def _mentions(test: Any, column: str) -> bool:
    return any(node.key == "column" and node.name == column for node in test.walk())
