"""Everything that was ever published about everybody, cell by cell: a release is a bundle of tables, a history a bundle of bundles.

A recoded table is one table. Anatomy is two that share the number of a bucket; sub-tables are several that share columns. Here they
all become sheets, in which every person has one published cell per column, or is absent. Tables of the same columns are one sheet
(`people_sheet`), so what is compared does not grow with the number of releases.

Notation
    person   whoever was remembered by any release, by key, in the order in which they came
    sheet    published tables of the same columns; a column that means nothing outside its release gets a name of its own
    known    columns that an outsider may know of people: quasi-identifiers, and what some claim gives to its outsider
    kept     what a ledger keeps of all this (`to_arrow`), so that the next release need not read every release again

Invariants
    I1  Bundles that go on from what was kept are those that are made from the releases themselves. What was kept is used where the
        ledger's chain has its digest, and only by who publishes; `verify` reads everything.
    I2  Where one stands for several people, it does so in all releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.table import TextColumn
from sfumato.errors import LedgerError
from sfumato.history.people_sheet import PeopleSheet, sheet_of_release
from sfumato.history.promises import known_columns
from sfumato.history.remembered import RememberedValues
from sfumato.policy.policy import Policy
from sfumato.release.past import SEPARATOR, History, PastRelease

_VERSION = b"1"


class Bundles:
    """All sheets of a history and the people in them."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.keys = pa.array([], pa.string())
        self.sheets: list[PeopleSheet] = []
        self.lineage = np.zeros(0, dtype=np.int64)
        """The number of everybody's lineage, by the newest memory that has one; −1 where none has."""
        self.weights: IntArray | None = None
        """For how many people each of them stands, where rows lie elsewhere (`courses`); one without."""
        self.values = RememberedValues()
        self.earlier = 0
        """How many of the people were there before the newest release; those who are new follow them."""
        self.kept = self._go_on(history.kept) if history.kept is not None else 0  # I1
        """Of how many releases everything was kept."""
        for r, past in enumerate(history.releases[self.kept :], start=self.kept):
            self._add(r, past)

    @property
    def people(self) -> int:
        return len(self.keys)

    def _add(self, r: int, past: PastRelease) -> None:
        self.earlier = self.people
        at = self._met(past.memory.key_column)
        self.sheets = [sheet.among(self.people) for sheet in self.sheets]
        self.lineage = np.concatenate([self.lineage, np.full(self.people - len(self.lineage), -1, dtype=np.int64)])
        if len(past.memory.lineage):
            self.lineage[at] = past.memory.lineage
        self.values.add(past.memory.values, at, self.people)
        self._weigh(past, at)
        for sheet in past.sheets:
            cells = {
                f"{SEPARATOR}{name} of release {r + 1}" if name in sheet.links else name: TextColumn(
                    text.codes[sheet.here], text.labels
                )
                for name, text in sheet.columns.items()
            }
            self._fold(sheet_of_release(r, cells, at[sheet.here], self.people))

    def _weigh(self, past: PastRelease, at: IntArray) -> None:
        """Whoever stands for several people stands for as many in every release (I2)."""
        counts = past.memory.counts
        if (counts is None) != (self.weights is None) and self.sheets:
            raise LedgerError(f"release {past.number} remembers people in another way than those before it")
        if counts is None:
            return
        before = self.weights if self.weights is not None else np.zeros(0, dtype=np.int64)
        weights = np.concatenate([before, np.zeros(self.people - len(before), dtype=np.int64)])
        if ((weights[at] > 0) & (weights[at] != counts)).any():
            raise LedgerError(f"release {past.number} remembers other numbers of people than those before it")
        weights[at] = counts
        self.weights = weights

    def many(self, people: BoolArray) -> int:
        """How many people some of them are."""
        return int(people.sum()) if self.weights is None else int(self.weights[people].sum())

    def _met(self, keys: pa.Array) -> IntArray:
        """The people with these keys; who is new follows those who were there."""
        at: IntArray = pc.fill_null(pc.index_in(keys, value_set=self.keys), -1).to_numpy(zero_copy_only=False).astype(np.int64)
        new = at < 0
        at[new] = self.people + np.arange(int(new.sum()))
        fresh = keys.filter(pa.array(new))
        self.keys = fresh if not len(self.keys) else pa.concat_arrays([self.keys, fresh])
        return at

    def _fold(self, coming: PeopleSheet) -> None:
        for place, sheet in enumerate(self.sheets):
            if sheet.columns == coming.columns and not set(sheet.releases) & set(coming.releases):
                self.sheets[place] = sheet.folded(coming)
                return
        self.sheets.append(coming)

    @cached_property
    def places(self) -> list[IntArray]:
        """Per release the person behind each remembered record."""
        every = [past.memory.key_column for past in self.history.releases]
        return [pc.index_in(keys, value_set=self.keys).to_numpy(zero_copy_only=False).astype(np.int64) for keys in every]

    @cached_property
    def policies(self) -> list[Policy]:
        """The policies of all releases, the newest first."""
        return [past.cover.policy for past in reversed(self.history.releases)]

    @cached_property
    def known(self) -> frozenset[str]:
        """Columns that an outsider may know."""
        return known_columns(self.policies)

    def tables(self) -> list[PeopleSheet]:
        """Every published table by itself, in the order of the releases."""
        return sorted((table for sheet in self.sheets for table in sheet.tables()), key=lambda table: table.releases)

    def shown(self, release: int) -> tuple[list[str], int]:
        """The columns of people that a release shows, and how many people stand in it."""
        mine = [table for sheet in self.sheets if (table := sheet.only(range(release, release + 1))) is not None]
        names = {name for table in mine for name in table.columns}
        published = self.history.releases[release].cover.policy.published
        return [name for name in published if name in names], max((self.many(table.here) for table in mine), default=0)

    def with_sheet(self, coming: PeopleSheet) -> Bundles:
        """The same people with one more table, which nobody stands in yet."""
        more = copy(self)
        more.sheets = [*self.sheets, coming]
        return more

    def until(self, release: int) -> Bundles:
        """The same people with the tables of the releases up to one of them only."""
        less = copy(self)
        less.sheets = [cut for sheet in self.sheets if (cut := sheet.only(range(release + 1))) is not None]
        return less

    def apart(self, release: int) -> tuple[Bundles, list[PeopleSheet]]:
        """The same tables, those of one release by themselves where nothing but known columns joins them to others."""
        apart, mine, rest = copy(self), [], []
        for sheet in self.sheets:
            loose = release in sheet.releases and all(self.is_known(name) for name in sheet.columns)
            later = range(release + 1, max(sheet.releases) + 1)
            parts = [sheet.only(some) for some in (range(release, release + 1), range(release), later)] if loose else [sheet]
            mine += [part for part in parts if part is not None and release in part.releases]
            rest += [part for part in parts if part is not None and release not in part.releases]
        apart.sheets = [*rest, *mine]
        return apart, mine

    @property
    def newest(self) -> int:
        """The newest release that a sheet is of, by its place in the history."""
        return max((release for sheet in self.sheets for release in sheet.releases), default=0)

    def is_known(self, column: str) -> bool:
        """Whether people who trade places must look alike in a column: outsiders know it, or it links tables of one release."""
        return column in self.known or column.startswith(SEPARATOR)

    # -- what a ledger keeps ----------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Everything of the releases so far, as one row of lists."""
        lists = {name: pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values) for name, values in self._parts()}
        return pa.table(lists).replace_schema_metadata({b"version": _VERSION})

    def _parts(self) -> Iterator[tuple[str, pa.Array]]:
        yield "keys", self.keys
        yield "lineage", pa.array(self.lineage)
        yield "releases", pa.array([len(self.history)])
        yield from self.values.parts()
        for place, sheet in enumerate(self.sheets):
            yield f"sheet:{place}:releases:", pa.array(sheet.releases)
            for name in sorted(sheet.cells):
                yield f"sheet:{place}:cells:{name}", pa.array(sheet.cells[name].astype(np.int32))
                yield f"sheet:{place}:labels:{name}", pa.array(sheet.labels[name], pa.string())
                yield f"sheet:{place}:told:{name}", pa.array(sheet.said(name).astype(np.int32).ravel())

    def _go_on(self, kept: pa.Table) -> int:
        """Take up what was kept; how many releases it is about."""
        if (kept.schema.metadata or {}).get(b"version") != _VERSION:
            return 0
        parts = {name: kept.column(name).combine_chunks().values for name in kept.column_names}
        self.keys, self.lineage = parts["keys"], _numbers(parts["lineage"])
        self.values = RememberedValues.of(parts)
        while f"sheet:{len(self.sheets)}:releases:" in parts:
            self.sheets.append(_sheet(parts, f"sheet:{len(self.sheets)}:"))
        return int(parts["releases"][0].as_py())


def _sheet(parts: dict[str, pa.Array], mine: str) -> PeopleSheet:
    releases = tuple(parts[f"{mine}releases:"].to_pylist())
    names = [name.removeprefix(f"{mine}cells:") for name in parts if name.startswith(f"{mine}cells:")]
    cells = {name: _numbers(parts[f"{mine}cells:{name}"]) for name in names}
    labels = {name: tuple(parts[f"{mine}labels:{name}"].to_pylist()) for name in names}
    told = {name: _numbers(parts[f"{mine}told:{name}"]).reshape(-1, len(releases)) for name in names}
    return PeopleSheet(releases, cells, labels, next(iter(cells.values())) >= 0, told)


def _numbers(values: pa.Array) -> IntArray:
    found: IntArray = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
