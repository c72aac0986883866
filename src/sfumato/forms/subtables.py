"""Sub-tables: ``table-1.csv``, ``table-2.csv``, …, each recoded or with buckets (then with ``table-n-sensitive.csv``)."""

from __future__ import annotations

from typing import ClassVar

from sfumato.data.arrays import IntArray
from sfumato.decomposition.published_subtables import PublishedSubTables, aligned, read_tables
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import Form


class SubTables(Form):
    """Several tables that share columns; what must not be learned together does not stand together."""

    name: ClassVar[str] = "sub-tables"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count", "column"})
    shows_columns: ClassVar[bool] = True
    buckets: ClassVar[bool] = True

    def records(self, exhibit: Exhibit) -> int:
        tables = exhibit.once(sub_tables)
        return tables.people - max((table.withheld for table in tables.tables), default=0)

    def uncountable(self, exhibit: Exhibit) -> str:
        return ""


@of_parts
def sub_tables(exhibit: Exhibit) -> PublishedSubTables:
    """The parts in common codes; ask for it with ``exhibit.once(sub_tables)``."""
    return read_tables(exhibit.tables)


def beside_original(exhibit: Exhibit) -> tuple[PublishedSubTables, dict[str, IntArray]] | None:
    """The tables and the original in the same codes; None when a table is generalized, not exact."""
    tables = exhibit.once(sub_tables)
    columns = aligned(tables, exhibit.original) if exhibit.private else None
    return None if columns is None else (tables, columns)
