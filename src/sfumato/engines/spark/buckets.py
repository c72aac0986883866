"""Buckets on the cluster: rows are assigned there, and only kinds of buckets come to the driver.

A bucket has a handful of rows, so there are almost as many pairs of a row and a bucket as rows. But a reader of a
release needs only the list of a bucket: buckets with equal lists are one kind, and there are few kinds. So rows are
counted with the kind of their bucket (`bucket_kinds`), and what the audit and metrics make of such a table is what they
would make of the rows.

Invariants
    I1  Rows that are alike in everything that is published or hidden are numbered. Which of them gets which number does
        not matter, so every record has a key of its own that is the same however often a task runs.
    I2  An assignment depends on sensitive values and keys only: rows of a value in the order of their keys, one value
        after the other, each in turn to the next bucket. Bucket numbers are keyed digests of 60 bits; should two
        buckets ever get the same one, they are one bucket, whose rows and lists are those of both, and models that hold
        for both hold for it (they are monotone).
    I3  The order of published rows comes from another key than the assignment, so that it reveals nothing about it.
    I4  A bucket that does not have as many rows as it lists values is of no kind with one that has.

Cost: two exchanges of all rows per assignment. The driver gets the number of rows for each sensitive value and each
beginning of a key, one number for some hundred thousand rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError
from sfumato.engines.protocol import COUNT, RunSecret
from sfumato.engines.spark.regions import KEY
from sfumato.engines.spark.rows import collect_frame, sort_rows
from sfumato.engines.spark.source import RemoteRows

BUCKET, VALUE, COLUMN = "bucket", "value", "column"
_CONTENT, _NUMBER, _DEAL, _ORDER, _BEGIN, _PLACE, _ROWS = (
    f"\x1f{name}" for name in ("content", "number", "deal", "order", "begin", "place", "rows")
)
_DIGITS = 15
"""Hexadecimal digits of a bucket's number."""
_TOGETHER = 200_000
"""Rows whose keys begin alike, about: so many are put in order by one task."""


@dataclass(frozen=True)
class BucketLayout:
    """What is published of a record beside its bucket, and what its bucket hides."""

    visible: tuple[str, ...]
    aside: tuple[str, ...]
    """Of these, columns that are published just as they came; the others are texts."""
    hidden: tuple[str, ...]

    def of(self, rows: RemoteRows) -> Any:
        """All this of a source, under names of its own."""
        shown = [
            (rows.column(name) if name in self.aside else rows.text(name)).alias(_visible(place))
            for place, name in enumerate(self.visible)
        ]
        return rows.frame.select(
            *shown, *(rows.text(name).alias(_hidden(place)) for place, name in enumerate(self.hidden))
        )

    def texts(self, frame: Any, *, bucket: bool) -> Any:
        """As text, what is visible beside the bucket or beside what is hidden."""
        shown = [_visible(place) for place in range(len(self.visible))]
        return as_texts(frame, [*shown, *([BUCKET] if bucket else map(_hidden, range(len(self.hidden))))])

    def written(self, frame: Any) -> Any:
        """The same of published rows."""
        names = [_text(_named(name)).alias(_visible(place)) for place, name in enumerate(self.visible)]
        return frame.select(*names, _text(_named(BUCKET)).alias(BUCKET))


@dataclass(frozen=True)
class BucketedRows:
    """The records of a source, each with what is published of it, what is hidden, and its bucket; they lie on the
    cluster."""

    frame: Any
    layout: BucketLayout
    deck: Any
    """The source of the assignment."""

    def forget(self) -> None:
        """The cluster need not keep them any longer."""
        self.frame.unpersist()
        self.deck.unpersist()

    @property
    def hidden(self) -> tuple[str, ...]:
        return self.layout.hidden

    def shown(self) -> Any:
        """The rows as they are published, with the key that puts them in order (I3)."""
        names = [_named(_visible(place)).alias(name) for place, name in enumerate(self.layout.visible)]
        return self.frame.select(*names, BUCKET, _named(_ORDER).alias(KEY))

    def listed(self, name: str) -> Any:
        """The values of every bucket with their counts, and the key that puts them in order."""
        from pyspark.sql import functions as F

        value = _named(_hidden(self.hidden.index(name))).alias(VALUE)
        counted = self.frame.select(BUCKET, value, _ORDER).groupBy(BUCKET, VALUE)
        return counted.agg(F.count(F.lit(1)).alias("count"), F.sha2(F.min(_ORDER), 256).alias(KEY))  # I3

    def listed_by_name(self, name: str) -> Any:
        """The same with the name of the column that the values are of."""
        from pyspark.sql import functions as F

        return self.listed(name).withColumn(COLUMN, F.lit(name))


@dataclass(frozen=True)
class RecordCache:
    """The records of a source, each with its own key, cached on the cluster to be assigned to buckets."""

    session: Any
    frame: Any
    layout: BucketLayout
    records: int

    @classmethod
    def of(cls, session: Any, rows: RemoteRows, layout: BucketLayout, secret: RunSecret, records: int) -> RecordCache:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        frame = layout.of(rows)
        content = F.sha2(F.concat(*(_framed(_named(name)) for name in frame.columns)), 256)
        alike = Window.partitionBy(_CONTENT).orderBy(_CONTENT)
        numbered = frame.withColumn(_CONTENT, content).withColumn(_NUMBER, F.row_number().over(alike))  # I1
        own = F.concat_ws("\x1f", _named(_CONTENT), _named(_NUMBER))
        keyed = [F.sha2(F.concat_ws("\x1f", _named(key), own), 256).alias(key) for key in (_DEAL, _ORDER)]
        secrets = broadcast_table(session, {_DEAL: [secret.key("records")], _ORDER: [secret.key("order of rows")]})
        made = numbered.crossJoin(secrets).select(*map(_named, frame.columns), *keyed)
        return cls(session, made.persist(), layout, records)

    def dealt(self, by: str, values: Sequence[str], buckets: int, secret: RunSecret, attempt: int) -> BucketedRows:
        """Rows in the order of the values of a sensitive column, each in turn to the next bucket (I2)."""
        from pyspark.sql import functions as F

        kept = [_named(name) for name in self.frame.columns if name != _DEAL]
        again = F.sha2(
            F.concat_ws("\x1f", _named(_DEAL), F.lit(str(attempt))), 256
        )  # keyed already: the number is no secret
        cards = self.frame.select(*kept, again.alias(_DEAL))
        column = _hidden(self.layout.hidden.index(by))
        turns = number_rows(self.session, cards, column, values, self.records, secret.key("numbers", str(attempt)))
        turn = (_named(_PLACE) % F.lit(buckets)).cast("string")
        digest = F.substring(F.sha2(F.concat_ws("\x1f", _named(_NUMBER), turn), 256), 1, _DIGITS)
        frame = turns.select(*kept, F.conv(digest, 16, 10).cast("bigint").alias(BUCKET))
        return BucketedRows(frame.persist(), self.layout, self.frame)


def number_rows(session: Any, cards: Any, group: str, values: Sequence[str], many: int, key: str) -> Any:
    """Rows with their place among all: by their group, in the given order, and in it by their key; and one more key
    beside it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    digits = max(1, round(np.log(max(many / _TOGETHER, 1)) / np.log(16)))
    begun = cards.withColumn(_BEGIN, F.substring(_named(_DEAL), 1, digits))
    found = begun.groupBy(group, _BEGIN).agg(F.count(F.lit(1)).alias(_ROWS)).toArrow().to_pydict()
    rank = {value: place for place, value in enumerate(values)}
    if set(found[group]) - set(rank):
        raise DataError("the source changed while it was read", hint="publish from a copy that nobody writes to")
    order = sorted(range(len(found[group])), key=lambda row: (rank[found[group][row]], found[_BEGIN][row]))
    rows = np.array([found[_ROWS][row] for row in order], dtype=np.int64)
    before = {group: [found[group][row] for row in order], _BEGIN: [found[_BEGIN][row] for row in order]}
    starts = broadcast_table(session, before | {_ROWS: np.cumsum(rows) - rows, _NUMBER: [key] * len(rows)})
    inside = Window.partitionBy(group, _BEGIN).orderBy(_DEAL)
    made = begun.withColumn(_PLACE, F.row_number().over(inside) - 1).join(starts, [group, _BEGIN])
    return made.withColumn(_PLACE, _named(_PLACE) + _named(_ROWS)).drop(_BEGIN, _ROWS)


def project_columns(session: Any, rows: RemoteRows, names: Sequence[str], key: str) -> Any:
    """Some columns of all records as texts, with a key that puts them in an order of their own: by what they say alone
    (I3)."""
    from pyspark.sql import functions as F

    texts = rows.frame.select(*(rows.text(name).alias(name) for name in names))
    content = F.concat(*(_framed(_named(name)) for name in names))
    keyed = texts.crossJoin(broadcast_table(session, {_ORDER: [key]}))
    return keyed.select(*map(_named, names), F.sha2(F.concat_ws("\x1f", _named(_ORDER), content), 256).alias(KEY))


@dataclass(frozen=True)
class BucketKinds:
    """A table with buckets, told apart by their kind alone: its different rows, and what buckets of every kind list."""

    rows: pa.Table
    counts: IntArray
    lists: Mapping[str, tuple[pa.Table, IntArray]]
    """Per part its different entries (kind, value, count of one bucket), and how many buckets have each."""


def bucket_kinds(rows: Any, lists: Mapping[str, Any], names: Sequence[str] | None, most: int) -> BucketKinds:
    """A table with buckets and its lists (bucket, value, count, …) as kinds of buckets (I4); without names lists
    alone."""
    from pyspark.sql import functions as F

    shown = as_texts(rows, [*(names or ()), BUCKET])
    kinds = shown.groupBy(BUCKET).agg(F.count(F.lit(1)).alias(_ROWS))
    keys = {part: f"list {place}" for place, part in enumerate(lists)}
    for part, frame in lists.items():
        kinds = kinds.join(_contents(frame, keys[part]), BUCKET, "full")
    content = F.sha2(
        F.to_json(F.struct(F.coalesce(_named(_ROWS), F.lit(0)).alias("n"), *map(_named, keys.values()))), 256
    )
    kinds = kinds.withColumn(_CONTENT, content).persist()
    firsts = [F.first(_named(key)).alias(key) for key in keys.values()]
    found = kinds.groupBy(_CONTENT).agg(F.count(F.lit(1)).alias(COUNT), *firsts).limit(most + 1).toArrow()
    if found.num_rows > most:
        raise DataError("there are more kinds of buckets than the driver takes", hint="hide fewer columns in one table")
    label = {content: str(place + 1) for place, content in enumerate(sorted(found.column(_CONTENT).to_pylist()))}
    entries = {part: _entries(found, key, label) for part, key in keys.items()}
    table, counts = pa.table({}), np.zeros(0, dtype=np.int64)
    if names is not None:
        several = shown.join(kinds.select(BUCKET, _CONTENT), BUCKET).groupBy(*map(_named, names), _CONTENT)
        made = sort_rows(
            collect_frame(several.agg(F.count(F.lit(1)).alias(COUNT)), [*names, _CONTENT]), [], [*names, _CONTENT]
        )
        table, counts = _relabelled(made, label).select([*names, BUCKET]), made.column(COUNT).to_numpy()
    kinds.unpersist()
    return BucketKinds(table, counts, entries)


def _contents(frame: Any, key: str) -> Any:
    """Per bucket its values with their counts, in the order of the values; a count that is no positive number is 0."""
    from pyspark.sql import functions as F

    often = F.coalesce(_named("count").try_cast("bigint"), F.lit(0)).alias(COUNT)
    texts = [VALUE, *([COLUMN] if COLUMN in frame.columns else [])]  # a list may name the column that it is about
    entries = frame.select(*(_text(_named(name)).alias(name) for name in (BUCKET, *texts)), often)
    total = F.when(F.min(COUNT) <= 0, F.lit(0)).otherwise(F.sum(COUNT)).alias(COUNT)
    listed = entries.groupBy(BUCKET, *texts).agg(total)
    return listed.groupBy(BUCKET).agg(F.sort_array(F.collect_list(F.struct(*texts, _named(COUNT)))).alias(key))


def _relabelled(table: pa.Table, label: Mapping[str, str]) -> pa.Table:
    kinds = table.column(_CONTENT).combine_chunks()
    kinds = kinds.chunk(0) if isinstance(kinds, pa.ChunkedArray) else kinds
    names = pa.array([label[content] for content in kinds.dictionary.to_pylist()], pa.string())
    return table.append_column(BUCKET, pa.DictionaryArray.from_arrays(kinds.indices, names))


def _entries(found: pa.Table, key: str, label: Mapping[str, str]) -> tuple[pa.Table, IntArray]:
    contents, buckets = found.column(_CONTENT).to_pylist(), found.column(COUNT).to_pylist()
    rows = [
        (label[content], entry[VALUE], entry[COUNT], often, entry.get(COLUMN))
        for content, often, entries in zip(contents, buckets, found.column(key).to_pylist(), strict=True)
        for entry in entries or ()
    ]
    kind, value, count, often, about = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    texts = {
        BUCKET: pa.array(kind, pa.string()),
        VALUE: pa.array(value, pa.string()),
        "count": pa.array(count, pa.int64()),
    }
    texts |= {COLUMN: pa.array(about, pa.string())} if any(about) else {}
    return pa.table(texts), np.array(often, dtype=np.int64)


def count_differences(*pairs: tuple[Any, Any]) -> list[int]:
    """By how many rows the two frames of every pair differ, which have texts under the same names; all pairs in one
    pass."""
    from functools import reduce

    from pyspark.sql import functions as F

    sides = [
        frame.select(
            F.lit(place).alias(_NUMBER),
            F.array(*map(_named, sorted(frame.columns))).alias(_CONTENT),
            F.lit(sign).alias(COUNT),
        )
        for place, pair in enumerate(pairs)
        for frame, sign in zip(pair, (1, -1), strict=True)
    ]
    every = reduce(lambda one, other: one.unionAll(other), sides)
    sums = every.groupBy(_NUMBER, _CONTENT).agg(F.sum(COUNT).alias(COUNT))
    found = dict(sums.groupBy(_NUMBER).agg(F.sum(F.abs(COUNT))).collect())
    return [int(found.get(place, 0)) for place in range(len(pairs))]


def as_texts(frame: Any, names: Sequence[str]) -> Any:
    """Some columns of a frame as texts, nothing missing."""
    return frame.select(*(_text(_named(name)).alias(name) for name in names))


def broadcast_table(session: Any, columns: Mapping[str, Any]) -> Any:
    """Broadcast a small table to every executor; its content is in no plan."""
    from pyspark.sql import functions as F

    return F.broadcast(session.createDataFrame(pa.table({name: pa.array(column) for name, column in columns.items()})))


def _visible(place: int) -> str:
    return f"{place}\x1fvisible"


def _hidden(place: int) -> str:
    return f"{place}\x1fhidden"


def _framed(column: Any) -> Any:
    """A value as text with its length, so that two rows are never written alike unless they are."""
    from pyspark.sql import functions as F

    text = column.cast("string")
    return F.coalesce(F.concat(F.length(text).cast("string"), F.lit(":"), text), F.lit("-"))


def _text(column: Any) -> Any:
    from pyspark.sql import functions as F

    return F.coalesce(column.cast("string"), F.lit(""))


def _named(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.col(f"`{name.replace('`', '``')}`")
