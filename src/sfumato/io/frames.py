"""Tables that are already in memory: pyarrow, polars, pandas, or anything that speaks the Arrow stream protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import DataError

_FRAMES = "give a path, or a polars, pandas or pyarrow frame"


def from_frame(data: Any, *, empty: bool = False) -> pa.Table:
    """The frame as an Arrow table, or an error that names what was given; without rows only where it may be `empty`."""
    table = _convert(data)
    if table is None:
        raise DataError(f"a {type(data).__name__} is no table", hint=_FRAMES)
    _require_names(table.column_names)
    if table.num_rows == 0 and not empty:
        raise DataError("the frame has no rows", hint="give a table with at least one record")
    columns = [_plain_column(table.column(place), name) for place, name in enumerate(table.column_names)]
    return pa.table(columns, names=table.column_names)


def _require_names(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise DataError("two columns of the frame have the same name", hint="rename one of them")
    for name in names:
        if not name:
            raise DataError("a column of the frame has no name", hint="name every column")
        if any(sign in name for sign in "\r\n\0"):
            raise DataError("the name of a column holds a line break", hint="give it a name in one line")


def _plain_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """One type of text for all the ways in which frames keep it."""
    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            return _decoded(column, name)
        if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) or _is_bytes(kind):
            return pc.cast(column, pa.string())
    except pa.ArrowException:
        raise _no_single_value(name, kind) from None
    return column


def _is_bytes(kind: pa.DataType) -> bool:
    """Text that a file keeps without saying that it is text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _decoded(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Categories as their values; decoded chunk by chunk, because every chunk may have categories of its own."""
    chunks = []
    for chunk in column.chunks:
        values = _plain_column(pa.chunked_array([chunk.dictionary]), name).combine_chunks()
        chunks.append(pc.take(values, pc.cast(chunk.indices, pa.int64())))
    value_type = chunks[0].type if chunks else pa.string()
    return pa.chunked_array(chunks, type=value_type)


def _convert(data: Any) -> pa.Table | None:
    """Whatever the libraries say about a frame that they cannot convert is said without its values."""
    try:
        if isinstance(data, pa.Table):
            return data
        if type(data).__module__.partition(".")[0] == "pandas":
            return _from_pandas(data)
        if type(data).__name__ == "Series":
            return None
        if hasattr(data, "__arrow_c_stream__") or isinstance(data, dict):
            return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        what = f"the {type(data).__name__} cannot be read as a table"
        raise DataError(what, hint="give columns of equal length, each with values of one kind") from None
    return None


def _from_pandas(data: Any) -> pa.Table | None:
    if not hasattr(data, "columns"):
        return None
    _require_names([str(name) for name in data.columns])
    return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)


def require_values(table: pa.Table, names: Sequence[str], *, line_breaks: bool) -> None:
    """Refuses columns that hold no single values, and text that a published line could not hold."""
    for name in names:
        column = table.column(name)
        if not _is_single(column.type):
            raise _no_single_value(name, column.type)
        if pa.types.is_string(column.type):
            if not line_breaks:
                _refuse(
                    column,
                    name,
                    r"[\r\n]",
                    "holds a line break",
                    "clean it, or write 'line_breaks: allowed' under data",
                )
            _refuse(column, name, r"\x00", "holds a NUL character", "clean the column")


def _is_single(kind: pa.DataType) -> bool:
    if pa.types.is_fixed_size_binary(kind) or isinstance(kind, pa.BaseExtensionType):
        return False
    try:
        pc.cast(pa.array([], kind), pa.string())
    except (pa.ArrowException, NotImplementedError):
        return False
    return True


def _no_single_value(name: str, kind: pa.DataType) -> DataError:
    hint = "leave it out, or write it as text"
    return DataError(f"column '{name}' has the type {_short(kind)}, which is no single value", hint=hint)


def _short(kind: pa.DataType) -> str:
    """The type without its fields, whose names nobody has checked."""
    return str(kind).partition("<")[0].partition("[")[0]


def _refuse(column: pa.ChunkedArray, name: str, pattern: str, what: str, hint: str) -> None:
    found = pc.match_substring_regex(column, pattern)
    row = pc.index(found, True).as_py()
    if row >= 0:
        raise DataError(f"row {row + 1} of column '{name}' {what}", hint=hint)
