"""A part of a database that is still whole: every reference of a kept row is kept.

Notation
    named    tables for which the policy gives a condition or a share
    below    tables that refer to a named one, directly or through others
    above    tables that those refer to

Rules
    1. From a named table the rows of the condition, or that share of rows at random, are chosen.
    2. Of a table below, the rows all of whose references into named and below tables are chosen.
    3. What chosen rows refer to comes along, whatever conditions say, until nothing is missing.
    4. Of all other tables, every row whose references are kept.

Invariants: rules 3 and 4 end at a fixpoint, so no kept row refers to a row that is not (unless the source already did).
"""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.database import Database, ForeignKey
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.replacing.databases.kleene import must_hold
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling.vectors import holds
from sfumato.policy.rules import bind, columns_of, parse
from sfumato.policy.rules.tree import Aggregate, Cell, ColumnValue, Condition
from sfumato.randomness import Randomness

_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def subset(database: Database, wanted: dict[str, str], kinds: dict[str, str | None], random: Randomness) -> dict[str, IntArray]:
    """The rows of every table that are kept."""
    drawing = _Subset(database, wanted, kinds, random)
    return {name: np.flatnonzero(mask).astype(np.int64) for name, mask in drawing.kept().items()}


class _Subset:
    def __init__(self, database: Database, wanted: dict[str, str], kinds: dict[str, str | None], random: Randomness) -> None:
        self.database, self.wanted, self.kinds, self.random = database, wanted, kinds, random
        self.keys = [_Reference(database, key) for key in database.schema.foreign_keys]
        for name in wanted:
            if name not in database.tables:
                raise PolicyError(f"the subset names an unknown table '{name}'", where=f"data.subset.{name}")

    def kept(self) -> dict[str, BoolArray]:
        below = self._reached(set(self.wanted), down=True)
        above = self._reached(below, down=False) - below
        keep = {name: np.full(table.rows, name not in above) for name, table in self.database.tables.items()}
        self._choose(keep, below)
        self._bring(keep, below | above)
        others = set(keep) - below - above
        changed = True
        while changed:  # rule 4
            changed = bool(sum(self._filter(keep, key) for key in self.keys if key.child in others))
        return keep

    def _reached(self, start: set[str], *, down: bool) -> set[str]:
        found = set(start)
        while True:
            more = {k.child if down else k.parent for k in self.keys if (k.parent if down else k.child) in found}
            if more <= found:
                return found
            found |= more

    def _choose(self, keep: dict[str, BoolArray], below: set[str]) -> None:
        """Rules 1 and 2, parents first; inside a cycle only the named tables choose."""
        generation = {name: place for place, names in enumerate(self.database.schema.generations()) for name in names}
        for name in sorted(below, key=lambda table: generation[table]):
            for key in self.keys:
                if key.child == name and key.parent in below and generation[key.parent] < generation[name]:
                    self._filter(keep, key)
            if name in self.wanted:
                keep[name] &= self._chosen(name, keep[name])

    def _filter(self, keep: dict[str, BoolArray], key: _Reference) -> bool:
        """Keep rows whose reference is kept, or null; says whether any row went."""
        stays = keep[key.child] & (key.dangling | keep[key.parent][key.rows])
        changed = bool((stays != keep[key.child]).any())
        keep[key.child] = stays
        return changed

    def _bring(self, keep: dict[str, BoolArray], tables: set[str]) -> None:
        """Rule 3."""
        changed = True
        while changed:
            changed = False
            for key in self.keys:
                if key.child not in tables:
                    continue
                needed = key.rows[keep[key.child] & ~key.dangling]
                changed |= not keep[key.parent][needed].all()
                keep[key.parent][needed] = True

    def _chosen(self, table: str, candidates: BoolArray) -> BoolArray:
        share = _SHARE.fullmatch(self.wanted[table])
        if share is None:
            found = self._where(table)
            if not found.any():
                raise Infeasible(f"no row of '{table}' is in the subset", where=f"data.subset.{table}", hint="widen the condition")
            return found
        rows = np.flatnonzero(candidates)
        take = math.ceil(len(rows) * min(float(share[1]), 100.0) / 100)
        found = np.zeros(len(candidates), dtype=bool)
        found[rows[self.random.child(table).permutation(len(rows))[:take]]] = True
        return found

    def _where(self, table: str) -> BoolArray:
        own = {c.name: self.kinds.get(f"{table}.{c.name}") for c in self.database.schema.table(table).columns}
        condition = bind(parse(self.wanted[table], own), own).body
        if not isinstance(condition, Condition) or any(isinstance(node, (Aggregate, Cell)) for node in condition.walk()):
            raise PolicyError("a subset is a condition on single rows, or a share", where=f"data.subset.{table}", hint="like 5%")
        data = Selected(self.database)
        names = {column: ColumnValue(column.name, table) for column in columns_of(condition)}
        found = np.zeros(data.count(table), dtype=bool)
        for missing, rows in null_patterns(data, list(names.values()), table):
            gone = [column for column, name in names.items() if name in missing]
            simple = must_hold(condition, gone)
            if isinstance(simple, bool):
                found[rows] = simple
            else:
                vectors = {column: data.vector(name, rows) for column, name in names.items() if column not in gone}
                found[rows] = holds(simple, vectors)
        return found


class _Reference:
    """For every child row the row it refers to."""

    def __init__(self, database: Database, key: ForeignKey) -> None:
        self.child, self.parent = key.table, key.parent
        child, parent = database.tables[key.table], database.tables[key.parent]
        place = parent_rows([child.column(name) for name in key.columns], [parent.column(name) for name in key.parent_columns])
        self.dangling: BoolArray = place < 0
        self.rows: IntArray = np.where(place < 0, 0, place)


def parent_rows(child: list[pa.ChunkedArray], parent: list[pa.ChunkedArray]) -> IntArray:
    """The parent's row number behind every child row, −1 when a part of the key is null or nothing is found."""
    label, other = np.zeros(len(child[0]), dtype=np.int64), np.zeros(len(parent[0]), dtype=np.int64)
    unknown, absent = np.zeros(len(label), dtype=bool), np.zeros(len(other), dtype=bool)
    for one, two in zip(child, parent, strict=True):
        values = pc.unique(two)
        here = np.asarray(pc.fill_null(pc.index_in(one, values), -1).to_numpy(), dtype=np.int64)
        there = np.asarray(pc.fill_null(pc.index_in(two, values), -1).to_numpy(), dtype=np.int64)
        unknown |= (here < 0) | np.asarray(pc.is_null(one).to_numpy(), dtype=bool)
        absent |= np.asarray(pc.is_null(two).to_numpy(), dtype=bool)
        whole = np.concatenate([label, other]) * (len(values) + 1) + np.concatenate([here, there]) + 1
        joined = np.unique(whole, return_inverse=True)[1].astype(np.int64)
        label, other = joined[: len(label)], joined[len(label) :]
    place = np.full(max(int(label.max(initial=0)), int(other.max(initial=0))) + 1, -1, dtype=np.int64)
    place[other[~absent]] = np.flatnonzero(~absent)
    return np.where(unknown, -1, place[label])


def null_patterns(data: Selected, columns: list[ColumnValue], table: str) -> list[tuple[frozenset[ColumnValue], IntArray]]:
    """The rows of a table by which of the columns are null."""
    nullable = [column for column in columns if data.has_nulls(column)]
    if not nullable:
        return [(frozenset(), np.arange(data.count(table), dtype=np.int64))]
    masks = np.stack([data.missing(column) for column in nullable], axis=1)
    patterns, label = np.unique(masks, axis=0, return_inverse=True)
    return [
        (frozenset(c for c, gone in zip(nullable, pattern, strict=True) if gone), np.flatnonzero(label.ravel() == place))
        for place, pattern in enumerate(patterns.tolist())
    ]
