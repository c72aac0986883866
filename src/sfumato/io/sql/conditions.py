"""Check conditions, computed columns and defaults in the other dialect.

Invariants
    I1  A condition crosses over only when everything in it means the same in both dialects; otherwise it is left out and named,
        since a check that means something else would refuse good rows or let bad ones in.

Departures: a computed column cannot be left out, so sqlglot's own translation stands for what the dialects do not share, and the
target computes or refuses it. Texts are ordered by the collation of the target.

>>> carried_condition("[Unit Price]>=(0) AND qty == 5", ("Unit Price", "Qty"), "sqlite", "postgresql")
'"Unit Price" >= (0) AND "Qty" = 5'
>>> carried_condition("state::text = ANY (ARRAY['a'::varchar, 'b'::character varying]::text[])", ("state",), "postgresql", "sqlite")
'"state" IN (\\'a\\', \\'b\\')'
>>> carried_condition("name GLOB 'a*'", ("name",), "sqlite", "postgresql") is None
True
>>> [default_for(text, "postgresql", "TEXT", "sqlite") for text in ("'x'::character varying", "now()", "f(1)")]
["'x'", 'CURRENT_TIMESTAMP', None]
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.io.sql.names import literal
from sfumato.io.sql.syntax import condition, expression, written

_SHARED = {
    *("and", "or", "not", "paren", "eq", "neq", "gt", "gte", "lt", "lte", "in", "between", "is", "null", "boolean"),
    *("column", "identifier", "literal", "add", "sub", "mul", "neg", "length", "coalesce"),
}
_MOMENTS = {"currenttimestamp": "CURRENT_TIMESTAMP", "currentdate": "CURRENT_DATE", "currenttime": "CURRENT_TIME"}
_CASTING = ("postgresql", "duckdb")
"""Dialects whose types are told apart strictly."""
_TEXTS = ("text", "varchar", "TEXT", "VARCHAR")


def carried_condition(sql: str, columns: Sequence[str], source: str, dialect: str) -> str | None:
    """A condition of one dialect as another writes it, or nothing."""
    found = condition(sql, columns, source)
    if found is None or any(node.key not in _SHARED for node in found.walk()):  # I1
        return None
    return written(found, dialect)


def carried_value(sql: str, columns: Sequence[str], source: str, dialect: str) -> str:
    """The expression of a computed column, as well as it can be said."""
    found = condition(sql, columns, source)
    return (written(found, dialect) if found is not None else None) or sql


def default_for(default: str | None, source: str, native: str, dialect: str) -> str | None:
    """A default that is a constant or the present moment, or nothing."""
    value = expression(default, source) if default else None
    while value is not None and value.key in ("cast", "paren"):
        value = value.this
    if value is None:
        return None
    if value.key in _MOMENTS and value.this is None:
        moment = _MOMENTS[value.key]
        if dialect == "mariadb":
            return f"({moment})"
        return f"({moment}::text)" if dialect in _CASTING and native.startswith(_TEXTS) else moment
    if value.key == "boolean" or (value.key == "literal" and native.upper() == "BOOLEAN"):
        return _truth(str(value.this).lower() in ("1", "true", "t"), native, dialect)
    if value.key == "literal":
        return literal(value.name) if value.is_string else value.name
    return f"-{value.name}" if value.key == "neg" and value.this.key == "literal" and value.this.is_number else None


def _truth(holds: bool, native: str, dialect: str) -> str:
    """Only a type of its own knows the words; elsewhere truth is a number."""
    return str(holds).lower() if dialect in _CASTING and native.upper() == "BOOLEAN" else str(int(holds))
