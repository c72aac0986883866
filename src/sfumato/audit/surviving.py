"""What survives of a source under a policy: everywhere in the columns that are kept, and in the rows a replaced value stood in."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audit.derived_columns import derived_columns, read_off, spread
from sfumato.audit.pieces import slices
from sfumato.audit.survivors import KeptColumns, Originals, Survivor, survivors
from sfumato.data.database import Database, ForeignKey
from sfumato.data.table import Table
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.replacements import Fakes, Like, Values
from sfumato.policy.rules.tree import ColumnValue

_PUBLIC = ("city", "country", "job", "company")
_NAMES = 4


def surviving(bound: BoundPolicy, database: Database) -> list[Survivor]:
    """Every pair of a replaced and a kept column of the source that share values; looked for once, before and after the work."""
    return list(database.once((surviving, *_asked(bound)), lambda: _surviving(bound, database)))


def _asked(bound: BoundPolicy) -> Iterator[Hashable]:
    """All that is looked at besides the rows: a policy and a schema out of files ask the same as those they were written from."""
    for column in bound.changed:
        yield column, bound.domain(column)
    for table in bound.schema.tables:
        yield table.name
        yield from ((column.name, column.kind, column.computed) for column in table.columns)
        yield from ((key.table, key.columns, key.parent, key.parent_columns) for key in table.foreign_keys)


def _surviving(bound: BoundPolicy, database: Database) -> tuple[Survivor, ...]:
    frames = {name: table.frame for name, table in database.tables.items()}
    found = {(one.replaced, one.kept): one for one in _derived(bound, database)}
    for one in survivors(originals_of(bound, database), kept_columns(bound, frames)):
        found.setdefault((one.replaced, one.kept), one)
    return tuple(found.values())


def _derived(bound: BoundPolicy, database: Database) -> Iterator[Survivor]:
    new = set(bound.changed)
    for name, table in database.tables.items():
        facts = bound.schema.table(name)
        replaced = [c.name for c in facts.columns if ColumnValue(c.name, name) in new]
        kept = {c.name: c.kind for c in facts.columns if ColumnValue(c.name, name) not in new and not c.computed}
        if not kept or not table.rows:
            continue
        if replaced:
            yield from derived_columns(name, table.frame, replaced, kept)
            yield from _from_two(bound, table, name, replaced, kept)
        for key in facts.foreign_keys:
            if key.parent in database.tables and key.parent != name:
                yield from _from_parent(bound, database, key, kept)


def _from_two(bound: BoundPolicy, table: Table, name: str, replaced: Sequence[str], kept: Mapping[str, str]) -> Iterator[Survivor]:
    """Initials, logins and search texts made of two columns, as of first and last name."""
    sample = table.frame.take(pa.array(spread(table.rows)))
    plain = [c for c in replaced if _mostly_plain(pc.drop_null(pc.unique(sample.column(c))))][:_NAMES]
    for place, one in enumerate(plain):
        for two in plain[place + 1 :]:
            both = pc.binary_join_element_wise(sample.column(one), sample.column(two), " ").to_pylist()
            yield from read_off(name, {ColumnValue(one, name): both}, sample, kept, table.rows)


def _from_parent(bound: BoundPolicy, database: Database, key: ForeignKey, kept: Mapping[str, str]) -> Iterator[Survivor]:
    """Values of the row that a row refers to."""
    keys, child, parent = set(key.parent_columns), database.tables[key.table], database.tables[key.parent]
    wanted = [c for c in bound.changed if c.table == key.parent and c.name not in keys]
    if not wanted or len(key.columns) != 1:
        return
    sample = child.frame.take(pa.array(spread(child.rows)))
    place = _rows_of(sample.column(key.columns[0]), parent.column(key.parent_columns[0]))
    old = {column: parent.column(column.name).take(place).to_pylist() for column in wanted}
    others = {name: kind for name, kind in kept.items() if name not in key.columns}
    yield from read_off(key.table, old, sample, others, child.rows)


def _rows_of(sought: pa.ChunkedArray, keys: pa.ChunkedArray) -> pa.Array:
    """The row of every key that is sought, null where there is none; the keys are looked through some at a time."""
    different = pc.drop_null(pc.unique(sought))
    rows = np.full(len(different), -1, dtype=np.int64)
    for cut in slices(len(keys)):
        met = pc.index_in(keys[cut], value_set=different)
        here = np.flatnonzero(np.asarray(pc.is_valid(met)))
        rows[np.asarray(met.drop_null())] = cut.start + here
    found = pa.array(rows, mask=rows < 0).take(pc.index_in(sought, value_set=different).combine_chunks())
    return found


def originals_of(bound: BoundPolicy, database: Database) -> Originals:
    """The distinct old values of every replaced column, without those that the policy itself lists."""
    found: dict[ColumnValue, pa.Array] = {}
    for column in bound.changed:
        if str(column.table) not in database.tables or bound.facts(column).kind in (
            "integer",
            "boolean",
            "enum",
            "date",
            "timestamp",
        ):
            continue
        domain = bound.domain(column)
        if isinstance(domain, Like) or (isinstance(domain, Fakes) and domain.fake in _PUBLIC):
            continue  # the list of values is published by the policy's own wish; places are on every map
        values = pc.drop_null(pc.unique(database.tables[str(column.table)].column(column.name)))
        if isinstance(domain, Values):
            values = values.filter(pc.invert(pc.is_in(values, value_set=pa.array(list(domain.values), pa.string()))))
        found[column] = values
    return found | dict(_full_names(bound, database, found))


def _full_names(bound: BoundPolicy, database: Database, found: Originals) -> Iterator[tuple[ColumnValue, pa.Array]]:
    """Two plain words of one row together: first and last name from two columns."""
    for name, table in database.tables.items():
        plain = [c for c in found if c.table == name and _mostly_plain(found[c])][:_NAMES]
        for place, one in enumerate(plain):
            first, pairs = table.column(one.name), []
            for two in plain[place + 1 :]:
                second = table.column(two.name)
                pairs += [pc.binary_join_element_wise(*both, " ") for both in ((first, second), (second, first))]
            if pairs:
                both_ways = pa.chunked_array([chunk for pair in pairs for chunk in pair.chunks], pa.string())
                yield one, pc.unique(pa.chunked_array([*both_ways.drop_null().chunks, found[one]], pa.string()))


def _mostly_plain(values: pa.Array) -> bool:
    sample = values[:200].to_pylist()
    return bool(sample) and sum(value.isalpha() for value in sample) >= len(sample) / 2


def kept_columns(bound: BoundPolicy, frames: Mapping[str, pa.Table]) -> KeptColumns:
    """The columns that are published as they are, with their kinds."""
    new = set(bound.changed)
    return {
        column: (frames[str(column.table)].column(column.name), bound.facts(column).kind)
        for column in bound.columns.values()
        if column not in new
        and column.table in frames
        and column.name in frames[str(column.table)].column_names
        and not bound.facts(column).computed
    }
