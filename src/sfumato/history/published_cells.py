"""Everything that was ever published about everybody, cell by cell: a release is a bundle of tables, a history a bundle
of bundles.

A recoded table is one table. Anatomy is two that share the number of a bucket; sub-tables are several that share
columns. Here they all become sheets, in which every person has one published cell per column, or is absent. Tables of
the same columns are one sheet (`people_sheet`), so what is compared does not grow with the number of releases.

Notation
    person   a person of any release, by key, in order of first appearance
    sheet    published tables of the same columns; a column that has a meaning only in its release gets its own name
    known    columns that an adversary may know: quasi-identifiers, and `given` columns of requirements
    kept     what a ledger stores (`to_arrow`), so that the next release need not read every release again

Invariants
    I1  Bundles that go on from what was kept are those that are made from the releases themselves. What was kept is
        used where the ledger's chain has its digest, and only by who publishes; `verify` reads everything.
    I2  Where one stands for several people, it does so in all releases.


People sheet
------------
Tables with the same columns, folded into one: everybody has one code per column for all that was ever published there.

A quarterly table has the same columns every quarter. An adversary who joins all of them compares whole sequences of
cells. So each column stores the number of the sequence for every person, and the content of each sequence once. However
many releases there are, there is one sheet of such tables, and people who look alike in it look alike in all of them.

Invariants
    I1  Two people have the same code in a column of a sheet exactly when the same labels were published for both, in
        all its releases, and both were absent from the same ones.
    I2  A person in none of its tables has the code −1 in every column.


Remembered
----------
What the originals said about everybody, by the newest release that told it, and which values each release knew of.


Values
------
What people's values are, in one numbering of leaves over all releases, and which leaves a published cell stands for.

Invariants
    I1  A label means the same leaves in every release; a hierarchy that changed between releases is refused.
    I2  An unknown value is −1, and only the root covers it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import LedgerError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table, TextColumn
from sfumato.history.standing_requirements import known_columns
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import SEPARATOR, WHOSE, History, PastRelease

_VERSION = b"1"


class PublishedCells:
    """All sheets of a history and the people in them."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.keys = pa.array([], pa.string())
        self.sheets: list[CellTable] = []
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
            self._fold(cell_table_of_release(r, cells, at[sheet.here], self.people))

    def _weigh(self, past: PastRelease, at: IntArray) -> None:
        """Set the weights of trajectories; a trajectory has the same count in every release (I2)."""
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
        at: IntArray = (
            pc.fill_null(pc.index_in(keys, value_set=self.keys), -1).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        new = at < 0
        at[new] = self.people + np.arange(int(new.sum()))
        fresh = keys.filter(pa.array(new))
        self.keys = fresh if not len(self.keys) else pa.concat_arrays([self.keys, fresh])
        return at

    def _fold(self, coming: CellTable) -> None:
        for place, sheet in enumerate(self.sheets):
            if sheet.columns == coming.columns and not set(sheet.releases) & set(coming.releases):
                self.sheets[place] = sheet.folded(coming)
                return
        self.sheets.append(coming)

    @cached_property
    def places(self) -> list[IntArray]:
        """Per release the person behind each remembered record."""
        every = [past.memory.key_column for past in self.history.releases]
        return [
            pc.index_in(keys, value_set=self.keys).to_numpy(zero_copy_only=False).astype(np.int64) for keys in every
        ]

    @cached_property
    def policies(self) -> list[Policy]:
        """The policies of all releases, the newest first."""
        return [past.cover.policy for past in reversed(self.history.releases)]

    @cached_property
    def known(self) -> frozenset[str]:
        """Columns that an adversary may know."""
        return known_columns(self.policies)

    def tables(self) -> list[CellTable]:
        """Every published table by itself, in the order of the releases."""
        return sorted((table for sheet in self.sheets for table in sheet.tables()), key=lambda table: table.releases)

    def shown(self, release: int) -> tuple[list[str], int]:
        """Return the published columns of a release, and the number of people in it."""
        mine = [table for sheet in self.sheets if (table := sheet.only(range(release, release + 1))) is not None]
        names = {name for table in mine for name in table.columns}
        published = self.history.releases[release].cover.policy.published
        return [name for name in published if name in names], max((self.many(table.here) for table in mine), default=0)

    def with_sheet(self, coming: CellTable) -> PublishedCells:
        """Return the same people with one more table, still empty."""
        more = copy(self)
        more.sheets = [*self.sheets, coming]
        return more

    def until(self, release: int) -> PublishedCells:
        """The same people with the tables of the releases up to one of them only."""
        less = copy(self)
        less.sheets = [cut for sheet in self.sheets if (cut := sheet.only(range(release + 1))) is not None]
        return less

    def apart(self, release: int) -> tuple[PublishedCells, list[CellTable]]:
        """The same tables, those of one release by themselves where nothing but known columns joins them to others."""
        apart, mine, rest = copy(self), [], []
        for sheet in self.sheets:
            loose = release in sheet.releases and all(self.is_known(name) for name in sheet.columns)
            later = range(release + 1, max(sheet.releases) + 1)
            parts = (
                [sheet.only(some) for some in (range(release, release + 1), range(release), later)]
                if loose
                else [sheet]
            )
            mine += [part for part in parts if part is not None and release in part.releases]
            rest += [part for part in parts if part is not None and release not in part.releases]
        apart.sheets = [*rest, *mine]
        return apart, mine

    @property
    def newest(self) -> int:
        """The newest release that a sheet is of, by its place in the history."""
        return max((release for sheet in self.sheets for release in sheet.releases), default=0)

    def is_known(self, column: str) -> bool:
        """Whether people who trade places must look alike in a column: adversaries know it, or it links tables of one
        release."""
        return column in self.known or column.startswith(SEPARATOR)

    # -- what a ledger keeps -------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Everything of the releases so far, as one row of lists."""
        lists = {
            name: pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
            for name, values in self._parts()
        }
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


def _sheet(parts: dict[str, pa.Array], mine: str) -> CellTable:
    releases = tuple(parts[f"{mine}releases:"].to_pylist())
    names = [name.removeprefix(f"{mine}cells:") for name in parts if name.startswith(f"{mine}cells:")]
    cells = {name: _numbers(parts[f"{mine}cells:{name}"]) for name in names}
    labels = {name: tuple(parts[f"{mine}labels:{name}"].to_pylist()) for name in names}
    told = {name: _numbers(parts[f"{mine}told:{name}"]).reshape(-1, len(releases)) for name in names}
    return CellTable(releases, cells, labels, next(iter(cells.values())) >= 0, told)


def _numbers(values: pa.Array) -> IntArray:
    found: IntArray = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


# People sheet
# ------------


@dataclass(frozen=True)
class CellTable:
    """One published table, or several of the same columns, with each person's cells."""

    releases: tuple[int, ...]
    """Places in the history, from 0."""
    cells: Mapping[str, IntArray]
    """Per column the code of each person's sequence of cells (I1, I2)."""
    labels: Mapping[str, tuple[str, ...]]
    """Per column the different labels."""
    here: BoolArray
    """The people in any of its tables."""
    told: Mapping[str, IntArray] = field(default_factory=dict)
    """Per column, code × release: the label that stands there, −1 where the person is absent. Of one table codes are
    labels."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.cells)

    def said(self, name: str) -> IntArray:
        """Code × release of a column: the label, −1 where absent."""
        return self.told[name] if name in self.told else np.arange(len(self.labels[name]), dtype=np.int64)[:, None]

    def standing(self, name: str, release: int) -> IntArray:
        """The labels that a person has in a column of one of its tables; others may be there that only its other tables
        have."""
        said = self.said(name)
        used = np.zeros(len(said), dtype=np.bool_)
        used[self.cells[name][self.here]] = True
        return np.unique(said[used, self.releases.index(release)])

    def stood(self, people: IntArray, before: int) -> BoolArray:
        """Return which of the people are in a table of a release before another one."""
        name = next(iter(self.cells))
        earlier = [place for place, release in enumerate(self.releases) if release < before]
        return np.asarray((_rows(self.said(name)[:, earlier], self.cells[name][people]) >= 0).any(axis=1))

    def among(self, people: int) -> CellTable:
        """Return the same table for a larger set of people; the added ones are in none of its tables."""
        more = people - len(self.here)
        if not more:
            return self
        absent = np.full(more, -1, dtype=np.int64)
        cells = {name: np.concatenate([codes, absent]) for name, codes in self.cells.items()}
        return CellTable(self.releases, cells, self.labels, np.concatenate([self.here, absent >= 0]), self.told)

    def folded(self, other: CellTable) -> CellTable:
        """Both as one; the other has the same columns and the same people, and came later."""
        here = self.here | other.here
        cells, labels, told = {}, {}, {}
        for name in self.cells:
            pairs = equivalence_classes_of([self.cells[name][here] + 1, other.cells[name][here] + 1])
            first = np.flatnonzero(here)[pairs.first]
            cells[name] = np.full(len(here), -1, dtype=np.int64)
            cells[name][here] = pairs.of
            number = {label: code for code, label in enumerate(self.labels[name])}
            code = np.array([number.setdefault(label, len(number)) for label in other.labels[name]], dtype=np.int64)
            labels[name] = tuple(number)
            theirs = _rows(other.said(name), other.cells[name][first])
            theirs[theirs >= 0] = code[theirs[theirs >= 0]]
            told[name] = np.concatenate([_rows(self.said(name), self.cells[name][first]), theirs], axis=1)
        return CellTable((*self.releases, *other.releases), cells, labels, here, told)

    def only(self, releases: range) -> CellTable | None:
        """The tables of some of the releases; nothing when there are none."""
        kept = [place for place, release in enumerate(self.releases) if release in releases]
        if len(kept) == len(self.releases):
            return self
        if not kept:
            return None
        cells, told, here = {}, {}, np.zeros(len(self.here), dtype=np.bool_)
        for name in self.cells:
            less = self.said(name)[:, kept]
            alike = equivalence_classes_of([column + 1 for column in less.T], rows=len(less))
            code = np.where((less >= 0).any(axis=1), alike.of, -1)
            there, code[code >= 0] = np.unique(code[code >= 0], return_inverse=True)
            cells[name] = np.where(self.cells[name] >= 0, code[self.cells[name]], -1)
            told[name] = less[alike.first[there]]
            here = cells[name] >= 0
        return CellTable(tuple(self.releases[place] for place in kept), cells, self.labels, here, told)

    def tables(self) -> list[CellTable]:
        """Every table by itself: codes are labels."""
        if len(self.releases) == 1 and not self.told:
            return [self]
        found = []
        for place, release in enumerate(self.releases):
            cells = {name: _rows(self.said(name)[:, [place]], codes)[:, 0] for name, codes in self.cells.items()}
            here = next(iter(cells.values())) >= 0
            found.append(CellTable((release,), cells, self.labels, here))
        return found

    def presence(self) -> IntArray:
        """The same number for people who are in the same tables, −1 for who is in none."""
        name = next(iter(self.cells))
        pattern = equivalence_classes_of([(column >= 0).astype(np.int64) for column in self.said(name).T]).of
        return np.where(self.here, pattern[self.cells[name]], -1)

    def tellings(self, names: Collection[str], *, each: bool) -> Iterator[tuple[BoolArray, dict[str, IntArray]]]:
        """Yield, table by table, who is in it and the labels; all at once if no label changed, unless `each`."""
        lasting = {name: self.lasting(name) for name in names}
        if each or any(found is None for found in lasting.values()):
            yield from ((table.here, {name: table.cells[name] for name in names}) for table in self.tables())
            return
        yield self.here, {name: found[self.cells[name]] for name, found in lasting.items() if found is not None}

    def lasting(self, name: str) -> IntArray | None:
        """Per code of a column the one label that it has wherever it is present; nothing when a person's changed."""
        said = self.said(name)
        last = said.max(axis=1, initial=-1)
        return last if bool(((said < 0) | (said == last[:, None])).all()) else None


def cell_table_of_release(release: int, cells: Mapping[str, TextColumn], at: IntArray, people: int) -> CellTable:
    """The sheet of one table: `at` are the people behind its cells."""
    codes, labels = {}, {}
    for name, text in cells.items():
        number: dict[str, int] = {}
        code = np.array([number.setdefault(label, len(number)) for label in text.labels], dtype=np.int64)  # I1
        codes[name] = np.full(people, -1, dtype=np.int64)
        codes[name][at] = code[text.codes]
        labels[name] = tuple(number)
    here = np.zeros(people, dtype=np.bool_)
    here[at] = True
    return CellTable((release,), codes, labels, here)


def _rows(table: IntArray, codes: IntArray) -> IntArray:
    """The rows of a table by code; −1 everywhere for code −1."""
    found: IntArray = np.where((codes >= 0)[:, None], table[codes] if len(table) else -1, -1)
    return found


# Remembered
# ----------


class RememberedValues:
    """Per column the labels that were ever met, each person's newest one, and those that each release met."""

    def __init__(self) -> None:
        self.number: dict[str, dict[str, int]] = {}
        """Per column the number of every label."""
        self.newest: dict[str, IntArray] = {}
        """Per column the number of everybody's newest label, −1 where nobody remembers."""
        self.met: list[dict[str, IntArray]] = []
        """Per release and column the labels that it met."""
        self.changed: set[str] = set()
        """Columns in which a release said something else of somebody than one before it, since what was kept."""

    def add(self, values: Table, at: IntArray, people: int) -> None:
        """Take note of a memory; `at` are the people behind its records."""
        met = {}
        for name in values.names:
            text, number = values.text(name), self.number.setdefault(name, {})
            codes = np.array([number.setdefault(label, len(number)) for label in text.labels], dtype=np.int64)
            self._grow(name, people)
            if name == WHOSE:
                _require_same_owner(self.newest[name][at], codes[text.codes])
            before, now = self.newest[name][at], codes[text.codes]
            self.changed |= {name} if bool(((before >= 0) & (before != now)).any()) else set()
            self.newest[name][at] = now
            met[name] = np.unique(codes)
        for name in self.newest:
            self._grow(name, people)
        self.met.append(met)

    def _grow(self, name: str, people: int) -> None:
        had = self.newest.get(name, np.zeros(0, dtype=np.int64))
        self.newest[name] = np.concatenate([had, np.full(people - len(had), -1, dtype=np.int64)])

    def ever(self, name: str) -> list[str]:
        """Every label that was ever met in a column."""
        return list(self.number.get(name, ()))

    def known_to(self, release: int, name: str) -> list[str] | None:
        """The labels that one release met, in an order of their own; nothing when it did not remember the column."""
        if name not in self.met[release]:
            return None
        labels = self.ever(name)
        return sorted(labels[code] for code in self.met[release][name].tolist())

    def of_people(self, name: str, people: IntArray) -> list[str | None]:
        """The newest label of some people."""
        labels = [*self.ever(name), None]
        codes = self.newest[name][people] if name in self.newest else np.full(len(people), -1)
        return [labels[code] for code in codes.tolist()]

    def parts(self) -> Iterator[tuple[str, pa.Array]]:
        """As arrays with names, for a ledger."""
        for name in sorted(self.newest):
            yield f"value:labels:{name}", pa.array(self.ever(name), pa.string())
            yield f"value:newest:{name}", pa.array(self.newest[name].astype(np.int32))
        for release, met in enumerate(self.met):
            yield f"met:{release}", pa.array([], pa.int32())
            for name in sorted(met):
                yield f"met:{release}:{name}", pa.array(met[name].astype(np.int32))

    @classmethod
    def of(cls, parts: Mapping[str, pa.Array]) -> RememberedValues:
        """What `parts` named."""
        found = cls()
        for name in (part.removeprefix("value:labels:") for part in parts if part.startswith("value:labels:")):
            labels = parts[f"value:labels:{name}"].to_pylist()
            found.number[name] = {label: code for code, label in enumerate(labels)}
            found.newest[name] = parts[f"value:newest:{name}"].to_numpy(zero_copy_only=False).astype(np.int64)
        while f"met:{len(found.met)}" in parts:
            mine = f"met:{len(found.met)}:"
            names = [part.removeprefix(mine) for part in parts if part.startswith(mine)]
            found.met.append(
                {name: parts[f"{mine}{name}"].to_numpy(zero_copy_only=False).astype(np.int64) for name in names}
            )
        return found


def _require_same_owner(before: IntArray, now: IntArray) -> None:
    """Refuse records that are said to be another person's than they were."""
    if moved := int(((before >= 0) & (before != now)).sum()):
        what = f"{moved} record(s) are another person's than in an earlier release"
        raise LedgerError(what, where="person", hint="a key names one row of one person, in every release")


# Values
# ------


class LeafValues:
    """Values and cells of the people of a history."""

    def __init__(self, bundles: PublishedCells) -> None:
        self.bundles = bundles
        self._domains: dict[str, Generalization] = {}
        self._codes: dict[str, IntArray] = {}

    def domain(self, name: str) -> Generalization:
        """The leaves of a column over all releases, by the newest policy that names it."""
        if name not in self._domains:
            values = self.bundles.values.ever(name)
            policy = next((policy for policy in self.bundles.policies if name in policy.columns), None)
            plain = policy is None or name.startswith(SEPARATOR)
            self._domains[name] = Hierarchy.flat(values or ["?"]) if plain else _made(policy, name, values)
        return self._domains[name]

    def codes(self, name: str) -> IntArray:
        """Everybody's leaf, from the newest release that remembers it (I2)."""
        if name not in self._codes:
            self._codes[name] = remembered_codes(self.bundles, name, self.domain(name))
        return self._codes[name]

    def intervals(self, sheet: CellTable, name: str, release: int) -> tuple[IntArray, IntArray]:
        """The leaves behind every label of a column of a sheet, as one of its releases wrote them (I1)."""
        if name.startswith(SEPARATOR):  # a bucket covers nobody who has no number of it
            nothing = np.full(len(sheet.labels[name]), -1, dtype=np.int64)
            return nothing, nothing
        return labels_of(self.bundles, sheet, name, self.domain(name), release)


def remembered_codes(bundles: PublishedCells, name: str, domain: Generalization) -> IntArray:
    """Everybody's leaf of a domain in a column, by the newest release that told it (I2)."""
    leaf = np.array([*(domain.code_of.get(label, -1) for label in bundles.values.ever(name)), -1], dtype=np.int64)
    return leaf[bundles.values.newest.get(name, np.full(bundles.people, -1, dtype=np.int64))]


def labels_of(
    bundles: PublishedCells, sheet: CellTable, name: str, domain: Generalization, release: int
) -> tuple[IntArray, IntArray]:
    """The leaves of a domain behind every label of a column of a sheet, as one of its releases wrote them (I1)."""
    old = _of_release(bundles, release, name, domain)
    shown = set(sheet.standing(name, release).tolist())
    pairs = [
        interval_of(bundles.history.releases[release].number, name, label, old, domain) if code in shown else (0, 0)
        for code, label in enumerate(sheet.labels[name])
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def common_cells(
    bundles: PublishedCells, sheet: CellTable, name: str, domain: Generalization
) -> tuple[IntArray, IntArray]:
    """Per code of a column the leaves that all its cells have in common."""
    said = sheet.said(name)
    lo, hi = np.zeros(len(said), dtype=np.int64), np.full(len(said), domain.size, dtype=np.int64)
    for place, release in enumerate(sheet.releases):
        low, high = labels_of(bundles, sheet, name, domain, release)
        there = said[:, place] >= 0
        lo[there] = np.maximum(lo[there], low[said[there, place]])
        hi[there] = np.minimum(hi[there], high[said[there, place]])
    return lo, hi


def _made(policy: Policy | None, name: str, values: list[str]) -> Generalization:
    assert policy is not None
    return generalization_of(policy, name, values)


def _of_release(bundles: PublishedCells, release: int, name: str, domain: Generalization) -> Generalization:
    """How a column could be written in a release."""
    policy, values = bundles.history.releases[release].cover.policy, bundles.values.known_to(release, name)
    if name not in policy.columns or values is None:
        return domain
    return generalization_of(policy, name, values)


def interval_of(release: int, name: str, label: str, old: Generalization, domain: Generalization) -> tuple[int, int]:
    """The leaves that a published label stands for, in the numbering of `domain`; `old` is how that release read it."""
    before = old.interval(label)
    if before is None:
        raise LedgerError(f"release {release}: a cell of '{name}' is no label of its hierarchy")
    codes = [domain.code_of.get(leaf, -1) for leaf in old.leaves[before[0] : before[1]]]
    now = domain.interval(label)
    if now is None and -1 not in codes and max(codes) - min(codes) + 1 == len(codes):
        now = min(codes), max(codes) + 1
    if now is None or -1 in codes or not (now[0] <= min(codes) and max(codes) < now[1]):
        hint = "publish with the hierarchy that the earlier release used"
        raise LedgerError(f"the hierarchy of '{name}' changed since release {release}", hint=hint)
    return now
