"""What MariaDB (or MySQL) says about the tables of a database: its information schema, and SHOW CREATE TABLE for a copy of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, TableFacts
from sfumato.io.sql.link import Session

_HERE = "table_schema = database()"
_TABLES = f"SELECT table_name FROM information_schema.tables WHERE {_HERE} AND table_type = 'BASE TABLE' ORDER BY 1"
_COLUMNS = f"""
SELECT table_name, column_name, data_type, column_type, is_nullable, column_default, extra, generation_expression,
       character_maximum_length, numeric_scale
FROM information_schema.columns WHERE {_HERE} ORDER BY ordinal_position"""
_UNIQUE = f"""
SELECT table_name, index_name, column_name, sub_part FROM information_schema.statistics
WHERE {_HERE} AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index"""
_KEYS = """
SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name, k.referenced_column_name,
       r.delete_rule, r.update_rule, k.referenced_table_schema = database()
FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r
  ON r.constraint_schema = k.table_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
WHERE k.table_schema = database() AND k.referenced_table_name IS NOT NULL
ORDER BY k.table_name, k.constraint_name, k.ordinal_position"""
_CHECKS = """
SELECT table_name, constraint_name, check_clause FROM information_schema.check_constraints
WHERE constraint_schema = database() ORDER BY constraint_name"""
_LEFT_OUT = (
    ("SELECT table_name FROM information_schema.views WHERE table_schema = database()", "'{}' is a view and is not copied"),
    (
        "SELECT DISTINCT event_object_table FROM information_schema.triggers WHERE trigger_schema = database()",
        "the triggers of table '{}' are not copied",
    ),
    ("SELECT routine_name FROM information_schema.routines WHERE routine_schema = database()", "the routine '{}' is not copied"),
)

_KINDS = {
    "tinyint": "integer", "smallint": "integer", "mediumint": "integer", "int": "integer", "bigint": "integer", "year": "integer",
    "decimal": "decimal", "float": "float", "double": "float", "char": "text", "varchar": "text", "tinytext": "text",
    "text": "text", "mediumtext": "text", "longtext": "text", "date": "date", "time": "time", "datetime": "timestamp",
    "timestamp": "timestamp",
    "binary": "binary", "varbinary": "binary", "tinyblob": "binary", "blob": "binary", "mediumblob": "binary", "longblob": "binary",
}  # fmt: skip
_CHOICE = re.compile(r"'((?:[^']|'')*)'")
_JSON = re.compile(r"\s*json_valid\(`(.+)`\)\s*", re.IGNORECASE)
_COUNTED = re.compile(r" AUTO_INCREMENT=\d+")
Rows = list[tuple[Any, ...]]


def mariadb_schema(link: Session) -> Schema:
    """All tables of a database; expressions are asked for with names in backquotes, where a double quote can only be a text."""
    link.run("SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')")
    try:
        return _schema(link)
    finally:
        link.run("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")


def _schema(link: Session) -> Schema:
    grouped = {query: _by_table(_rows(link, query)) for query in (_COLUMNS, _UNIQUE, _KEYS, _CHECKS)}
    names = [str(row[0]) for row in _rows(link, _TABLES)]
    tables = tuple(_table(link, name, {query: rows.get(name, []) for query, rows in grouped.items()}) for name in names)
    lost = [sentence.format(row[0]) for query, sentence in _LEFT_OUT for row in sorted(_rows(link, query))]
    away = {(name, row[0]) for name, rows in grouped[_KEYS].items() for row in rows if not int(row[6])}
    lost += [f"the foreign key '{key}' of '{name}' leaves the database and is not copied" for name, key in sorted(away)]
    return Schema(tables, "mariadb", left_out=tuple(lost))


def _rows(link: Session, query: str) -> Rows:
    """Texts of the catalogue may arrive as bytes."""
    return [tuple(one.decode() if isinstance(one, bytes) else one for one in row) for row in link.rows(query)]


def _by_table(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


def _table(link: Session, name: str, said: Mapping[str, Rows]) -> TableFacts:
    indexes: dict[str, Rows] = {}
    for index, column, part in said[_UNIQUE]:
        indexes.setdefault(index, []).append((column, part))
    whole = {
        index: tuple(column for column, _ in rows)
        for index, rows in indexes.items()
        if all(part is None and column is not None for column, part in rows)
    }
    documents = {found[1] for _, clause in said[_CHECKS] if (found := _JSON.fullmatch(clause))}
    checks = tuple(CheckConstraint(label, clause) for label, clause in said[_CHECKS] if not _JSON.fullmatch(clause))
    columns = tuple(_column(row, documents) for row in said[_COLUMNS])
    primary = whole.pop("PRIMARY", ())
    keys = _foreign_keys(name, said[_KEYS])
    away = any(not int(row[6]) for row in said[_KEYS])
    sql = "" if away else _COUNTED.sub("", str(_rows(link, f"SHOW CREATE TABLE {_backquoted(name)}")[0][1]))
    return TableFacts(name, columns, primary, tuple(sorted(set(whole.values()))), keys, checks, sql)


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _foreign_keys(name: str, rows: Rows) -> tuple[ForeignKey, ...]:
    grouped: dict[str, Rows] = {}
    for row in rows:
        if int(row[6]):
            grouped.setdefault(row[0], []).append(row)
    keys = []
    for label, parts in grouped.items():
        options = {"on delete": _action(parts[0][4]), "on update": _action(parts[0][5])}
        keys.append(ForeignKey(name, tuple(p[1] for p in parts), parts[0][2], tuple(p[3] for p in parts), label, options))
    return tuple(keys)


def _action(rule: str) -> str:
    """Both words refuse at once in this server."""
    return "NO ACTION" if rule == "RESTRICT" else rule


def _column(row: tuple[Any, ...], documents: set[str]) -> ColumnFacts:
    name, word, native, nullable, default, extra, expression, length, places = row
    kind = kind_of(word, native, name in documents)
    computed = (expression or "") if "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra.upper() else ""
    numbered = "auto_increment" in extra.lower()
    return ColumnFacts(
        name=name,
        kind=kind,
        native=native,
        nullable=nullable == "YES",
        length=int(length) if length is not None and kind == "text" and int(length) < 1 << 16 else None,
        places=int(places) if places is not None and kind == "decimal" else None,
        choices=tuple(one.replace("''", "'") for one in _CHOICE.findall(native)) if kind == "enum" else (),
        default=None if default is None or default == "NULL" or computed else default,
        generated=bool(computed) or numbered,
        identity="AUTO_INCREMENT" if numbered else "",
        computed=computed,
    )


def kind_of(word: str, native: str, document: bool = False) -> str:
    """Our word for a type.

    >>> [kind_of(native.partition("(")[0], native) for native in ("tinyint(1)", "tinyint(4)", "varchar(20)", "enum('a')", "uuid")]
    ['boolean', 'integer', 'text', 'enum', 'uuid']
    """
    if document:
        return "json"
    return "boolean" if native == "tinyint(1)" else _KINDS.get(word, word)
