"""A release folder changed on purpose: `verify` must say no, with the right finding."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.io.plain_files import digest
from sfumato.ui.demos.tables import discharges

NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]
AGES = {"any age": {f"{d}-{d + 19}": [str(a) for a in range(d, d + 20)] for d in range(0, 100, 20)}}
POLICY = {
    "version": 1,
    "columns": {
        "name": "identifier",
        "age": {
            "role": "quasi-identifier",
            "hierarchy": AGES,
            "boundary": ["0-19", "20-39", "40-59", "60-79", "80-99"],
        },
        "sex": "quasi-identifier",
        "ward": "other",
        "diagnosis": "sensitive",
    },
    "protect": [{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}],
    "method": {"mondrian": {}},
    "utility": {"suppress_at_most": "10%"},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *discharges(400)])
    return path


@pytest.fixture(scope="module")
def release(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "out"
    sf.publish(sf.Policy.parse(POLICY), data=original, seed=5).write(folder)
    assert sf.verify(folder, original=original).holds
    return folder


Row = dict[str, str]


def rewrite(
    release: Path, target: Path, change: Callable[[list[Row]], list[Row]], *, certificate: dict[str, int] | None = None
) -> Path:
    """A copy with changed rows and a manifest that fits them, as a forger would leave it."""
    shutil.copytree(release, target)
    with (target / "data.csv").open(newline="") as file:
        rows = change(list(csv.DictReader(file)))
    with (target / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if certificate is not None:
        tree = json.loads((target / "certificate.json").read_text())
        tree["records"] |= certificate
        (target / "certificate.json").write_text(json.dumps(tree))
    forge(target, rows=len(rows))
    return target


def forge(target: Path, rows: int) -> None:
    manifest = json.loads((target / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        entry["sha256"] = digest(target / name)
    manifest["files"]["data.csv"]["rows"] = rows
    (target / "manifest.json").write_text(json.dumps(manifest))


def broken(folder: Path, original: Path | None = None) -> set[str]:
    """What is violated, but for the certificate and the form: both contradict every folder that was changed in such a
    way."""
    verdict = sf.verify(folder, original=original)
    assert verdict.violated == any(not finding.holds for finding in verdict.findings)
    assert "certificate" in {finding.model for finding in verdict.findings if not finding.holds}
    return {finding.model for finding in verdict.findings if not finding.holds} - {"certificate", "form"}


def test_one_row_changed_so_that_its_class_is_too_small(release: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        unseen = next(str(a) for a in range(100) if all(row["age"] != str(a) for row in rows))
        return [{**rows[0], "age": unseen}, *rows[1:]]

    assert "k-anonymity" in broken(rewrite(release, tmp_path / "out", change))


def test_one_generalized_value_replaced_by_a_sibling(release: Path, original: Path, tmp_path: Path) -> None:
    """The forger moves a whole class to a sibling label, so that every class stays large enough."""

    def change(rows: list[Row]) -> list[Row]:
        labels = [label for label in {row["age"] for row in rows} if "-" in label]
        mine = next(
            (label for label in labels if len({row["sex"] for row in rows if row["age"] == label}) == 1), labels[0]
        )
        other = next(label for label in AGES["any age"] if label != mine)
        return [{**row, "age": other} if row["age"] == mine else row for row in rows]

    folder = rewrite(release, tmp_path / "out", change)
    assert "truthfulness" in broken(folder, original)


def test_a_single_cell_replaced_by_a_sibling(release: Path, original: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        i = next(i for i, row in enumerate(rows) if "-" in row["age"])
        other = next(label for label in AGES["any age"] if label != rows[i]["age"])
        rows[i] = {**rows[i], "age": other}
        return rows

    assert "truthfulness" in broken(rewrite(release, tmp_path / "out", change), original)


def test_a_value_beyond_its_boundary(release: Path, original: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        return [{**row, "age": "any age"} for row in rows]

    folder = rewrite(release, tmp_path / "out", change)
    assert broken(folder) == {"boundaries"}
    assert broken(folder, original) == {"boundaries"}


def test_a_class_with_one_distinct_sensitive_value(release: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        key = (rows[0]["age"], rows[0]["sex"])
        return [{**row, "diagnosis": rows[0]["diagnosis"]} if (row["age"], row["sex"]) == key else row for row in rows]

    assert broken(rewrite(release, tmp_path / "out", change)) == {"p-sensitivity"}


def test_an_edited_file(release: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(release, tmp_path / "out"))
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace("\n", "\n", 1) + " ")
    assert "files" in broken(folder)


@pytest.mark.parametrize("name", ["data.csv", "report.html", "policy.yaml"])
def test_a_missing_file(release: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(release, tmp_path / "out"))
    (folder / name).unlink()
    if name == "policy.yaml":
        with pytest.raises(sf.SfumatoError):
            sf.verify(folder)
    else:
        assert "files" in broken(folder)


def test_a_file_that_nobody_certified(release: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(release, tmp_path / "out"))
    (folder / "extra.csv").write_text("name\nBob\n")
    assert broken(folder) == {"files"}


def test_an_identifier_column_slipped_in(release: Path, tmp_path: Path) -> None:
    folder = rewrite(release, tmp_path / "out", lambda rows: [{**row, "name": "x"} for row in rows])
    assert broken(folder) == {"roles"}


def test_a_column_the_policy_does_not_publish(release: Path, tmp_path: Path) -> None:
    folder = rewrite(release, tmp_path / "out", lambda rows: [{**row, "zip": "71000"} for row in rows])
    assert broken(folder) == {"roles"}


def test_more_records_suppressed_than_the_certificate_says(release: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        key = (rows[0]["age"], rows[0]["sex"])
        return [row for row in rows if (row["age"], row["sex"]) != key]

    assert broken(rewrite(release, tmp_path / "out", change)) == {"suppression"}


def test_a_certificate_that_hides_suppression_is_found_with_the_original(
    release: Path, original: Path, tmp_path: Path
) -> None:
    rows = len((release / "data.csv").read_text().splitlines()) - 1

    def change(all_rows: list[Row]) -> list[Row]:
        key = (all_rows[0]["age"], all_rows[0]["sex"])
        return [row for row in all_rows if (row["age"], row["sex"]) != key]

    kept = len(change(list(csv.DictReader((release / "data.csv").read_text(encoding="utf-8").splitlines()))))
    folder = rewrite(release, tmp_path / "out", change, certificate={"input": kept, "published": kept, "suppressed": 0})
    assert kept < rows
    assert broken(folder, original) == {"suppression"}


def test_more_suppressed_than_the_policy_allows(release: Path, tmp_path: Path) -> None:
    kept_labels = set()

    def change(rows: list[Row]) -> list[Row]:
        kept_labels.add((rows[0]["age"], rows[0]["sex"]))
        return [row for row in rows if (row["age"], row["sex"]) in kept_labels]

    rows = list(csv.DictReader((release / "data.csv").read_text(encoding="utf-8").splitlines()))
    kept = len(change(rows))
    folder = rewrite(release, tmp_path / "out", change, certificate={"published": kept, "suppressed": 400 - kept})
    assert broken(folder) == {"suppression"}
