"""Large tables by a sample of their rows, and what a sample cannot prove asked of the server: how many rows break a rule.

Of a table that others refer to, the rows that theirs refer to are in the sample, too, so that every sampled row finds the one it
refers to; where that cannot be asked by one column (composite keys, circles) it is read whole. The row with the largest key is in
every sample: what a key needs room for is known from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.database import Schema, TableFacts
from sfumato.io.sql.link import Session, connect
from sfumato.io.sql.names import literal, quoted
from sfumato.io.sql.trouble import plainly

_LISTED = 2_000
"""Values that stand in one query."""
_CHANCE = {
    "postgresql": "random() < {0:.9f}",
    "duckdb": "random() < {0:.9f}",
    "mariadb": "rand() < {0:.9f}",
    "sqlite": "abs(random() % 1000000000) < {0:.9f} * 1000000000",
}


def sampled_tables(url: str, schema: Schema, most: int) -> dict[str, float]:
    """Tables with more rows than that, and the share of their rows that makes about as many."""
    alone = {names[0] for names in schema.generations() if len(names) == 1}
    found = {}
    with connect(url, namespace=None if schema.others else schema.namespace or None) as link:
        for table in schema.tables:
            keys = {key.parent_columns for key in schema.foreign_keys if key.parent == table.name}
            own = any(key.parent == table.name for key in table.foreign_keys)
            if own or table.name not in alone or len(keys) > 1 or any(len(key) > 1 for key in keys):
                continue
            with plainly(f"counting table '{table.name}'"):
                count = int(link.rows(f"SELECT count(*) FROM {link.relation(table.name)}")[0][0])
            if count > most:
                found[table.name] = most / count
    return found


def chosen(link: Session, table: TableFacts, share: float) -> str:
    """The condition that chooses rows by chance, and the one with the largest key."""
    largest = ""
    if len(table.primary_key) == 1 and table.column(table.primary_key[0]).kind == "integer":
        key = quoted(table.primary_key[0])
        largest = f" OR {key} = (SELECT max({key}) FROM {link.relation(table.name)})"
    return f" WHERE {_CHANCE[link.dialect].format(share)}{largest}"


def referred(schema: Schema, table: TableFacts, frames: Mapping[str, pa.Table], there: pa.Table) -> Iterator[str]:
    """Conditions for the rows of a table that the rows read so far refer to and that are not there yet, some at a time."""
    keys = [key for key in schema.foreign_keys if key.parent == table.name and key.table in frames]
    if not keys:
        return
    column = keys[0].parent_columns[0]
    cells = [chunk for key in keys for chunk in frames[key.table].column(key.columns[0]).chunks]
    wanted = pc.drop_null(pc.unique(pa.chunked_array(cells, pa.string())))
    known = pa.array(there.column(column).to_pylist(), pa.string())
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=known))).to_pylist()
    spell = str if table.column(column).kind == "integer" else literal
    for start in range(0, len(missing), _LISTED):
        yield f" WHERE {quoted(column)} IN ({', '.join(map(spell, missing[start : start + _LISTED]))})"


class RowCounter:
    """Counts, in the server, what speaks against a rule."""

    def __init__(self, link: Session) -> None:
        self.link = link

    def broken(self, table: str, condition: str) -> int:
        """Rows in which a condition is false; where it is unknown it is not broken."""
        return self._one(f"SELECT count(*) FROM {self.link.relation(table)} WHERE NOT ({condition})")

    def repeated(self, table: str, columns: Sequence[str]) -> int:
        """Combinations that stand in several rows; a missing value is a value."""
        names = ", ".join(map(quoted, columns))
        inner = f"SELECT 1 AS one FROM {self.link.relation(table)} GROUP BY {names} HAVING count(*) > 1"
        return self._one(f"SELECT count(*) FROM ({inner}) r")

    def undetermined(self, table: str, left: Sequence[str], right: str) -> int:
        """Combinations that go with several values; a missing value is a value."""
        names, value = ", ".join(map(quoted, left)), quoted(right)
        several = f"count(DISTINCT {value}) + CASE WHEN count(*) > count({value}) THEN 1 ELSE 0 END > 1"
        inner = f"SELECT 1 AS one FROM {self.link.relation(table)} GROUP BY {names} HAVING {several}"
        return self._one(f"SELECT count(*) FROM ({inner}) r")

    def outside(self, table: str, column: str, values: Sequence[str]) -> int:
        """Rows whose text is none of these; what is missing is not counted."""
        kind = "char" if self.link.dialect == "mariadb" else "text"
        text = f"CAST({quoted(column)} AS {kind})"
        listed = ", ".join(map(literal, values))
        return self._one(f"SELECT count(*) FROM {self.link.relation(table)} WHERE {text} <> '' AND {text} NOT IN ({listed})")

    def dangling(self, child: str, columns: Mapping[str, str], parent: str) -> int:
        """Rows that refer to nothing; `columns` maps the child's columns to the parent's."""
        same = " AND ".join(f"p.{quoted(there)} = c.{quoted(here)}" for here, there in columns.items())
        full = " AND ".join(f"c.{quoted(here)} IS NOT NULL" for here in columns)
        above = f"SELECT 1 FROM {self.link.relation(parent)} p WHERE {same}"
        return self._one(f"SELECT count(*) FROM {self.link.relation(child)} c WHERE {full} AND NOT EXISTS ({above})")

    def _one(self, query: str) -> int:
        with plainly("counting rows"):
            return int(self.link.rows(query)[0][0])
