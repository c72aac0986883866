"""The same policy gives on Spark what it gives here: claims, certificate and figures; one test body for both engines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from tests.engines.people import COLUMNS, csv_folder, parquet_folder, people, policy, rows_of
from tests.secret import SEED

ENGINES = ["local", "spark"]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("spark") if request.param == "spark" else None


def _counted(table: pa.Table) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_release_holds_and_is_true(engine: Any, tmp_path: Path) -> None:
    """Published, written, verified without and with the original, measured; nobody is lost or doubled."""
    table = people()
    source = csv_folder(table, tmp_path / "people.csv") if engine is not None else table
    publication = sf.publish(policy(), data=source, engine=engine, seed=SEED)
    assert publication.certificate.holds
    out = publication.write(tmp_path / "out")
    assert {"manifest.json", "certificate.json", "policy.yaml", "report.html"} < {file.name for file in out.iterdir()}
    assert sf.verify(out, engine=engine).holds
    audit = sf.verify(out, original=source, engine=engine)
    assert audit.holds
    assert {finding.model for finding in audit.findings} >= {"k-anonymity", "p-sensitivity", "truthfulness", "floor", "certificate"}
    figures = sf.measure(out, original=source, engine=engine)
    assert figures == publication.utility
    published = rows_of(out) if engine is not None else publication.release.parts["data"].table
    assert published.num_rows == table.num_rows
    for name in ("illness", "ward"):
        assert _counted(published.select([name])) == _counted(table.select([name]))


HIDING = [{"given": ["age", "town"], "hide": "illness", "by": {"l-diversity": {"l": 2}}}]
GROUPS, HIDDEN = ["mondrian", "clustering", "refined", "global"], ["anatomy", "guardian"]
DRAWN = {"ward": {"role": "replaced", "domain": {"values": ["north", "south", "east"]}}}
"""Wards are drawn anew for every person."""


def _asked(method: str) -> sf.Policy:
    if method == "obfuscation":
        columns = dict.fromkeys(COLUMNS, "other") | {"name": "identifier"} | DRAWN
        return sf.Policy.parse({"version": 1, "columns": columns, "method": {method: {}}})
    return policy(method, protect=HIDING if method in HIDDEN else None, **({"seconds": 0.3} if method == "refined" else {}))


@pytest.mark.parametrize("method", [*GROUPS, *HIDDEN, "obfuscation"])
def test_both_engines_come_to_the_same(method: str, spark: Any, tmp_path: Path) -> None:
    table, asked = people(400 if method in HIDDEN else 1200, seed=2), _asked(method)
    here = sf.publish(asked, data=table, seed=SEED)
    there = sf.publish(asked, data=parquet_folder(table, tmp_path / "people.parquet"), engine=spark, seed=SEED)
    claims = len(asked.claims)
    assert [f.to_json() for f in there.certificate.findings[:claims]] == [f.to_json() for f in here.certificate.findings[:claims]]
    measured = {"other columns"}
    assert {f.model for f in there.certificate.findings} - measured == {f.model for f in here.certificate.findings} - measured
    assert there.certificate.records == here.certificate.records
    assert there.certificate.attacks == here.certificate.attacks
    if method in GROUPS:
        assert there.utility["loss"] == pytest.approx(here.utility["loss"], rel=0.01 if method != "refined" else 0.05)


def test_anybody_can_verify_without_a_cluster(spark: Any, tmp_path: Path) -> None:
    table = people(600, seed=3)
    frame = spark.createDataFrame(table)
    out = sf.publish(policy(), data=frame, engine=spark).write(tmp_path / "out", report=False)
    assert sf.verify(out).holds
    assert sf.verify(out, original=table).holds
    moved = table.set_column(4, "ward", pa.array(["west"] * 600))
    audit = sf.verify(out, original=moved)
    assert [finding.model for finding in audit.findings if not finding.holds] == ["truthfulness", "certificate"]


def test_a_ledger_remembers_rows_that_were_brought(spark: Any, tmp_path: Path) -> None:
    table = people(200, seed=8)
    asked = replace(policy(protect=[{"k-anonymity": {"k": 3}}]), key=("name",))
    book = tmp_path / "people.ledger"
    for number in (1, 2):
        made = sf.publish(asked, data=spark.createDataFrame(table), engine=spark, ledger=book, new_ledger=number == 1)
        out = made.write(tmp_path / f"out-{number}", report=False)
    assert sf.verify(out, original=spark.createDataFrame(table), ledger=book, engine=spark).holds
