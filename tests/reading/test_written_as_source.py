"""The CSV of a release is written as its source was: the same separator and the same decimal commas."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import ReleaseError
from sfumato.io.csv_format import CsvDialect
from sfumato.release.folder import read_folder
from tests.command_line import run

CITIES, ILLNESSES = ("Köln; Deutz", "München"), ("Grippe", "Gicht", "Asthma")
ROWS = [f"{20 + n % 4 * 10};{CITIES[n % 2]};{n % 3},{5 + n % 2};{ILLNESSES[n % 3]}" for n in range(24)]
POLICY = """version: 1
data: {source: stays.csv, decimal_comma: [dose]MORE}
columns: {age: quasi-identifier, city: quasi-identifier, dose: ROLE, illness: sensitive}
protect: [k-anonymity: {k: 2}, l-diversity: {l: 2}]
method: {mondrian: {}}
"""


def _source(folder: Path, more: str = "", role: str = "other") -> sf.Policy:
    rows = [row.replace("Köln; Deutz", '"Köln; Deutz"') for row in ROWS]
    text = "\n".join(["age;city;dose;illness", *rows]) + "\n"
    (folder / "stays.csv").write_bytes(text.encode("windows-1252"))
    (folder / "policy.yaml").write_text(POLICY.replace("MORE", more).replace("ROLE", role), encoding="utf-8")
    return sf.Policy.read(folder / "policy.yaml")


def _published(folder: Path, policy: sf.Policy) -> tuple[Path, list[str]]:
    out = sf.publish(policy, seed=2**128 + 3).write(folder / "out", report=False)
    return out, (out / "data.csv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("role", ["other", "quasi-identifier"])
def test_a_release_has_the_separator_and_decimal_commas_of_its_source(tmp_path: Path, role: str) -> None:
    out, lines = _published(tmp_path, _source(tmp_path, role=role))
    assert sorted(lines[0].split(";")) == ["age", "city", "dose", "illness"]
    if role == "other":  # a quasi-identifier shows intervals, which keep their spelling
        assert all(",5" in line or ",6" in line for line in lines[1:])
    stated = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["csv"]
    assert stated == {"separator": ";", "decimal_comma": ["dose"]}
    assert not sf.verify(out).violated
    told = sf.verify(out, original=tmp_path / "policy.yaml")
    assert not told.violated and all(finding.holds for finding in told.findings)
    assert run("measure", str(out), "--original", str(tmp_path / "policy.yaml")).returncode == 0
    assert (
        run("query", str(out), "count where dose = 0.5").stdout
        == run("query", str(out), "count where dose = .5").stdout
    )


def test_the_cells_are_those_of_the_standard_release(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    out, _ = _published(tmp_path / "a", _source(tmp_path / "a"))
    plain, lines = _published(tmp_path / "b", _source(tmp_path / "b", ", published_csv: standard"))
    assert "," in lines[0] and "csv" not in json.loads((plain / "manifest.json").read_text(encoding="utf-8"))
    tables = [read_folder(folder).parts["data"].table for folder in (out, plain)]
    assert tables[0].to_pylist() == tables[1].to_pylist()


def test_an_edited_cell_and_another_dialect_are_found(tmp_path: Path) -> None:
    out, lines = _published(tmp_path, _source(tmp_path))
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    for stated in (
        {"separator": ",", "decimal_comma": []},
        {"separator": ";;"},
        {"separator": ";", "decimal_comma": 3},
    ):
        (out / "manifest.json").write_text(json.dumps(manifest | {"csv": stated}), encoding="utf-8")
        with suppress(ReleaseError):
            assert sf.verify(out).violated
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (out / "data.csv").write_text("\n".join([*lines[:-1], lines[-1].replace(",", ".")]) + "\n", encoding="utf-8")
    assert sf.verify(out).violated


def test_a_column_that_could_not_be_read_back_keeps_its_points() -> None:
    import pyarrow as pa

    dialect = CsvDialect(";", ("a", "b"))
    assert dialect.fitting([pa.table({"a": ["1.5", "2"], "b": ["1,5", "2.5"]})]).decimal_comma == ("a",)
    shown = dialect.written(pa.table({"a": ["1.5", "0.5-2.5", "[0.5, 1)", "v1.2", None]}))
    assert shown["a"].to_pylist() == ["1,5", "0,5-2,5", "[0.5, 1)", "v1.2", None]
    assert dialect.plain(shown)["a"].to_pylist() == ["1.5", "0.5-2.5", "[0.5, 1)", "v1.2", None]


def test_a_source_with_commas_and_points_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("age,illness\n" + "30,flu\n30,gout\n" * 4, encoding="utf-8")
    text = "version: 1\ndata: p.csv\ncolumns: {age: quasi-identifier, illness: sensitive}\n"
    (tmp_path / "p.yaml").write_text(
        text + "protect: [k-anonymity: {k: 2}]\n" + "method: {mondrian: {}}\n", encoding="utf-8"
    )
    out = sf.publish(sf.Policy.read(tmp_path / "p.yaml"), seed=2**128 + 3).write(tmp_path / "out", report=False)
    assert "csv" not in json.loads((out / "manifest.json").read_text(encoding="utf-8"))
