"""`read_schema`: what a database declares about its tables.


Sqlite schema
-------------
What SQLite says about the tables of a file: its pragmas, and the text of CREATE TABLE where no pragma tells.


Duckdb schema
-------------
What DuckDB says about the tables of a file, by its own catalogue functions.


Mariadb schema
--------------
What MariaDB (or MySQL) says about the tables of a database: its information schema, and SHOW CREATE TABLE for a copy of
it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.core.errors import DataError
from sfumato.core.registry import nearest
from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, SequenceFacts, TableFacts
from sfumato.io.sql.addresses import literal
from sfumato.io.sql.connection import Session, connect
from sfumato.io.sql.load_journal import ASIDE, JOURNAL
from sfumato.io.sql.postgres_dumps import RESTORED
from sfumato.io.sql.postgres_schema import postgres_schema
from sfumato.io.sql.server_errors import plain_server_errors
from sfumato.io.sql.sql_syntax import checks, computed, words
from sfumato.io.sql.sqlite_storage import affinity

_KINDS = (
    ("BOOL", "boolean"), ("DATETIME", "timestamp"), ("TIMESTAMP", "timestamp"), ("DATE", "date"), ("TIME", "time"),
    ("JSON", "json"), ("UUID", "uuid"), ("GUID", "uuid"), ("DECIMAL", "decimal"), ("NUMERIC", "decimal"), ("MONEY",
    "decimal"),
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
    return TableFacts(
        name, columns, primary, _uniques(link, name), keys, conditions, sql, tuple(str(row[0]) for row in indexes)
    )


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
    """SQLite compares names without regard to case; a missing column list means the parent's primary key (filled in
    later)."""
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
    sentences = [
        f"'{row[1]}' is a {row[2]} table and is not copied" for row in listed if row[2] in ("virtual", "shadow")
    ]
    sentences += [f"'{row[1]}' is a view and is not copied" for row in listed if row[2] == "view"]
    triggered = link.rows("SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1")
    return sorted(sentences) + [f"the triggers of table '{row[0]}' are not copied" for row in triggered]


# Duckdb schema
# -------------


_NAMED = "CASE WHEN schema_name = current_schema() THEN {0} ELSE schema_name || '.' || {0} END"
_HERE = "database_name = current_database() AND NOT internal"
_TABLES = f"SELECT {_NAMED.format('table_name')} FROM duckdb_tables() WHERE {_HERE} AND NOT temporary ORDER BY 1"
_COLUMNS = f"""
SELECT {_NAMED.format("table_name")}, column_name, data_type, is_nullable, column_default, is_generated,
  generation_expression
FROM duckdb_columns() WHERE {_HERE} ORDER BY column_index"""
_CONSTRAINTS = f"""
SELECT {_NAMED.format("table_name")}, constraint_type, constraint_column_names, expression,
       {_NAMED.format("referenced_table")}, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database() ORDER BY constraint_index"""
_INDEXES = f"""
SELECT {_NAMED.format("table_name")}, sql, is_unique, expressions FROM duckdb_indexes()
WHERE database_name = current_database() ORDER BY index_name"""
_SEQUENCES = f"""
SELECT {_NAMED.format("sequence_name")}, start_value, min_value, max_value, increment_by, cycle FROM duckdb_sequences()
WHERE database_name = current_database() ORDER BY 1"""
_VIEWS = f"SELECT {_NAMED.format('view_name')} FROM duckdb_views() WHERE {_HERE} ORDER BY 1"
_TYPES = "SELECT type_name FROM duckdb_types() WHERE database_name = current_database() AND NOT internal ORDER BY 1"

_DUCKDB_SCHEMA_KINDS = {
    "BOOLEAN": "boolean", "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer",
    "HUGEINT": "integer", "UTINYINT": "integer", "USMALLINT": "integer", "UINTEGER": "integer", "UBIGINT": "integer",
    "UHUGEINT": "integer", "FLOAT": "float", "DOUBLE": "float", "VARCHAR": "text", "DATE": "date", "TIME": "time",
    "TIME WITH TIME ZONE": "time", "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp", "UUID": "uuid", "JSON": "json",
    "BLOB": "binary",
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_CHOICE = re.compile(r"'((?:[^']|'')*)'")
_NEXT = re.compile(r"""^nextval\('(?:[^']|'')+'\)$""", re.IGNORECASE)
Rows = list[tuple[Any, ...]]


def duckdb_schema(link: Session) -> Schema:
    """All tables of a file."""
    names = [str(row[0]) for row in link.rows(_TABLES)]
    sequences = {row[0]: row for row in link.rows(_SEQUENCES)}
    columns, rules, indexes = (_by_table(link.rows(query)) for query in (_COLUMNS, _CONSTRAINTS, _INDEXES))
    tables = tuple(
        _duckdb_schema_table(n, columns.get(n, []), rules.get(n, []), indexes.get(n, []), sequences) for n in names
    )
    used = {column.sequence for table in tables for column in table.columns}
    left_out = [f"'{row[0]}' is a view and is not copied" for row in link.rows(_VIEWS)]
    left_out += [f"the type '{row[0]}' is written out in the columns that have it" for row in link.rows(_TYPES)]
    counted = tuple(_sequence(link, row) for name, row in sequences.items() if name in used)
    others = tuple(sorted(one for one in link.others if any(name.startswith(f"{one}.") for name in names)))
    return Schema(tables, "duckdb", sequences=counted, left_out=tuple(left_out), others=others)


def _by_table(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


def _sequence(link: Session, row: tuple[Any, ...]) -> SequenceFacts:
    name, first, least, most, step, cycle = row
    turns = "CYCLE" if cycle else "NO CYCLE"
    bounds = f"INCREMENT BY {step} MINVALUE {least} MAXVALUE {most} START {first} {turns}"
    return SequenceFacts(name, f"CREATE SEQUENCE {link.relation(name)} {bounds}")


def _duckdb_schema_table(
    name: str, columns: Rows, rules: Rows, indexes: Rows, sequences: Mapping[str, Any]
) -> TableFacts:
    def of(kind: str) -> Rows:
        return [rule for rule in rules if rule[0] == kind]

    primary = next((tuple(rule[1]) for rule in of("PRIMARY KEY")), ())
    uniques = {tuple(rule[1]) for rule in of("UNIQUE")} | {
        found for row in indexes if row[1] and (found := _indexed(row, columns))
    }
    keys = tuple(ForeignKey(name, tuple(rule[1]), rule[3], tuple(rule[4])) for rule in of("FOREIGN KEY"))
    checks = tuple(CheckConstraint("", rule[2]) for rule in of("CHECK"))
    facts = tuple(_duckdb_schema_column(row, sequences) for row in columns)
    return TableFacts(
        name, facts, primary, tuple(sorted(uniques)), keys, checks, "", tuple(str(row[0]) for row in indexes)
    )


def _indexed(index: tuple[Any, ...], columns: Rows) -> tuple[str, ...]:
    """The columns of an index over columns alone."""
    known = {f'"{row[0]}"': row[0] for row in columns} | {row[0]: row[0] for row in columns}
    named = [part.strip().strip("'") for part in str(index[2]).strip("[]").split(",")]
    return tuple(known[part] for part in named) if all(part in known for part in named) else ()


def _duckdb_schema_column(row: tuple[Any, ...], sequences: Mapping[str, Any]) -> ColumnFacts:
    name, native, nullable, default, computed, expression = row
    kind = duckdb_kind_of(native)
    found = _DECIMAL.fullmatch(native)
    numbered = bool(default and not computed and _NEXT.match(default))
    sequence = next((one for one in sequences if numbered and f"'{one}'" in default.replace('"', "")), "")
    return ColumnFacts(
        name=name,
        kind=kind,
        native=native,
        nullable=bool(nullable),
        places=int(found[2]) if found else None,
        choices=tuple(one.replace("''", "'") for one in _CHOICE.findall(native)) if kind == "enum" else (),
        default=None if computed or sequence else default,
        generated=bool(computed) or numbered,
        computed=(expression or "").removeprefix("CAST(").removesuffix(f" AS {native})") if computed else "",
        sequence=sequence,
    )


def duckdb_kind_of(native: str) -> str:
    """Our word for a type.

    >>> [duckdb_kind_of(native) for native in ("INTEGER[]", "DECIMAL(10,2)", "ENUM('a', 'b')", "STRUCT(a INTEGER)",
    ...     "INTERVAL")]
    ['list', 'decimal', 'enum', 'struct', 'interval']
    """
    if native.endswith("]"):
        return "list"
    head = native.partition("(")[0]
    return {"DECIMAL": "decimal", "ENUM": "enum"}.get(head) or _DUCKDB_SCHEMA_KINDS.get(native) or head.lower()


# Mariadb schema
# --------------


_MARIADB_SCHEMA_HERE = "table_schema = database()"
_MARIADB_SCHEMA_TABLES = (
    f"SELECT table_name FROM information_schema.tables WHERE {_MARIADB_SCHEMA_HERE} AND table_type = 'BASE TABLE' ORDER"
    " BY 1"
)
_MARIADB_SCHEMA_COLUMNS = f"""
SELECT table_name, column_name, data_type, column_type, is_nullable, column_default, extra, generation_expression,
       character_maximum_length, numeric_scale
FROM information_schema.columns WHERE {_MARIADB_SCHEMA_HERE} ORDER BY ordinal_position"""
_UNIQUE = f"""
SELECT table_name, index_name, column_name, sub_part FROM information_schema.statistics
WHERE {_MARIADB_SCHEMA_HERE} AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index"""
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
    (
        "SELECT table_name FROM information_schema.views WHERE table_schema = database()",
        "'{}' is a view and is not copied",
    ),
    (
        "SELECT DISTINCT event_object_table FROM information_schema.triggers WHERE trigger_schema = database()",
        "the triggers of table '{}' are not copied",
    ),
    (
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = database()",
        "the routine '{}' is not copied",
    ),
)

_MARIADB_SCHEMA_KINDS = {
    "tinyint": "integer", "smallint": "integer", "mediumint": "integer", "int": "integer", "bigint": "integer",
    "year": "integer",
    "decimal": "decimal", "float": "float", "double": "float", "char": "text", "varchar": "text", "tinytext": "text",
    "text": "text", "mediumtext": "text", "longtext": "text", "date": "date", "time": "time", "datetime": "timestamp",
    "timestamp": "timestamp",
    "binary": "binary", "varbinary": "binary", "tinyblob": "binary", "blob": "binary", "mediumblob": "binary",
    "longblob": "binary",
}  # fmt: skip
_JSON = re.compile(r"\s*json_valid\(`(.+)`\)\s*", re.IGNORECASE)
_COUNTED = re.compile(r" AUTO_INCREMENT=\d+")


def mariadb_schema(link: Session) -> Schema:
    """All tables of a database; expressions are asked for with names in backquotes, where a double quote can only be a
    text."""
    link.run("SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')")
    try:
        return _schema(link)
    finally:
        link.run("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")


def _schema(link: Session) -> Schema:
    grouped = {
        query: _mariadb_schema_by_table(_rows(link, query))
        for query in (_MARIADB_SCHEMA_COLUMNS, _UNIQUE, _KEYS, _CHECKS)
    }
    names = [str(row[0]) for row in _rows(link, _MARIADB_SCHEMA_TABLES)]
    tables = tuple(
        _mariadb_schema_table(link, name, {query: rows.get(name, []) for query, rows in grouped.items()})
        for name in names
    )
    lost = [sentence.format(row[0]) for query, sentence in _LEFT_OUT for row in sorted(_rows(link, query))]
    away = {(name, row[0]) for name, rows in grouped[_KEYS].items() for row in rows if not int(row[6])}
    lost += [f"the foreign key '{key}' of '{name}' leaves the database and is not copied" for name, key in sorted(away)]
    return Schema(tables, "mariadb", left_out=tuple(lost))


def _rows(link: Session, query: str) -> Rows:
    """Texts of the catalogue may arrive as bytes."""
    return [tuple(one.decode() if isinstance(one, bytes) else one for one in row) for row in link.rows(query)]


def _mariadb_schema_by_table(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


def _mariadb_schema_table(link: Session, name: str, said: Mapping[str, Rows]) -> TableFacts:
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
    columns = tuple(_mariadb_schema_column(row, documents) for row in said[_MARIADB_SCHEMA_COLUMNS])
    primary = whole.pop("PRIMARY", ())
    keys = _mariadb_schema_foreign_keys(name, said[_KEYS])
    away = any(not int(row[6]) for row in said[_KEYS])
    sql = "" if away else _COUNTED.sub("", str(_rows(link, f"SHOW CREATE TABLE {_backquoted(name)}")[0][1]))
    return TableFacts(name, columns, primary, tuple(sorted(set(whole.values()))), keys, checks, sql)


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _mariadb_schema_foreign_keys(name: str, rows: Rows) -> tuple[ForeignKey, ...]:
    grouped: dict[str, Rows] = {}
    for row in rows:
        if int(row[6]):
            grouped.setdefault(row[0], []).append(row)
    keys = []
    for label, parts in grouped.items():
        options = {"on delete": _action(parts[0][4]), "on update": _action(parts[0][5])}
        keys.append(
            ForeignKey(name, tuple(p[1] for p in parts), parts[0][2], tuple(p[3] for p in parts), label, options)
        )
    return tuple(keys)


def _action(rule: str) -> str:
    """Both words refuse at once in this server."""
    return "NO ACTION" if rule == "RESTRICT" else rule


def _mariadb_schema_column(row: tuple[Any, ...], documents: set[str]) -> ColumnFacts:
    name, word, native, nullable, default, extra, expression, length, places = row
    kind = mariadb_kind_of(word, native, name in documents)
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


def mariadb_kind_of(word: str, native: str, document: bool = False) -> str:
    """Our word for a type.

    >>> [mariadb_kind_of(native.partition("(")[0], native) for native in ("tinyint(1)", "tinyint(4)", "varchar(20)", "enum('a')", "uuid")]
    ['boolean', 'integer', 'text', 'enum', 'uuid']
    """  # noqa: E501
    if document:
        return "json"
    return "boolean" if native == "tinyint(1)" else _MARIADB_SCHEMA_KINDS.get(word, word)


# Introspect
# ----------


def read_schema(url: str, schema: str | None = None, tables: Sequence[str] | None = None) -> Schema:
    """All tables (or those named); `schema` names a schema of the database other than the user's own."""
    with connect(url, namespace=schema) as link, plain_server_errors("reading the schema"):
        found = schema_of(link)
    return _selected(found, list(tables) if tables is not None else [table.name for table in found.tables])


_READERS = {"postgresql": postgres_schema, "sqlite": sqlite_schema, "duckdb": duckdb_schema, "mariadb": mariadb_schema}


def schema_of(link: Session) -> Schema:
    """All tables that a session sees, without our own journal."""
    found = _READERS[link.dialect](link)
    return replace(found, tables=tuple(table for table in found.tables if table.name not in (JOURNAL, ASIDE, RESTORED)))


def _selected(schema: Schema, names: list[str]) -> Schema:
    """Only these tables; keys that point elsewhere cannot be kept and are named."""
    known = [table.name for table in schema.tables]
    for name in names:
        if name not in known:
            raise DataError(f"the database has no table '{name}'", hint=nearest(name, known))
    lost = [
        key for table in schema.tables if table.name in names for key in table.foreign_keys if key.parent not in names
    ]
    sentences = [
        f"the foreign key of '{k.table}' ({', '.join(k.columns)}) to '{k.parent}' leaves the selection and is not"
        " copied"
        for k in lost
    ]
    kept = tuple(_without(table, names) for table in schema.tables if table.name in names)
    used = {column.sequence for table in kept for column in table.columns}
    sequences = tuple(one for one in schema.sequences if one.name in used)
    return replace(schema, tables=kept, sequences=sequences, left_out=schema.left_out + tuple(sentences))


def _without(table: TableFacts, names: list[str]) -> TableFacts:
    table = replace(table, partial_keys=tuple(key for key in table.partial_keys if key.parent in names))
    gone = [key for key in table.foreign_keys if key.parent not in names]
    if not gone:
        return table
    kept = tuple(key for key in table.foreign_keys if key.parent in names)
    constraints = tuple(one for one in table.constraints if one.name not in {key.name for key in gone})
    return replace(table, foreign_keys=kept, constraints=constraints, sql="")
