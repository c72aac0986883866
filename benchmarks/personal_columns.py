"""Recall and precision of the detector of personal columns on public schemas, by names and types alone.

python -m benchmarks.personal_columns            # one line per schema
python -m benchmarks.personal_columns missed     # also the columns that were copied, and those replaced without need

The labels in ``tests/roles/schemas`` were written by hand before the detector was run on them: *personal* columns must
be replaced, emptied or asked about; *either* may go both ways and is not counted; all others are not personal. Values
help, and there are none here: a database with rows is judged better."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from sfumato.data.personal_columns import ColumnDecision, DatabaseColumn, decide, people_tables, words_of_name
from sfumato.data.personal_columns.detector import points_at_persons

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "roles" / "schemas"
_TYPES = {
    "integer": (
        "int",
        "integer",
        "bigint",
        "bigint unsigned",
        "smallint",
        "tinyint",
        "serial",
        "bigserial",
        "year",
        "mediumint",
    ),
    "decimal": ("double", "decimal", "numeric", "float", "real"),
    "timestamp": ("timestamp", "datetime", "timestamp with time zone", "timestamptz"),
    "boolean": ("boolean", "bool", "flag", "namestyle"),
    "text": (
        "varchar",
        "text",
        "char",
        "name",
        "nvarchar",
        "clob",
        "nclob",
        "mediumtext",
        "character varying",
        "accountnumber",
    ),
    "json": ("jsonb", "json", "jsonb null"),
    "binary": ("bytea", "binary", "tinyblob", "blob", "longblob"),
    "enum": ("enum", "type", "permission_level", "mpaa_rating", "channel_bookmark_type", "property_field_type"),
}
TYPES = {native: kind for kind, natives in _TYPES.items() for native in natives} | {
    "phone": "text", "ordernumber": "text", "outgoingoauthconnections_granttype": "enum", "text[]": "array",
    "string": "text",
}  # fmt: skip
"""Types as the schemas spell them, and as Sfumato calls them."""


@dataclass
class Score:
    """What happened to the columns of one schema."""

    schema: str
    columns: int = 0
    personal: int = 0
    replaced: int = 0
    asked: int = 0
    copied: list[str] = field(default_factory=list)
    """Personal columns that would be published as they are."""
    needless: list[str] = field(default_factory=list)
    """Columns that are not personal and would be replaced."""
    rightly: int = 0
    questions: int = 0
    """Columns that somebody has to decide about."""

    @property
    def recall(self) -> float:
        return (self.replaced + self.asked) / max(1, self.personal)

    @property
    def precision(self) -> float:
        return self.rightly / max(1, self.rightly + len(self.needless))

    def __str__(self) -> str:
        counts = (self.columns, self.personal, self.replaced, self.asked, len(self.copied), self.questions)
        return (
            f"{self.schema:16}"
            + "".join(f"{count:>9,}" for count in counts)
            + f"{self.recall:>9.1%}{self.precision:>10.1%}"
        )


HEAD = "schema            columns personal replaced    asked   copied    asked*   recall precision"


def decisions(path: Path) -> Iterator[tuple[str, str, ColumnDecision]]:
    """Column, label and decision for every column of a labelled schema."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tables = {table: list(own) for table, own in groupby(rows, key=lambda row: row["table"])}
    parents = {"".join(words_of_name(table)): table for table in tables}
    columns = {
        table: [_column(row, table, parents, [one for one in own if "primary" in one.get("key", "")]) for row in own]
        for table, own in tables.items()
    }
    references = [
        (table, parents[_stem(one.name)]) for table, own in columns.items() for one in own if _stem(one.name) in parents
    ]
    people = people_tables(columns, references)
    for table, own in columns.items():
        for row, column in zip(tables[table], own, strict=True):
            follows = "reference" in row.get("key", "")  # it gets the new values of what it refers to
            decision = decide(column, table in people, points_at_persons(own))
            yield f"{table}.{column.name}", row["label"], ColumnDecision("keep", "", "") if follows else decision


def _column(row: dict[str, str], table: str, parents: dict[str, str], primary: list[dict[str, str]]) -> DatabaseColumn:
    key = "reference" in row["key"] or primary == [row] if "key" in row else _is_key(row, parents)
    return DatabaseColumn(row["column"], table, TYPES.get(row["type"], row["type"]), key=key)


def _stem(name: str) -> str:
    """What a column refers to by its name, `order` of `order_id` and of `fk_order`."""
    words = words_of_name(name)
    return "".join(words[:-1] if words[-1:] == ("id",) else words[1:] if words[:1] == ("fk",) else ())


def _is_key(row: dict[str, str], parents: dict[str, str]) -> bool:
    """Keys and references, which older lists do not tell: a number may refer to a table by its name, a text may not.

    No key is known that its values would be, and what only is called like a reference may hold anything."""
    words = words_of_name(row["column"])
    if words in (("id",), ("rowid",), ("row", "id")):
        return True
    named = words[-1:] == ("id",) or words[:1] == ("fk",) or _stem(row["column"]) in parents
    return named and TYPES.get(row["type"], row["type"]) == "integer"


def score(path: Path) -> Score:
    """Count what a draft would do with a labelled schema."""
    found = Score(path.stem)
    for name, label, decision in decisions(path):
        found.columns += 1
        found.questions += decision.action == "ask"
        if label == "personal":
            found.personal += 1
            found.replaced += decision.action == "replace"
            found.asked += decision.action == "ask"
            found.copied += [name] if decision.action == "keep" else []
        if decision.action == "replace" and label != "either":
            found.rightly += label == "personal"
            found.needless += [] if label == "personal" else [f"{name} ({decision.kind}: {decision.reason})"]
    return found


def main(arguments: list[str]) -> None:
    """Print one line per schema and one for all."""
    print(HEAD)
    scores = [score(path) for path in sorted(FOLDER.glob("*.csv"))]
    for one in scores:
        print(one)
        if "missed" in arguments:
            for name in one.copied:
                print(f"    copied: {name}")
            for name in one.needless:
                print(f"    needless: {name}")
    total = Score("all")
    for one in scores:
        total.columns, total.personal = total.columns + one.columns, total.personal + one.personal
        total.replaced, total.asked = total.replaced + one.replaced, total.asked + one.asked
        total.copied, total.needless = total.copied + one.copied, total.needless + one.needless
        total.rightly, total.questions = total.rightly + one.rightly, total.questions + one.questions
    print(total)
    print("asked*: all columns that somebody has to decide about, personal or not")


if __name__ == "__main__":
    main(sys.argv[1:])
