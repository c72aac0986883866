"""Names in SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """A name as both dialects read it exactly.

    >>> print(quoted('Order "x" Details'))
    "Order ""x"" Details"
    """
    return '"' + name.replace('"', '""') + '"'


QUALIFIED = (
    "CASE WHEN {0}.relnamespace = quote_ident(current_schema())::regnamespace THEN {0}.relname::text "
    "ELSE (SELECT nspname FROM pg_namespace WHERE oid = {0}.relnamespace) || '.' || {0}.relname END"
)
"""PostgreSQL: the name of a relation, with its schema before it when that is not the current one."""


def listed(names: Iterable[str]) -> str:
    """Several names, with commas."""
    return ", ".join(map(quoted, names))


def literal(text: str) -> str:
    """A text as both dialects read it exactly."""
    return "'" + text.replace("'", "''") + "'"
