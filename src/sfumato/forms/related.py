"""Related tables: ``people.csv`` with one line per person, ``rows.csv`` with the rows of people, tied by a pseudonym.

Whoever looks at a release looks at both as one table: what is said of a person stands beside every row of theirs, and a person
without rows is one line with nothing in the columns of rows (`joined`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sfumato.data.arrays import BoolArray
from sfumato.data.related import RelatedTable, related
from sfumato.data.table import Table, TextColumn
from sfumato.errors import DataError, ReleaseError
from sfumato.forms.linked import LinkedTable
from sfumato.policy.person import PSEUDONYM
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import differing_parts
from sfumato.release.past import NO_ROW, Memory, Sheet

PEOPLE_PART, ROWS_PART = "people", "rows"


class RelatedTables(LinkedTable):
    """A table of people and a table of their rows, both written more coarsely, tied by a pseudonym."""

    name: ClassVar[str] = "related tables"

    def main(self, exhibit: Exhibit) -> Table:
        return exhibit.once(joined)

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        """Both parts as one table; a line without rows says so, which a row in which everything is missing does not."""
        (told,), table = super().sheets(exhibit, memory), exhibit.once(joined)
        lines = told.here & table.absent[np.where(told.here, memory.rows, 0)]
        return (Sheet({name: _marked(cells, lines, name in table.own) for name, cells in told.columns.items()}, told.here),)

    def uncountable(self, exhibit: Exhibit) -> str:
        return f"people and their rows are two tables; count lines in the file of '{PEOPLE_PART}', or in that of '{ROWS_PART}'"

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, [PEOPLE_PART, ROWS_PART])
        if exhibit.policy.person is None or not exhibit.policy.person.linked:
            yield "the policy does not say that the rows of a person are linked"
        shown = [set(exhibit.parts[part].shown) for part in (PEOPLE_PART, ROWS_PART) if part in exhibit.parts]
        if not all(PSEUDONYM in names for names in shown):
            yield f"a part lacks the column '{PSEUDONYM}'"
        repeated = sum(len(exhibit.parts[part].shown) for part in exhibit.parts) - sum(map(len, shown))
        if repeated or (len(shown) == 2 and shown[0] & shown[1] != {PSEUDONYM}):
            yield "the two parts repeat a column"
        wanted = {PSEUDONYM, *exhibit.policy.published}
        if set().union(*shown) != wanted:
            yield "the two parts together do not have the columns that the policy publishes"


def _marked(cells: TextColumn, lines: BoolArray, own: bool) -> TextColumn:
    if own or not lines.any():
        return cells
    return TextColumn(np.where(lines, len(cells.labels), cells.codes).astype(cells.codes.dtype), (*cells.labels, NO_ROW))


@of_parts
def joined(exhibit: Exhibit) -> RelatedTable:
    """Both parts as one table; ask for it with ``exhibit.once(joined)``."""
    try:
        return related(exhibit.tables[PEOPLE_PART], exhibit.tables[ROWS_PART], (PSEUDONYM,))
    except (KeyError, DataError):
        raise ReleaseError("people and rows do not belong to each other") from None
