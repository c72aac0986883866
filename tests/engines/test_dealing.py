"""Rows that are dealt to buckets where they lie: nobody is lost, lists are true, and a task that runs again deals alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.base import Secret
from sfumato.engines.spark import SparkEngine
from sfumato.errors import AuditRefused, Infeasible
from sfumato.spine.dealing import layout_of
from tests.engines.people import people, policy
from tests.engines.troubled import failing
from tests.secret import SEED

KNOWN = ("age", "town", "ward")


def _asked(**model: Any) -> sf.Policy:
    return policy("anatomy", protect=[{"given": ["age", "town"], "hide": "illness", "by": model or {"l-diversity": {"l": 2}}}])


def _bytes(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("part-*.parquet")}


def _rows(folder: Path, part: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = pa.concat_tables([pq.read_table(file) for file in sorted((folder / part).iterdir())])
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_rows_are_dealt_where_they_lie(spark: Any, tmp_path: Path) -> None:
    """By plain counting of the files; and the same bytes from tasks that fail and from other partitions."""
    table = pa.concat_tables([people(150, seed=31), people(30, seed=31)])  # some are alike in everything
    out = sf.publish(_asked(), data=spark.createDataFrame(table).coalesce(1), engine=spark, seed=SEED).write(tmp_path / "quiet")
    again = sf.publish(_asked(), data=failing(spark.createDataFrame(table).repartition(3)), engine=spark, seed=SEED)
    assert _bytes(again.write(tmp_path / "failing", report=False)) == _bytes(out)
    rows = _rows(out, "data", (*KNOWN, "bucket"))
    assert Counter(row[:3] for row in rows) == Counter(zip(*(table.column(name).to_pylist() for name in KNOWN), strict=True))
    listed: dict[int, Counter[str]] = {}
    for bucket, value, count in _rows(out, "sensitive", ("bucket", "value", "count")):
        listed.setdefault(bucket, Counter())[value] += count
    assert {bucket: values.total() for bucket, values in listed.items()} == Counter(bucket for *_, bucket in rows)
    assert len(listed) == 90
    assert set(listed) == set(range(1, 91))
    assert all(len(values) >= 2 for values in listed.values())
    assert sum(listed.values(), Counter()) == Counter(table.column("illness").to_pylist())
    assert out.with_name("quiet.private.trace").stat().st_mode & 0o077 == 0
    here, there = sf.verify(out, original=table), sf.verify(out, original=spark.createDataFrame(table), engine=spark)
    assert there.holds
    assert [each.to_json() for each in there.findings] == [each.to_json() for each in here.findings]


def test_people_who_are_alike_have_keys_of_their_own(spark: Any) -> None:
    """Else they would lie beside each other in every deal, and buckets would tell more than they list."""
    engine, table = SparkEngine(spark), pa.concat_tables([people(10, seed=34)] * 6)
    deck = engine.deck(engine.rows(_asked(), spark.createDataFrame(table)), layout_of(_asked()), Secret(b"\x05" * 32), 60)
    assert deck.frame.select("\x1fdeal").distinct().count() == 60


def test_what_is_read_of_kinds_of_buckets_is_what_is_read_of_rows(spark: Any, tmp_path: Path) -> None:
    """A model of shares over people who stand in several buckets, and figures of utility: the same from rows and from kinds."""
    table, asked = people(120, seed=32), _asked(**{"t-closeness": {"t": 0.45}})
    out = sf.publish(asked, data=spark.createDataFrame(table), engine=spark, seed=SEED).write(tmp_path / "out", report=False)
    here, there = sf.verify(out), sf.verify(out, engine=spark)
    assert here.holds
    assert [each.to_json() for each in there.findings] == [each.to_json() for each in here.findings]
    assert 0 < here.findings[0].achieved["t"] <= 0.45
    assert sf.measure(out, original=spark.createDataFrame(table), engine=spark) == sf.measure(out, original=table)
    out.with_name("out.private.trace").unlink()
    audit = sf.verify(out, original=spark.createDataFrame(table), engine=spark)
    assert [finding.model for finding in audit.open] == ["truthful buckets"]


def test_lists_that_lie_are_refused(spark: Any, tmp_path: Path) -> None:
    """Every bucket lists the values of the next one: the same kinds of buckets, and nobody's own values."""

    class Lying(SparkEngine):
        def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
            from pyspark.sql import functions as F

            moved = frame.withColumn("bucket", F.col("bucket") % 45 + 1) if folder.name == "sensitive" else frame
            return super().write(moved, records, folder)

    frame = spark.createDataFrame(people(90, seed=33))
    with pytest.raises(AuditRefused, match="listed values belong to nobody in their bucket"):
        sf.publish(_asked(), data=frame, engine=Lying(spark, tmp_path))
    with pytest.raises(Infeasible, match="even when all records share one bucket"):
        sf.publish(_asked(**{"l-diversity": {"l": 4}}), data=frame, engine=spark)
