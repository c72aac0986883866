"""Rules between a record and the one it refers to: `item.shipped >= invoice.issued`.

Everything is drawn first as if these rules were not there; then the records that break one are drawn again, a child where it is
new, else its parent, until none is left. Children that find nothing beside their parent have it drawn again, too.

Guarantee: what is returned obeys every such rule; it is legal, not uniform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.replacing.databases.parts import FreeColumns
from sfumato.methods.replacing.databases.placing import place
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling.levels import facts
from sfumato.methods.replacing.sampling.problem import Clause, RulePart
from sfumato.methods.replacing.sampling.vectors import holds
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import ColumnValue, Condition, References
from sfumato.randomness import Randomness

_ROUNDS, _PATIENCE = 300, 12
Columns = dict[ColumnValue, pa.Array]


class Families:
    """The rules between tables of a database, and which tables they join."""

    def __init__(self, free: FreeColumns, data: Selected, references: list[References]) -> None:
        self.free, self.data, self.references = free, data, references
        self.links = [self._joined(clause) for clause in free.crossing]

    def _joined(self, clause: Clause) -> tuple[Clause, References]:
        tables = {column.table for column in columns_of(clause.body)}
        for reference in self.references:
            if {reference.child[0].table, reference.parent[0].table} == tables:
                self._require_drawn(clause)
                return clause, reference
        named = " and ".join(sorted(f"'{table}'" for table in tables))
        raise PolicyError(
            f"no reference joins {named}", where=f'rule "{clause.rule}"', hint="rules between tables follow a foreign key"
        )

    def _require_drawn(self, clause: Clause) -> None:
        for column in columns_of(clause.body):
            part = self._part(column)
            if part is not None and part.whole:
                what = f"'{column}' is bound by \"{part.whole[0].rule}\" and cannot be drawn record by record"
                raise PolicyError(what, where=f'rule "{clause.rule}"', hint="state one of the two rules only")

    def _part(self, column: ColumnValue) -> RulePart | None:
        own = ColumnValue(column.name, column.table)
        return next((part for part in self.free.parts if own in part.columns), None)

    def settle(self, columns: Columns, random: Randomness) -> None:
        """Draws again until every rule between tables holds."""
        for turn in range(_ROUNDS):
            broken = [(link, rows) for link in self.links if len(rows := self._broken(columns, *link))]
            if not broken:
                return
            for (clause, reference), rows in broken:
                chance = random.child("families").child(turn).child(str(clause.rule))
                self._again(columns, clause, reference, rows, chance, parents=turn % _PATIENCE == _PATIENCE - 1)
        clause, rows = broken[0][0][0], broken[0][1]
        what = f"{len(rows)} records found no legal value beside the ones they refer to"
        raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen the domains, or relax the rule")

    def _again(
        self, columns: Columns, clause: Clause, reference: References, rows: IntArray, chance: Randomness, *, parents: bool
    ) -> None:
        child, parent = str(reference.child[0].table), str(reference.parent[0].table)
        new = {part for column in columns_of(clause.body) if (part := self._part(column)) is not None and not column.original}
        own = [part for part in new if part.columns[0].table == child]
        above = [part for part in new if part.columns[0].table == parent]
        if own and not (parents and above):
            self._draw(columns, own, child, rows, chance)
        else:
            places = self._parent_rows(columns, reference)[rows]
            self._draw(columns, above, parent, np.unique(places[places >= 0]), chance)

    def _draw(self, columns: Columns, parts: list[RulePart], table: str, rows: IntArray, chance: Randomness) -> None:
        for part in parts:
            for number, segment in enumerate(self.free.redrawn(part, table, rows)):
                fresh: Columns = {}
                place(fresh, segment, segment.route.engine.run(chance.child(number).child(segment.title)), self.data)
                for column, values in fresh.items():
                    kept = pc.is_valid(columns[column])
                    columns[column] = pc.if_else(pc.and_(pc.is_valid(values), kept), values, columns[column])

    def _broken(self, columns: Columns, clause: Clause, reference: References) -> IntArray:
        """The rows of the child in which the rule is false; one over a null is not."""
        child = str(reference.child[0].table)
        rows = self._parent_rows(columns, reference)
        table: dict[ColumnValue, Any] = {}
        for column in columns_of(clause.body):
            own = ColumnValue(column.name, column.table)
            values = self.data.column(own) if column.original else columns.get(own, self.data.column(own))
            table[column] = values if column.table == child else values.take(pa.array(rows, mask=rows < 0))
        known: BoolArray = np.ones(len(rows), dtype=bool)
        for values in table.values():
            known &= np.asarray(pc.is_valid(values).to_numpy(zero_copy_only=False), dtype=bool)
        places = np.flatnonzero(known)
        if not len(places):
            return places
        vectors = {c: facts(values.take(pa.array(places)).to_pylist()) for c, values in table.items()}
        assert isinstance(clause.body, Condition)
        return places[~np.broadcast_to(holds(clause.body, vectors), (len(places),))]

    def _parent_rows(self, columns: Columns, reference: References) -> IntArray:
        """The row of the parent behind every row of the child, by the original keys; -1 where there is none."""
        keys = [self._joint(reference.child), self._joint(reference.parent)]
        found = pc.fill_null(pc.index_in(keys[0], value_set=keys[1]), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _joint(self, side: tuple[ColumnValue, ...]) -> pa.Array:
        parts = [self.data.column(column) for column in side]
        return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "\x1f")
