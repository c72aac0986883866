"""Rows counted as classes where they lie, and brought to the driver as long as they are not too many; and how many rows there are.

Cost: one job and one read of a small source. Classes of a larger one are kept on the cluster until they are counted and brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.engines.base import COUNT, IDENTITY
from sfumato.engines.spark_packing import collected
from sfumato.engines.spark_regions import DistantClasses
from sfumato.engines.spark_rows import class_number, named
from sfumato.engines.spark_source import MALFORMED, DistantRows, expected_bytes
from sfumato.errors import DataError

SMALL_SOURCE = 1 << 23
"""Bytes of a source that is counted without being kept, for to read it again costs less."""
FEW = 100_000
"""Classes that one task sends before anybody knows how many there are."""


def brought(rows: DistantRows, names: Sequence[str], salt: int, most: int) -> pa.Table | DistantClasses | None:
    """Classes here or, where they are more than the driver takes, there; nothing where two of those have the same number."""
    frame = _grouped(rows, names, salt)
    found = collected(frame, names, FEW) if expected_bytes(rows.frame) <= SMALL_SOURCE else None
    if found is not None and found.num_rows <= most:
        _require_none(int(found.column(COUNT).to_numpy()[found.column(MALFORMED).to_numpy()].sum()) if rows.checked else 0)
        return found
    return _brought_from(frame, names, salt, most)


def _brought_from(frame: Any, names: Sequence[str], salt: int, most: int) -> pa.Table | DistantClasses | None:
    """The same of classes that are kept on the cluster meanwhile, or for good."""
    found = None
    many, unfit = _kept(frame)
    if not unfit and many <= most:
        found = collected(frame, names)
    elif not unfit and frame.select(IDENTITY).distinct().count() == many:
        return DistantClasses(frame.select(*map(named, names), COUNT, IDENTITY), tuple(names), salt)
    frame.unpersist()
    _require_none(unfit)
    return found


def _grouped(rows: DistantRows, names: Sequence[str], salt: int) -> Any:
    """Classes on the cluster with counts and numbers; lines that do not fit are classes of their own."""
    from pyspark.sql import functions as F

    texts = [rows.text(name).alias(name) for name in names]
    marks = [F.col(MALFORMED).isNotNull().alias(MALFORMED)] if rows.checked else []
    alike = rows.frame.select(*texts, *marks).groupBy(*map(named, [*names, *([MALFORMED] if marks else [])]))
    return alike.agg(F.count(F.lit(1)).alias(COUNT)).withColumn(IDENTITY, class_number(map(named, names), salt))


def _kept(frame: Any) -> tuple[int, int]:
    """Keeps classes on the cluster; how many there are, and how many lines do not fit."""
    from pyspark.sql import functions as F

    unfit = F.sum(F.when(F.col(MALFORMED), F.col(COUNT))) if MALFORMED in frame.columns else F.lit(0)
    many, lines = frame.persist().agg(F.count(F.lit(1)), unfit).first()
    return int(many), int(lines or 0)


def counted_records(rows: DistantRows) -> int:
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
