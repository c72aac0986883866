"""How rows find what is published of them: their place among the records of their class, the share it lies in, and their key.

Invariants
    I1  Keys come to rows by a join, so that no secret stands in a plan, a log or a page of the cluster.
    I2  Rows that tie under a key are the same in everything that is published, so it does not matter which of them comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sfumato.engines.base import IDENTITY
from sfumato.engines.spark_regions import FIRST, KEY, LABEL, LAST, SPLIT

PLACE = "\x1fplace"


def ranked(frame: Any, carried: Sequence[str]) -> Any:
    """Rows of classes that go to several groups, with their place in a keyed order of the class."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy(IDENTITY).orderBy(keyed(SPLIT, carried))
    return frame.withColumn(PLACE, F.row_number().over(order) - 1).drop(SPLIT)


def within(frame: Any, carried: Sequence[str], more: Sequence[str]) -> Any:
    """Rows beside the share of their class that their place lies in."""
    from pyspark.sql import functions as F

    return frame.where((F.col(PLACE) >= F.col(FIRST)) & (F.col(PLACE) < F.col(LAST))).select(*carried, *more)


def as_published(frame: Any, recoded: Iterable[str], as_is: list[str], carried: list[str], published: Sequence[str]) -> Any:
    """The published columns and the key that puts rows in order."""
    from pyspark.sql import functions as F

    places = {name: f"{LABEL}{place}" for place, name in enumerate(recoded)} | dict(zip(as_is, carried, strict=True))
    key = F.substring(keyed(KEY, carried), 1, 32).alias(KEY)  # I2
    return frame.select(*(named(places[name]).alias(name) for name in published), key)


def keyed(key: str, names: Sequence[str]) -> Any:
    """A row's place in an order that the key of its class or tuple decides, by what is published of it as it is (I2)."""
    from pyspark.sql import functions as F

    content = [F.coalesce(named(name).cast("string"), F.lit("\x00")) for name in names]
    return F.sha2(F.concat_ws("\x1f", F.col(key), *content), 256)  # I1


def class_number(columns: Iterable[Any], salt: int) -> Any:
    """The number by which rows know their class."""
    from pyspark.sql import functions as F

    return F.xxhash64(F.lit(salt), *columns)


def quoted(name: str) -> str:
    """A column's name as Spark takes it, whatever stands in it."""
    return f"`{name.replace('`', '``')}`"


def named(name: str) -> Any:
    """A column by its name, whatever stands in it."""
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def sent_table(columns: dict[str, Any]) -> pa.Table:
    """Columns that are sent to the rows."""
    return pa.table({name: pa.array(column) for name, column in columns.items()})
