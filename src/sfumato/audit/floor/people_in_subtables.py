"""People in several rows of sub-tables, counted a second time: every table as it is written, and a name behind each row.

A hidden column is dealt over the rows of the one table that connects it with what is known. That table is found here from the
columns alone: what it hides leads, through the other tables, neither to a given column nor to one that it shows.

Per bucket of n rows, for every person who could have m of them (`rows_that_fit`), and every value that is listed f times
    f + m ≤ n
    1 − C(n−f, m) / C(n, m) ≤ the share that is asked for
A column that no chain of tables connects with what is given is one class of all rows, f counting what is shown or listed; where it
is shown, people who have the value ≤ share × people. Of a claim that hides several columns together one has to be kept.

The audit knows people who were left out, too, so that it never counts fewer; whatever is broken here is broken there.

>>> too_sure(2, 1, 2, Fraction(1)), too_sure(4, 1, 2, Fraction(1, 2)), too_sure(4, 1, 3, Fraction(1, 2))
(True, False, True)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb

from sfumato.audit.floor.definitions import NotCounted
from sfumato.audit.floor.files import Folder, Row, cells_at, read_rows
from sfumato.audit.floor.groups import added
from sfumato.audit.floor.rows_that_fit import most_that_fit
from sfumato.audit.floor.subtables import Columns, names_of_tables, reach, read_entries
from sfumato.errors import ReleaseError


def too_sure(n: int, f: int, m: int, share: Fraction) -> bool:
    """Whether somebody with m of n rows certainly has a value that f of them have, or has it with more than a share."""
    return f + m > n or 1 - Fraction(comb(n - f, m), comb(n, m)) > share


@dataclass(frozen=True, slots=True)
class SeatedTable:
    """A published table, and who stands in each of its rows."""

    header: Row
    rows: Sequence[Row]
    whose: Sequence[str]
    hidden: Row = ()
    entries: Mapping[str, Counter[Row]] = field(default_factory=dict)
    """Per bucket the hidden cells and how often they are listed; rows whose values are withheld have no list."""

    @property
    def shown(self) -> Columns:
        return frozenset(self.header) - ({"bucket"} if self.hidden else set())

    @property
    def columns(self) -> Columns:
        return self.shown | frozenset(self.hidden)

    def broken_buckets(self, column: str, given: Columns, share: Fraction) -> int:
        """Buckets in which somebody could have too large a part."""
        bucket = [row[self.header.index("bucket")] for row in self.rows]
        known = [place for place, name in enumerate(self.header) if name in given & self.shown]
        size, most = Counter(bucket), most_that_fit(bucket, self.whose, list(map(cells_at(known), self.rows)))
        frequent = {place: max(listed.values()) for place, listed in self._listed(column).items()}
        return sum(too_sure(size[place], f, most[place], share) for place, f in frequent.items())

    def broken_as_one(self, column: str, share: Fraction) -> bool:
        """Whether somebody is too sure of a value when all rows are one class."""
        n, m = len(self.rows), max(Counter(self.whose).values(), default=0)
        if column in self.hidden:  # who has which value is not written: only what is certain can be counted
            return max(added(self._listed(column).values()).values(), default=0) + m > n
        value = [row[self.header.index(column)] for row in self.rows]
        having = Counter(what for what, _ in set(zip(value, self.whose, strict=True)))
        people = len(set(self.whose))
        return max(Counter(value).values(), default=0) + m > n or max(having.values(), default=0) > share * people

    def _listed(self, column: str) -> dict[str, Counter[str]]:
        """Per bucket how often each value of a hidden column is listed."""
        at, found = self.hidden.index(column), {place: Counter[str]() for place in self.entries}
        for place, entries in self.entries.items():
            for values, count in entries.items():
                found[place][values[at]] += count
        return found


def seated(folder: Folder, whose: Mapping[str, Sequence[str]]) -> Iterator[SeatedTable]:
    """Every table with the names behind its rows."""
    for name in names_of_tables(folder):
        header, rows = read_rows(folder.listed[name][0][0])
        if len(rows) != len(whose.get(name, ())):
            raise ReleaseError(f"there are not as many names as rows in {name}")
        hidden, entries = read_entries(folder.part(f"{name}-sensitive")) if "bucket" in header else ((), {})
        yield SeatedTable(header, rows, whose[name], hidden, entries)


def broken_columns(tables: Sequence[SeatedTable], given: Columns, hide: Sequence[str], together: bool, share: Fraction) -> int:
    """Buckets that break a claim for somebody, over all its hidden columns; where they are hidden together, of the best of them."""
    found = [_broken(tables, given, column, share) for column in hide]
    return min(found) if together else sum(found)


def _broken(tables: Sequence[SeatedTable], given: Columns, column: str, share: Fraction) -> int:
    if column not in reach(given, [each.columns for each in tables]):
        return sum(each.broken_as_one(column, share) for each in tables if column in each.columns)
    for each in tables:
        others = [other.columns for other in tables if other is not each]
        if column in each.hidden and not reach(frozenset(each.hidden), others) & (given | each.shown):
            return each.broken_buckets(column, given, share)
    raise NotCounted("a hidden column is connected with what is known by more than the buckets of one table")
