"""SQL read by sqlglot, as words and as trees: the one place that knows the library, loaded with the first text.

A tree is a condition (or a value) over the columns of one table in a spelling that the dialects share: columns are
named exactly as the table declares them, `= ANY (ARRAY[…])` is `IN (…)`, and the casts that PostgreSQL writes around
everything are gone.

Invariants
    I1  Closed: a text that is not one expression to its end, that names anything but the given columns, that the
        dialects bind differently (`a = b IN (1, 2)`), or that is too long or too deep, has no tree.
    I2  A cast leaves only where no value changes by it: from constants that are spelt as their type spells them, and
        from anything that becomes text or a number without limits. Every other cast stays in the tree, where readers
        refuse it.

>>> print(condition("(state)::text = ANY ((ARRAY['a'::character varying, 'b'::text])::text[])", ["state"],
...     "postgresql"))
("state") IN ('a', 'b')
>>> condition("price > 0; DROP TABLE t", ["price"], "sqlite") is None
True
>>> checks("CREATE TABLE t (a INT CONSTRAINT few CHECK (a < 5), [b c] TEXT DEFAULT 'CHECK (', CHECK (a IN (1, 2)))")
[('few', 'a < 5'), ('', 'a IN (1, 2)')]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sfumato.core.errors import DataError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

LONGEST = 100_000
DEEPEST = 100
_READ = {"postgresql": "postgres", "sqlite": "sqlite", "duckdb": "duckdb", "mariadb": "mysql"}

_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
_NUMERIC = _WHOLE | {"DECIMAL", "FLOAT", "DOUBLE"}
_WIDE = {"TEXT", "VARCHAR", "DECIMAL"}
_SPELT = {
    "TEXT": ".*", "VARCHAR": ".*", "UUID": ".*", "USERDEFINED": ".*", "DATE": r"\d.*", "TIME": r"\d.*",
    "TIMESTAMP": r"\d.*",
    "TIMESTAMPTZ": r"\d.*",
}  # fmt: skip
_TEXT = re.compile("'(?:[^']|'')*'")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


# ---- trees -----------------------------------------------------------------------------------------------------------


def expression(sql: str, dialect: str) -> Expr | None:
    """The tree of one whole expression as it is written, or None."""
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Condition

    if len(sql) > LONGEST:
        return None
    try:
        found = parse_one(sql, read=_READ[dialect], into=Condition)
    except (SqlglotError, RecursionError):  # I1
        return None
    return None if _too_deep(found) else found


def condition(sql: str, columns: Collection[str], dialect: str) -> Expr | None:
    """The tree in the spelling that the dialects share, or None."""
    from sqlglot.expressions import Paren

    found = expression(sql, dialect)
    if found is None:
        return None
    holder = Paren(this=found)
    if "::" in _TEXT.sub("", sql):  # SQLite, whose casts change values, has no such sign
        _uncast(holder)
    _list(holder)
    exact = dialect == "postgresql"
    known = {name if exact else name.lower(): name for name in columns}
    return holder.this if _named(holder, known, exact) and not _ambiguous(holder) else None


def plain_condition(sql: str, columns: Collection[str], dialect: str) -> str | None:
    """Return the condition without brackets, each operation around its parts, so that equal meanings give equal texts.

    >>> plain_condition("((a > 0) AND (b))", ["a", "b"], "duckdb") == plain_condition("a > 0 AND b", ["a", "b"],
    ...     "sqlite")
    True
    """
    from sqlglot.expressions import Paren

    found = condition(sql, columns, dialect)
    if found is None:
        return None
    holder = Paren(this=found.unnest())
    for bracket in list(holder.this.find_all(Paren)):
        bracket.replace(bracket.unnest())
    return repr(holder.this)


def written(tree: Expr, dialect: str) -> str | None:
    """The tree as a dialect writes it, or None where it cannot."""
    from sqlglot.errors import ErrorLevel, SqlglotError

    try:
        return tree.sql(dialect=_READ[dialect], comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError):
        return None


def _too_deep(tree: Expr) -> bool:
    level, depth = [tree], 0
    while level and depth <= DEEPEST:
        level = [child for node in level for child in node.iter_expressions()]
        depth += 1
    return depth > DEEPEST


def _ambiguous(tree: Expr) -> bool:
    """Return whether a comparison contains another one without brackets: dialects differ in which comes first."""
    from sqlglot.expressions import Binary, Connector, Predicate

    around = (node.parent for node in tree.find_all(Predicate))
    return any(isinstance(node, Binary | Predicate) and not isinstance(node, Connector) for node in around)


def _named(tree: Expr, known: Mapping[str, str], exact: bool) -> bool:
    """Gives every column the name that the table declares; whether all of them have one (I1)."""
    from sqlglot.expressions import Column, to_identifier

    for column in list(tree.find_all(Column)):
        name = column.name if exact and column.this.args.get("quoted") else column.name.lower()
        if name not in known or len(column.parts) > 1:
            return False
        column.set("this", to_identifier(known[name], quoted=True))
    return True


def _uncast(tree: Expr) -> None:
    """From the innermost cast outwards (I2)."""
    from sqlglot.expressions import Cast

    for cast in reversed(list(tree.find_all(Cast))):
        plain = _without(cast)
        if plain is not None:
            cast.replace(plain)


def _without(cast: Expr) -> Expr | None:
    """What stands for a cast, or None where it says more than a type."""
    from sqlglot.expressions import Array, Literal, Neg

    inner, kind, limits = cast.this.unnest(), cast.args["to"].this.name, cast.args["to"].expressions
    if isinstance(inner, Array):
        return inner if kind == "ARRAY" and all(not entry.expressions for entry in limits) else None
    if limits:
        return None
    if not isinstance(inner.this if isinstance(inner, Neg) else inner, Literal):
        return cast.this if kind in _WIDE else None
    if kind not in _NUMERIC:
        return inner if inner.is_string and re.fullmatch(_SPELT.get(kind, "(?!)"), inner.name, re.DOTALL) else None
    text = inner.name if inner.is_string else inner.sql()
    fits = _NUMBER.fullmatch(text) and not (kind in _WHOLE and "." in text)
    return Literal.number(text) if fits else None


def _list(tree: Expr) -> None:
    """`x = ANY (ARRAY[…])` and `x <> ALL (ARRAY[…])` as lists."""
    from sqlglot.expressions import EQ, NEQ, Anonymous, Any, Array, In, Not

    for node in list(tree.find_all(EQ, NEQ)):
        asked = node.expression
        if isinstance(node, EQ) and isinstance(asked, Any):
            held = asked.this.unnest()
        elif (
            isinstance(node, NEQ)
            and isinstance(asked, Anonymous)
            and asked.name.upper() == "ALL"
            and len(asked.expressions) == 1
        ):
            held = asked.expressions[0].unnest()
        else:
            continue
        if isinstance(held, Array):
            found = In(this=node.this, expressions=held.expressions)
            node.replace(found if isinstance(node, EQ) else Not(this=found))


# ---- words -----------------------------------------------------------------------------------------------------------


def _tokens(sql: str) -> list[Token]:
    """The words of a CREATE TABLE of SQLite, without comments."""
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError

    try:
        return tokenize(sql, read="sqlite")
    except SqlglotError:
        raise DataError(
            "the declaration of a table cannot be read", hint="declare the table without unusual signs"
        ) from None


def _is_quoted(token: Token) -> bool:
    return token.token_type.name in ("STRING", "IDENTIFIER")


def words(sql: str) -> set[str]:
    """All bare words, in capitals.

    >>> "AUTOINCREMENT" in words("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)")
    True
    """
    return {token.text.upper() for token in _tokens(sql) if not _is_quoted(token)}


def checks(sql: str) -> list[tuple[str, str]]:
    """Name (or nothing) and condition of every CHECK in a CREATE TABLE."""
    read = _tokens(sql)
    found = []
    for at, token in enumerate(read):
        if _is_quoted(token) or token.text.upper() != "CHECK" or not _opens(read, at + 1):
            continue
        named = at >= 2 and read[at - 2].text.upper() == "CONSTRAINT"
        found.append((read[at - 1].text if named else "", _inside(sql, read, at + 1)))
    return found


def computed(sql: str) -> dict[str, str]:
    """Expression of every computed column in a CREATE TABLE, by the name of the column in small letters.

    >>> computed("CREATE TABLE t (a INT, [b] INT GENERATED ALWAYS AS (a * (2)) STORED, c AS (a || ','), UNIQUE (a))")
    {'b': 'a * (2)', 'c': "a || ','"}
    """
    read = _tokens(sql)
    found, depth, name = {}, 0, ""
    for at, token in enumerate(read):
        if depth == 1 and read[at - 1].token_type.name in ("L_PAREN", "COMMA"):
            name = token.text.lower()
        if depth == 1 and not _is_quoted(token) and token.text.upper() == "AS" and _opens(read, at + 1):
            found[name] = _inside(sql, read, at + 1)
        depth += _step(token)
    return found


def _step(token: Token) -> int:
    return {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)


def _opens(read: list[Token], at: int) -> bool:
    return at < len(read) and _step(read[at]) == 1


def _inside(sql: str, read: list[Token], opening: int) -> str:
    """What lies between an opening parenthesis and its partner."""
    depth = 0
    for token in read[opening:]:
        depth += _step(token)
        if depth == 0:
            return sql[read[opening].end + 1 : token.start].strip()
    return sql[read[opening].end + 1 :].strip()
