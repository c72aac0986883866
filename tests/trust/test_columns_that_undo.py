"""Columns that undo a release are warned about, `check --strict` fails on them, and the certificate says what a policy
accepts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.data.table import Table
from sfumato.data.text_values import is_formula
from sfumato.kinds.tables.source_audit import risky_columns_by_values
from sfumato.workflow.forecast import forecast_publish
from tests.command_line import run
from tests.secret import SEED

SCHOOLS = ["none", "primary", "secondary", "bachelor", "master"]


def people(rows: int = 200) -> dict[str, list[str]]:
    """Every way to undo a release in one table; `ward` and `pay` are harmless."""
    return {
        "name": [f"Person {i}" for i in range(rows)],
        "email": [f"p{i}@home.test" for i in range(rows)],
        "age": [str(20 + i * 7 % 50) for i in range(rows)],
        "school": [SCHOOLS[i * 3 % 5] for i in range(rows)],
        "school-num": [str(i * 3 % 5) for i in range(rows)],
        "weight": [f"{1 + i / 1000:.4f}" for i in range(rows)],
        "ward": [f"w{i * i % 11 % 3}" for i in range(rows)],
        "remark": ["=HYPERLINK(A1)" if i % 9 == 0 else "fine" for i in range(rows)],
        "illness": [["flu", "cold", "cough"][i % 3] for i in range(rows)],
    }


def policy(**roles: Any) -> dict[str, Any]:
    columns = {
        "name": "identifier", "email": "identifier", "school-num": "identifier", "weight": "identifier",
        "remark": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 50]}},
        "school": "quasi-identifier", "ward": "other", "illness": "sensitive",
    }  # fmt: skip
    return {
        "version": 1,
        "data": {"source": "people.csv"},
        "columns": columns | roles,
        "protect": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}],
        "method": {"mondrian": {}},
    }


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(tree: dict[str, Any], data: dict[str, list[str]] | None = None) -> Path:
        columns = data or people()
        with (tmp_path / "people.csv").open("w", newline="") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
        (tmp_path / "policy.yaml").write_text(json.dumps(tree))
        return tmp_path / "policy.yaml"

    return write


WARNED = [
    ({"name": "other"}, {"personal-column:name", "unique-column:name"}),
    ({"email": "other"}, {"personal-column:email", "personal-values:email", "unique-column:email"}),
    ({"school-num": "other"}, {"determines:school-num->school"}),
    ({"school-num": "sensitive"}, {"determines:school-num->school"}),
    ({"weight": "other"}, {"unique-column:weight"}),
    ({"remark": "other"}, {"formula-cells:remark", "personal-column:remark"}),
    ({}, set()),
]


@pytest.mark.parametrize(("roles", "expected"), WARNED)
def test_each_column_is_warned_about_by_name(written: Any, roles: dict[str, str], expected: set[str]) -> None:
    found = forecast_publish(written(policy(**roles)))
    assert {warning.identifier for warning in found.warnings} == expected
    assert found.reads_rows


@pytest.mark.parametrize(("roles", "expected"), WARNED)
def test_strict_fails_until_the_policy_accepts(written: Any, roles: dict[str, str], expected: set[str]) -> None:
    file = str(written(policy(**roles)))
    assert run("check", file).returncode == 0
    assert run("check", file, "--strict").returncode == (2 if expected else 0)
    lost = {"suppressed:school"} if roles.get("school-num") == "sensitive" else set()  # the trial run of check finds it
    accepted = str(written({**policy(**roles), "accept": sorted(expected | lost)}))
    answer = run("check", accepted, "--strict")
    assert answer.returncode == 0
    assert all(f"[{identifier}]" in answer.stdout for identifier in expected)
    assert "Dry run: data read" in answer.stdout


def test_identifiers_do_not_move_with_the_rows(written: Any) -> None:
    roles = {"name": "other", "school-num": "other", "weight": "other"}
    found = [
        {w.identifier for w in forecast_publish(written(policy(**roles), people(rows))).warnings}
        for rows in (50, 200, 777)
    ]
    assert found[0] == found[1] == found[2]


def test_the_certificate_says_what_was_accepted(written: Any, tmp_path: Path) -> None:
    tree = {**policy(**{"school-num": "other"}), "accept": ["determines:school-num->school"]}
    folder = sf.publish(written(tree), seed=SEED).write(tmp_path / "out")
    certificate = json.loads((folder / "certificate.json").read_text())
    assert any("determines:school-num->school" in said for said in certificate["assumptions"])
    assert "determines:school-num-&gt;school" in (folder / "report.html").read_text()
    assert sf.verify(folder, original=people()).holds


def test_an_accepted_warning_that_is_gone_is_said(written: Any) -> None:
    found = forecast_publish(written({**policy(), "accept": ["unique-column:weight"]}))
    assert any("no longer there: unique-column:weight" in sentence for sentence in found.sentences())


def test_other_kinds_of_data_refuse_the_key() -> None:
    with pytest.raises(PolicyError, match="accept"):
        sf.Policy.parse({"version": 1, "data": {"kind": "graph"}, "accept": ["x"]})


def test_k_is_measured_with_the_other_columns_known(written: Any, tmp_path: Path) -> None:
    harmless, harmful = (sf.publish(written(policy(**roles)), seed=SEED) for roles in ({}, {"weight": "other"}))
    found = [next(f for f in made.certificate.findings if f.model == "other columns") for made in (harmless, harmful)]
    assert found[1].achieved == {"k": 1, "alone": 200}
    assert found[0].achieved["alone"] < 200
    rows = harmful.release.parts["data"].to_polars().select(["age", "school", "ward", "weight"])
    assert rows.n_unique() == 200
    folder = harmful.write(tmp_path / "out")
    assert next(f for f in sf.verify(folder).findings if f.model == "other columns").achieved == found[1].achieved


def test_without_a_source_names_alone_are_judged() -> None:
    tree = policy(name="other", weight="other")
    del tree["data"]
    found = forecast_publish(sf.Policy.parse(tree))
    assert [warning.identifier for warning in found.warnings] == ["personal-column:name"]
    assert not found.reads_rows


@pytest.mark.parametrize(
    ("values", "look"),
    [
        (["+49 170 1234567", "+1 (212) 555-0100", "0043 1 234567"], "telephone"),
        (["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"], "account numbers"),
        (
            ["the patient came in the morning with a cough and left in the evening feeling rather better than before"]
            * 2,
            "free text",
        ),
        (["37.5", "12", "9000"], ""),
        (["2020-01-01", "1999-12-31"], ""),
        (["Tech-support", "Adm-clerical", "Exec managerial"], ""),
    ],
)
def test_values_are_known_by_their_looks(values: list[str], look: str) -> None:
    parsed = sf.Policy.parse({"version": 1, "columns": {"note": "sensitive"}})
    found = list(risky_columns_by_values(parsed, Table(pa.table({"note": values})), recoded=True))
    assert any(look in warning.text for warning in found) if look else not found


def test_chance_is_no_dependency() -> None:
    """A column that is constant, or nearly, tells nothing that is not known already."""
    parsed = sf.Policy.parse({"version": 1, "columns": {"a": "quasi-identifier", "b": "other"}})
    rows = {"a": ["x"] * 97 + ["y"] * 3, "b": [f"b{i % 4}" for i in range(100)]}
    assert not list(risky_columns_by_values(parsed, Table(pa.table(rows)), recoded=True))


def test_nearly_a_dependency_is_one() -> None:
    parsed = sf.Policy.parse({"version": 1, "columns": {"a": "quasi-identifier", "b": "other"}})
    rows = {"a": [f"a{i % 4}" for i in range(200)], "b": [f"b{i % 4}" if i % 50 else "b9" for i in range(200)]}
    assert [w.identifier for w in risky_columns_by_values(parsed, Table(pa.table(rows)), recoded=True)] == [
        "determines:b->a"
    ]
    assert not list(risky_columns_by_values(parsed, Table(pa.table(rows)), recoded=False))


# ---- formulas --------------------------------------------------------------------------------------------------------

CELLS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "-5", "+5", "-1.5", "plain", "a=b", "-", "'=x"]


@pytest.mark.parametrize("form", ["mondrian", "anatomy", "obfuscation"])
def test_escaped_formulas_are_published_as_text_and_verify(form: str, written: Any, tmp_path: Path) -> None:
    tree = policy(remark="other") | {"method": {form: {}}}
    if form == "anatomy":
        tree |= {"protect": [{"l-diversity": {"l": 2}}]}
    if form == "obfuscation":
        tree |= {"protect": []}
        tree["columns"] |= {"age": {"role": "replaced", "domain": {"integers": [1, 99]}}, "school": "other"}
    data = people(240) | {"remark": [CELLS[i % len(CELLS)] for i in range(240)]}
    plain = sf.publish(written(tree, data), seed=SEED)
    assert sum(map(is_formula, plain.release.parts["data"].to_polars()["remark"])) == 100
    finding = next(f for f in plain.certificate.findings if f.model == "formulas")
    assert finding.achieved == {"cells": 100}
    escaping = sf.publish(written(tree | {"data": {"source": "people.csv", "escape": "formulas"}}, data), seed=SEED)
    folder = escaping.write(tmp_path / "out")
    with (folder / "data.csv").open(newline="") as file:
        cells = [row["remark"] for row in csv.DictReader(file)]
    assert not any(map(is_formula, cells))
    assert {"'=1+1", "'@SUM(A1)", "-5", "+5", "-1.5", "-", "a=b"} <= set(cells)
    assert sf.verify(folder, original=tmp_path / "people.csv").holds
    assert sf.verify(folder).holds


def test_a_published_formula_under_escape_does_not_hold(written: Any, tmp_path: Path) -> None:
    from sfumato.release.folder import read_folder, write_manifest

    tree = policy(remark="other") | {"data": {"source": "people.csv", "escape": "formulas"}}
    folder = sf.publish(written(tree), seed=SEED).write(tmp_path / "out", report=False)
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace("'=", "="))
    write_manifest(folder, read_folder(folder).form, {"data.csv": 200})
    assert not next(f for f in sf.verify(folder).findings if f.model == "formulas").holds


def test_the_public_report_says_that_there_are_formulas(written: Any, tmp_path: Path) -> None:
    folder = sf.publish(written(policy(remark="other")), seed=SEED).write(tmp_path / "out")
    assert "begin like a spreadsheet formula" in (folder / "report.html").read_text()
