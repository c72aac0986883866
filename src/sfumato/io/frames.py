"""Tables that are already in memory: pyarrow, polars, pandas, or anything that speaks the Arrow stream protocol."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.errors import DataError


def from_frame(data: Any) -> pa.Table:
    """The frame as an Arrow table, or an error that names what was given."""
    table = _convert(data)
    if table is None:
        what = f"a {type(data).__name__} is no table"
        raise DataError(what, hint="give a path, or a polars, pandas or pyarrow frame")
    if len(set(table.column_names)) != table.num_columns:
        raise DataError("two columns of the frame have the same name", hint="rename one of them")
    if table.num_rows == 0:
        raise DataError("the frame has no rows", hint="give a table with at least one record")
    return table.cast(pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema]))


def _plain(kind: pa.DataType) -> pa.DataType:
    """One type of text for all the ways in which frames keep it."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) else kind


def _convert(data: Any) -> pa.Table | None:
    if isinstance(data, pa.Table):
        return data
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if isinstance(data, dict):
        return pa.table(data)
    return None
