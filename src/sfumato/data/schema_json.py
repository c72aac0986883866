"""A schema as plain JSON and back: what a release folder says about the database it was made for.

>>> table = TableFacts("t", (ColumnFacts("id", "integer", "INTEGER", nullable=False),), primary_key=("id",))
>>> schema_from(json_of(Schema((table,)))) == Schema((table,))
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, TableFacts
from sfumato.errors import ReleaseError

_TABLE = ("name", "primary_key", "uniques", "foreign_keys", "checks")
_COLUMN = ("name", "kind", "native", "nullable", "length", "places", "choices", "computed")


def json_of(schema: Schema) -> list[dict[str, Any]]:
    """One entry per table: what an audit needs, without defaults and statements in the server's own SQL."""
    columns = {table.name: [_plain(column, _COLUMN) for column in table.columns] for table in schema.tables}
    return [_plain(table, _TABLE) | {"columns": columns[table.name]} for table in schema.tables]


def _plain(thing: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    found = {key: getattr(thing, key) for key in keys}
    return {key: _lists(value) for key, value in found.items() if not (value is None or value is False or value in ((), ""))}


def _lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_lists(entry) for entry in value]
    return (
        {key: _lists(entry) for key, entry in asdict(value).items() if entry} if hasattr(value, "__dataclass_fields__") else value
    )


def schema_from(tree: Any) -> Schema:
    """The schema that `json_of` wrote."""
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
    )


def _column(entry: Mapping[str, Any]) -> ColumnFacts:
    return ColumnFacts(**{"nullable": False, **entry, "choices": tuple(entry.get("choices", ()))})


def _foreign_key(entry: Mapping[str, Any]) -> ForeignKey:
    options = entry.get("options")
    columns, parents = tuple(entry["columns"]), tuple(entry["parent_columns"])
    return ForeignKey(str(entry["table"]), columns, str(entry["parent"]), parents, str(entry.get("name", "")), options)
