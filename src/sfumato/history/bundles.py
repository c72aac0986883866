"""Everything that was ever published about everybody, cell by cell: a release is a bundle of tables, a history a bundle of bundles.

A recoded table is one table. Anatomy is two that share the number of a bucket; sub-tables are several that share columns. Here they
all become sheets, in which every person has one published cell per column, or is absent.

Notation
    person   whoever was remembered by any release, by key
    sheet    one published table of one release; a column that means nothing outside its release gets a name of its own
    known    columns that an outsider may know of people: quasi-identifiers, and what some claim gives to its outsider

Invariants
    I1  Two people have the same code in a column of a sheet exactly when the same label is published for both.
    I2  Somebody absent has the code −1 in every column of the sheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.table import TextColumn
from sfumato.policy.policy import Policy
from sfumato.release.past import SEPARATOR, History, PastRelease, Sheet


@dataclass(frozen=True)
class PeopleSheet:
    """One published table with everybody's cells."""

    release: int
    """Place in the history, from 0."""
    cells: Mapping[str, IntArray]
    """Per column the code of everybody's cell (I1), −1 for the absent (I2)."""
    labels: Mapping[str, tuple[str, ...]]
    here: BoolArray

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.cells)


class Bundles:
    """All sheets of a history and the people in them."""

    def __init__(self, history: History) -> None:
        self.history = history
        memories = [past.memory.key_column for past in history.releases]
        self.keys = pc.unique(pa.chunked_array(memories, pa.string()))
        self.places = [_places(keys, self.keys) for keys in memories]
        """Per release the person behind each remembered record."""
        self.sheets = [sheet for r, past in enumerate(history.releases) for sheet in self._sheets(r, past)]

    @property
    def people(self) -> int:
        return len(self.keys)

    def _sheets(self, r: int, past: PastRelease) -> list[PeopleSheet]:
        return [self._aligned(r, sheet) for sheet in past.sheets]

    def _aligned(self, r: int, sheet: Sheet) -> PeopleSheet:
        at = self.places[r][sheet.here]
        cells, labels = {}, {}
        for name, text in sheet.columns.items():
            own = f"{SEPARATOR}{name} of release {r + 1}" if name in sheet.links else name
            cells[own] = np.full(self.people, -1, dtype=np.int64)
            cells[own][at] = _distinct(text)[text.codes[sheet.here]]
            labels[own] = text.labels
        here = np.zeros(self.people, dtype=np.bool_)
        here[at] = True
        return PeopleSheet(r, cells, labels, here)

    @cached_property
    def lineage(self) -> IntArray:
        """The number of everybody's lineage, by the newest memory that has one; −1 where none has."""
        found = np.full(self.people, -1, dtype=np.int64)
        for past, place in zip(self.history.releases, self.places, strict=True):
            if len(past.memory.lineage):
                found[place] = past.memory.lineage
        return found

    @cached_property
    def policies(self) -> list[Policy]:
        """The policies of all releases, the newest first."""
        return [past.exhibit.policy for past in reversed(self.history.releases)]

    @cached_property
    def known(self) -> frozenset[str]:
        """Columns that an outsider may know."""
        roles = {n for policy in self.policies for n, column in policy.columns.items() if column.role == "quasi-identifier"}
        given = {name for policy in self.policies for claim in policy.claims for name in claim.given}
        return frozenset(roles | given)

    def with_sheet(self, coming: PeopleSheet) -> Bundles:
        """The same people with one more table, which nobody stands in yet."""
        more = copy(self)
        more.sheets = [*self.sheets, coming]
        return more

    def until(self, release: int) -> Bundles:
        """The same people with the tables of the releases up to one of them only."""
        less = copy(self)
        less.sheets = [sheet for sheet in self.sheets if sheet.release <= release]
        return less

    def is_known(self, column: str) -> bool:
        """Whether people who trade places must look alike in a column: outsiders know it, or it links tables of one release."""
        return column in self.known or column.startswith(SEPARATOR)


def _places(keys: pa.Array, everybody: pa.Array) -> IntArray:
    found: IntArray = pc.index_in(keys, value_set=everybody).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _distinct(text: TextColumn) -> IntArray:
    """Codes of labels such that equal labels have equal codes, whatever a column says (I1)."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(label, place) for place, label in enumerate(text.labels)], dtype=np.int64)
