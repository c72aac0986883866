"""Descriptors of a release folder are read by the tools that they are for, and may not say anything else than it."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import pytest

import sfumato as sf

DATA = {"age": ["30", "30", "40", "40"], "town": ["a", "a", "b", "b"], "illness": ["flu", "gout", "flu", "cold"]}


@pytest.fixture(params=["csv", "parquet"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    policy = sf.Policy.table(DATA).quasi("age", "town").sensitive("illness").protect(sf.k_anonymity(2))
    return sf.publish(policy, format=request.param).write(tmp_path / "release")


def test_a_data_package_is_valid_and_is_read(folder: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    report = frictionless.Package(str(folder / "datapackage.json"))
    assert [resource.path for resource in report.resources] == [next(folder.glob("data.*")).name]
    assert report.resources[0].schema.field_names == ["age", "town", "illness"]
    if (folder / "data.csv").exists():
        assert frictionless.validate(str(folder / "datapackage.json")).valid


def test_croissant_is_valid_and_its_records_are_read(folder: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = croissant.Dataset(jsonld=folder / "croissant.json")
        assert not read.metadata.issues.errors
        records = list(read.records("data"))
    assert len(records) == 4
    assert set(records[0]) == {"data/age", "data/town", "data/illness"}


def test_another_separator_is_declared(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    lines = [";".join(DATA), *(";".join(row) for row in zip(*DATA.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}
    policy = {
        "version": 1,
        "data": {"kind": "table", "source": str(tmp_path / "people.csv"), "separator": ";"},
        "columns": roles,
        "protect": [{"k-anonymity": {"k": 2}}],
    }
    folder = sf.publish(policy).write(tmp_path / "release")
    assert (folder / "data.csv").read_text().startswith("age;town;illness")
    assert frictionless.validate(str(folder / "datapackage.json")).valid
    assert len(frictionless.Package(str(folder / "datapackage.json")).resources[0].read_rows()) == 4
    assert sf.verify(folder).holds


def test_a_descriptor_that_says_something_else_is_refused(folder: Path) -> None:
    place, listed = folder / "datapackage.json", json.loads((folder / "manifest.json").read_text())
    place.write_text(place.read_text().replace("illness", "diagnosis"))
    listed["files"][place.name]["sha256"] = hashlib.sha256(place.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(listed))
    found = sf.verify(folder)
    assert not found.holds
    assert any("datapackage.json" in finding.reason for finding in found.findings)
