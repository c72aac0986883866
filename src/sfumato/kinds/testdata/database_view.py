"""A published database as the audit sees it: tables by their own names, the policy bound to the schema, keys as row
labels.

Shares no line with the methods. With the original at hand the schema is the original's, otherwise the one in the
manifest.


Pieces
------
Large columns in pieces: equal combinations of values always come into the same piece, so that what is counted adds up.

A column of ten million different values needs a gigabyte to be numbered at once and a fraction of it piece by piece.
Which piece a value belongs to is decided by a sum over its bytes; nothing rests on different values having different
sums.

>>> import pyarrow as pa
>>> [[column.to_pylist() for column in side] for (side,) in iterate_in_pieces([pa.chunked_array([["a", "b", "a"]])],
...     most=9)]
[[['a', 'b', 'a']]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.database import Schema
from sfumato.data.memory_map import MappedTableBuilder, buffer_limit, fits_beside, release_pages, rows_per_step
from sfumato.data.table import Table, TextColumn, as_text
from sfumato.kinds.testdata.form import DatabaseForm, bound_policy, schema_of, tables_of
from sfumato.policy.constraint_language import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    Arithmetic,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Determines,
    Histogram,
    Implies,
    IsNull,
    Membership,
    Negative,
    Not,
    Number,
    References,
    Statement,
    TextConstant,
    Unique,
)
from sfumato.policy.database_policy import BoundPolicy
from sfumato.release.view import ReleaseView, of_parts


class DatabaseView:
    """The tables of a release, and the policy bound to their schema; ask for it with
    ``exhibit.once(DatabaseExhibit)``."""

    def __init__(self, exhibit: ReleaseView) -> None:
        self.exhibit, self.form = exhibit, exhibit.of(DatabaseForm)
        self.names = {part: entry.table for part, entry in self.form.tables.items()}
        self.tables = exhibit.once(tables_of)

    @property
    def schema(self) -> Schema:
        return self.exhibit.once(schema_of)

    @property
    def bound(self) -> BoundPolicy:
        return self.exhibit.once(bound_policy)

    def column(self, column: ColumnValue) -> pa.ChunkedArray:
        if column.table not in self.tables:
            raise DataError(f"table '{column.table}' is missing")
        return self.tables[column.table].column(column.name)

    # ---- the original, row by row ------------------------------------------------------------------------------------

    @property
    def aligned(self) -> bool:
        """Whether the original row behind every published row is known."""
        return self.exhibit.private and self.exhibit.behind is not None

    def original(self, column: ColumnValue) -> pa.ChunkedArray:
        """The original values behind the published rows, in their order."""
        assert self.exhibit.behind is not None
        part = next(part for part, table in self.names.items() if table == column.table)
        table: Table = self.exhibit.original.tables[column.table]
        return table.column(column.name).take(pa.array(self.exhibit.behind[part]))

    def beside(self, column: ColumnValue) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
        """Published and original values side by side, some rows at a time."""
        assert self.exhibit.behind is not None
        part = next(part for part, table in self.names.items() if table == column.table)
        now, behind = self.column(column), self.exhibit.behind[part]
        before = in_one(self.exhibit.original.tables[column.table].column(column.name))
        for rows in slices(len(now)):
            yield now[rows], pa.chunked_array([before.take(pa.array(behind[rows]))])

    def judge(self, rule: IntegrityRule) -> int:
        """How often a rule is broken; keys and references leave nulls out, as a database does."""
        if mentions_original(rule):
            return self._judged(rule)
        counts = self.exhibit.once(_counts)  # facts about the published rows alone are the same in both views
        if rule.body not in counts:
            counts[rule.body] = self._judged(rule)
        return counts[rule.body]

    def _judged(self, rule: IntegrityRule) -> int:
        if isinstance(rule.body, References):
            return dangling([self.column(c) for c in rule.body.child], [self.column(c) for c in rule.body.parent])
        if isinstance(rule.body, Unique):
            return repeated([self.column(c) for c in rule.body.columns])
        moved = {
            column for node in rule.body.walk() if isinstance(node, Aggregate | Histogram) for column in node.by
        } & self.bound.mapped.keys()
        now: dict[str | None, Any] = {name: _Columns(table.names, table.text) for name, table in self.tables.items()}
        before: dict[str | None, Any] = {}
        if self.aligned:
            before = {
                name: _Columns(table.names, partial(self._old_text, name, moved)) for name, table in self.tables.items()
            }
        ordered = _ordered(self.bound, rule)
        whole, found = ConstraintEvaluator(now, before, ordered), 0
        for part in conjuncts(rule.body):
            counted = self._by_value(part)
            some = self._in_pieces(part) if counted is None else None
            if counted is None:
                counted = (
                    whole.broken_by(part)
                    if some is None
                    else sum(ConstraintEvaluator(one, {}, ordered).broken_by(part) for one in some)
                )
            found += counted
        return found

    def _by_value(self, part: Condition | Statement) -> int | None:
        """How often a clause about single values of one column is broken, from its different values when they are
        few."""
        columns = columns_of(part)
        if len(columns) != 1 or columns[0].original or not all(isinstance(node, _BY_ROW) for node in part.walk()):
            return None
        table = str(columns[0].table)
        if self.tables[table].rows <= rows_per_step() or columns[0].name not in self.tables[table].names:
            return None
        assert isinstance(part, Condition)
        counts: dict[str | None, int] = {}
        cells = self.column(columns[0])
        for rows in slices(len(cells)):
            found = pc.value_counts(cells[rows])
            for value, count in zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True):
                counts[value] = counts.get(value, 0) + count
            if len(counts) > FEW:
                return None
        seen: dict[str | None, Any] = {
            table: _texts_of([columns[0].name], [pa.chunked_array([list(counts)], pa.string())])
        }
        false = np.broadcast_to(ConstraintEvaluator(seen).verdict(part, table).false, (len(counts),))
        return int(np.array(list(counts.values()), dtype=np.int64)[false].sum())

    def _in_pieces(self, part: Condition | Statement) -> Iterator[dict[str | None, Any]] | None:
        """The rows that a clause is about, some at a time, where it can be judged so; None where it looks at all of
        them."""
        columns = columns_of(part)
        tables = {column.table for column in columns}
        if len(tables) != 1 or any(column.original for column in columns):
            return None
        (table,) = tables
        names = [column.name for column in columns]
        if self.tables[str(table)].rows <= rows_per_step() or not set(names) <= set(self.tables[str(table)].names):
            return None
        if isinstance(part, Determines):
            left = [self.column(column) for column in part.left]
            names = [column.name for column in (*part.left, *part.right)]
            sides = iterate_in_pieces([*left, *(self.column(column) for column in part.right)], by=len(left))
            return ({table: _texts_of(names, piece)} for (piece,) in sides)
        typed = all(self.schema.table(str(table)).column(name).kind in _TYPED for name in names)
        if not typed or not all(isinstance(node, _BY_ROW) for node in part.walk()):
            return None
        frame = self.tables[str(table)].frame.select(list(dict.fromkeys(names)))
        cut = (frame.slice(rows.start, rows.stop - rows.start) for rows in slices(frame.num_rows))
        return ({table: _texts_of(frame.column_names, piece.columns)} for piece in cut)

    def _old_text(self, table: str, moved: Set[ColumnValue], name: str) -> TextColumn:
        """An original column; groups by a linked column are met under their new names: one map renames them all."""
        column = ColumnValue(name, table)
        if column in moved:
            return self.tables[table].text(name)
        return Table(pa.table({name: self.original(column)})).text(name)


_TYPED = ("integer", "decimal", "date", "timestamp")
"""Kinds of columns all of whose values are read alike, however few are looked at."""
_BY_ROW = (
    Compare,
    Membership,
    IsNull,
    All,
    Any_,
    Not,
    Implies,
    Number,
    TextConstant,
    Date,
    ColumnValue,
    Arithmetic,
    Negative,
)


@of_parts
def _counts(_: ReleaseView) -> dict[Any, int]:
    """How often rules are broken, as far as a person has asked."""
    return {}


def mentions_original(rule: IntegrityRule) -> bool:
    """Whether a rule is about original values."""
    return classify(rule).against_original or any(isinstance(node, Cell) for node in rule.body.walk())


def _texts_of(names: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> dict[str, TextColumn]:
    return {name: as_text(column, name) for name, column in zip(names, columns, strict=True)}


class _Columns(Mapping[str, TextColumn]):
    """The columns of a table, read when a rule asks for one."""

    def __init__(self, names: list[str], read: Callable[[str], TextColumn]) -> None:
        self.names, self.read = names, read

    def __getitem__(self, name: str) -> TextColumn:
        if name not in self.names:
            raise KeyError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _ordered(bound: BoundPolicy, rule: IntegrityRule) -> list[Any]:
    """References first whose key the rule groups by: two tables may refer to each other more than once."""
    groups = {node.by for node in rule.body.walk() if isinstance(node, Aggregate)}
    return sorted(bound.references, key=lambda reference: reference.child not in groups)


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, copied only when it is in several."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def label_combinations(*sides: Sequence[pa.ChunkedArray]) -> tuple[list[IntArray], list[BoolArray]]:
    """Equal combinations get equal numbers across all sides; and where a part of a combination is null."""
    counts = [len(side[0]) for side in sides]
    number = np.zeros(sum(counts), dtype=np.int64)
    missing = np.zeros(sum(counts), dtype=bool)
    for columns in zip(*sides, strict=True):
        whole = pa.chunked_array([chunk for column in columns for chunk in _texts(column).chunks], pa.string())
        coded = whole.combine_chunks().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        codes = np.asarray(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64) + 1
        missing |= codes == 0
        number = _dense(number * (len(coded.dictionary) + 1) + codes) if number.any() else codes
    ends = np.cumsum(counts)[:-1]
    return np.split(number, ends), np.split(missing, ends)


def _dense(numbers: IntArray) -> IntArray:
    """Equal numbers get equal ones again, without gaps."""
    found: IntArray = pa.array(numbers).dictionary_encode().indices.to_numpy().astype(np.int64)
    return found


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string())


def repeated(columns: Sequence[pa.ChunkedArray]) -> int:
    """Rows that repeat an earlier combination; combinations with a null never count, as in SQL."""
    present = [column.drop_null() for column in columns] if len(columns) == 1 else _without_nulls(columns)
    return len(present[0]) - count_distinct(present)


def _without_nulls(columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """The rows in which no column is null."""
    if not any(column.null_count for column in columns):
        return list(columns)
    full = pc.is_valid(columns[0])
    for column in columns[1:]:
        full = pc.and_(full, pc.is_valid(column))
    return [column.filter(full) for column in columns]


def count_distinct(columns: Sequence[pa.ChunkedArray]) -> int:
    """Different combinations."""
    return sum(len(counts) for (counts,) in counts_by_combination(columns))


def counts_by_combination(*sides: Sequence[pa.ChunkedArray]) -> Iterator[tuple[IntArray, ...]]:
    """For every different combination how often each side has it; all pieces together are all combinations."""
    for piece in _pieces_by_row(sides):
        names = [str(place) for place in range(len(piece[0]))]
        cells = [
            pa.chunked_array([chunk for one in column for chunk in one.chunks], pa.string())
            for column in zip(*piece, strict=True)
        ]
        counts = [len(side[0]) for side in piece]
        marks = [
            pa.array(np.repeat(np.arange(len(piece)) == place, counts).astype(np.int64)) for place in range(len(piece))
        ]
        own = [f"side {place}" for place in range(len(piece))]
        found = pa.table([*cells, *marks], names=[*names, *own]).group_by(names, use_threads=False)
        summed = found.aggregate([(name, "sum") for name in own])
        yield tuple(summed.column(f"{name}_sum").to_numpy() for name in own)
        release_pages()


def _pieces_by_row(sides: Sequence[Side]) -> Iterator[list[list[pa.ChunkedArray]]]:
    """The sides, some rows at a time; equal combinations come together."""
    rows, most = sum(len(side[0]) for side in sides), rows_per_step()
    if rows <= most or fits_beside(sum(column.nbytes for side in sides for column in side)):
        yield [[_texts(column) for column in side] for side in sides]
        return
    count = min(-(-rows // most) + 1, _MOST)
    width = _deciding(sides, count)
    marks = [_marks([_texts(column) for column in side[:width]], count) for side in sides]
    for piece in range(count):
        rows_of = [pa.array(np.flatnonzero(mark == piece)) for mark in marks]
        yield [[_texts(column).take(own) for column in side] for side, own in zip(sides, rows_of, strict=True)]


def dangling(child: Sequence[pa.ChunkedArray], parent: Sequence[pa.ChunkedArray]) -> int:
    """Child rows whose combination has no null, no empty text, and does not occur in the parent.

    Where a schema declares no key, an empty text says that a row refers to nothing.
    """
    found = 0
    child = [empty_as_null(column) for column in child]
    for mine, theirs in iterate_in_pieces(child, parent):
        (own, known), (missing, gone) = label_combinations(mine, theirs)
        there = np.zeros(max(int(own.max(initial=-1)), int(known.max(initial=-1))) + 1, dtype=bool)
        there[known[~gone]] = True
        found += int((~missing & ~there[own]).sum()) if len(own) else 0
    return found


def empty_as_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with nulls instead of empty texts."""
    if not pa.types.is_string(column.type):
        return column
    empty = pc.equal(pc.binary_length(column), 0)
    return pc.if_else(empty, pa.scalar(None, pa.string()), column) if pc.any(empty).as_py() else column


def count_differing_rows(one: Sequence[pa.ChunkedArray], other: Sequence[pa.ChunkedArray]) -> tuple[int, int]:
    """Rows of the first that the second lacks, and the other way round, counted as often as they occur."""
    extra, lost = 0, 0
    for left, right in counts_by_combination(one, other) if one else ():
        more = left - right
        extra, lost = extra + int(more[more > 0].sum()), lost - int(more[more < 0].sum())
    return extra, lost


# Pieces
# ------


_ROWS, _MOST, _SIGNS = 1 << 16, 1 << 8, 64
"""Rows whose sums are taken at a time, pieces (each is a file that is open), and signs of a text that are weighed
differently."""
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, place + 1, 1 << 64) | 1 for place in range(_SIGNS)], dtype=np.uint64)
_MIXED = np.uint64(0xD6E8FEB86659FD93)
FEW = 10_000
"""Different values that are looked at once, each with how often it stands there."""
Side = Sequence[pa.ChunkedArray]


def iterate_in_pieces(
    *sides: Side, by: int | None = None, most: int = 0
) -> Iterator[tuple[list[pa.ChunkedArray], ...]]:
    """Columns of several sides, some rows at a time; combinations of the first `by` columns (all without) stay
    together."""
    rows, most = sum(len(side[0]) for side in sides), most or rows_per_step()
    if rows <= most:
        yield tuple(list(side) for side in sides)
        return
    count = min(-(-rows // most) + 1, _MOST)
    width = _deciding([side[:by] for side in sides], count)
    room = buffer_limit() // (count * len(sides))
    shelves = [
        [MappedTableBuilder([str(place) for place in range(len(side))], room) for side in sides] for _ in range(count)
    ]
    for number, side in enumerate(sides):
        for cut in slices(len(side[0])):
            cells = [_texts(column[cut]) for column in side]
            marks = _marks(cells[:width], count)
            order, ends = pa.array(np.argsort(marks, kind="stable")), np.cumsum(np.bincount(marks, minlength=count))
            sorted_rows = pa.table([one.take(order) for one in cells], names=[str(place) for place in range(len(side))])
            for piece in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
                start = int(ends[piece - 1]) if piece else 0
                shelves[piece][number].put(sorted_rows.slice(start, int(ends[piece]) - start))
    while shelves:
        yield tuple(list(shelf.table().columns) for shelf in shelves.pop())
        release_pages()


def slices(rows: int) -> Iterator[slice]:
    """Row numbers, some at a time."""
    for start in range(0, rows, rows_per_step()):
        release_pages()
        yield slice(start, min(start + rows_per_step(), rows))


def _deciding(sides: Sequence[Side], count: int) -> int:
    """How many columns decide about the piece: further ones only while the first rows would crowd into one of them."""
    width = len(sides[0])
    for used in range(1, width):
        first = [_marks([_texts(column[: rows_per_step()]) for column in side[:used]], count) for side in sides]
        sizes = np.sum([np.bincount(mark, minlength=count) for mark in first], axis=0)
        if int(sizes.max()) * count <= 2 * int(sizes.sum()):
            return used
    return width


def _marks(columns: Side, count: int) -> NDArray[np.uint16]:
    """The piece of every row."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        found = (found * _MIXED) + sums_of(column)
    marks: NDArray[np.uint16] = ((found >> np.uint64(33)) % np.uint64(count)).astype(np.uint16)
    return marks


def sums_of(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A number for every text, the same for the same text; a null counts as the empty text."""
    found = [_sums(chunk.slice(start, _ROWS)) for chunk in column.chunks for start in range(0, len(chunk), _ROWS)]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.uint64)


def _sums(texts: pa.Array) -> NDArray[np.uint64]:
    texts = pc.fill_null(texts, "")
    _, ends, signs = texts.buffers()
    places = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, last = int(places[0]), int(places[-1])
    if first == last:
        return np.zeros(len(texts), dtype=np.uint64)
    data = np.frombuffer(signs, dtype=np.uint8)[first:last].astype(np.uint64) + np.uint64(1)
    places -= first
    within = np.arange(last - first) - np.repeat(places[:-1], np.diff(places))
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(data * _WEIGHTS[within % _SIGNS])])
    found: NDArray[np.uint64] = (total[places[1:]] - total[places[:-1]]) * _MIXED
    return found
