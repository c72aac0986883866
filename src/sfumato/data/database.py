"""A database: tables that point at each other, what their schema declares, and the rows as text.

Every value is the text the server itself writes for it (a uuid, a json document, an array, a time with its zone), so
that what is kept goes back exactly as it came; a null stays a null and is not the empty text.

>>> parent = TableFacts("customer", (ColumnFacts("id", "integer", "INTEGER", nullable=False),), primary_key=("id",))
>>> link = ForeignKey("orders", ("customer_id",), "customer", ("id",))
>>> child = TableFacts("orders", (ColumnFacts("customer_id", "integer", "INTEGER"),), foreign_keys=(link,))
>>> Schema((child, parent)).generations()
[('customer',), ('orders',)]


Schema json
-----------
A schema as plain JSON and back: what a release folder says about the database it was made for.

>>> table = TableFacts("t", (ColumnFacts("id", "integer", "INTEGER", nullable=False),), primary_key=("id",))
>>> schema_from_json(schema_to_json(Schema((table,)))) == Schema((table,))
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from sfumato.core.errors import ReleaseError
from sfumato.data.table import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What a server says about one column."""

    name: str
    kind: str
    """integer, decimal, float, text, date, time, timestamp, boolean, uuid, json, binary, array, enum, or the native
    name."""
    native: str
    """The type as the server spells it."""
    nullable: bool = True
    length: int | None = None
    """Longest text, when the type bounds it."""
    places: int | None = None
    """Decimal places, when the type fixes them."""
    choices: tuple[str, ...] = ()
    """The values of an enumerated type."""
    default: str | None = None
    """The default as the server spells it."""
    generated: bool = False
    """Numbered by the server (a sequence or an identity), or computed by it."""
    identity: str = ""
    """How the server numbers it: ALWAYS or BY DEFAULT (an identity), AUTOINCREMENT, or empty."""
    computed: str = ""
    """The expression of a column that the server computes from others; such a column is read but never written."""
    numbering: str = ""
    """Where an identity begins and how it counts, as the server spells it."""
    sequence: str = ""
    """The sequence behind the default, when there is one."""
    collation: str = ""
    """How its text is ordered, when the column says so itself."""
    type_name: str = ""
    """The declared type (an enum, a domain, a composite) of the schema behind this column or its elements."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of one table that name a row of another (or the same)."""

    table: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    name: str = ""
    options: Mapping[str, str] | None = None
    """What the server does on delete and update, as it spells it."""


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A check constraint in the server's own SQL."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """A type that the schema declares: an enum, a domain or a composite."""

    name: str
    sql: str
    """The statement that creates it."""
    needs: tuple[str, ...] = ()
    """Other declared types inside it."""


@dataclass(frozen=True, slots=True)
class SequenceFacts:
    """A sequence of its own behind the default of a column."""

    name: str
    sql: str
    """The statement that creates it."""
    owner: tuple[str, str] = ("", "")
    """The table and column it vanishes with."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What a server says about one table."""

    name: str
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[CheckConstraint, ...] = ()
    sql: str = ""
    """The statement that created it, where the server keeps it (SQLite)."""
    indexes: tuple[str, ...] = ()
    """Statements for indexes beyond the keys, unique ones too."""
    constraints: tuple[CheckConstraint, ...] = ()
    """Keys in the server's own SQL, by name, as far as it names them."""
    partial_keys: tuple[ForeignKey, ...] = ()
    """Foreign keys of some partitions, or to one partition: their columns refer, but a table in one piece cannot
    declare them."""

    @property
    def written(self) -> tuple[str, ...]:
        """The columns that a person writes: all but the computed ones."""
        return tuple(column.name for column in self.columns if not column.computed)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> ColumnFacts:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables."""

    tables: tuple[TableFacts, ...]
    dialect: str = ""
    """postgresql, sqlite, duckdb or mariadb."""
    namespace: str = ""
    """The PostgreSQL schema the tables were found in."""
    types: tuple[TypeFacts, ...] = ()
    """Declared types, those that others need first."""
    sequences: tuple[SequenceFacts, ...] = ()
    left_out: tuple[str, ...] = ()
    """Sentences about what a copy of these tables will not have (views, triggers, keys that leave the selection)."""
    functions: tuple[TypeFacts, ...] = ()
    """Functions of the schema that checks, defaults, computed columns and indexes call."""
    others: tuple[str, ...] = ()
    """PostgreSQL schemas of tables beside those in `namespace`; such a table is called `schema.table`."""

    def table(self, name: str) -> TableFacts:
        return next(table for table in self.tables if table.name == name)

    @property
    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        return tuple(key for table in self.tables for key in table.foreign_keys)

    def generations(self) -> list[tuple[str, ...]]:
        """Tables in an order in which parents come first; tables of a cycle come together."""
        above = {table.name: {key.parent for key in table.foreign_keys} for table in self.tables}
        reached = {name: _reached(name, above) for name in above}
        cycle = {name: tuple(sorted({name} | {one for one in reached[name] if name in reached[one]})) for name in above}
        ordered: list[tuple[str, ...]] = []
        while waiting := set(cycle.values()) - set(ordered):
            done = {name for names in ordered for name in names}
            ordered.append(min(names for names in waiting if reached[names[0]] <= done.union(names)))
        return ordered


def _reached(name: str, above: Mapping[str, set[str]]) -> set[str]:
    """The tables that a table points at, directly or through others."""
    found: set[str] = set()
    waiting = list(above[name])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(above.get(one, ()))
    return found & above.keys()


@dataclass(frozen=True, slots=True)
class Database:
    """A schema and its rows."""

    schema: Schema
    tables: Mapping[str, Table]
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    @property
    def records(self) -> int:
        return self.rows

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was found in these rows under a key, looked for at the first time of asking."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found


@dataclass(frozen=True, slots=True)
class ServerFinding:
    """What a server says about one constraint: that it is there, that it was checked on every row, and how many rows
    break it."""

    table: str
    what: str
    """primary key, unique, foreign key, not null, check, or integrity."""
    columns: tuple[str, ...]
    name: str = ""
    present: bool = True
    validated: bool = True
    violations: int = 0

    @property
    def holds(self) -> bool:
        return self.present and self.validated and self.violations == 0


# Schema json
# -----------


_TABLE = ("name", "primary_key", "uniques", "foreign_keys", "checks", "partial_keys")
_COLUMN = ("name", "kind", "native", "nullable", "length", "places", "choices", "computed")


def schema_to_json(schema: Schema) -> list[dict[str, Any]]:
    """One entry per table: what an audit needs, without defaults and statements in the server's own SQL."""
    columns = {table.name: [_plain(column, _COLUMN) for column in table.columns] for table in schema.tables}
    return [_plain(table, _TABLE) | {"columns": columns[table.name]} for table in schema.tables]


def _plain(thing: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    found = {key: getattr(thing, key) for key in keys}
    return {
        key: _lists(value) for key, value in found.items() if not (value is None or value is False or value in ((), ""))
    }


def _lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_lists(entry) for entry in value]
    return (
        {key: _lists(entry) for key, entry in asdict(value).items() if entry}
        if hasattr(value, "__dataclass_fields__")
        else value
    )


def schema_from_json(tree: Any) -> Schema:
    """The schema that `schema_to_json` wrote."""
    try:
        return Schema(tuple(_table(entry) for entry in tree))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ReleaseError("the schema in the manifest is not what it should be") from None


def _table(entry: Mapping[str, Any]) -> TableFacts:
    return TableFacts(
        str(entry["name"]),
        tuple(_column(column) for column in entry["columns"]),
        tuple(entry.get("primary_key", ())),
        tuple(tuple(names) for names in entry.get("uniques", ())),
        tuple(_foreign_key(key) for key in entry.get("foreign_keys", ())),
        tuple(CheckConstraint(str(check.get("name", "")), str(check["sql"])) for check in entry.get("checks", ())),
        partial_keys=tuple(_foreign_key(key) for key in entry.get("partial_keys", ())),
    )


def _column(entry: Mapping[str, Any]) -> ColumnFacts:
    return ColumnFacts(**{"nullable": False, **entry, "choices": tuple(entry.get("choices", ()))})


def _foreign_key(entry: Mapping[str, Any]) -> ForeignKey:
    options = entry.get("options")
    columns, parents = tuple(entry["columns"]), tuple(entry["parent_columns"])
    return ForeignKey(str(entry["table"]), columns, str(entry["parent"]), parents, str(entry.get("name", "")), options)
