"""The worked example of [boundaries Tables 1-4]: three masked tables judged, and the first table published."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.kinds.tables.form import Recoded
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

AGE = {
    "0-100": {
        "0-19": [str(a) for a in range(20)],
        "20-59": {f"{d}-{d + 9}": [str(a) for a in range(d, d + 10)] for d in (20, 30, 40, 50)},
    }
}
TREE = {
    "version": 1,
    "columns": {
        "name": "identifier",
        "marital_status": {"role": "quasi-identifier", "hierarchy": {"Mar.-Status": ["Married", "Single", "Divorced"]}},
        "gender": {"role": "quasi-identifier", "hierarchy": {"Person": ["Male", "Female"]}},
        "age": {"role": "quasi-identifier", "hierarchy": AGE, "boundary": ["30-39", "40-49"]},
        "diagnosis": "sensitive",
    },
    "protect": [{"k-anonymity": {"k": 3}}, {"p-sensitivity": {"p": 2}}],
}
TABLE1 = """Bob Married Male 37 Cancer
Nancy Married Female 30 Flu
James Married Male 36 HIV
Carol Single Female 43 Cancer
William Single Male 45 Flu
Heidi Single Female 37 Flu
Cindy Single Female 32 Flu
Michael Married Male 30 Diabetes
David Divorced Female 41 Diabetes"""
COLUMNS = ("name", "marital_status", "gender", "age", "diagnosis")


def original() -> pa.Table:
    rows = [line.split() for line in TABLE1.splitlines()]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)})


def masked(*clusters: tuple[str, str, str, str]) -> pa.Table:
    """Rows of a masked table: marital status, gender, age, and the diagnoses of the cluster."""
    rows = [(m, g, a, d) for m, g, a, diagnoses in clusters for d in diagnoses.split()]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS[1:])})


MM1 = masked(
    ("Married", "Male", "30-39", "Cancer HIV Diabetes"),
    ("Mar.-Status", "Female", "30-39", "Flu Flu Flu"),
    ("Mar.-Status", "Person", "40-49", "Cancer Flu Diabetes"),
)
MM2 = masked(
    ("Married", "Male", "30-39", "Cancer HIV Diabetes"),
    ("Single", "Person", "20-59", "Cancer Flu Flu"),
    ("Mar.-Status", "Female", "20-59", "Flu Flu Diabetes"),
)
MM3 = masked(
    ("Married", "Person", "30-39", "Cancer Flu Diabetes"),
    ("Mar.-Status", "Person", "30-39", "HIV Flu Flu"),
    ("Mar.-Status", "Person", "40-49", "Cancer Flu Diabetes"),
)


def findings(table: pa.Table) -> dict[str, bool]:
    policy = sf.Policy.parse(TREE)
    evidence = ReleaseView(Recoded(), {"data": Part(table)}, policy, original=policy.data.read(original()))
    return {finding.model: finding.holds for finding in certify(evidence)}


def test_mm1_is_3_anonymous_and_not_2_sensitive() -> None:
    found = findings(MM1)
    assert found["k-anonymity"]
    assert not found["p-sensitivity"]
    assert found["boundaries"]
    assert found["truthfulness"]


def test_mm2_is_2_sensitive_3_anonymous_and_breaks_the_age_boundary() -> None:
    found = findings(MM2)
    assert found["k-anonymity"]
    assert found["p-sensitivity"]
    assert found["truthfulness"]
    assert not found["boundaries"]


def test_mm3_is_accepted() -> None:
    assert all(findings(MM3).values())


@pytest.mark.parametrize("method", ["clustering", "mondrian", "refined"])
def test_publishing_table_1_gives_a_release_the_audit_accepts(method: str, tmp_path: Path) -> None:
    publication = sf.publish(sf.Policy.parse({**TREE, "method": {method: {}}}), data=original())
    assert publication.certificate.holds
    assert publication.certificate.records.published == 9
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=original()).holds


def test_the_policy_file_works_verbatim(shared: Path, tmp_path: Path) -> None:
    publication = sf.publish(shared / "policies" / "patients.yaml")
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=shared / "policies" / "patients.csv").holds
