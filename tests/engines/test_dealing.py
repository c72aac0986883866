"""Rows that are dealt to buckets where they lie: nobody is lost, lists are true, and a task that runs again deals
alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, Infeasible
from sfumato.data.table import Table
from sfumato.engines.protocol import RunSecret
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.workflow.anatomy import layout_of
from sfumato.kinds.subtables.checks import TruthfulBuckets
from sfumato.kinds.subtables.evidence import AnatomyReading
from sfumato.kinds.subtables.form import AnatomyForm
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.engines.people import people, policy
from tests.engines.same import require_same
from tests.engines.troubled import failing, of_the_next
from tests.secret import SEED

KNOWN = ("age", "town", "ward")
DIVERSE = {"l-diversity": {"l": 2}}


def _asked(*models: Any) -> sf.Policy:
    return policy(
        "anatomy", protect=[{"given": ["age", "town"], "hide": "illness", "by": model} for model in models or [DIVERSE]]
    )


def _rows(folder: Path, part: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = pa.concat_tables([pq.read_table(file) for file in sorted((folder / part).iterdir())])
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_rows_are_dealt_where_they_lie(spark: Any, tmp_path: Path) -> None:
    """By plain counting of the files; and what the audit reads of kinds of buckets is what it reads of all rows, for a
    model of shares over people in several buckets, too."""
    table = pa.concat_tables([people(150, seed=31), people(30, seed=31)])  # some are alike in everything
    asked, frame = _asked(DIVERSE, {"t-closeness": {"t": 0.6}}), spark.createDataFrame(table)
    made = sf.publish(asked, data=frame, engine=spark, seed=SEED)
    out = made.write(tmp_path / "out")
    rows = _rows(out, "data", (*KNOWN, "bucket"))
    assert Counter(row[:3] for row in rows) == Counter(
        zip(*(table.column(name).to_pylist() for name in KNOWN), strict=True)
    )
    listed: dict[int, Counter[str]] = {}
    for bucket, value, count in _rows(out, "sensitive", ("bucket", "value", "count")):
        listed.setdefault(bucket, Counter())[value] += count
    assert {bucket: values.total() for bucket, values in listed.items()} == Counter(bucket for *_, bucket in rows)
    assert len(listed) == 90
    assert all(len(values) >= 2 for values in listed.values())
    assert sum(listed.values(), Counter()) == Counter(table.column("illness").to_pylist())
    assert out.with_name("out.private.trace").stat().st_mode & 0o077 == 0
    here, there = sf.verify(out, original=table), sf.verify(out, original=frame, engine=spark)
    assert there.holds
    assert [each.to_json() for each in there.findings] == [each.to_json() for each in here.findings]
    assert 0 < there.findings[1].achieved["t"] <= 0.6
    assert made.utility == sf.measure(out, original=table)
    require_same(made, sf.publish(asked, data=table, seed=SEED), "anatomy", 1)


def test_without_the_trace_nobody_knows_who_stands_where() -> None:
    """Kinds of buckets do not tell which of them a person stands in: that is not judged, and so nothing holds."""
    data = Part(pa.table({"age": ["30"], "town": ["Ulm"], "bucket": ["1"]}), np.array([4]))
    lists = Part(pa.table({"bucket": ["1", "1"], "value": ["flu", "gout"], "count": [1, 1]}), np.array([2, 2]))
    own = Table(pa.table({"age": ["30"] * 2, "town": ["Ulm"] * 2, "illness": ["flu", "gout"]}), counts=np.array([2, 2]))
    exhibit = ReleaseView(AnatomyForm(), {"data": data, "sensitive": lists}, _asked(), original=own)
    assert TruthfulBuckets().examine(exhibit).open
    assert TruthfulBuckets().examine(replace(exhibit, strangers=0, misplaced=0)).holds
    assert not TruthfulBuckets().examine(replace(exhibit, strangers=0, misplaced=2)).holds
    moved = replace(exhibit, original=Table(own.held, counts=np.array([2, 1])), strangers=0, misplaced=0)
    assert TruthfulBuckets().examine(moved).achieved == {"rows": 1, "values": 0}
    linkage = AnatomyReading().read(exhibit, exhibit.policy.claims[0])
    assert (linkage.candidates.tolist(), linkage.spread["illness"].weight.tolist()) == ([4], [2.0, 2.0])


def test_a_deal_is_the_same_however_often_tasks_run(spark: Any) -> None:
    """People who are alike have keys of their own: else they would lie beside each other, and buckets would tell more
    than they list. No plan shows a secret."""
    engine, table, secret = SparkEngine(spark), pa.concat_tables([people(10, seed=34)] * 6), RunSecret(b"\x05" * 32)
    frame, values = spark.createDataFrame(table), sorted(set(table.column("illness").to_pylist()))
    found = []
    for rows in (frame.coalesce(1), failing(frame.repartition(3), times=1)):
        deck = engine.deck(engine.rows(_asked(), rows), layout_of(_asked()), secret, 60)
        dealt = deck.dealt("illness", values, 7, secret, 3)
        found.append(sorted(map(str, dealt.frame.collect())))
    assert found[0] == found[1]
    assert deck.frame.select("\x1fdeal").distinct().count() == 60
    assert sorted(Counter(row["bucket"] for row in dealt.frame.collect()).values()) == [8] * 3 + [9] * 4
    told = dealt.frame._jdf.queryExecution().toString() + deck.frame._jdf.queryExecution().toString()
    keys = [secret.key(*what) for what in (("records",), ("order of rows",), ("numbers", "3"))]
    assert not any(key in told for key in [*keys, secret.content.hex()])


def test_lists_that_lie_are_refused(spark: Any, tmp_path: Path) -> None:
    """Every bucket lists the values of the next one: the same kinds of buckets, and nobody's own values."""

    class Lying(SparkEngine):
        def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
            return super().write(of_the_next(frame) if folder.name == "sensitive" else frame, records, folder)

    frame = spark.createDataFrame(people(90, seed=33))
    with pytest.raises(AuditRefused, match="listed values belong to nobody in their bucket"):
        sf.publish(_asked(), data=frame, engine=Lying(spark, tmp_path))
    with pytest.raises(Infeasible, match="even when all records share one bucket"):
        sf.publish(_asked({"l-diversity": {"l": 4}}), data=frame, engine=spark)
