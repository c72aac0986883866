"""New values that rows keep from the last release, when a test database is refreshed.

Guarantee
    A row keeps its new values if it was published before under the same primary key, all its columns that are not drawn
    (kept columns and references) are as they were, and the same cells are missing. All other rows are drawn.

Invariants
    I1  The key of a row is the same in both releases, because its columns are kept or `deterministic`.
    I2  What is kept was legal: it was drawn by the same policy, and the rules of its part look at this row only. Keys
        that must be unique are compared with those of new rows, which get unused draws instead. Parts with other rules
        about whole tables, about original values or about several tables are drawn anew in all rows.

Nothing is stored between releases: the last release folder and the secret are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import PolicyError
from sfumato.data.database import TableFacts
from sfumato.data.table import Table
from sfumato.kinds.testdata.methods.database_parts import FreeColumns, Selected
from sfumato.kinds.testdata.methods.sampling.problem import RulePart
from sfumato.policy.constraint_language import columns_of
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, Unique
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.value_domains import Like

Columns = dict[ColumnValue, pa.Array]


def require_refreshable(bound: BoundPolicy) -> None:
    """Refuse a policy under which the rows of a table cannot be found again in the next release."""
    if any("%" in share for share in bound.source.subset.values()):
        hint = "choose rows by a condition, or publish without --refresh"
        raise PolicyError("a share of rows is drawn anew in every release", where="data.subset", hint=hint)
    for link in bound.links:
        if not link.deterministic:
            hint = "name it under 'deterministic' and give a 'secret', or publish without --refresh"
            raise PolicyError(f"'{link.root}' gets other values in every release", where="data", hint=hint)
    for table in bound.schema.tables:
        drawn = [name for name in table.primary_key if ColumnValue(name, table.name) in bound.free]  # I1
        if drawn:
            hint = "keep it, or name it under 'deterministic'"
            raise PolicyError(f"the key '{table.name}.{drawn[0]}' is drawn anew", where="data", hint=hint)


def keep_earlier_values(
    bound: BoundPolicy, data: Selected, free: FreeColumns, columns: Columns, before: Mapping[str, Table]
) -> dict[str, int]:
    """Put earlier values in place of drawn ones where rows have not changed; how many rows per table keep theirs."""
    again = _drawn_again(bound, free)
    kept = {}
    for table in bound.schema.tables:
        if table.name in data.tables and table.name in before:
            place = _unchanged(bound, data, columns, table, before[table.name])
            kept[table.name] = int((place >= 0).sum())
            parts = [part for part in free.parts if part.columns[0].table == table.name and part not in again]
            for part in parts if kept[table.name] else ():
                _keep(part, columns, before[table.name], place)
    return kept


def _drawn_again(bound: BoundPolicy, free: FreeColumns) -> list[RulePart]:
    """Parts whose rules are about more than single rows and keys of their own columns."""
    crossing = {ColumnValue(c.name, c.table) for clause in free.crossing for c in columns_of(clause.body)}
    return [part for part in free.parts if not _by_row(bound, part) or crossing & set(part.columns)]  # I2


def _by_row(bound: BoundPolicy, part: RulePart) -> bool:
    own, keys = set(part.columns), [clause for clause in part.whole if isinstance(clause.body, Unique)]
    if len({column.table for column in own}) > 1 or len(keys) < len(part.whole):
        return False
    if keys and (len(keys) < len(part.clauses) or any(set(columns_of(clause.body)) - own for clause in keys)):
        return False
    read = [column for clause in part.clauses for column in columns_of(clause.body)]
    copied = any(isinstance(bound.free[column], Like) for column in own)
    return not copied and not any(column.original for column in read)


def joined(columns: Sequence[pa.Array]) -> pa.Array:
    """The values of every row as one text; null where one of them is null."""
    cells = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in columns]
    if len(cells) == 1:
        return cells[0]
    sized = [pc.binary_join_element_wise(pc.binary_length(one).cast(pa.string()), one, ":") for one in cells]
    return pc.binary_join_element_wise(*sized, "")


def _unchanged(bound: BoundPolicy, data: Selected, columns: Columns, table: TableFacts, before: Table) -> IntArray:
    """The row of the last release for every row that has not changed, -1 for all others."""
    own = {name: ColumnValue(name, table.name) for name in table.written}
    if not table.primary_key or set(before.names) != set(own):
        return np.full(data.count(table.name), -1, dtype=np.int64)
    now = {name: columns[column] if column in columns else data.column(column) for name, column in own.items()}
    keys = [joined([side[name] for name in table.primary_key]) for side in (now, _cells(before))]
    place = np.asarray(pc.fill_null(pc.index_in(keys[0], value_set=keys[1]), -1).to_numpy(), dtype=np.int64)
    same = place >= 0
    rows = pa.array(np.where(same, place, 0))
    computed = {definition.column for definition in bound.definitions}
    for name, column in own.items() if len(before.column(table.primary_key[0])) else ():
        if column in computed:
            continue
        earlier = _cells(before)[name].take(rows)
        same &= _missing_alike(now[name], earlier) if column in bound.free else _alike(now[name], earlier)
    return np.where(same, place, -1)


def _cells(table: Table) -> dict[str, pa.Array]:
    columns = {name: table.column(name) for name in table.names}
    return {name: one.chunk(0) if one.num_chunks == 1 else one.combine_chunks() for name, one in columns.items()}


def _alike(one: pa.Array, other: pa.Array) -> BoolArray:
    equal = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(pc.is_null(one), pc.is_null(other)))
    return np.asarray(equal.to_numpy(zero_copy_only=False), dtype=bool)


def _missing_alike(one: pa.Array, other: pa.Array) -> BoolArray:
    """A null stays a null and an empty text an empty text; other cells have values."""
    return _alike(*(pc.greater(pc.binary_length(cells), 0) for cells in (one, other)))


def _keep(part: RulePart, columns: Columns, before: Table, place: IntArray) -> None:
    """Earlier values of a part in unchanged rows; where a key would then occur twice, a new row gets an unused one."""
    held = place >= 0
    rows, old = pa.array(np.where(held, place, 0)), _cells(before)
    drawn = {column: columns[column] for column in part.columns}
    mixed = {column: pc.if_else(pa.array(held), old[column.name].take(rows), drawn[column]) for column in drawn}
    keys = [clause.body.columns for clause in part.whole if isinstance(clause.body, Unique)]
    if keys:
        taken = [pc.drop_null(joined([mixed[column] for column in key]).filter(pa.array(held))) for key in keys]
        clashes = np.zeros(len(held), dtype=bool)
        for key, known in zip(keys, taken, strict=True):
            found = pc.is_in(joined([drawn[column] for column in key]), value_set=known, skip_nulls=True)
            clashes |= np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)
        full = np.logical_and.reduce([np.asarray(pc.is_valid(one)) for one in drawn.values()])
        spots, spare = np.flatnonzero(clashes & ~held), np.flatnonzero(~clashes & held & full)
        if len(spare) < len(spots):
            return  # nearly the whole domain is in use: all rows keep what was drawn
        source = np.arange(len(held))
        source[spots] = spare[: len(spots)]
        for column, values in mixed.items():
            other = drawn[column].take(pa.array(source, mask=~np.asarray(pc.is_valid(drawn[column]))))
            mixed[column] = pc.if_else(pa.array(held), values, other)
    columns.update(mixed)
