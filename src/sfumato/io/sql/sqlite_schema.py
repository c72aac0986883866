"""What SQLite says about the tables of a file: its pragmas, and the text of CREATE TABLE where no pragma tells."""

from __future__ import annotations

import re
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, TableFacts
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import literal
from sfumato.io.sql.storage import affinity
from sfumato.io.sql.syntax import checks, computed, words

_KINDS = (
    ("BOOL", "boolean"), ("DATETIME", "timestamp"), ("TIMESTAMP", "timestamp"), ("DATE", "date"), ("TIME", "time"),
    ("JSON", "json"), ("UUID", "uuid"), ("GUID", "uuid"), ("DECIMAL", "decimal"), ("NUMERIC", "decimal"), ("MONEY", "decimal"),
    ("BINARY", "binary"),
)  # fmt: skip
_BY_AFFINITY = {"INTEGER": "integer", "TEXT": "text", "BLOB": "binary", "REAL": "float", "NUMERIC": "decimal"}
_BOUND = re.compile(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


def sqlite_schema(link: Session) -> Schema:
    """All tables of a file."""
    listed = link.rows("PRAGMA main.table_list")
    plain = sorted(row[1] for row in listed if row[2] == "table" and not row[1].startswith("sqlite_"))
    strict = {row[1] for row in listed if row[5]}
    names = {name.lower(): name for name in plain}
    tables = tuple(_table(link, name, names, name in strict) for name in plain)
    return Schema(_with_parents(tables), "sqlite", left_out=tuple(_left_out(link, listed)))


def _table(link: Session, name: str, names: dict[str, str], strict: bool) -> TableFacts:
    sql = str(link.rows("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", name)[0][0])
    info = link.rows(f"PRAGMA table_xinfo({literal(name)})")
    primary = tuple(row[1] for row in sorted((row for row in info if row[5]), key=lambda row: row[5]))
    alias = _rowid_alias(link, name, info, primary)
    columns = tuple(_column(row, primary, alias, sql, strict) for row in info if row[6] != 1)
    indexes = link.rows(
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY name", name
    )
    keys = _foreign_keys(link, name, names, {row[1].lower(): row[1] for row in info})
    conditions = tuple(CheckConstraint(label, text) for label, text in checks(sql))
    return TableFacts(name, columns, primary, _uniques(link, name), keys, conditions, sql, tuple(str(row[0]) for row in indexes))


def _rowid_alias(link: Session, name: str, info: list[tuple[Any, ...]], primary: tuple[str, ...]) -> str:
    """The column that is the row number itself: a single primary key of type INTEGER that has no index of its own."""
    declared = {row[1]: row[2] for row in info}
    if len(primary) != 1 or declared[primary[0]].upper() != "INTEGER":
        return ""
    return "" if any(row[3] == "pk" for row in link.rows(f"PRAGMA index_list({literal(name)})")) else primary[0]


def _column(row: tuple[Any, ...], primary: tuple[str, ...], alias: str, sql: str, strict: bool) -> ColumnFacts:
    _, name, declared, required, default, _, hidden = row
    native = re.sub(r"\s*GENERATED ALWAYS\s*$", "", declared, flags=re.IGNORECASE).strip()
    kind = kind_of(native)
    found = _BOUND.search(native)
    identity = ""
    if name == alias:
        identity = "AUTOINCREMENT" if "AUTOINCREMENT" in words(sql) else "ROWID"
    return ColumnFacts(
        name=name,
        kind=kind,
        native=native,
        nullable=not required and name not in primary,
        length=int(found[1]) if found and kind == "text" else None,
        places=int(found[2] or 0) if found and kind == "decimal" else None,
        default=default,
        generated=bool(identity) or hidden in (2, 3),
        identity=identity,
        computed=computed(sql)[name.lower()] if hidden in (2, 3) else "",
    )


def kind_of(declared: str) -> str:
    """Our word for a declared type.

    >>> kind_of("NVARCHAR(20)"), kind_of("DATETIME"), kind_of("NUMERIC(10,2)"), kind_of("BIGINT"), kind_of("")
    ('text', 'timestamp', 'decimal', 'integer', 'any')
    """
    name = declared.upper()
    if not name or name == "ANY":
        return "any"
    for sign, kind in _KINDS:
        if sign in name:
            return kind
    return _BY_AFFINITY[affinity(name)]


def _uniques(link: Session, name: str) -> tuple[tuple[str, ...], ...]:
    found = []
    for _, index, unique, origin, partial in link.rows(f"PRAGMA index_list({literal(name)})"):
        columns = tuple(row[2] for row in link.rows(f"PRAGMA index_info({literal(index)})"))
        if unique and not partial and origin != "pk" and None not in columns:
            found.append(columns)
    return tuple(dict.fromkeys(sorted(found)))


def _foreign_keys(link: Session, name: str, names: dict[str, str], columns: dict[str, str]) -> tuple[ForeignKey, ...]:
    """SQLite compares names without regard to case; a missing column list means the parent's primary key (filled in later)."""
    grouped: dict[int, list[tuple[Any, ...]]] = {}
    for row in link.rows(f"PRAGMA foreign_key_list({literal(name)})"):
        grouped.setdefault(row[0], []).append(row)
    keys = []
    for _, rows in sorted(grouped.items(), reverse=True):
        rows.sort(key=lambda row: row[1])
        parent = names.get(rows[0][2].lower(), rows[0][2])
        targets = tuple(row[4] for row in rows)
        options = {"on delete": rows[0][6], "on update": rows[0][5]}
        keys.append(ForeignKey(name, tuple(columns[row[3].lower()] for row in rows), parent, targets, "", options))
    return tuple(keys)


def _with_parents(tables: tuple[TableFacts, ...]) -> tuple[TableFacts, ...]:
    """Parent columns as the parent spells them."""
    from dataclasses import replace

    known = {table.name: table for table in tables}

    def settled(key: ForeignKey) -> ForeignKey:
        parent = known.get(key.parent)
        if parent is None:
            return key
        spelt = {name.lower(): name for name in parent.names}
        if None in key.parent_columns:
            return replace(key, parent_columns=parent.primary_key)
        return replace(key, parent_columns=tuple(spelt.get(name.lower(), name) for name in key.parent_columns))

    return tuple(replace(table, foreign_keys=tuple(map(settled, table.foreign_keys))) for table in tables)


def _left_out(link: Session, listed: list[tuple[Any, ...]]) -> list[str]:
    sentences = [f"'{row[1]}' is a {row[2]} table and is not copied" for row in listed if row[2] in ("virtual", "shadow")]
    sentences += [f"'{row[1]}' is a view and is not copied" for row in listed if row[2] == "view"]
    triggered = link.rows("SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1")
    return sorted(sentences) + [f"the triggers of table '{row[0]}' are not copied" for row in triggered]
