"""How rows find what is published of them: their place among the records of their class, the share it lies in, and
their key.

Invariants
    I1  Keys come to rows by a join, so that no plan, log or page of the cluster contains a secret.
    I2  Rows that tie under a key are the same in everything that is published, so it does not matter which of them
        comes first.


Spark packing
-------------
What comes to the driver: a counted frame, its texts as codes from the moment they leave the executors.

Classes of people repeat few texts often. As text a class of ten columns takes some 250 bytes, and twice that while it
arrives; as codes it takes one byte a column, two or four where a column has many texts. So executors write every
partition as a stream of codes with dictionaries, compressed, and here the streams are put together.

>>> table = pa.table({"town": pa.array(["Ulm", "Bonn", "Ulm"]).dictionary_encode(), "n": [1, 2, 3]})
>>> pa.types.is_dictionary(unpacked([packed([table.to_batches()[0]], ["town"])]).column("town").type)
True
>>> sort_rows(table, ["n"], ["town"]).column("n").to_pylist()
[3, 2, 1]


Spark classes
-------------
Rows counted as classes where they lie, and brought to the driver as long as they are not too many; and how many rows
there are.

Cost: one job and one read of a small source. Classes of a larger one are kept on the cluster until they are counted and
brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import narrow_codes
from sfumato.core.errors import DataError
from sfumato.data.table import IN_ORDER, encode_column_compactly
from sfumato.engines.protocol import COUNT, IDENTITY
from sfumato.engines.spark.regions import FIRST, KEY, LABEL, LAST, SPLIT, RemoteClasses
from sfumato.engines.spark.source import MALFORMED, RemoteRows, expected_bytes

PLACE = "\x1fplace"


def rank_within_class(frame: Any, carried: Sequence[str]) -> Any:
    """Rows of classes that go to several groups, with their place in a keyed order of the class."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy(IDENTITY).orderBy(order_key(SPLIT, carried))
    return frame.withColumn(PLACE, F.row_number().over(order) - 1).drop(SPLIT)


def join_share(frame: Any, carried: Sequence[str], more: Sequence[str]) -> Any:
    """Rows beside the share of their class that their place lies in."""
    from pyspark.sql import functions as F

    return frame.where((F.col(PLACE) >= F.col(FIRST)) & (F.col(PLACE) < F.col(LAST))).select(*carried, *more)


def select_published(
    frame: Any, recoded: Iterable[str], as_is: list[str], carried: list[str], published: Sequence[str]
) -> Any:
    """The published columns and the key that puts rows in order."""
    from pyspark.sql import functions as F

    places = {name: f"{LABEL}{place}" for place, name in enumerate(recoded)} | dict(zip(as_is, carried, strict=True))
    key = F.substring(order_key(KEY, carried), 1, 32).alias(KEY)  # I2
    return frame.select(*(column_by_name(places[name]).alias(name) for name in published), key)


def order_key(key: str, names: Sequence[str]) -> Any:
    """A row's place in an order that the key of its class or tuple decides, by what is published of it as it is
    (I2)."""
    from pyspark.sql import functions as F

    content = [F.coalesce(column_by_name(name).cast("string"), F.lit("\x00")) for name in names]
    return F.sha2(F.concat_ws("\x1f", F.col(key), *content), 256)  # I1


def class_number(columns: Iterable[Any], salt: int) -> Any:
    """The number by which rows know their class."""
    from pyspark.sql import functions as F

    return F.xxhash64(F.lit(salt), *columns)


def quote_column(name: str) -> str:
    """Quote a column name for Spark, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def column_by_name(name: str) -> Any:
    """Return a column by its name, whatever characters it has."""
    from pyspark.sql import functions as F

    return F.col(quote_column(name))


def broadcast_columns(columns: dict[str, Any]) -> pa.Table:
    """Columns that are sent to the rows."""
    return pa.table({name: pa.array(column) for name, column in columns.items()})


# Spark packing
# -------------


_CONTENT = "content"


@overload
def collect_frame(frame: Any, texts: Sequence[str]) -> pa.Table: ...
@overload
def collect_frame(frame: Any, texts: Sequence[str], few: int) -> pa.Table | None: ...
def collect_frame(frame: Any, texts: Sequence[str], few: int | None = None) -> pa.Table | None:
    """A frame brought here, some of its columns as codes into their texts; nothing where a partition has more rows than
    a few."""
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
        kinds = {
            name: pa.dictionary(pa.int32(), pa.string()) if name in names else pa.int64() for name in frame.columns
        }
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
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
    ) as out:
        out.write_table(table.unify_dictionaries().combine_chunks())
    return bytes(sink.getvalue())


def unpacked(streams: Sequence[bytes]) -> pa.Table:
    """All partitions as one table with one dictionary for each column."""
    tables = [pa.ipc.open_stream(stream).read_all() for stream in streams]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def sort_rows(table: pa.Table, descending: Sequence[str], texts: Sequence[str]) -> pa.Table:
    """Rows by some numbers, the largest first, then by their texts; codes are numbered as their texts first occur."""
    keys = [-table.column(name).to_numpy() for name in descending] + [_ranks(table.column(name)) for name in texts]
    order = pa.array(np.lexsort(keys[::-1])) if keys else None
    del keys
    columns = {
        name: table.column(name) if order is None else table.column(name).take(order) for name in table.column_names
    }
    made = pa.table(
        columns | {name: encode_column_compactly(columns[name], name) for name in texts}
    ).replace_schema_metadata(IN_ORDER)
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
    return narrow_codes(rank, len(labels))[coded.indices.to_numpy(zero_copy_only=False)]


# Spark classes
# -------------


SMALL_SOURCE = 1 << 23
"""Bytes of a source that is counted without being kept, for to read it again costs less."""
FEW = 100_000
"""Classes that one task sends before any person knows how many there are."""


def collect_classes(rows: RemoteRows, names: Sequence[str], salt: int, most: int) -> pa.Table | RemoteClasses | None:
    """Classes here or, where they are more than the driver takes, there; nothing where two of those have the same
    number."""
    frame = _grouped(rows, names, salt)
    found = collect_frame(frame, names, FEW) if expected_bytes(rows.frame) <= SMALL_SOURCE else None
    if found is not None and found.num_rows <= most:
        _require_none(
            int(found.column(COUNT).to_numpy()[found.column(MALFORMED).to_numpy()].sum()) if rows.checked else 0
        )
        return found
    return _brought_from(frame, names, salt, most)


def _brought_from(frame: Any, names: Sequence[str], salt: int, most: int) -> pa.Table | RemoteClasses | None:
    """The same of classes that are kept on the cluster meanwhile, or for good."""
    found = None
    many, unfit = _kept(frame)
    if not unfit and many <= most:
        found = collect_frame(frame, names)
    elif not unfit and frame.select(IDENTITY).distinct().count() == many:
        return RemoteClasses(frame.select(*map(column_by_name, names), COUNT, IDENTITY), tuple(names), salt)
    frame.unpersist()
    _require_none(unfit)
    return found


def _grouped(rows: RemoteRows, names: Sequence[str], salt: int) -> Any:
    """Classes on the cluster with counts and numbers; lines that do not fit are classes of their own."""
    from pyspark.sql import functions as F

    texts = [rows.text(name).alias(name) for name in names]
    marks = [F.col(MALFORMED).isNotNull().alias(MALFORMED)] if rows.checked else []
    alike = rows.frame.select(*texts, *marks).groupBy(*map(column_by_name, [*names, *([MALFORMED] if marks else [])]))
    return alike.agg(F.count(F.lit(1)).alias(COUNT)).withColumn(
        IDENTITY, class_number(map(column_by_name, names), salt)
    )


def _kept(frame: Any) -> tuple[int, int]:
    """Keeps classes on the cluster; how many there are, and how many lines do not fit."""
    from pyspark.sql import functions as F

    unfit = F.sum(F.when(F.col(MALFORMED), F.col(COUNT))) if MALFORMED in frame.columns else F.lit(0)
    many, lines = frame.persist().agg(F.count(F.lit(1)), unfit).first()
    return int(many), int(lines or 0)


def count_remote_records(rows: RemoteRows) -> int:
    """How many rows there are; lines that do not fit are refused."""
    from pyspark.sql import functions as F

    if not rows.checked:
        return int(rows.frame.count())
    many, unfit = rows.frame.agg(F.count(F.lit(1)), F.count(F.col(MALFORMED))).first()
    _require_none(unfit)
    return int(many)


def _require_none(unfit: int) -> None:
    if unfit:
        what = f"{unfit} line(s) of the source do not have the columns of its header"
        raise DataError(what, hint="correct the files")
