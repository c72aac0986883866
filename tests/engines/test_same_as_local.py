"""The same policy gives on Spark what it gives here: claims, certificate and figures; one test body for both engines.

Every method runs on one table and few columns, with --slow on all of them (`real_tables.py`). Two of them run without
it where their releases are looked at anyway (`test_dealing.py`, `test_splitting.py`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from tests.engines.people import COLUMNS, csv_folder, parquet_folder, people, policy, rows_of
from tests.engines.real_tables import CASES
from tests.engines.same import require_same
from tests.secret import SEED

ENGINES = ["local", "spark"]


@dataclass(frozen=True)
class Written:
    """A release, what it was made from, where it lies, and the engine that made it."""

    table: pa.Table
    source: Any
    publication: sf.Publication
    out: Path
    engine: Any


@pytest.fixture(scope="module", params=ENGINES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    engine = request.getfixturevalue("spark") if request.param == "spark" else None
    table, place = people(), tmp_path_factory.mktemp("written")
    source = csv_folder(table, place / "people.csv") if engine is not None else table
    publication = sf.publish(policy(), data=source, engine=engine, seed=SEED)
    return Written(table, source, publication, publication.write(place / "out"), engine)


def _counted(table: pa.Table) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_release_holds_and_is_true(written: Written) -> None:
    """Published, written, verified without and with the original, measured; nobody is lost or doubled."""
    table, source, publication, out, engine = (
        written.table,
        written.source,
        written.publication,
        written.out,
        written.engine,
    )
    assert publication.certificate.holds
    assert {"manifest.json", "certificate.json", "policy.yaml", "report.html"} < {file.name for file in out.iterdir()}
    assert sf.verify(out, engine=engine).holds
    audit = sf.verify(out, original=source, engine=engine)
    assert audit.holds
    assert {finding.model for finding in audit.findings} >= {
        "k-anonymity",
        "p-sensitivity",
        "truthfulness",
        "floor",
        "certificate",
    }
    figures = sf.measure(out, original=source, engine=engine)
    assert figures == publication.utility
    published = rows_of(out) if engine is not None else publication.release.parts["data"].table
    assert published.num_rows == table.num_rows
    for name in ("illness", "ward"):
        assert _counted(published.select([name])) == _counted(table.select([name]))


@pytest.mark.parametrize(("made", "method"), CASES, ids=[f"{made.__name__}-{method}" for made, method in CASES])
def test_both_engines_come_to_the_same(made: Any, method: str, spark: Any) -> None:
    asked, table = made(method)
    here = sf.publish(asked, data=table, seed=SEED)
    there = sf.publish(asked, data=spark.createDataFrame(table), engine=spark, seed=SEED)
    require_same(there, here, method, len(asked.claims))


def test_rows_are_brought_where_classes_do_not_do(spark: Any, tmp_path: Path) -> None:
    table = people(200, seed=2)
    drawn = {"role": "replaced", "domain": {"values": ["Ulm", "Bonn"]}}  # some lack a town, and go on lacking it
    columns = dict.fromkeys(COLUMNS, "other") | {"name": "identifier", "town": drawn}
    asked = sf.Policy.parse({"version": 1, "columns": columns, "method": {"obfuscation": {}}})
    there = sf.publish(asked, data=parquet_folder(table, tmp_path / "people.parquet"), engine=spark, seed=SEED)
    here = sf.publish(asked, data=table, seed=SEED)
    assert {f.model for f in there.certificate.findings} == {f.model for f in here.certificate.findings}
    assert there.certificate.records == here.certificate.records
    assert not any("rows stayed on the cluster" in said for said in there.certificate.assumptions)


def test_anybody_can_verify_without_a_cluster(written: Written) -> None:
    assert sf.verify(written.out).holds
    assert sf.verify(written.out, original=written.table).holds
    moved = written.table.set_column(4, "ward", pa.array(["west"] * written.table.num_rows))
    audit = sf.verify(written.out, original=moved)
    assert [finding.model for finding in audit.findings if not finding.holds] == ["truthfulness", "certificate"]


def test_a_ledger_remembers_rows_that_were_brought(spark: Any, tmp_path: Path) -> None:
    table = people(200, seed=8)
    asked = replace(policy(protect=[{"k-anonymity": {"k": 3}}]), key=("name",))
    book = tmp_path / "people.ledger"
    for number in (1, 2):
        made = sf.publish(asked, data=spark.createDataFrame(table), engine=spark, ledger=book, new_ledger=number == 1)
        out = made.write(tmp_path / f"out-{number}", report=False)
    assert sf.verify(out, original=spark.createDataFrame(table), ledger=book, engine=spark).holds
