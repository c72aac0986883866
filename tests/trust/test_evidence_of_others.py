"""Evidence that belongs to another release, values that nobody has, and files that nobody reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.release.folder import provenance_path
from tests.secret import secret
from tests.trust.every_form import _MAKERS, FORMS, columns, copy_of, read, redo, release_of, violations, write


@pytest.mark.parametrize("form", [form for form in FORMS if form != "database"])
def test_provenance_of_another_release_is_not_used(form: str, tmp_path: Path) -> None:
    """R8: a file that was left beside a folder of the same name says nothing about an honest release."""
    folder, original = copy_of(form, tmp_path)
    before = list(sf.verify(folder, original=original).findings)
    for other in ("anatomy", "perturbed table", "graph", "replaced table"):
        stale = provenance_path(release_of(other)[0])
        if other == form or not stale.exists():
            continue
        shutil.copy(stale, provenance_path(folder))
        found = sf.verify(folder, original=original)
        assert not found.violated, (form, other)
        assert [finding for finding in found.findings if finding.model != "provenance"] == before
        assert any(finding.model == "provenance" and finding.measured for finding in found.findings)


def test_provenance_of_the_same_policy_published_before_is_not_used(tmp_path: Path) -> None:
    policy, data = _MAKERS["perturbed table"]()
    first = sf.publish(policy, data=data, seed=secret(1)).write(tmp_path / "first")
    fewer = {name: values[:-1] for name, values in data.items()}
    second = sf.publish(policy, data=fewer, seed=secret(2)).write(tmp_path / "second")
    shutil.copy(provenance_path(first), provenance_path(second))
    assert violations(second, fewer) == set()


def test_provenance_of_an_earlier_folder_of_that_name_is_removed(tmp_path: Path) -> None:
    policy, data = _MAKERS["perturbed table"]()
    out = sf.publish(policy, data=data, seed=secret(1)).write(tmp_path / "out")
    assert provenance_path(out).exists()
    shutil.rmtree(out)
    policy, data = _MAKERS["recoded table"]()
    sf.publish(policy, data=data, seed=secret(1)).write(out)
    assert not provenance_path(out).exists()
    assert violations(out, data) == set()


def test_provenance_of_an_edited_folder_is_used(tmp_path: Path) -> None:
    """The certificate still names the release: columns that are said to be as they were are compared record by
    record."""
    policy, data = _MAKERS["perturbed table"]()
    out = sf.publish(policy, data=data, seed=secret(1)).write(tmp_path / "out")
    rows = read(out / "data.csv")
    turned = [
        {**row, "ward": other["ward"], "illness": other["illness"]}
        for row, other in zip(rows, rows[1:] + rows[:1], strict=True)
    ]
    write(out / "data.csv", turned)
    redo(out)
    assert "unchanged" in violations(out, data)


@pytest.fixture
def pram(tmp_path: Path) -> tuple[Path, dict[str, list[str]]]:
    named = {"age": "other", "sex": "quasi-identifier", "ward": "other", "illness": "quasi-identifier"}
    policy = sf.Policy.parse({"version": 1, "columns": named, "method": {"pram": {}}})
    data = columns()
    return sf.publish(policy, data=data, seed=secret(3)).write(tmp_path / "out", report=False), data


def test_an_invented_category_is_found(pram: tuple[Path, dict[str, list[str]]]) -> None:
    """R7: with the declared shares by everybody, and with the original also where the shares are forged with it."""
    folder, data = pram
    assert violations(folder, data) == violations(folder) == set()
    rows = read(folder / "data.csv")
    rows[0]["illness"] = "never seen"
    write(folder / "data.csv", rows)
    redo(folder)
    assert "form" in violations(folder)
    public = json.loads((folder / "manifest.json").read_text())["public"]
    public["shares"]["illness"]["never seen"] = 0.0
    redo(folder, public=public)
    assert violations(folder) == set()
    assert "unchanged" in violations(folder, data)


def test_shares_that_are_not_the_originals_are_found(pram: tuple[Path, dict[str, list[str]]]) -> None:
    folder, data = pram
    public = json.loads((folder / "manifest.json").read_text())["public"]
    first, second = list(public["shares"]["illness"])[:2]
    public["shares"]["illness"][first] += 0.05
    public["shares"]["illness"][second] -= 0.05
    redo(folder, public=public)
    assert "unchanged" in violations(folder, data)


@pytest.mark.parametrize("form", ["baskets", "basket blocks"])
@pytest.mark.parametrize("column", ["items", "distance_items"])
def test_an_item_that_nobody_has_is_found(form: str, column: str, tmp_path: Path) -> None:
    """T14: a row still covers its person when an item is added to those in doubt."""
    folder, original = copy_of(form, tmp_path)
    shutil.copy(provenance_path(release_of(form)[0]), provenance_path(folder)) if provenance_path(
        release_of(form)[0]
    ).exists() else None
    rows = read(folder / "data.csv")
    rows[0][column] = f"{rows[0][column]} never-seen".strip()
    write(folder / "data.csv", rows)
    redo(folder)
    assert "one-to-one" in violations(folder, original)


@pytest.mark.parametrize("form", FORMS)
def test_a_record_of_a_load_belongs_to_a_database(form: str, tmp_path: Path) -> None:
    """R10: a file that the manifest does not list, and that nobody reads, is no part of a folder."""
    folder, original = copy_of(form, tmp_path)
    (folder / "target.json").write_text(json.dumps({"holds": True, "note": "anything"}))
    expected = set() if form == "database" else {"files"}
    assert violations(folder, None if form == "database" else original) - {"certificate"} == expected
