r"""A schema in another dialect: one server's tables for another.

A type of the target is chosen so that every value to be loaded comes back as it was: SQLite does not enforce what a column
declares, so a declared DATETIME that holds other things becomes text, and a PostgreSQL numeric of more than fifteen digits
becomes text in SQLite. Columns linked by a foreign key get one type. What has no counterpart is named in `left_out`.

Departures: a whole real and an integer are one number in PostgreSQL's numeric types, and PostgreSQL writes 10.0 as 10.


Translate types
---------------
Which type of another dialect keeps every value of a column as it is, and how the values are spelt there.

>>> import pyarrow as pa
>>> moment = ColumnFacts("born", "timestamp", "DATETIME")
>>> [to_postgres("people", moment, pa.chunked_array([texts])) for texts in (["2020-01-31 10:00:00"], ["2020-01-31"], ["soon"])]
['timestamp without time zone', 'date', 'text']


Conditions
----------
Check conditions, computed columns and defaults in the other dialect.

Invariants
    I1  A condition crosses over only when everything in it means the same in both dialects; otherwise it is left out and named,
        since a check that means something else would refuse good rows or let bad ones in.

Departures: a computed column cannot be left out, so sqlglot's own translation stands for what the dialects do not share, and the
target computes or refuses it. Texts are ordered by the collation of the target.

>>> translate_condition("[Unit Price]>=(0) AND qty == 5", ("Unit Price", "Qty"), "sqlite", "postgresql")
'"Unit Price" >= (0) AND "Qty" = 5'
>>> translate_condition("state::text = ANY (ARRAY['a'::varchar, 'b'::character varying]::text[])", ("state",), "postgresql", "sqlite")
'"state" IN (\'a\', \'b\')'
>>> translate_condition("name GLOB 'a*'", ("name",), "sqlite", "postgresql") is None
True
>>> [default_for(text, "postgresql", "TEXT", "sqlite") for text in ("'x'::character varying", "now()", "f(1)")]
["'x'", 'CURRENT_TIMESTAMP', None]


Duckdb plan
-----------
A schema as DuckDB can make it: tables after those they refer to, sequences that begin past the last number, no circles of keys.

DuckDB cannot move a sequence and cannot add a foreign key to a table that is there. So a sequence is made with the first free
number, and a key that would close a circle (between tables, or between the rows of one) is left out and named.
"""  # noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import DataError
from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, SequenceFacts, TableFacts
from sfumato.data.table import Table
from sfumato.io.sql.addresses import listed, literal, quoted
from sfumato.io.sql.duckdb_driver import in_generations
from sfumato.io.sql.sql_syntax import condition, expression, written
from sfumato.io.sql.sqlite_storage import MARKED

_WIDER = (({"bigint", "numeric"}, "numeric"), ({"BIGINT", "HUGEINT"}, "HUGEINT"))
"""Which type holds both of two."""
_TEXT = {"postgresql": "text", "duckdb": "VARCHAR", "mariadb": "varchar(190)"}
"""Which type holds everything."""


def translate_schema(schema: Schema, dialect: str, tables: Mapping[str, Table]) -> Schema:
    """The schema as the target declares it."""
    if dialect == schema.dialect:
        return for_duckdb(schema, tables) if dialect == "duckdb" else schema
    types = _types(schema, dialect, tables)
    made = tuple(_table(table, types, schema.dialect, dialect) for table in schema.tables)
    lost = [
        f"an index of table '{table.name}' is not copied into the other dialect"
        for table in schema.tables
        for _ in table.indexes
    ]
    lost += [
        f"the default of '{table.name}.{old.name}' is not copied into the other dialect"
        for table, new in zip(schema.tables, made, strict=True)
        for old, column in zip(table.columns, new.columns, strict=True)
        if old.default is not None and column.default is None and not column.identity and old.default.upper() != "NULL"
    ]
    lost += [
        f"'{table.name}.{column.name}' is not numbered by the target: MariaDB numbers key columns that nothing is"
        " computed from"
        for table, new in zip(schema.tables, made, strict=True)
        for old, column in zip(table.columns, new.columns, strict=True)
        if dialect == "mariadb" and old.generated and not old.computed and not column.identity
    ]
    lost += [
        f"the target does not understand the check '{name}' of table '{table.name}'"
        for table, new in zip(schema.tables, made, strict=True)
        for name in _names(table)
        if name not in {check.name for check in new.checks}
    ]
    new = replace(
        schema,
        tables=made,
        dialect=dialect,
        namespace="",
        types=(),
        sequences=(),
        functions=(),
        others=(),
        left_out=schema.left_out + tuple(lost),
    )
    return for_duckdb(new, tables) if dialect == "duckdb" else new


def _types(schema: Schema, dialect: str, tables: Mapping[str, Table]) -> dict[tuple[str, str], str]:
    choose = CHOOSE[dialect]
    types = {
        (table.name, column.name): choose(table.name, column, _values(tables[table.name], column), schema.dialect)
        for table in schema.tables
        for column in table.columns
    }
    changed = dialect != "sqlite"
    while changed:
        changed = sum(_joined(types, key, _TEXT[dialect]) for key in schema.foreign_keys) > 0
    return types


def _values(table: Table, column: ColumnFacts) -> pa.ChunkedArray:
    """What will be loaded; a computed column is not."""
    return pa.chunked_array([], pa.string()) if column.computed else table.column(column.name)


def _joined(types: dict[tuple[str, str], str], key: ForeignKey, text: str) -> bool:
    """Gives both ends of a foreign key one type; whether anything changed."""
    changed = False
    for child, parent in zip(key.columns, key.parent_columns, strict=True):
        ends = (key.table, child), (key.parent, parent)
        found = {types[end] for end in ends}
        if len(found) > 1 and not all(one == text or one.startswith("varchar") for one in found):
            for end in ends:
                types[end] = next((wide for narrow, wide in _WIDER if found <= narrow), text)
            changed = True
    return changed


def _table(table: TableFacts, types: Mapping[tuple[str, str], str], source: str, dialect: str) -> TableFacts:
    columns = tuple(_column(table, column, types[table.name, column.name], source, dialect) for column in table.columns)
    pairs = zip(_names(table), table.checks, strict=True)
    said = [(name, translate_condition(one.sql, table.names, source, dialect)) for name, one in pairs]
    named = tuple(CheckConstraint(name, text) for name, text in said if text is not None)
    if dialect in ("sqlite", "postgresql"):
        named += tuple(_choices(table))
    carried_table = replace(table, columns=columns, checks=named, sql="", indexes=(), constraints=())
    return replace(carried_table, constraints=tuple(_keys(carried_table))) if dialect == "postgresql" else carried_table


def _names(table: TableFacts) -> list[str]:
    return [check_name(table, number, check) for number, check in enumerate(table.checks)]


def check_name(table: TableFacts, number: int, check: CheckConstraint) -> str:
    """The name of a check in the other dialect, where unnamed ones need one to be found again."""
    return check.name or f"{table.name}_check_{number + 1}"[-60:]


def _choices(table: TableFacts) -> list[CheckConstraint]:
    """An enumerated type as a condition."""
    return [
        CheckConstraint(
            f"{table.name}_{column.name}_choices"[-60:],
            f"{quoted(column.name)} IN ({', '.join(map(literal, column.choices))})",
        )
        for column in table.columns
        if column.kind == "enum"
    ]


def _column(table: TableFacts, column: ColumnFacts, native: str, source: str, dialect: str) -> ColumnFacts:
    numbered = column.generated and not column.computed
    if dialect == "postgresql":
        identity = "BY DEFAULT" if numbered and native == "bigint" else ""
    elif dialect == "mariadb":
        free = not any(re.search(rf"\b{re.escape(column.name)}\b", other.computed) for other in table.columns)
        first = table.primary_key[:1] == (column.name,) and native == "bigint"
        identity = "AUTO_INCREMENT" if numbered and first and free else ""
    elif dialect == "duckdb":
        identity = "SEQUENCE" if numbered and native in ("BIGINT", "HUGEINT") else ""
    else:
        identity = "AUTOINCREMENT" if numbered and table.primary_key == (column.name,) and native == "INTEGER" else ""
    default = None if numbered else default_for(column.default, source, native, dialect)
    computed = column.computed and translate_value(column.computed, table.names, source, dialect)
    generated = bool(identity or computed)
    bare = replace(column, sequence="", numbering="", collation="", type_name="", computed=computed)
    return replace(bare, native=native, default=default, identity=identity, generated=generated)


def _keys(table: TableFacts) -> list[CheckConstraint]:
    keys = [CheckConstraint("", f"PRIMARY KEY ({listed(table.primary_key)})")] if table.primary_key else []
    keys += [CheckConstraint("", f"UNIQUE ({listed(columns)})") for columns in table.uniques]
    keys += [CheckConstraint(one.name, f"CHECK ({one.sql})") for one in table.checks]
    return keys + [CheckConstraint(key.name, foreign_key_sql(key)) for key in table.foreign_keys]


def foreign_key_sql(key: ForeignKey, relation: Callable[[str], str] = quoted, dialect: str = "") -> str:
    """The clause that declares a foreign key; DuckDB knows no actions, MariaDB not all of them."""
    options = (key.options or {}) if dialect != "duckdb" else {}
    text = f"FOREIGN KEY ({listed(key.columns)}) REFERENCES {relation(key.parent)} ({listed(key.parent_columns)})"
    for action in ("on delete", "on update"):
        if options.get(action, "NO ACTION") not in ("NO ACTION", "SET DEFAULT" if dialect == "mariadb" else ""):
            text += f" {action.upper()} {options[action]}"
    return text + (f" DEFERRABLE {options['deferrable']}" if "deferrable" in options and dialect != "mariadb" else "")


# Translate types
# ---------------


Ladders = Mapping[str, tuple[tuple[str, str], ...]]

_BYTES = r"^\\x([0-9a-fA-F][0-9a-fA-F])*$"
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_MOMENT = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
)
_HOUR = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_TRUTH = r"^([01]|true|false)$"

_ZONED = _MOMENT[:-1] + r"\+00$"
_HUGE = r"^-?[0-9]{1,38}$"
_DOUBLE = f"{_NUMBER}|^(NaN|-?Infinity)$"

_LADDERS = {
    "integer": (("bigint", _WHOLE), ("numeric", _NUMBER)),
    "decimal": (("numeric", _NUMBER),),
    "float": (("double precision", _DOUBLE),),
    "boolean": (("boolean", _TRUTH), ("bigint", _WHOLE), ("numeric", _NUMBER)),
    "date": (("date", _DAY), ("timestamp without time zone", _MOMENT)),
    "timestamp": (("timestamp without time zone", _MOMENT), ("date", _DAY), ("timestamp with time zone", _ZONED)),
    "time": (("time without time zone", _HOUR),),
    "uuid": (("uuid", _UUID),),
    "any": (("bigint", _WHOLE), ("numeric", _NUMBER)),
}
_DUCKDB = {
    "integer": (("BIGINT", _WHOLE), ("HUGEINT", _HUGE)),
    "float": (("DOUBLE", _DOUBLE),),
    "boolean": (("BOOLEAN", _TRUTH), ("BIGINT", _WHOLE)),
    "date": (("DATE", _DAY), ("TIMESTAMP", _MOMENT)),
    "timestamp": (("TIMESTAMP", _MOMENT), ("DATE", _DAY), ("TIMESTAMP WITH TIME ZONE", _ZONED)),
    "time": (("TIME", _HOUR),),
    "uuid": (("UUID", _UUID),),
    "any": (("BIGINT", _WHOLE),),
}
_MARIADB = {
    "integer": (("bigint", _WHOLE), ("decimal(65,0)", r"^-?[0-9]{1,65}$")),
    "float": (("double", _NUMBER),),
    "boolean": (("tinyint(1)", _TRUTH), ("bigint", _WHOLE)),
    "date": (("date", _DAY), ("datetime(6)", _MOMENT)),
    "timestamp": (("datetime(6)", _MOMENT), ("date", _DAY)),
    "time": (("time(6)", _HOUR),),
    "any": (("bigint", _WHOLE),),
}
_DAYS = ("datetime(6)", "date", "timestamp without time zone", "timestamp with time zone")
_SQLITE = {
    "integer": "INTEGER", "float": "REAL", "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME",
    "boolean": "BOOLEAN",
    "binary": "BLOB", "uuid": "UUID TEXT", "json": "JSON TEXT",
}  # fmt: skip


def _all(values: pa.ChunkedArray, pattern: str) -> bool:
    """Whether every value (nulls aside) looks so."""
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


def _climbed(ladders: Ladders, column: ColumnFacts, values: pa.ChunkedArray) -> str:
    """The first type of a kind's ladder that holds every value, or nothing."""
    for native, pattern in ladders.get(column.kind, ()):
        if _all(values, pattern) and (native.lower() not in _DAYS or _real_days(values)):
            return native
    return ""


def to_postgres(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str = "sqlite") -> str:
    """A PostgreSQL type for a column of another dialect."""
    if _is_binary(table, column, values, source, "PostgreSQL"):
        return "bytea"
    if pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataError(
            f"column '{column.name}' of table '{table}' holds the character NUL, which PostgreSQL text cannot hold",
            hint="load into SQLite, or repair the column",
        )
    plain = without_markers(values) if source == "sqlite" else values
    found = _climbed(_LADDERS, column, plain)
    if not found and column.kind == "json" and all(map(_is_json, plain.to_pylist())):
        return "json"
    return found or (f"varchar({column.length})" if column.length and _fits(plain, column.length) else "text")


def _is_binary(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str, target: str) -> bool:
    """Whether a column holds bytes; SQLite's may hold anything."""
    if source != "sqlite":
        return column.kind == "binary"
    bytes_in = pc.sum(pc.match_substring_regex(values, _BYTES)).as_py() or 0
    if bytes_in not in (0, len(values) - values.null_count):
        raise DataError(
            f"column '{column.name}' of table '{table}' holds both bytes and text, which {target} cannot keep in one"
            " column",
            hint="load into SQLite, or repair the column",
        )
    return bool(bytes_in) or (column.kind == "binary" and values.null_count == len(values))


def to_duckdb(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str) -> str:
    """A DuckDB type for a column of another dialect."""
    if _is_binary(table, column, values, source, "DuckDB"):
        return "BLOB"
    plain = without_markers(values) if source == "sqlite" else values
    if column.kind == "enum":
        return f"ENUM({', '.join(map(literal, column.choices))})"
    if column.kind == "decimal":
        return _decimal(column, plain, "DECIMAL", 38) or "VARCHAR"
    if column.kind == "json":
        return "JSON" if all(map(_is_json, plain.to_pylist())) else "VARCHAR"
    return _climbed(_DUCKDB, column, plain) or "VARCHAR"


def to_mariadb(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str) -> str:
    """A MariaDB type for a column of another dialect; short texts can be keys."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    if _is_binary(table, column, values, source, "MariaDB"):
        return "varbinary(255)" if longest <= 512 else "longblob"
    plain = without_markers(values) if source == "sqlite" else values
    if column.kind == "enum":
        return f"enum({', '.join(map(literal, column.choices))})"
    if column.kind == "json" and all(map(_is_json, plain.to_pylist())):
        return "json"
    found = _decimal(column, plain, "decimal", 65) if column.kind == "decimal" else _climbed(_MARIADB, column, plain)
    short = f"varchar({max(column.length or 190, longest)})"
    return found or (short if longest <= 190 and (column.length or 0) <= 500 else "longtext")


def _decimal(column: ColumnFacts, values: pa.ChunkedArray, word: str, most: int) -> str:
    """A decimal type of at most so many digits that holds every value, or nothing; declared digits where there are
    any."""
    if not _all(values, r"^-?[0-9]+(\.[0-9]+)?$"):
        return ""
    places = pc.max(pc.utf8_length(pc.replace_substring_regex(values, r"^[^.]*\.?", ""))).as_py() or 0
    whole = pc.max(pc.utf8_length(pc.replace_substring_regex(values, r"^-?0*|\..*$", ""))).as_py() or 0
    said = re.search(r"\((\d+)\s*(?:,\s*(\d+)\s*)?\)", column.native)
    if said and whole <= int(said[1]) - int(said[2] or 0) and places <= int(said[2] or 0) and int(said[1]) <= most:
        return f"{word}({said[1]},{said[2] or 0})"
    return f"{word}({most},{places})" if whole + places <= most else ""


def _real_days(values: pa.ChunkedArray) -> bool:
    try:
        pc.cast(pc.utf8_slice_codeunits(values, 0, 10), pa.date32())
    except pa.ArrowInvalid:
        return False
    return not pc.any(pc.starts_with(values, "0000")).as_py()


def _fits(values: pa.ChunkedArray, length: int) -> bool:
    return (pc.max(pc.utf8_length(values)).as_py() or 0) <= length


def _is_json(text: str | None) -> bool:
    try:
        json.loads(text or "null")
    except ValueError:
        return False
    return True


def to_sqlite(_table: str, column: ColumnFacts, values: pa.ChunkedArray, _source: str = "") -> str:
    """A SQLite type for a column of another dialect; numeric columns keep at most fifteen digits exactly."""
    if column.kind == "decimal":
        digits = pc.utf8_length(pc.replace_substring_regex(values, r"[^0-9]|^[-0.]+", ""))
        exact = (pc.max(digits).as_py() or 0) <= 15 and _all(values, _NUMBER)
        return (
            column.native.upper()
            if exact and column.native.lower().startswith(("numeric", "decimal"))
            else "NUMERIC"
            if exact
            else "TEXT"
        )
    if column.kind == "text":
        return f"VARCHAR({column.length})" if column.length else "TEXT"
    return _SQLITE.get(column.kind, "TEXT")


def without_markers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without the marks of SQLite's storage classes, which other servers do not know."""
    if not pc.any(pc.starts_with(values, "\\")).as_py():
        return values
    return pc.replace_substring_regex(values, r"^\\[irt]", "")


CHOOSE: Mapping[str, Callable[[str, ColumnFacts, pa.ChunkedArray, str], str]] = {
    "postgresql": to_postgres,
    "sqlite": to_sqlite,
    "duckdb": to_duckdb,
    "mariadb": to_mariadb,
}
"""How each dialect chooses a type."""


def translate_values(
    values: pa.ChunkedArray, old: ColumnFacts, new: ColumnFacts, source: str, dialect: str
) -> pa.ChunkedArray:
    """The values of a column of one dialect as another reads them."""
    if new.native == "tinyint(1)":
        return pc.replace_substring_regex(pc.replace_substring_regex(values, "^true$", "1"), "^false$", "0")
    if dialect != "sqlite":
        return without_markers(values) if source == "sqlite" and old.kind != "binary" else values
    if new.native == "BOOLEAN":
        true = pc.is_in(values, value_set=pa.array(["true", "1"]))
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.string()), pc.if_else(true, "1", "0"))
    if new.native == "BLOB":
        return values
    marked = pc.match_substring_regex(values, MARKED)
    return pc.if_else(marked, pc.binary_join_element_wise("\\t", values, ""), values)


# Conditions
# ----------


_SHARED = {
    *("and", "or", "not", "paren", "eq", "neq", "gt", "gte", "lt", "lte", "in", "between", "is", "null", "boolean"),
    *("column", "identifier", "literal", "add", "sub", "mul", "neg", "length", "coalesce"),
}
_MOMENTS = {"currenttimestamp": "CURRENT_TIMESTAMP", "currentdate": "CURRENT_DATE", "currenttime": "CURRENT_TIME"}
_CASTING = ("postgresql", "duckdb")
"""Dialects that distinguish types strictly."""
_TEXTS = ("text", "varchar", "TEXT", "VARCHAR")


def translate_condition(sql: str, columns: Sequence[str], source: str, dialect: str) -> str | None:
    """A condition of one dialect as another writes it, or nothing."""
    found = condition(sql, columns, source)
    if found is None or any(node.key not in _SHARED for node in found.walk()):  # I1
        return None
    return written(found, dialect)


def translate_value(sql: str, columns: Sequence[str], source: str, dialect: str) -> str:
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


# Duckdb plan
# -----------


def for_duckdb(schema: Schema, parts: Mapping[str, Table]) -> Schema:
    """The schema in an order and a form that DuckDB can make."""
    ordered = [name for names in schema.generations() for name in names]
    kept, lost = [], []
    for at, name in enumerate(ordered):
        table = schema.table(name)
        possible = tuple(key for key in table.foreign_keys if _possible(key, set(ordered[:at]), parts))
        lost += [_sentence(key) for key in table.foreign_keys if key not in possible]
        kept.append(_numbered(replace(table, foreign_keys=possible, constraints=())))
    known = {one.name for one in schema.sequences}
    sequences = (*schema.sequences, *(one for one in _own_sequences(kept) if one.name not in known))
    moved = tuple(_moved(one, kept, parts) for one in sequences)
    return replace(schema, tables=tuple(kept), sequences=moved, left_out=schema.left_out + tuple(lost))


def _possible(key: ForeignKey, before: set[str], parts: Mapping[str, Table]) -> bool:
    if key.parent != key.table:
        return key.parent in before
    try:
        in_generations(parts[key.table].frame, [key], key.table)
    except DataError:
        return False
    return True


def _sentence(key: ForeignKey) -> str:
    where = f"the foreign key of '{key.table}' ({', '.join(key.columns)}) to '{key.parent}'"
    return f"{where} is not copied: DuckDB allows no keys in a circle"


def _numbered(table: TableFacts) -> TableFacts:
    """A column that another dialect numbers gets a sequence of its own."""
    columns = tuple(
        (
            replace(column, identity="", sequence=f"{table.name}_{column.name}_seq")
            if column.identity == "SEQUENCE"
            else column
        )
        for column in table.columns
    )
    return replace(table, columns=columns)


def _own_sequences(tables: list[TableFacts]) -> list[SequenceFacts]:
    wanted = (
        column.sequence
        for table in tables
        for column in table.columns
        if column.sequence == f"{table.name}_{column.name}_seq"
    )
    return [SequenceFacts(name, f"CREATE SEQUENCE {quoted(name)} START 1") for name in wanted]


def _moved(sequence: SequenceFacts, tables: list[TableFacts], parts: Mapping[str, Table]) -> SequenceFacts:
    """Begins after the highest number of all columns that it numbers."""
    numbers = [
        int(value)
        for table in tables
        for column in table.columns
        if column.sequence == sequence.name
        for value in parts[table.name].column(column.name).drop_null().to_pylist()
    ]
    step = re.search(r"INCREMENT BY (-?\d+)", sequence.sql)
    by = int(step[1]) if step else 1
    if not numbers:
        return sequence
    start = max(numbers) + by if by > 0 else min(numbers) + by
    return replace(sequence, sql=re.sub(r"START -?\d+", f"START {start}", sequence.sql))
