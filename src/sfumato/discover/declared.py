"""What a schema declares, as proposals: keys, unique columns, foreign keys and enumerated types."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.data.database import Schema, TableFacts
from sfumato.discover.proposal import Proposal, quoted, sayable


def declared_by(schema: Schema, rows: dict[str, int]) -> Iterator[Proposal]:
    """Every declared constraint that rules can say; `rows` counts the rows of each table."""
    for table in schema.tables:
        for template, rule in _rules(table):
            yield Proposal(rule, template, rows.get(table.name, 0), 0.0, declared=True)


def _rules(table: TableFacts) -> Iterator[tuple[str, str]]:
    for key in dict.fromkeys(key for key in (table.primary_key, *table.uniques) if key):
        if all(map(sayable, (table.name, *key))):
            yield "keys", f"unique({_names(table.name, key)})"
    for link in table.foreign_keys:
        if all(map(sayable, (table.name, *link.columns, link.parent, *link.parent_columns))):
            yield "foreign keys", f"{_names(table.name, link.columns)} references {_names(link.parent, link.parent_columns)}"
    for column in table.columns:
        plain = sayable(table.name) and sayable(column.name) and not any("\\" in choice for choice in column.choices)
        if column.choices and plain:
            listed = ", ".join('"' + choice.replace('"', '\\"') + '"' for choice in column.choices)
            yield "value lists", f"{_names(table.name, (column.name,))} in {{{listed}}}"


def _names(table: str, columns: tuple[str, ...]) -> str:
    return ", ".join(f"{quoted(table)}.{quoted(name)}" for name in columns)
