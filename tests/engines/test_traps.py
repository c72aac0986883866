"""Five traps of a cluster, and what a driver that dies leaves behind."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, DataError, ReleaseError
from sfumato.engines.protocol import Recoding, RunSecret
from sfumato.engines.spark import engine as spark_engine
from sfumato.engines.spark import rows as spark_classes
from sfumato.engines.spark.engine import SparkEngine, laid_out
from sfumato.history.ledger import Ledger
from sfumato.release.release import Part
from tests.engines.people import COLUMNS, csv_folder, parquet_folder, people, policy
from tests.engines.troubled import after, changing, failing
from tests.secret import SEED

KNOWN = ["age", "town", "illness"]


def _published(session: Any, frame: Any, place: Path, **more: Any) -> dict[str, bytes]:
    """The bytes of the part of a release that was made with one secret."""
    out = sf.publish(policy("clustering", **more), data=frame, engine=session, seed=SEED).write(place, report=False)
    return {file.name: file.read_bytes() for file in (out / "data").iterdir()}


def _as_it_is(session: Any) -> tuple[SparkEngine, Any, Recoding]:
    """Sixty people, and a recoding that changes nothing."""
    engine = SparkEngine(session)
    rows = engine.rows(policy(), session.createDataFrame(people(60)))
    classes = engine.classes(rows, KNOWN)
    part = Part(classes.table.frame, classes.table.counts)
    return engine, rows, Recoding.of(classes, part, np.arange(classes.table.rows), ["age", "town"])


def operators(frame: Any) -> list[str]:
    """What is done to rows, the last first."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return re.findall(r"^[\s:+\-]*(?:\*\(\d+\) )?(?:AdaptiveSparkPlan[^\n]*)?(\w*)", plan, flags=re.M)


def test_the_secret_order_comes_last(spark: Any) -> None:
    """Trap 1: an optimizer drops a sort before a join or an exchange; the one that hides where rows were is the last of
    all."""
    engine, rows, recoding = _as_it_is(spark)
    secret = RunSecret(b"\x07" * 32)
    frame = laid_out(engine.recode(rows, recoding, ["age", "town", "illness", "ward"], secret), 2)
    done = [name for name in operators(frame) if name]
    assert done[:3] == ["Project", "Sort", "Exchange"]
    assert done.index("Sort") < min(done.index(name) for name in done if "Join" in name)
    dropped = frame.join(spark.range(1).withColumnRenamed("id", "one"), how="cross")
    assert [name for name in operators(dropped) if name][:3] != ["Project", "Sort", "Exchange"]
    told = frame._jdf.queryExecution().toString()
    assert not any(key in told for key in [*recoding.tuple_keys(secret), secret.content.hex()])


def test_a_task_that_runs_again_writes_the_same_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 2: failed attempts and other partitions change no byte under one secret; nor does that classes are many."""
    frame = spark.createDataFrame(people(200))
    quiet = _published(spark, frame.coalesce(1), tmp_path / "quiet")
    for module in (spark_classes, spark_engine):
        monkeypatch.setattr(module, "FEW", 0)  # they are kept on the cluster, and what is shown is sent by itself
    assert _published(spark, failing(frame.repartition(3), times=1), tmp_path / "failing") == quiet


def test_another_secret_gives_another_order(spark: Any) -> None:
    engine, rows, recoding = _as_it_is(spark)
    orders = [
        [
            tuple(row)
            for row in laid_out(engine.recode(rows, recoding, KNOWN, RunSecret(bytes([key]) * 32)), 1).collect()
        ]
        for key in (7, 7, 8)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_files_say_nothing_more(spark: Any, tmp_path: Path) -> None:
    """Trap 3: two originals with the same published rows make the same folder, and nothing else lies in it."""
    ages = [["30", "31"], ["33", "32"]]
    columns = {name: COLUMNS[name] for name in ("age", "town", "illness")}
    found = []
    for place, pair in enumerate(ages):
        table = pa.table({"age": pair * 20, "town": ["Ulm"] * 40, "illness": (["flu"] * 20 + ["gout"] * 20)})
        asked = policy(protect=[{"k-anonymity": {"k": 30}}], columns=columns)
        source = parquet_folder(
            table.take(pa.array(np.random.default_rng(place).permutation(40))), tmp_path / f"in-{place}.parquet"
        )
        out = sf.publish(asked, data=str(source), engine=spark, seed=SEED).write(tmp_path / f"out-{place}")
        found.append({file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()})
    assert found[0] == found[1]
    assert set(found[0]) == {
        "data/part-00000.parquet",
        "manifest.json",
        "certificate.json",
        "policy.yaml",
        "report.html",
    }
    footer = pq.read_metadata(tmp_path / "out-0" / "data" / "part-00000.parquet")
    assert set(footer.metadata) == {b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata"}
    schema = json.loads(footer.metadata[b"org.apache.spark.sql.parquet.row.metadata"])
    assert all(field["metadata"] == {} for field in schema["fields"])
    assert b"\x1f" not in found[0]["data/part-00000.parquet"]


def test_rows_that_are_alike_fill_several_files(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike rows have one key and take no room; no file may have more cells than readers accept of a small one."""
    monkeypatch.setattr(spark_engine, "MOST_CELLS", 90)
    columns = {name: COLUMNS[name] for name in ("age", "town", "illness")}
    table = pa.table({"age": ["30"] * 100, "town": ["Ulm"] * 100, "illness": ["flu"] * 90 + ["gout"] * 10})
    asked = policy(protect=[{"k-anonymity": {"k": 30}}], columns=columns)
    out = sf.publish(asked, data=spark.createDataFrame(table), engine=spark).write(tmp_path / "out", report=False)
    rows = [pq.read_metadata(file).num_rows for file in (out / "data").iterdir()]
    assert sum(rows) == 100
    assert max(rows) <= 30
    assert sf.verify(out, original=table).holds


def test_a_source_that_changes_is_refused(spark: Any, tmp_path: Path) -> None:
    """Trap 4: files are pinned, and rows without files are counted again."""
    folder = parquet_folder(people(200), tmp_path / "again.parquet")
    touched = after("classes", SparkEngine(spark, tmp_path), (folder / "a.parquet").touch)
    with pytest.raises(DataError, match="changed while it was read"):
        sf.publish(policy(), data=str(folder), engine=touched)
    flag = tmp_path / "flag"
    frame = changing(spark.createDataFrame(people(200)), flag, "town", "Ulm")
    with pytest.raises(AuditRefused):
        sf.publish(policy(), data=frame, engine=after("classes", SparkEngine(spark, tmp_path), flag.touch))
    flag.unlink()
    frame = changing(spark.createDataFrame(people(200)), flag, "ward", "west")
    with pytest.raises(AuditRefused, match="truthfulness"):
        sf.publish(policy(), data=frame, engine=after("write", SparkEngine(spark, tmp_path), flag.touch))
    assert not [file for file in tmp_path.iterdir() if (file / "manifest.json").exists()]


def test_the_trace_is_a_grouping(spark: Any) -> None:
    """Trap 5: what the driver keeps of who stands where does not grow with the rows."""
    table = people(150).drop_columns(["ward"])
    asked = policy(
        protect=[{"k-anonymity": {"k": 3}}],
        columns={name: COLUMNS[name] for name in ("name", "age", "town", "illness")},
    )
    classes = len(table.group_by(["age", "town", "illness"]).aggregate([]))
    found = sf.publish(asked, data=spark.createDataFrame(pa.concat_tables([table] * 20)), engine=spark)
    assert found.certificate.records.published == 3000
    assert len(found.exhibit.trace.rows["data"]) <= 2 * classes
    assert found.original.rows == classes
    assert pa.default_memory_pool().backend_name == "system"  # a session of our own gives memory back


def test_a_driver_that_dies_after_certifying_leaves_no_release(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there with everything judged, sealed and synced, and nothing entered or renamed."""
    columns = {name: role for name, role in COLUMNS.items() if name != "ward"}
    asked = replace(policy(columns=columns), key=("name",))
    place, left = tmp_path / "place", tmp_path / "left"
    place.mkdir()
    book = place / "people.ledger"
    made = sf.publish(
        asked, data=spark.createDataFrame(people(200)), engine=SparkEngine(spark, place), ledger=book, new_ledger=True
    )

    def dying(*given: Any, **more: Any) -> None:
        shutil.copytree(place, left)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "append", dying)
    (draft,) = (folder.name for folder in place.iterdir() if folder.name.startswith(".sfumato-"))
    assert not (place / draft / "certificate.json").exists()
    with pytest.raises(KeyboardInterrupt):
        made.write(place / "out", report=False)
    sealed = [folder for folder in left.iterdir() if (folder / "certificate.json").exists()]
    assert [folder.name[:5] for folder in sealed] == [".out."]
    for folder in (left / draft, *sealed):
        with pytest.raises(ReleaseError, match="is none"):
            sf.verify(folder)
    assert not (left / "out").exists()
    assert not (place / "out").exists()
    assert Ledger(left / "people.ledger", new=True).verify() == 0


def test_a_driver_that_dies_leaves_no_release(spark: Any, tmp_path: Path) -> None:
    """What lies there when it dies, all rows written and nothing judged, is a hidden folder that nobody takes for a
    release."""

    class Dying(SparkEngine):
        def count(self, files: Any, names: Any) -> Any:
            shutil.copytree(self.staging, tmp_path / "left")
            raise KeyboardInterrupt

    staging = tmp_path / "staging"
    staging.mkdir()
    with pytest.raises(KeyboardInterrupt):
        sf.publish(policy(), data=spark.createDataFrame(people(100)), engine=Dying(spark, staging))
    (left,) = (tmp_path / "left").iterdir()
    assert left.name.startswith(".sfumato-")
    assert list((left / "data").glob("*.parquet"))
    assert not (left / "certificate.json").exists()
    with pytest.raises(ReleaseError):
        sf.verify(left)


def test_lines_that_do_not_fit_are_counted_not_quoted(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the source is small or large."""
    folder = csv_folder(people(50), tmp_path / "people.csv")
    with (folder / "1.csv").open("a") as file:
        file.write("Zebulon Quux,33\n")
    for bytes_ in (spark_classes.SMALL_SOURCE, 0):
        monkeypatch.setattr(spark_classes, "SMALL_SOURCE", bytes_)
        with pytest.raises(DataError, match=r"1 line\(s\)") as caught:
            sf.publish(policy(), data=str(folder), engine=spark)
        assert "Zebulon" not in str(caught.value)
