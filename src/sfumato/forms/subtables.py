"""Sub-tables: ``table-1.csv``, ``table-2.csv``, …, each recoded or with buckets (then with ``table-n-sensitive.csv``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.data.arrays import IntArray
from sfumato.decomposition.published_subtables import (
    BUCKET,
    COLUMN,
    COUNT,
    SENSITIVE,
    VALUE,
    PublishedSubTables,
    aligned,
    read_tables,
)
from sfumato.errors import ReleaseError
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import Form, differing_columns, differing_parts

MOST_TABLES = 200
"""Every pair of tables is compared, so their number is bounded whatever a folder says."""


class SubTables(Form):
    """Several tables that share columns; what must not be learned together does not stand together."""

    name: ClassVar[str] = "sub-tables"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count", "column"})
    shows_columns: ClassVar[bool] = True
    buckets: ClassVar[bool] = True

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        names = [name for name in exhibit.parts if not name.endswith(SENSITIVE)]
        if not 0 < len(names) <= MOST_TABLES:
            yield f"there are {len(names)} tables, where 1 to {MOST_TABLES} can be read"
            return
        tables = [f"table-{place}" for place in range(1, len(names) + 1)]
        with_buckets = [name for name in tables if name in exhibit.parts and BUCKET in exhibit.parts[name].table.column_names]
        lists = [f"{name}{SENSITIVE}" for name in with_buckets]
        yield from differing_parts(exhibit, [*tables, *lists])
        published = set(exhibit.policy.published)
        for name in tables:
            yield from self._strange(exhibit, name, published, {BUCKET} if name in with_buckets else set())
        for name in lists:
            alone = name in exhibit.parts and VALUE in exhibit.parts[name].table.column_names
            own = {BUCKET, COUNT, VALUE, COLUMN} if alone else {BUCKET, COUNT}
            yield from self._strange(exhibit, name, set() if alone else published, own)

    def _strange(self, exhibit: Exhibit, part: str, may: set[str], must: set[str]) -> Iterator[str]:
        """Columns that a part must have, and columns of the policy that it may have."""
        shown = set(exhibit.parts[part].table.column_names) if part in exhibit.parts else set()
        yield from differing_columns(exhibit, part, (shown & may) | must)

    @property
    def rests_on_chance(self) -> bool:
        """Whoever can repeat the order of every table joins them row by row."""
        return True

    def records(self, exhibit: Exhibit) -> int:
        tables = exhibit.once(sub_tables)
        return tables.people - max((table.withheld for table in tables.tables), default=0)

    def uncountable(self, exhibit: Exhibit) -> str:
        return ""


@of_parts
def sub_tables(exhibit: Exhibit) -> PublishedSubTables:
    """The parts in common codes; ask for it with ``exhibit.once(sub_tables)``."""
    if len(exhibit.parts) > 2 * MOST_TABLES:
        raise ReleaseError(f"there are more tables than the {MOST_TABLES} that can be read")
    return read_tables(exhibit.tables)


def beside_original(exhibit: Exhibit) -> tuple[PublishedSubTables, dict[str, IntArray]] | None:
    """The tables and the original in the same codes; None when a table is generalized, not exact."""
    tables = exhibit.once(sub_tables)
    columns = aligned(tables, exhibit.original) if exhibit.private else None
    return None if columns is None else (tables, columns)
