"""Frames whose tasks fail, and who kills an executor; the rows are always the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa


def failing(frame: Any, times: int = 2) -> Any:
    """The same rows from tasks that fail so many times, each with all its rows delivered already."""

    def deliver(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context is not None and context.attemptNumber() < times:
            raise OSError("this task fails")

    return frame.mapInArrow(deliver, frame.schema)


def killing(frame: Any, flag: Path) -> Any:
    """The same rows; when the flag says so, the first task that sees it ends its whole executor."""

    def deliver(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            try:
                flag.rename(flag.with_suffix(".taken"))
            except OSError:
                continue
            os.kill(_executor(), signal.SIGKILL)

    return frame.mapInArrow(deliver, frame.schema)


def _executor() -> int:
    """The Java process above this worker."""
    pid = os.getpid()
    while True:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        if status[0].split()[1] == "java":
            return pid
        pid = next(int(line.split()[1]) for line in status if line.startswith("PPid"))


def of_the_next(lists: Any) -> Any:
    """What every bucket lists, said of the next one."""
    buckets = sorted(row["bucket"] for row in lists.select("bucket").distinct().collect())
    turned = pa.table({"bucket": buckets, "next": [*buckets[1:], buckets[0]]})
    moved = (
        lists.join(lists.sparkSession.createDataFrame(turned), "bucket")
        .drop("bucket")
        .withColumnRenamed("next", "bucket")
    )
    return moved.select(*lists.columns)


def changing(frame: Any, flag: Path, name: str, value: str) -> Any:
    """Rows that say something else in a column once the flag is there."""

    def deliver(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if flag.exists():
                place = batch.schema.get_field_index(name)
                columns = [*batch.columns]
                columns[place] = pa.array([value] * batch.num_rows)
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
            else:
                yield batch

    return frame.mapInArrow(deliver, frame.schema)


def after(verb: str, engine: Any, act: Callable[[], object]) -> Any:
    """An engine on which something happens after one of its verbs, while the source will be read again."""

    def disturbed(self: Any, *given: Any) -> Any:
        found = getattr(type(engine), verb)(self, *given)
        act()
        return found

    return type("Disturbed", (type(engine),), {verb: disturbed})(engine.session, engine.staging)
