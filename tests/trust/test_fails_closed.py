"""`verify` fails closed: form, policy and parts must fit each other, and whatever nobody judges does not hold."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import yaml

import sfumato as sf
from tests.command_line import run
from tests.slow import SLOW
from tests.trust.every_form import FORMS, columns, copy_of, redo, release_of, violations, write


@pytest.mark.parametrize("form", FORMS)
def test_every_release_as_it_was_published(form: str) -> None:
    """The other half of every test below: nothing here is violated, and with the original everything is judged."""
    folder, original = release_of(form)
    assert violations(folder) == set()
    verdict = sf.verify(folder, original=original)
    assert [finding.model for finding in verdict.findings if not finding.holds] == []


def test_raw_rows_under_the_name_of_another_form(tmp_path: Path) -> None:
    """Reading as sub-tables finds no rule to judge in a claim that hides nothing: that is no reason to let it hold."""
    folder, _ = copy_of("recoded table", tmp_path)
    raw = columns()
    write(folder / "data.csv", [dict(zip(raw, row, strict=True)) for row in zip(*raw.values(), strict=True)])
    tree = yaml.safe_load((folder / "policy.yaml").read_text()) | {"protect": [{"k-anonymity": {"k": 60}}]}
    (folder / "policy.yaml").write_text(yaml.safe_dump(tree))
    redo(folder, form="sub-tables")
    shown = run("verify", str(folder))
    assert shown.returncode == 1
    assert "✓ k-anonymity" not in shown.stdout
    assert {"form", "method", "k-anonymity"} <= violations(folder)


@pytest.mark.parametrize(("true", "false"), list(permutations(FORMS, 2)))
def test_no_form_passes_for_another(true: str, false: str, tmp_path: Path) -> None:
    """Whatever the manifest says of it: nothing, what the other form says, or what its own does; in `make slow` all
    three."""
    folder, _ = copy_of(true, tmp_path)
    other = json.loads((release_of(false)[0] / "manifest.json").read_text())
    said = [{}, other["public"], json.loads((folder / "manifest.json").read_text())["public"]]
    for public in said if SLOW else [said[(FORMS.index(true) + FORMS.index(false)) % 3]]:
        redo(folder, form=false, public=public)
        assert violations(folder) & {"unreadable", "form", "method"}
    if false == FORMS[FORMS.index(true) - 1]:  # the command says so whatever the other form
        assert run("verify", str(folder)).returncode == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_of_another_form(form: str, tmp_path: Path) -> None:
    """The parts stay; the policy, and what it promises, is that of another release: a third of them, in `make slow`
    all."""
    first = FORMS.index(form)
    for number in range(1, len(FORMS), 1 if SLOW else 3):
        other = FORMS[(first + number) % len(FORMS)]
        folder, _ = copy_of(form, tmp_path / str(number))
        (folder / "policy.yaml").write_text((release_of(other)[0] / "policy.yaml").read_text())
        redo(folder)
        assert violations(folder) & {"unreadable", "form", "method"}


def part_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.csv"))


@pytest.mark.parametrize("form", FORMS)
def test_a_part_that_is_missing_renamed_empty_or_twice(form: str, tmp_path: Path) -> None:
    for place in range(len(part_files(release_of(form)[0]))):
        for spoilt in ("missing", "renamed", "headless", "rowless", "twice"):
            folder, _ = copy_of(form, tmp_path / f"{place}-{spoilt}")
            file = part_files(folder)[place]
            if spoilt == "missing":
                file.unlink()
            elif spoilt == "renamed":
                file.rename(folder / "other.csv")
            elif spoilt == "headless":
                file.write_text("")
            elif spoilt == "rowless":
                file.write_text(file.read_text().splitlines()[0] + "\n")
            else:
                pq.write_table(pa_csv.read_csv(file), file.with_suffix(".parquet"))
            redo(folder)
            if spoilt == "twice":
                manifest = json.loads((folder / "manifest.json").read_text())
                manifest["files"][file.with_suffix(".parquet").name]["rows"] = manifest["files"][file.name]["rows"]
                (folder / "manifest.json").write_text(json.dumps(manifest))
            assert violations(folder), (form, file.name, spoilt)


@pytest.mark.parametrize("form", FORMS)
def test_files_that_say_the_same_in_other_bytes(form: str, tmp_path: Path) -> None:
    """Rows in another order and a line more at the end take nothing from any claim: what finds them are the
    checksums."""
    folder, _ = copy_of(form, tmp_path)
    listed = [folder / name for name in json.loads((folder / "manifest.json").read_text())["files"]]
    for file in listed:
        head, *rows = file.read_text().splitlines(keepends=True)
        file.write_text("".join([head, *rows[1:], *rows[:1]] if file in part_files(folder) else [head, *rows, "\n"]))
    (found,) = (finding for finding in sf.verify(folder).findings if finding.model == "files")
    assert found.achieved == {"damaged": len(listed)}, (form, found.reason)


def in_turn(names: list[str]) -> list[tuple[str, str]]:
    """Every form with every other of these names, neighbours with different ones; in `make slow` with all."""
    pairs = [(row + column, form, name) for row, form in enumerate(FORMS) for column, name in enumerate(names)]
    return [(form, name) for place, form, name in pairs if SLOW or place % 2 == 0]


@pytest.mark.parametrize(
    ("form", "name"),
    in_turn(["people.csv", "data-2.csv", "table-9.csv", "sensitive-age.csv", "notes.txt", "hierarchies/people.csv"]),
)
def test_a_further_file_with_people_in_it(form: str, name: str, tmp_path: Path) -> None:
    """Listed as a part, or listed as something that is none: nobody reads it, so it must not be there."""
    folder, _ = copy_of(form, tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("name,age\nBob,30\n")
    redo(folder)
    assert "form" in violations(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name].pop("rows", None)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "form" in violations(folder)


@pytest.mark.parametrize(("form", "column"), in_turn(["name", "bucket", "value", "count", "column", "source"]))
def test_a_further_column_with_people_in_it(form: str, column: str, tmp_path: Path) -> None:
    """Names that some form uses for itself are no hiding place in the part of another."""
    for file in part_files(release_of(form)[0]):
        folder, _ = copy_of(form, tmp_path / file.stem)
        lines = (folder / file.name).read_text().splitlines()
        if column in lines[0].split(","):
            continue
        (folder / file.name).write_text(
            "\n".join([f"{lines[0]},{column}", *(f"{line},Bob" for line in lines[1:])]) + "\n"
        )
        redo(folder)
        assert violations(folder) & {"form", "tables and row counts"}


@pytest.mark.parametrize("form", FORMS)
def test_cells_of_any_kind_are_findings_and_no_crash(form: str, tmp_path: Path) -> None:
    """Every column of every part gets a first cell that it cannot have had; whatever happens is an answer of the audit.

    Neighbours get different kinds, in `make slow` all.
    """
    strange = ["Bob", "-1", "1e999", "nan", "", "*", "\u0085", "9" * 400]
    for file in part_files(release_of(form)[0]):
        for place in range(len(file.read_text().splitlines()[0].split(","))):
            for number, cell in list(enumerate(strange))[0 if SLOW else place % 4 :: 1 if SLOW else 4]:
                folder, _ = copy_of(form, tmp_path / f"{file.stem}-{place}-{number}")
                lines = (folder / file.name).read_text().split("\n")
                cells = lines[1].split(",")
                cells[place] = cell
                (folder / file.name).write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
                redo(folder)
                found = violations(folder)  # whatever else goes wrong is raised
                if number == place % len(strange):  # the command says the same of every kind of cell
                    assert run("verify", str(folder)).returncode == bool(found)


def test_the_reason_of_an_unforeseen_error_names_its_kind_and_no_value() -> None:
    from sfumato.audit.certify import refusal

    assert refusal(KeyError("Bob Miller")) == "the published files cannot be read as this form (KeyError)"
    assert refusal(sf.SfumatoError("one bucket is empty")) == "one bucket is empty"


def test_a_part_that_changes_after_it_was_certified(tmp_path: Path) -> None:
    """The manifest keeps the digests of what was judged: what lies in the draft later is not blessed by writing it
    out."""
    table = {"age": [str(20 + i // 10) for i in range(60)], "illness": [str(i % 3) for i in range(60)]}
    policy = sf.Policy.parse(
        {"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 5}}],
         "method": {"mondrian": {}}}
    )  # fmt: skip
    publication = sf.publish(policy, data=table)
    part = publication.draft.folder / "data.csv"
    part.write_text(part.read_text().replace("20", "99", 1))
    with pytest.raises(sf.SfumatoError, match="not what was certified"):
        publication.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
