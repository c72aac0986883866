"""What comes to the driver: a counted frame, its texts as codes from the moment they leave the executors.

Classes of people repeat few texts often. As text a class of ten columns takes some 250 bytes, and twice that while it arrives; as
codes it takes one byte a column, two or four where a column has many texts. So executors write every partition as a stream of
codes with dictionaries, compressed, and here the streams are put together.

>>> table = pa.table({"town": pa.array(["Ulm", "Bonn", "Ulm"]).dictionary_encode(), "n": [1, 2, 3]})
>>> pa.types.is_dictionary(unpacked([packed([table.to_batches()[0]], ["town"])]).column("town").type)
True
>>> ordered(table, ["n"], ["town"]).column("n").to_pylist()
[3, 2, 1]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import narrowed
from sfumato.data.table import IN_ORDER, narrow_column

_CONTENT = "content"


@overload
def collected(frame: Any, texts: Sequence[str]) -> pa.Table: ...
@overload
def collected(frame: Any, texts: Sequence[str], few: int) -> pa.Table | None: ...
def collected(frame: Any, texts: Sequence[str], few: int | None = None) -> pa.Table | None:
    """A frame brought here, some of its columns as codes into their texts; nothing where a partition has more rows than a few."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    names = tuple(texts)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        many = sum(batch.num_rows for batch in found)
        if many:
            content = packed(found, names) if few is None or many <= few else None
            yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=[_CONTENT])

    rows = frame.mapInArrow(pack, StructType([StructField(_CONTENT, BinaryType())])).collect()
    if not rows:
        kinds = {name: pa.dictionary(pa.int32(), pa.string()) if name in names else pa.int64() for name in frame.columns}
        return pa.schema(kinds).empty_table()
    if any(row[0] is None for row in rows):
        return None
    return unpacked([bytes(row[0]) for row in rows])


def packed(batches: Sequence[pa.RecordBatch], texts: Sequence[str]) -> bytes:
    """A partition as one compressed Arrow stream."""
    table = pa.Table.from_batches(list(batches))
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if name in texts and not pa.types.is_dictionary(column.type):
            table = table.set_column(place, name, column.combine_chunks().dictionary_encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)) as out:
        out.write_table(table.unify_dictionaries().combine_chunks())
    return bytes(sink.getvalue())


def unpacked(streams: Sequence[bytes]) -> pa.Table:
    """All partitions as one table with one dictionary for each column."""
    tables = [pa.ipc.open_stream(stream).read_all() for stream in streams]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def ordered(table: pa.Table, descending: Sequence[str], texts: Sequence[str]) -> pa.Table:
    """Rows by some numbers, the largest first, then by their texts; codes are numbered as their texts first occur."""
    keys = [-table.column(name).to_numpy() for name in descending] + [_ranks(table.column(name)) for name in texts]
    order = pa.array(np.lexsort(keys[::-1])) if keys else None
    del keys
    columns = {name: table.column(name) if order is None else table.column(name).take(order) for name in table.column_names}
    made = pa.table(columns | {name: narrow_column(columns[name], name) for name in texts}).replace_schema_metadata(IN_ORDER)
    del columns, table
    pa.default_memory_pool().release_unused()
    return made


def _ranks(column: pa.ChunkedArray) -> Any:
    """The place of every value among the different texts of a coded column."""
    whole = column.combine_chunks()
    coded = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    labels = coded.dictionary.to_pylist()
    rank = np.empty(len(labels), dtype=np.int32)
    rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels), dtype=np.int32)
    return narrowed(rank, len(labels))[coded.indices.to_numpy(zero_copy_only=False)]
