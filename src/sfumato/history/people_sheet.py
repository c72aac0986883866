"""Tables with the same columns, folded into one: everybody has one code per column for all that was ever published there.

A quarterly table has the same columns every quarter. Whoever joins all of them compares whole sequences of cells; so each column
keeps, for every person, the number of the sequence, and once for each sequence what it says. However many releases there are,
there is one sheet of such tables, and people who look alike in it look alike in all of them.

Invariants
    I1  Two people have the same code in a column of a sheet exactly when the same labels were published for both, in all its
        releases, and both were absent from the same ones.
    I2  Somebody who stands in none of its tables has the code −1 in every column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.table import TextColumn


@dataclass(frozen=True)
class PeopleSheet:
    """One published table, or several of the same columns, with everybody's cells."""

    releases: tuple[int, ...]
    """Places in the history, from 0."""
    cells: Mapping[str, IntArray]
    """Per column the code of everybody's sequence of cells (I1, I2)."""
    labels: Mapping[str, tuple[str, ...]]
    """Per column the different labels."""
    here: BoolArray
    """Who stands in any of its tables."""
    told: Mapping[str, IntArray] = field(default_factory=dict)
    """Per column, code × release: the label that stands there, −1 where the person is absent. Of one table codes are labels."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.cells)

    def said(self, name: str) -> IntArray:
        """Code × release of a column: the label, −1 where absent."""
        return self.told[name] if name in self.told else np.arange(len(self.labels[name]), dtype=np.int64)[:, None]

    def standing(self, name: str, release: int) -> IntArray:
        """The labels that somebody has in a column of one of its tables; others may be there that only its other tables have."""
        said = self.said(name)
        used = np.zeros(len(said), dtype=np.bool_)
        used[self.cells[name][self.here]] = True
        return np.unique(said[used, self.releases.index(release)])

    def stood(self, people: IntArray, before: int) -> BoolArray:
        """Who of some people stands in a table of a release before another one."""
        name = next(iter(self.cells))
        earlier = [place for place, release in enumerate(self.releases) if release < before]
        return np.asarray((_rows(self.said(name)[:, earlier], self.cells[name][people]) >= 0).any(axis=1))

    def among(self, people: int) -> PeopleSheet:
        """The same sheet where there are more people, who stand in none of its tables."""
        more = people - len(self.here)
        if not more:
            return self
        absent = np.full(more, -1, dtype=np.int64)
        cells = {name: np.concatenate([codes, absent]) for name, codes in self.cells.items()}
        return PeopleSheet(self.releases, cells, self.labels, np.concatenate([self.here, absent >= 0]), self.told)

    def folded(self, other: PeopleSheet) -> PeopleSheet:
        """Both as one; the other has the same columns and the same people, and came later."""
        here = self.here | other.here
        cells, labels, told = {}, {}, {}
        for name in self.cells:
            pairs = group([self.cells[name][here] + 1, other.cells[name][here] + 1])
            first = np.flatnonzero(here)[pairs.first]
            cells[name] = np.full(len(here), -1, dtype=np.int64)
            cells[name][here] = pairs.of
            number = {label: code for code, label in enumerate(self.labels[name])}
            code = np.array([number.setdefault(label, len(number)) for label in other.labels[name]], dtype=np.int64)
            labels[name] = tuple(number)
            theirs = _rows(other.said(name), other.cells[name][first])
            theirs[theirs >= 0] = code[theirs[theirs >= 0]]
            told[name] = np.concatenate([_rows(self.said(name), self.cells[name][first]), theirs], axis=1)
        return PeopleSheet((*self.releases, *other.releases), cells, labels, here, told)

    def only(self, releases: range) -> PeopleSheet | None:
        """The tables of some of the releases; nothing when there are none."""
        kept = [place for place, release in enumerate(self.releases) if release in releases]
        if len(kept) == len(self.releases):
            return self
        if not kept:
            return None
        cells, told, here = {}, {}, np.zeros(len(self.here), dtype=np.bool_)
        for name in self.cells:
            less = self.said(name)[:, kept]
            alike = group([column + 1 for column in less.T], rows=len(less))
            code = np.where((less >= 0).any(axis=1), alike.of, -1)
            there, code[code >= 0] = np.unique(code[code >= 0], return_inverse=True)
            cells[name] = np.where(self.cells[name] >= 0, code[self.cells[name]], -1)
            told[name] = less[alike.first[there]]
            here = cells[name] >= 0
        return PeopleSheet(tuple(self.releases[place] for place in kept), cells, self.labels, here, told)

    def tables(self) -> list[PeopleSheet]:
        """Every table by itself: codes are labels."""
        if len(self.releases) == 1 and not self.told:
            return [self]
        found = []
        for place, release in enumerate(self.releases):
            cells = {name: _rows(self.said(name)[:, [place]], codes)[:, 0] for name, codes in self.cells.items()}
            here = next(iter(cells.values())) >= 0
            found.append(PeopleSheet((release,), cells, self.labels, here))
        return found

    def presence(self) -> IntArray:
        """The same number for people who are in the same tables, −1 for who is in none."""
        name = next(iter(self.cells))
        pattern = group([(column >= 0).astype(np.int64) for column in self.said(name).T]).of
        return np.where(self.here, pattern[self.cells[name]], -1)

    def tellings(self, names: Collection[str], *, each: bool) -> Iterator[tuple[BoolArray, dict[str, IntArray]]]:
        """Who stands in a table, and everybody's label there, table by table; at once where no label changed, unless `each`."""
        lasting = {name: self.lasting(name) for name in names}
        if each or any(found is None for found in lasting.values()):
            yield from ((table.here, {name: table.cells[name] for name in names}) for table in self.tables())
            return
        yield self.here, {name: found[self.cells[name]] for name, found in lasting.items() if found is not None}

    def lasting(self, name: str) -> IntArray | None:
        """Per code of a column the one label that it has wherever it is present; nothing when somebody's changed."""
        said = self.said(name)
        last = said.max(axis=1, initial=-1)
        return last if bool(((said < 0) | (said == last[:, None])).all()) else None


def sheet_of_release(release: int, cells: Mapping[str, TextColumn], at: IntArray, people: int) -> PeopleSheet:
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
    return PeopleSheet((release,), codes, labels, here)


def _rows(table: IntArray, codes: IntArray) -> IntArray:
    """The rows of a table by code; −1 everywhere for code −1."""
    found: IntArray = np.where((codes >= 0)[:, None], table[codes] if len(table) else -1, -1)
    return found
