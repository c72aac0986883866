"""The files of a part counted here, one after the other, so that any person can verify a release that was made on a
cluster.

Memory grows with the different rows, not with the rows.

>>> import tempfile
>>> import pyarrow.parquet as pq
>>> place = Path(tempfile.mkdtemp()) / "part-00000.parquet"
>>> pq.write_table(pa.table({"age": ["30", None, "30"]}), place)
>>> table, counts = HERE.count([place], ["age"])
>>> table.column("age").to_pylist(), counts.tolist()
(['', '30'], [1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, LedgerError
from sfumato.data.generalization import MISSING
from sfumato.engines.protocol import COUNT, LINE, PERSON, TWICE, People
from sfumato.io.table_files import parquet_batches

_BATCH = 1 << 18


class LocalFiles:
    """This process, one file after the other."""

    name: ClassVar[str] = "local"

    def columns(self, files: Sequence[Path]) -> list[str]:
        import pyarrow.parquet as pq

        try:
            found = [tuple(pq.read_schema(file).names) for file in files]
        except (OSError, pa.ArrowException):
            raise DataError("a file is no Parquet file") from None
        if len(set(found)) > 1:
            raise DataError("the files of a part have different columns")
        return list(found[0])

    def count(self, files: Sequence[Path], names: Sequence[str]) -> tuple[pa.Table, IntArray]:
        try:
            whole = pa.concat_tables(
                [_empty(names), *(_counted(batch, names) for file in files for batch in batches(file, names))]
            )
        except (OSError, pa.ArrowException):
            raise DataError("a file is no Parquet file") from None
        return split_counts(merged(whole, names))

    def with_buckets(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], aside: Sequence[str]
    ) -> dict[str, tuple[pa.Table, IntArray | None]]:
        """All rows: there are almost as many pairs of a row and a bucket."""
        parts = {files[0].parent.name: files, **lists}
        try:
            return {name: (_rows(own, self.columns(own)), None) for name, own in parts.items()}
        except (OSError, pa.ArrowException):
            raise DataError("a file is no Parquet file") from None

    def beyond(self, files: Sequence[Path], rows: pa.Table, names: Sequence[str]) -> int:
        """Rows of some files that are more often there than among the records of a table."""
        mine, often = self.count(files, names)
        theirs = merged(_counted(rows.select(list(names)), names), names)
        minus = theirs.set_column(len(names), COUNT, pc.negate(theirs.column(COUNT)))
        left = merged(
            pa.concat_tables([mine.append_column(COUNT, pa.array(often)), minus.select([*names, COUNT])]), names
        )
        return int(np.maximum(left.column(COUNT).to_numpy(), 0).sum())

    def repeats(self, files: Sequence[Path], names: Sequence[str]) -> int:
        _, often = self.count(files, names)
        return int((often - 1).sum())

    def courses(self, people: Sequence[People]) -> tuple[pa.Table, IntArray]:
        """All people of all releases side by side: memory grows with them."""
        names, found = [str(place) for place in range(len(people))], pa.table({PERSON: pa.array([], pa.string())})
        for name, own in zip(names, people, strict=True):
            pairs = own if isinstance(own, pa.Table) else _pairs(own)
            pairs = pa.table(
                {PERSON: pc.cast(pairs.column(PERSON), pa.string()), name: pc.cast(pairs.column(LINE), pa.int64())}
            )
            if pc.count_distinct(pairs.column(PERSON)).as_py() < pairs.num_rows:
                raise LedgerError(TWICE)
            found = found.join(pairs, PERSON, join_type="full outer")
        lines = {name: pc.fill_null(found.column(name), -1) for name in names}
        ones = pa.array(np.ones(found.num_rows, dtype=np.int64))
        return split_counts(merged(pa.table({**lines, COUNT: ones}), names))

    def over_files(self, ask: Callable[[Path], Any], files: Sequence[Path]) -> list[Any]:
        return [ask(file) for file in files]


def batches(file: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Some columns of a Parquet file, some hundred thousand rows at a time, in their order."""
    for group in parquet_batches(file, names):
        for batch in group.to_batches(_BATCH):
            yield pa.Table.from_batches([batch])


def _rows(files: Sequence[Path], names: Sequence[str]) -> pa.Table:
    return pa.concat_tables([batch for file in files for batch in batches(file, names)], promote_options="permissive")


def _pairs(people: Sequence[Path]) -> pa.Table:
    """Who is on which line, from files of a ledger that was verified a moment ago."""
    try:
        return _rows(people, [PERSON, LINE])
    except (OSError, pa.ArrowException):
        hint = "try again: they are written anew when somebody is forgotten; if that does not help, verify the ledger"
        raise LedgerError("people files of the ledger cannot be read", hint=hint) from None


def _counted(batch: pa.Table, names: Sequence[str]) -> pa.Table:
    texts = {name: pc.fill_null(pc.cast(batch.column(name), pa.string()), MISSING) for name in names}
    ones = pa.array(np.ones(batch.num_rows, dtype=np.int64))
    return merged(pa.table({**texts, COUNT: ones}), names)


def _empty(names: Sequence[str]) -> pa.Table:
    return pa.table({**{name: pa.array([], pa.string()) for name in names}, COUNT: pa.array([], pa.int64())})


def merged(counted: pa.Table, names: Sequence[str]) -> pa.Table:
    """Equal rows as one, their counts added."""
    found = counted.group_by(list(names)).aggregate([(COUNT, "sum")])
    return found.rename_columns([COUNT if name == f"{COUNT}_sum" else name for name in found.column_names]).select(
        [*names, COUNT]
    )


def split_counts(counted: pa.Table) -> tuple[pa.Table, IntArray]:
    """The rows and their counts, in an order that tells nothing of the files: that of the rows themselves."""
    names = [name for name in counted.column_names if name != COUNT]
    ordered = counted.sort_by([(name, "ascending") for name in names]) if names else counted
    plain = pa.table({name: ordered.column(name) for name in names})
    return plain, ordered.column(COUNT).to_numpy().astype(np.int64)


HERE = LocalFiles()
