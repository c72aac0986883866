"""Classes that do not fit on the driver: they stay on the cluster, are counted by region, and each region is solved
where it lies.

What comes to the driver are the values of each column and, per open region and column, how often each leaf occurs with
which sensitive value. Shares of classes (who is published as what) stay on the cluster, too; rows find theirs by an
exchange.

Invariants
    I1  A region is a function of leaf codes alone, so a task that runs again sees the same classes.
    I2  What solves a region gets its classes in a fixed order and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.engines.protocol import COUNT, IDENTITY

REGION, BIN, FIRST, LAST, KEY, SPLIT = "\x1fregion", "\x1fbin", "\x1ffirst", "\x1flast", "\x1fkey", "\x1fsplit"
LABEL = "\x1flabel"
Route = Callable[[Sequence[IntArray]], IntArray]
Solve = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Leaves:
    """How the texts of a column become leaf codes."""

    name: str
    texts: tuple[str, ...]
    codes: CodeArray

    def of(self, column: Any) -> IntArray:
        """The leaf of every value of a column."""
        place = pc.index_in(column, value_set=pa.array(self.texts, pa.string())).to_numpy(zero_copy_only=False)
        found: IntArray = self.codes[place].astype(np.int64)
        return found


@dataclass(frozen=True)
class RemoteClasses:
    """Classes on the cluster: their texts, counts and numbers, kept there."""

    frame: Any
    names: tuple[str, ...]
    salt: int

    def many(self) -> int:
        return int(self.frame.count())

    def texts(self, name: str, most: int) -> list[str]:
        """The different values of a column; one more than `most` at most."""
        place = self.names.index(name)
        found = self.frame.select(self.frame.columns[place]).distinct().limit(most + 1).toArrow()
        return sorted(found.column(0).to_pylist())

    def histogram(
        self, leaves: Sequence[Leaves], route: Route, open_: Sequence[int], hidden: Sequence[str]
    ) -> pa.Table:
        """Per open region, column and leaf: records and classes (hidden −1), and records per value of each sensitive
        column."""
        from pyspark.sql import functions as F

        count = _counting(leaves, route, tuple(open_), tuple(hidden))
        numbers = ["region", "column", "code", "hidden", "records", "classes"]
        partial = self.frame.mapInArrow(count, _schema(["value"], numbers))
        keys = ["region", "column", "code", "hidden", "value"]
        return (
            partial.groupBy(*keys).agg(F.sum("records").alias("records"), F.sum("classes").alias("classes")).toArrow()
        )

    def solved(self, placing: Any, solve: Solve, recoded: Sequence[str]) -> Any:
        """The shares of all classes, made region by region: number, places, keys, labels of recoded columns."""
        inside = self.frame.mapInArrow(placing, _schema(self.names, [COUNT, IDENTITY, REGION, BIN]))
        labels = [f"{LABEL}{place}" for place in range(len(recoded))]
        return inside.groupBy(BIN).applyInArrow(
            _solving(solve), _schema([KEY, SPLIT, *labels], [IDENTITY, COUNT, FIRST, LAST])
        )

    def wrong(self, shares: Any, count: Any) -> int:
        """Records of shares that do not cover their class, and records that shares take beyond what a class has."""
        from pyspark.sql import functions as F

        own = shares.drop(COUNT).join(self.frame, IDENTITY, "left")
        uncovered = own.mapInArrow(count, _schema([], ["wrong"])).agg(F.sum("wrong")).first()[0]
        taken = shares.groupBy(IDENTITY).agg(F.sum(F.col(LAST) - F.col(FIRST)).alias("taken"))
        over = F.greatest(F.col("taken") - F.coalesce(F.col(COUNT), F.lit(0)), F.lit(0))
        beyond = taken.join(self.frame.select(IDENTITY, COUNT), IDENTITY, "left").agg(F.sum(over)).first()[0]
        return int(uncovered or 0) + int(beyond or 0)


def _schema(texts: Sequence[str], numbers: Sequence[str]) -> Any:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    return StructType(
        [*(StructField(name, StringType()) for name in texts), *(StructField(name, LongType()) for name in numbers)]
    )


def _counting(leaves: Sequence[Leaves], route: Route, open_: tuple[int, ...], hidden: tuple[str, ...]) -> Any:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            codes = [each.of(batch.column(each.name)) for each in leaves]
            region = route(codes)
            kept = np.flatnonzero(np.isin(region, open_))
            records = batch.column(COUNT).to_numpy()[kept]
            values = {place: batch.column(name).take(pa.array(kept)) for place, name in enumerate(hidden)}
            for column, code in enumerate(codes):
                parts = {"region": region[kept], "code": code[kept], "records": records}
                yield from _summed(parts, column, -1, pa.array([""] * len(kept), pa.string()))
                for place, value in values.items():
                    yield from _summed(parts, column, place, value)

    return count


def _summed(parts: Mapping[str, Any], column: int, hidden: int, value: Any) -> Iterator[pa.RecordBatch]:
    table = pa.table({**parts, "value": value, "classes": np.ones(len(value), dtype=np.int64)})
    found = table.group_by(["region", "code", "value"]).aggregate([("records", "sum"), ("classes", "sum")])
    many = found.num_rows
    columns = {
        "value": found.column("value"),
        "region": found.column("region"),
        "column": pa.array(np.full(many, column)),
        "code": found.column("code"),
        "hidden": pa.array(np.full(many, hidden)),
        "records": found.column("records_sum"),
        "classes": found.column("classes_sum"),
    }
    yield from pa.table(columns).combine_chunks().to_batches()


def region_assigner(leaves: Sequence[Leaves], route: Route, bins: Mapping[int, int], apart: bool) -> Any:
    """What gives every class its bin and its region; regions of a bin are one unless they are solved apart."""
    bin_of = np.full(max(bins) + 1, -1, dtype=np.int64)
    bin_of[list(bins)] = list(bins.values())

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            region = route([each.of(batch.column(each.name)) for each in leaves])  # I1
            bin_ = bin_of[region]
            more = [pa.array(region if apart else bin_), pa.array(bin_)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *more], names=[*batch.schema.names, REGION, BIN])

    return place


def _solving(solve: Solve) -> Any:
    def one(table: pa.Table) -> pa.Table:
        ordered = table.sort_by([(REGION, "ascending"), (IDENTITY, "ascending")])  # I2
        region, inner = ordered.column(REGION).to_numpy(), ordered.drop_columns([REGION, BIN])
        edges = [0, *(np.flatnonzero(np.diff(region)) + 1).tolist(), len(region)]
        return pa.concat_tables([solve(inner.slice(first, last - first)) for first, last in pairwise(edges)])

    return one
