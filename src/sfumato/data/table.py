"""A table of people: columns as they came, and each as text with a code per row when a person needs it.

Values are text until a hierarchy or a domain says otherwise, and what was text stays the same text. A missing value
(null or empty) is a value of its own.

>>> import pyarrow as pa
>>> people = Table(pa.table({"age": ["30", None, "30"], "n": [1, 2, 2]}))
>>> people.text("age").labels, people.text("age").codes.tolist(), people.text("n").labels
(('30', ''), [0, 1, 0], ('1', '2'))

Where rows stay on a cluster, a table holds their classes: different rows, each with how often it stands there.

>>> classes = Table(pa.table({"age": ["30", "40"]}), counts=np.array([3, 1]))
>>> classes.rows, classes.records, classes.text("age").counts().tolist()
(2, 4, [3, 1])

Such a table may be large where memory is small, and its codes lie in as few bytes as hold them.

>>> held = encode_compactly(pa.table({"age": ["40", "30", "40"]}))
>>> held.column("age").type.index_type, Table(held).text("age").labels, Table(held).text("age").codes.dtype
(DataType(int8), ('40', '30'), dtype('int32'))


Related
-------
A table of people and a table of their rows, joined: what is said once of a person stands beside every row of theirs.

A person without rows stands there once with nothing in the columns of rows; `absent` tells such a line from a row in
which everything is missing. How many rows a person has, none included, is thus kept.

>>> import pyarrow as pa
>>> people = Table(pa.table({"id": ["1", "2"], "sex": ["f", "m"]}))
>>> visits = Table(pa.table({"id": ["2", "2"], "ward": ["A", "B"]}))
>>> both = join_related_tables(people, visits, ("id",))
>>> both.frame.to_pylist()[2], both.absent.tolist(), sorted(both.own)
({'id': '1', 'ward': None, 'sex': 'f'}, [False, False, True], ['sex'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray, narrow_codes
from sfumato.core.errors import DataError
from sfumato.core.registry import nearest
from sfumato.data.equivalence_classes import class_counts, equivalence_classes_of
from sfumato.data.generalization import MISSING
from sfumato.data.text_values import DIGITS, Labels, labels_as_texts, not_a_number_error, parse_number, parse_timestamp

_DAY = len("2012-12-31")
_MANY, _SHORT = 1_000, 18
"""Labels that are worth reading together, and digits that surely fit into 64 bits."""
IN_ORDER = {b"codes": b"texts in order of first appearance"}
"""What the schema of a table says whose codes need no second look: one dictionary of different texts a column, none
missing."""

_WIDTH = np.iinfo(np.int32).bits
"""Bits of the codes that everybody calculates with."""

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column as codes into its distinct values, in order of first appearance."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    weights: IntArray | None = None
    """For how many records each row stands; one without."""
    _counted: list[IntArray] = field(default_factory=list, repr=False, compare=False)

    def has_value(self) -> BoolArray:
        """For every label whether it is a value; a missing one is not."""
        found = np.ones(len(self.labels), dtype=np.bool_)
        if MISSING in self.labels:
            found[self.labels.index(MISSING)] = False
        return found

    def counts(self) -> IntArray:
        """How many records have each label; counted once."""
        if not self._counted:
            self._counted.append(class_counts(self.codes, self.weights, len(self.labels)))
        return self._counted[0].copy()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and named columns."""

    held: pa.Table
    """The columns as they lie in memory: texts that repeat may be codes with a dictionary."""
    _text: dict[str, TextColumn] = field(default_factory=dict, repr=False, compare=False)
    counts: IntArray | None = None
    """How many records each row stands for, where rows are classes; one without."""
    _number: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)
    """Per column of numbers the number of each label."""
    _made: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    own: frozenset[str] = frozenset()
    """Columns of a table of people, where one was joined with the table of their rows (`data.table`)."""

    @property
    def frame(self) -> pa.Table:
        """The columns with their values, whatever they lie in memory as."""
        return decode_table(self.held)

    @property
    def rows(self) -> int:
        return int(self.held.num_rows)

    @property
    def records(self) -> int:
        """How many records there are: the rows, unless they are classes with counts."""
        return self.rows if self.counts is None else int(self.counts.sum())

    @property
    def names(self) -> list[str]:
        return list(self.held.column_names)

    def content(self) -> Iterator[bytes]:
        """Everything that is said about records, for a digest."""
        for name in self.names:
            text = self.text(name)
            yield repr((name, len(text.labels))).encode() + "\0".join(text.labels).encode() + text.codes.tobytes()

    def taking(self, rows: IntArray, counts: IntArray | None = None) -> Table:
        """Some of the rows; `counts` where they stand for other numbers of records than before."""
        left = None if self.counts is None else self.counts[rows] if counts is None else counts
        return Table(self.frame.take(pa.array(rows)), counts=left)

    def once(self, what: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """What is derived from the rows, made once."""
        if what not in self._made:
            self._made[what] = make()
        made: Made = self._made[what]
        return made

    def text(self, name: str) -> TextColumn:
        """The column as text codes; made once, unless they are held narrow: then each caller gets wider ones."""
        if name in self._text:
            return self._text[name]
        column = self.coded(name)
        ready = self.held.schema.metadata == IN_ORDER and pa.types.is_dictionary(column.type)
        found = replace(_of_codes(column) if ready else as_text(column, name), weights=self.counts)
        if not (ready and column.type.index_type.bit_width < _WIDTH):
            self._text[name] = found
        return found

    def numbers(self, name: str) -> NDArray[np.float64]:
        """The column as numbers, days as day numbers; a value that is neither is a `DataError`."""
        return self.label_numbers(name)[self.text(name).codes]

    def label_numbers(self, name: str) -> NDArray[np.float64]:
        """The number of each label of the column; read once."""
        if name not in self._number:
            labels = self.text(name).labels
            found = _written_in_digits(labels)
            self._number[name] = (
                np.array([as_number(label, name, labels) for label in labels]) if found is None else found
            )
        return self._number[name]

    def column(self, name: str) -> pa.ChunkedArray:
        return plain(self.coded(name))

    def coded(self, name: str) -> pa.ChunkedArray:
        """The column as it lies in memory."""
        place = self.held.schema.get_field_index(name)
        if place < 0:
            raise DataError(f"the data has no column '{name}'", hint=nearest(name, self.names))
        return self.held.column(place)


def combination_of(table: Table, names: Sequence[str]) -> TextColumn:
    """Return several columns as one, whose values are their combinations.

    >>> both = combination_of(Table(pa.table({"a": ["x", "x", "y"], "b": ["1", "2", "1"]})), ["a", "b"])
    >>> sorted(both.labels), len(set(both.codes.tolist()))
    (["('x', '1')", "('x', '2')", "('y', '1')"], 3)
    """
    if len(names) == 1:
        return table.text(names[0])
    texts = [table.text(name) for name in names]
    classes = equivalence_classes_of([text.codes for text in texts], rows=table.rows)
    values = zip(*([text.labels[code] for code in text.codes[classes.first]] for text in texts), strict=True)
    return TextColumn(classes.of.astype(np.int32), tuple(map(str, values)), table.counts)


def combined_chunks(column: Any) -> Any:
    """A column as one array; one that lies in one piece is not copied."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that may be codes."""
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def decode_table(table: pa.Table) -> pa.Table:
    """The values of all columns; the same table where none is coded.

    >>> decode_table(pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})).column("a").to_pylist()
    ['x', 'y', 'x']
    """
    if not any(map(pa.types.is_dictionary, table.schema.types)):
        return table
    return pa.table([plain(column) for column in table.columns], names=table.column_names)


def encode_compactly(table: pa.Table) -> pa.Table:
    """The same texts as codes in as few bytes as hold them, in order of first appearance."""
    columns = {name: encode_column_compactly(table.column(name), name) for name in table.column_names}
    return pa.table(columns).replace_schema_metadata(IN_ORDER) if columns else table


def encode_column_compactly(column: pa.ChunkedArray, name: str) -> pa.DictionaryArray:
    """The same of one column."""
    text = as_text(column, name)
    return pa.DictionaryArray.from_arrays(
        pa.array(narrow_codes(text.codes, len(text.labels))), labels_as_texts(text.labels)
    )


def as_text(column: pa.ChunkedArray, name: str) -> TextColumn:
    """Codes and labels of any column that can be written as text."""
    if (coded := _coded(column)) is not None:
        return coded
    try:
        text = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"column '{name}' has the type {column.type}, which is no single value", hint="leave it out"
        ) from None
    return _of_codes(combined_chunks(pc.fill_null(text, MISSING) if text.null_count else text).dictionary_encode())


def _of_codes(encoded: Any) -> TextColumn:
    encoded = combined_chunks(encoded)
    held = encoded.indices.to_numpy(zero_copy_only=False)
    return TextColumn(
        held.astype(np.int32, copy=False), Labels.coded(encoded.dictionary.to_pylist(), held, encoded.dictionary)
    )


def _coded(column: pa.ChunkedArray) -> TextColumn | None:
    """The same of a column that is codes into different texts already, without writing every row as text; None of
    others."""
    if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
        return None
    if column.null_count or any(chunk.dictionary.null_count for chunk in column.chunks):
        return None
    whole = combined_chunks(column.unify_dictionaries())
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    labels, indices = whole.dictionary.to_pylist(), whole.indices.to_numpy(zero_copy_only=False)
    if len(set(labels)) < len(labels):
        return None
    first = np.full(len(labels), len(indices), dtype=np.int64)
    first[indices[::-1]] = np.arange(len(indices))[::-1]
    present = np.argsort(first, kind="stable")[: int((first < len(indices)).sum())]
    if indices.dtype == np.int32 and (present == np.arange(len(present))).all():
        return TextColumn(
            indices, Labels.coded(labels[: len(present)], indices)
        )  # the codes that are there, not a copy
    number = np.full(len(labels), -1, dtype=np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    codes = number[indices]
    return TextColumn(codes, Labels.coded([labels[place] for place in present], codes))


def _written_in_digits(labels: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of many labels at once, when every one is a short row of digits, as most numbers are; None of
    others."""
    if len(labels) < _MANY or not labels[0].isdecimal():
        return None
    texts = labels_as_texts(labels)
    if pc.max(pc.binary_length(texts)).as_py() > _SHORT or not pc.all(pc.ascii_is_decimal(texts)).as_py():
        return None
    found: NDArray[np.float64] = pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def as_number(label: str, name: str, labels: Sequence[str] = ()) -> float:
    """A written number, or the day number of a written day; `labels` know the row of one that is neither."""
    if len(label) <= DIGITS and label.isdecimal() and label.isascii():
        return float(label)  # what `number` reads, and most numbers are
    value = parse_number(label)
    if value is not None:
        return float(value)
    days = parse_timestamp(label) if len(label) == _DAY else None
    if days is None:
        raise not_a_number_error(labels, label, name)
    return float(days)


# Related
# -------


@dataclass(frozen=True, slots=True)
class RelatedTable(Table):
    """The joined table, and what of it belongs to people."""

    absent: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Lines of people without rows."""


def join_related_tables(people: Table, rows: Table, key: Sequence[str], *, without_rows: bool = True) -> RelatedTable:
    """Both tables as one; `without_rows`: people who have none are kept."""
    own = [name for name in people.names if name not in key]
    _require_apart(people, rows, key, own)
    of = _named(people, rows, key)
    place = np.concatenate([of, np.setdiff1d(np.arange(people.rows), of)]) if without_rows else of
    absent = np.arange(len(place)) >= rows.rows
    line = pa.array(np.where(absent, 0, np.arange(len(place))), mask=absent)
    columns = {name: decode_table(people.held).column(name).take(pa.array(place)) for name in key}
    columns |= {name: decode_table(rows.held).column(name).take(line) for name in rows.names if name not in key}
    columns |= {name: decode_table(people.held).column(name).take(pa.array(place)) for name in own}
    return RelatedTable(pa.table(columns), own=frozenset(own), absent=absent)


def _require_apart(people: Table, rows: Table, key: Sequence[str], own: Sequence[str]) -> None:
    for name in key:
        for table, what in ((people, "people"), (rows, "rows")):
            if name not in table.names:
                raise DataError(
                    f"the table of {what} has no column '{name}', which names a person", hint="see 'person:'"
                )
    twice = [name for name in own if name in rows.names]
    if twice:
        hint = "drop it from one of them, or rename it"
        raise DataError(f"'{twice[0]}' is a column of the table of people and of the table of their rows", hint=hint)


def _named(people: Table, rows: Table, key: Sequence[str]) -> IntArray:
    """The line in the table of people behind each row."""
    columns = []
    for name in key:
        mine, theirs = people.text(name), rows.text(name)
        known = {label: code for code, label in enumerate(mine.labels)}
        code = np.array(
            [known.get(label, len(known) + place) for place, label in enumerate(theirs.labels)], dtype=np.int64
        )
        columns.append(np.concatenate([mine.codes.astype(np.int64), code[theirs.codes]]))
    named = equivalence_classes_of(columns, rows=people.rows + rows.rows)
    line = np.full(len(named), -1, dtype=np.int64)
    line[named.of[: people.rows]] = np.arange(people.rows)
    if len(np.unique(named.of[: people.rows])) < people.rows:
        raise DataError("somebody stands twice in the table of people", hint="keep one line for each person")
    found: IntArray = line[named.of[people.rows :]]
    if (found < 0).any():
        what = f"{int((found < 0).sum())} row(s) belong to nobody in the table of people"
        raise DataError(what, hint="add these people, or leave their rows out")
    return found
