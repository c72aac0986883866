"""New values drawn where records lie: kept columns stay, rules hold over all files, and a task that runs again draws
alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.engines.protocol import NUMBER, RunSecret
from sfumato.engines.spark import engine as spark_draws
from sfumato.engines.spark.engine import SparkEngine
from sfumato.kinds.testdata.methods.remote_shares import IndependentDraws
from tests.engines.people import COLUMNS, people, rows_of
from tests.engines.troubled import failing
from tests.secret import SEED

SECRET = bytes(range(32))


def _asked(numbers: int = 400, *more: str) -> sf.Policy:
    name = {"role": "replaced", "domain": {"integers": [1, numbers]}}
    ward = {"role": "replaced", "domain": {"integers": [0, 99]}}
    columns = dict.fromkeys(COLUMNS, "other") | {"name": name, "ward": ward}
    keep = ["unique(name)", "ward >= age", *more]
    return sf.Policy.parse({"version": 1, "columns": columns, "keep": keep, "method": {"obfuscation": {}}})


def _share(ages: list[str], numbers: list[int]) -> pa.Table:
    return pa.table({"age": ages, NUMBER: numbers})


def test_shares_fit_together_however_they_are_cut() -> None:
    """Keys of all shares together are those of the whole, all different; a full domain is used up."""
    make = IndependentDraws(_asked(60), SECRET, 60)
    ages = [str(20 + place) for place in range(60)]
    whole = make(_share(ages, list(range(60))))
    parts = [make(_share(ages[a:b], list(range(a, b)))) for a, b in ((0, 7), (7, 40), (40, 60))]
    keys = [key for part in parts for key in part["name"].to_pylist()]
    assert keys == whole["name"].to_pylist()
    assert sorted(map(int, keys)) == list(range(1, 61))
    assert make(_share(ages[7:40], list(range(7, 40)))) == parts[1]
    assert all(
        int(new) >= int(age) for part in [whole] for new, age in zip(part["ward"].to_pylist(), ages, strict=True)
    )
    assert IndependentDraws(_asked(60), SECRET[::-1], 60)(_share(ages, list(range(60))))["name"] != whole["name"]


def test_draws_of_shares_are_uniform() -> None:
    """By counting: every legal value equally often, within four standard deviations."""
    make = IndependentDraws(_asked(100_000), SECRET, 20_000)
    made = [make(_share(["90"] * 500, list(range(first, first + 500)))) for first in range(0, 20_000, 500)]
    counts = Counter(value for part in made for value in part["ward"].to_pylist())
    assert set(counts) == {str(value) for value in range(90, 100)}
    assert max(abs(count - 2_000) for count in counts.values()) < 4 * np.sqrt(1_800)
    assert len({value for part in made for value in part["name"].to_pylist()}) == 20_000


def test_too_few_keys_are_refused() -> None:
    with pytest.raises(Infeasible, match="only 50 different values are possible for 60 records"):
        IndependentDraws(_asked(50), SECRET, 60).planned(pa.table({"age": ["30"]}))


def test_keys_that_hang_on_each_other_are_not_dealt_to_shares() -> None:
    """Two keys over common columns would be unique within a share only."""
    columns = {key: {"role": "replaced", "domain": {"integers": [1, 50]}} for key in ("name", "ward")} | {
        "age": "other"
    }
    keep = ["unique(name)", "unique(name, ward)"]
    policy = sf.Policy.parse({"version": 1, "columns": columns, "keep": keep, "method": {"obfuscation": {}}})
    with pytest.raises(PolicyError, match="hang on other records"):
        IndependentDraws(policy, SECRET, 20).planned(pa.table({"age": ["30"] * 20}))


def test_values_are_drawn_where_records_lie(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By plain counting of the files, over several shares; a total that is compared with kept values is dealt to
    them."""
    monkeypatch.setattr(spark_draws, "SHARE", 70)
    table = people(200, seed=61)
    frame = spark.createDataFrame(table)
    asked = _asked(400, "sum(ward) = sum(age) + 7000")
    made = sf.publish(asked, data=frame, engine=spark, seed=SEED)
    out = made.write(tmp_path / "out")
    published, kept = rows_of(out), ["age", "town", "illness"]
    assert Counter(map(str, published.select(kept).to_pylist())) == Counter(map(str, table.select(kept).to_pylist()))
    assert len(set(published.column("name").to_pylist())) == 200
    assert {int(name) for name in published.column("name").to_pylist()} <= set(range(1, 401))
    assert all(int(row["ward"]) >= int(row["age"]) for row in published.to_pylist())
    wards = [int(ward) for ward in published.column("ward").to_pylist()]
    assert sum(wards) == sum(int(age) for age in table.column("age").to_pylist()) + 7_000
    assert any("rows stayed on the cluster" in said for said in made.certificate.assumptions)
    assert {"domains", "missing values", "kept columns", "rules", "suppression"} <= {
        finding.model for finding in made.findings
    }
    here, there = sf.verify(out, original=table), sf.verify(out, original=frame, engine=spark)
    assert here.holds
    assert there.holds
    assert not sf.verify(out, original=table.set_column(1, "age", pa.array(["99"] * 200))).holds


def test_a_task_that_runs_again_draws_the_same(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing tasks and other partitions change no row and no key of the order in which rows are written."""
    monkeypatch.setattr(spark_draws, "SHARE", 70)
    engine, asked, frame = SparkEngine(spark), _asked(400), spark.createDataFrame(people(200, seed=61))
    kept, make = ["age", "town", "illness"], IndependentDraws(asked, SECRET, 200)

    def drawn(source: Any) -> list[tuple[str, ...]]:
        shares = engine.shares(engine.rows(asked, source), kept, RunSecret(SECRET), 200)
        return sorted(tuple(row) for row in shares.made(asked.published, make).collect())

    quiet = drawn(frame.coalesce(1))
    assert len({row[-1] for row in quiet}) == 200
    assert drawn(failing(frame.repartition(3), times=1)) == quiet


def test_what_is_wrong_in_some_file_is_found(spark: Any, tmp_path: Path) -> None:
    """A key that stands twice, a rule that is broken, a value outside its domain, and a kept value that nobody has."""

    class Lying(SparkEngine):
        def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
            from pyspark.sql import functions as F

            wrong = {"name": F.lit("7"), "ward": F.lit("100"), "town": F.lit("Rome")}
            return super().write(frame.withColumns(wrong), records, folder)

    with pytest.raises(AuditRefused) as caught:
        sf.publish(
            _asked(400, "sum(ward) = 2600"),
            data=spark.createDataFrame(people(40, seed=62)),
            engine=Lying(spark, tmp_path),
        )
    told = str(caught.value)
    assert '"unique(name)" is broken 39 time(s)' in told
    assert '"sum(ward) = 2600" is broken 1 time(s)' in told
    assert "40 values of 'ward' are outside its domain" in told
    assert "kept rows differ from the original" in told
