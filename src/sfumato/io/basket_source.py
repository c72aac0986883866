"""``kind: baskets``: set-valued records from the files people have.

==========  =======================================================================================
format      what a file looks like
==========  =======================================================================================
fimi        one record per line, items separated by blanks, no header (``.dat``, ``.dat.gz``)
items       a table with one column of items; every other column is a label
long        a table with one row per (record, item); other columns are labels, the same on all rows of a record
wide        a table with one 0/1 column per item; columns with other values, or named in `labels`, are labels
==========  =======================================================================================

In Python also a `Baskets`, or a list with a list (or set) of items for every record. ``auto`` takes fimi for ``.dat``
and ``.txt``, long when `record` is named, items when `items` is. Where nothing is named one column of words holds
items, two columns of which the first repeats are record and item, and a table with 0 and 1 is wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.errors import DataError
from sfumato.data.baskets import Baskets, split_item_columns, universe
from sfumato.data.item_sets import Sets
from sfumato.data.table import Table
from sfumato.io.file_contents import is_there, read_bytes
from sfumato.io.frames import from_frame, require_values
from sfumato.io.source import LINE_BREAKS, LineBreaks, Source
from sfumato.io.sql import is_url, read_sql
from sfumato.io.table_files import is_text, read_file

Format = Literal["auto", "fimi", "items", "long", "wide"]
_FLAGS = {"0": False, "1": True, "": False, "false": False, "true": True}


class BasketSource(Source):
    """Set-valued records: a FIMI file, a column of items, (record, item) rows, or a 0/1 table."""

    name: ClassVar[str] = "baskets"
    reads: ClassVar[frozenset[str]] = Source.reads | {
        "columns", "columns.proposed", "columns.hierarchy", "columns.boundary", "columns.at_most",
        "columns.publish", "protect.given", "protect.hide", "knows",
        "utility.suppress_at_most", "ledger", "key", "series",
    }  # fmt: skip
    private: ClassVar[tuple[str, ...]] = ("source", "base", "table", "record")
    needs_key: ClassVar[bool] = True

    format: Format = Field(default="auto", description="fimi, items, long, wide, or auto")
    items: str = Field(default="", description="the column with the items (items), or with one item per row (long)")
    record: str = Field(default="", description="the column that identifies a record (long)")
    labels: tuple[str, ...] = Field(default=(), description="columns of a wide table that are not items")
    separator: str = Field(default=" ", min_length=1, description="separator between the items of a record")
    line_breaks: LineBreaks = Field(default="refused", description=LINE_BREAKS)
    table: str = Field(default="", description="the table, if the source is a database")

    def read(self, data: Any = None) -> Baskets:
        if isinstance(data, Baskets):
            return data
        if isinstance(data, list | tuple) and all(isinstance(row, list | tuple | set | frozenset) for row in data):
            return _filled(Baskets.of([[str(item) for item in row] for row in data]), "the list")
        if data is None and not self.source:
            raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
        given = data if data is not None else (self.source if is_url(self.source) else self.path())
        if isinstance(given, str | Path) and not is_url(str(given)):
            return self._from_path(Path(given))
        if isinstance(given, list | tuple):
            return _of_lists(given)
        table = read_sql(str(given), self.table) if isinstance(given, str) else from_frame(given)
        return self._from_table(Table(self._settled(table)))

    def _from_path(self, path: Path) -> Baskets:
        ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
        if self.format == "fimi" or (self.format == "auto" and ending in {"dat", "fimi"}):
            return read_fimi(path, self.separator)
        table = read_file(path, line_breaks=self.line_breaks == "allowed")
        return self._from_table(Table(table if is_text(path) else self._settled(table)))

    def _settled(self, table: pa.Table) -> pa.Table:
        """The same table; its columns, and the entries of lists in them, hold single values that fit a line."""
        for name in table.column_names:
            column = table.column(name)
            entries = pc.list_flatten(column) if _is_list(column.type) else column
            require_values(pa.table({name: entries}), [name], line_breaks=self.line_breaks == "allowed")
        return table

    def _from_table(self, table: Table) -> Baskets:
        if self.format == "long" or (self.format == "auto" and self.record):
            return from_long(table, self.record, self.items)
        if self.format == "items" or (self.format == "auto" and self.items):
            return from_items(table, self.items, self.separator)
        record, items = _told_columns(table) if self.format == "auto" else ("", "")
        if items:
            return from_long(table, record, items) if record else from_items(table, items, self.separator)
        return from_wide(table, self.labels)


def _told_columns(table: Table) -> tuple[str, str]:
    """Record and items, where a table tells by itself: one column of words holds items; of two, the first repeats.

    >>> import pyarrow as pa
    >>> _told_columns(Table(pa.table({"id": ["1", "1", "2"], "item": ["bread", "milk", "beer"]})))
    ('id', 'item')
    >>> _told_columns(Table(pa.table({"bread": ["1", "0"], "milk": ["1", "1"]})))
    ('', '')
    """
    texts = [table.text(name) for name in table.names]
    flags = any(all(label.lower() in _FLAGS for label in text.labels) for text in texts)
    repeats = bool(texts) and int(texts[0].counts().max(initial=0)) > 1
    if flags or not (len(texts) == 1 or (len(texts) == 2 and repeats)):
        return "", ""
    return ("" if len(texts) == 1 else table.names[0]), table.names[-1]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def read_fimi(path: Path, separator: str = " ") -> Baskets:
    """One record per line; blank lines are not records."""
    if not is_there(path):
        raise DataError(
            f"no such file: {path.name}", where=str(path), hint="paths in a policy are relative to the policy file"
        )
    try:
        records = pa.array([line for line in read_bytes(path).splitlines() if line.strip()], pa.binary()).cast(
            pa.string()
        )
    except pa.ArrowInvalid:
        raise DataError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    (sets,), names = split_item_columns([pa.chunked_array([records])], separator, loose=True)
    return _filled(Baskets(sets, names), path.name)


def _of_lists(records: list[Any] | tuple[Any, ...]) -> Baskets:
    """Records as lists of items, or as texts of words."""
    if not all(isinstance(record, list | tuple | set | frozenset | str) for record in records):
        raise DataError(
            "a record is a list of items, or a text of words", hint='for example [["bread", "milk"], ["beer"]]'
        )
    rows = [record.split() if isinstance(record, str) else [str(item) for item in record] for record in records]
    if any(not item or any(sign.isspace() for sign in item) for row in rows for item in row):
        raise DataError("an item is empty or holds a blank", hint="give every item a name in one word")
    return _filled(Baskets.of(rows), "the list")


def _filled(baskets: Baskets, name: str) -> Baskets:
    if not len(baskets):
        raise DataError(f"{name} has no records", hint="give at least one record")
    return baskets


def _labels(table: Table, names: list[str]) -> dict[str, NDArray[np.object_]]:
    columns = {}
    for name in names:
        text = table.text(name)
        columns[name] = np.array(text.labels, dtype=object)[text.codes]
    return columns


def from_items(table: Table, items: str, separator: str = " ") -> Baskets:
    """One record per row, its items in one column (text with separators, or lists)."""
    if not items:
        raise DataError("which column holds the items is not said", hint="add 'items: <column>' under data")
    column = table.column(items)
    if _is_list(column.type):
        rows = [[str(item) for item in row or []] for row in column.to_pylist()]
    else:
        (sets,), names = split_item_columns([column], separator, loose=True)
        return Baskets(sets, names, _labels(table, [name for name in table.names if name != items]))
    bare = Baskets.of(rows)
    return Baskets(bare.sets, bare.names, _labels(table, [name for name in table.names if name != items]))


def from_long(table: Table, record: str, item: str) -> Baskets:
    """One row per (record, item)."""
    if not record or not item:
        hint = "add 'record: <column>' and 'items: <column>' under data"
        raise DataError("which columns hold the record and the item is not said", hint=hint)
    owner, thing = table.text(record), table.text(item)
    names = universe(label for label in thing.labels if label)
    place = {name: index for index, name in enumerate(names)}
    code = np.array([place.get(label, -1) for label in thing.labels], dtype=np.int64)[thing.codes]
    there = code >= 0
    sets = Sets.from_flat(owner.codes[there], code[there], len(owner.labels), len(names))
    first = np.unique(owner.codes, return_index=True)[1]
    labels = {record: np.array(owner.labels, dtype=object)}
    for name in (name for name in table.names if name not in (record, item)):
        text = table.text(name)
        if (text.codes != text.codes[first][owner.codes]).any():
            raise DataError(
                f"column '{name}' differs between rows of the same record", hint="leave it out of the source"
            )
        labels[name] = np.array(text.labels, dtype=object)[text.codes[first]]
    return Baskets(sets, names, labels)


def from_wide(table: Table, labels: tuple[str, ...] = ()) -> Baskets:
    """One 0/1 column per item."""
    flags: dict[str, NDArray[np.bool_]] = {}
    for name in (name for name in table.names if name not in labels):
        text = table.text(name)
        if all(label.lower() in _FLAGS for label in text.labels):
            flags[name] = np.array([_FLAGS[label.lower()] for label in text.labels], dtype=bool)[text.codes]
    if not flags:
        raise DataError(
            "no column of the table holds 0 and 1 only",
            hint="name the column of items with 'items:' under data, and of one item per row also 'record:'",
        )
    return Baskets(
        Sets.from_dense(np.column_stack(list(flags.values()))),
        tuple(flags),
        _labels(table, [name for name in table.names if name not in flags]),
    )
