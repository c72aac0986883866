"""Sub-tables of rows that stay where they lie: every table is true, has an order and buckets of its own, and lies are
found."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused
from sfumato.data.table import Table
from sfumato.engines.protocol import RunSecret
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.workflow.subtables import choose_subtables
from sfumato.kinds.subtables.form import SubTables
from sfumato.kinds.subtables.joint_estimate import read_tables
from sfumato.kinds.subtables.methods.buckets import bucket_numbers
from sfumato.kinds.subtables.methods.guardian import Guardian
from sfumato.models.l_diversity import LDiversity
from sfumato.release.folder import part_files
from tests.engines.people import people, policy
from tests.engines.same import require_same
from tests.engines.troubled import of_the_next
from tests.secret import SEED

RULES = ["age, town -> illness : 2-diversity", "ward -> age : 3-diversity", "illness -> ward : 2-diversity"]


def _rows(folder: Path, part: str) -> list[dict[str, Any]]:
    return pa.concat_tables([pa.parquet.read_table(file) for file in part_files(folder, part)]).to_pylist()


def test_tables_are_split_where_rows_lie(spark: Any, tmp_path: Path) -> None:
    """By plain counting of the files; and what the audit reads of kinds of buckets is what it reads of all rows."""
    table = pa.concat_tables([people(120, seed=41), people(30, seed=41)])  # some are alike in everything
    frame = spark.createDataFrame(table)
    asked = policy("utility-aware", protect=RULES)
    made = sf.publish(asked, data=frame, engine=spark, seed=SEED)
    out = made.write(tmp_path / "out")
    first, lists, second = (_rows(out, part) for part in ("table-1", "table-1-sensitive", "table-2"))
    shown = [[(row["age"], row["town"]) for row in rows] for rows in (first, table.to_pylist())]
    assert Counter(shown[0]) == Counter(shown[1])
    assert Counter(row["ward"] for row in second) == Counter(table.column("ward").to_pylist())
    listed: dict[int, Counter[str]] = {}
    for entry in lists:
        assert entry["column"] == "illness"
        listed.setdefault(entry["bucket"], Counter())[entry["value"]] += entry["count"]
    assert {bucket: values.total() for bucket, values in listed.items()} == Counter(row["bucket"] for row in first)
    assert all(2 * max(values.values()) <= values.total() for values in listed.values())
    assert sum(listed.values(), Counter()) == Counter(table.column("illness").to_pylist())
    assert out.with_name("out.private.trace").stat().st_mode & 0o077 == 0
    here, there = sf.verify(out, original=table), sf.verify(out, original=frame, engine=spark)
    assert there.holds
    assert [each.to_json() for each in there.findings] == [each.to_json() for each in here.findings]
    assert made.utility["kl_divergence"] == pytest.approx(sf.measure(out, original=table)["kl_divergence"])
    require_same(made, sf.publish(asked, data=table, seed=SEED), "utility-aware", len(asked.claims))


def test_lists_of_a_sub_table_that_lie_are_refused(spark: Any, tmp_path: Path) -> None:
    """Every bucket lists the values of the next one; and a table without buckets shows something that nobody has."""

    class Lying(SparkEngine):
        def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
            from pyspark.sql import functions as F

            moved = of_the_next(frame) if folder.name == "table-1-sensitive" else frame
            wrong = (
                F.when(F.col("ward") == "north", "south").otherwise(F.col("ward")) if folder.name == "table-2" else None
            )
            return super().write(moved if wrong is None else moved.withColumn("ward", wrong), records, folder)

    with pytest.raises(
        AuditRefused, match=r"do not list the values of their own rows.* rows are no record of the original"
    ):
        sf.publish(
            policy("utility-aware", protect=RULES),
            data=spark.createDataFrame(people(60, seed=42)),
            engine=Lying(spark, tmp_path),
        )


def test_no_order_links_two_tables(spark: Any) -> None:
    """Rows of the same columns under the keys of two tables stand in different orders, and no plan shows a key."""
    engine = SparkEngine(spark)
    rows = engine.rows(policy(), spark.createDataFrame(people(60, seed=43)))
    keys = [
        RunSecret(RunSecret(b"\x05" * 32).key("table", part).encode()).key("order of rows")
        for part in ("table-1", "table-2")
    ]
    frames = [engine.projected(rows, ["age", "town"], key) for key in keys]
    orders = [[row[:2] for row in frame.sort("\x1fkey").collect()] for frame in frames]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    assert not any(key in frame._jdf.queryExecution().toString() for key in keys for frame in frames)


def _classes(table: pa.Table, names: list[str]) -> Table:
    found = table.group_by(names).aggregate([([], "count_all")])
    return Table(found.select(names), counts=found.column("count_all").to_numpy())


@pytest.mark.parametrize("seed", range(6))
def test_tables_chosen_from_classes_are_those_chosen_from_rows(seed: int) -> None:
    asked = policy("guardian", protect=RULES)
    table = people(80, seed=50 + seed)
    names = choose_subtables(asked)
    assert names == ["age", "town", "illness", "ward"]
    of_rows, _ = Guardian().tables_of(asked, Table(table))
    of_classes, _ = Guardian().tables_of(asked, _classes(table, names))
    assert [each.columns for each in of_classes] == [each.columns for each in of_rows]
    assert [each.guarded for each in of_classes] == [each.guarded for each in of_rows]


def test_kinds_of_buckets_say_what_all_buckets_say() -> None:
    """Two buckets that list the same as one, with counts: the same weights, people and estimate."""
    rows = pa.table({"age": ["1", "2", "1", "2", "3", "3"], "bucket": ["1", "1", "2", "2", "3", "3"]})
    lists = [("1", "flu"), ("1", "gout"), ("2", "flu"), ("2", "gout"), ("3", "cold"), ("3", "gout")]
    entries = {
        "bucket": [b for b, _ in lists],
        "value": [v for _, v in lists],
        "count": [1] * 6,
        "column": ["illness"] * 6,
    }
    plain = read_tables({"table-1": Table(rows), "table-1-sensitive": Table(pa.table(entries))})
    kinds = pa.table({"age": ["1", "2", "3"], "bucket": ["a", "a", "b"]})
    few = {
        "bucket": list("aabb"),
        "value": ["flu", "gout", "cold", "gout"],
        "count": [1] * 4,
        "column": ["illness"] * 4,
    }
    counted = read_tables(
        {
            "table-1": Table(kinds, counts=np.array([2, 2, 2])),
            "table-1-sensitive": Table(pa.table(few), counts=np.array([2, 2, 1, 1])),
        }
    )
    assert (counted.people, counted.tables[0].withheld) == (plain.people, 0) == (6, 0)
    asked = {"age": np.array([0, 1, 2]), "illness": np.array([0, 1, 2])}
    shares = [tables.sheets()[0].share_at(asked) for tables in (plain, counted)]
    assert shares[0].tolist() == pytest.approx(shares[1].tolist())


def test_a_list_without_its_table_stands_for_itself() -> None:
    parts = ["table-1", "table-1-sensitive", "table-2", "table-3-sensitive"]
    assert SubTables().lists(parts) == {"table-1": ("table-1-sensitive",), "table-2": (), "table-3-sensitive": ()}


def test_numbers_of_buckets_fall_until_one_is_left() -> None:
    numbers = list(bucket_numbers([LDiversity(l=2)], 30))
    assert (numbers[0], numbers[-1]) == (15, 2)
    assert all(later < earlier for earlier, later in pairwise(numbers))
