"""The report as people and scripts meet it: page, JSON, records for the data holder, errors; and which columns look
personal."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.personal_columns import detect
from sfumato.data.personal_columns.roles import SAFE_HARBOR
from sfumato.data.personal_columns.vocabulary import KINDS
from tests.command_line import run

PEOPLE = {
    "name": ["Canaria One", "Canaria Two", "Canaria Three", "Canaria Four"],
    "age": ["30", "30", "47", "91"],
    "town": ["Zanzibar", "Zanzibar", "Quito", "Quito"],
    "diagnosis": ["flu", "gout", "flu", "flu"],
}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(PEOPLE), *zip(*PEOPLE.values(), strict=True)])
    return path


def test_no_value_of_anybody_is_on_the_page_or_in_the_json(people: Path) -> None:
    done = run("risk", str(people), "--json")
    told = sf.risk(PEOPLE)
    texts = [done.stdout, told.page(), told._repr_html_(), repr(told), run("risk", str(people)).stdout]
    for value in {value for column in PEOPLE.values() for value in column if not value.isdigit()}:
        assert not [text for text in texts if value in text], value
    assert json.loads(done.stdout) == told.to_json()


def test_columns_and_claims_are_guessed(people: Path) -> None:
    told = json.loads(run("risk", str(people), "--json").stdout)
    assert told["guessed"]
    assert told["quasi_identifiers"] == ["age", "town"]
    assert told["sensitive"] == ["diagnosis"]
    assert [(c["role"], c["hipaa"]) for c in told["columns"]] == [
        ("identifier", "A"), ("quasi-identifier", "C"), ("quasi-identifier", "B"), ("sensitive", ""),
    ]  # fmt: skip
    assert (told["k"], told["uniques"], told["classes"]) == (1, 2, 3)


def test_the_risk_of_every_record_is_written_for_the_holder_alone(people: Path, tmp_path: Path) -> None:
    done = run(
        "risk", str(people), "--qi", "age", "--records", str(tmp_path / "r.csv"), "--out", str(tmp_path / "r.html")
    )
    assert done.returncode == 0
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["record"], row["class_size"], row["prosecutor_risk"]) for row in rows] == [
        ("1", "2", "0.5"), ("2", "2", "0.5"), ("3", "1", "1"), ("4", "1", "1"),
    ]  # fmt: skip
    for name in ("r.csv", "r.html"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert "<script" not in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--qi", "agee"], "did you mean 'age'?"),
        (["--qi", "age,age"], "named twice"),
        (["--weights", "wgt"], "no column 'wgt'"),
        (["--weights", "town"], "no number"),
        (["--fraction", "0.5", "--weights", "age"], "described twice"),
        (["--fraction", "1.5"], "1.5"),
        (["--sensitive", "illness"], "no column 'illness'"),
    ],
)
def test_what_cannot_be_asked(people: Path, options: list[str], says: str) -> None:
    done = run("risk", str(people), *options)
    assert done.returncode in (2, 3)
    assert says in done.stderr
    assert done.stderr.startswith("error: ")


def test_nothing_that_looks_known(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,pay\n1,2\n2,3\n3,2\n")
    assert "name those an adversary may know" in run("risk", str(tmp_path / "d.csv")).stderr


LOOKS = [
    ("A", "first_name", ["Ann"]),
    ("A", "PatientName", ["Ann"]),
    ("A", "surname", ["Li"]),
    ("B", "zip", ["01234"]),
    ("B", "city", ["Rome"]),
    ("B", "x", ["48.2082, 16.3738"]),
    ("B", "lat", ["48.2"]),
    ("C", "date_of_birth", ["1990-01-01"]),
    ("C", "admission", ["2001-02-03"]),
    ("D", "x", ["+49 30 901820", "(555) 123-4567"]),
    ("D", "phone", ["1"]),
    ("E", "fax", ["1"]),
    ("F", "x", ["a@b.org"]),
    ("G", "x", ["078-05-1120"]),
    ("H", "mrn", ["77"]),
    ("I", "health_plan_no", ["7"]),
    ("J", "x", ["DE89 3704 0044 0532 0130 00"]),
    ("J", "x", ["4111111111111111"]),
    ("K", "passport", ["X"]),
    ("L", "x", ["1HGCM82633A004352"]),
    ("M", "x", ["00:1B:44:11:3A:B7"]),
    ("N", "x", ["https://a.org/b"]),
    ("O", "x", ["10.0.0.1"]),
    ("P", "fingerprint", ["f"]),
    ("Q", "x", ["ann.jpg"]),
    ("R", "x", ["123e4567-e89b-12d3-a456-426614174000"]),
    ("R", "note", [f"she said {n} times that her brother was ill {'x' * n}" for n in range(8)]),
]


@pytest.mark.parametrize(("letter", "name", "values"), LOOKS)
def test_personal_columns_by_name_and_look(letter: str, name: str, values: list[str]) -> None:
    found = detect(name, values)
    assert found is not None
    assert found.hipaa == letter


def test_every_kind_of_safe_harbor_is_recognized() -> None:
    assert {letter for letter, _, _ in LOOKS} == set(SAFE_HARBOR) == {kind.hipaa for kind in KINDS.values()} - {""}
    assert len(SAFE_HARBOR) == 18


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("species", ["setosa"]),
        ("price", ["12.50", "3.10"]),
        ("when", ["2024-01-31"]),
        ("ratio", ["0.1"]),
        ("colour", ["red", "blue"]),
        ("code", ["4111111111111112"]),
        ("range", ["10-19", "20-29"]),
        ("gate", ["A1"]),
        ("score", ["555", "123"]),
        ("film_title", ["Up"]),
    ],
)
def test_columns_that_identify_nobody(name: str, values: list[str]) -> None:
    found = detect(name, values)
    assert found is None or found.role not in ("identifier", "drop")


def test_long_labels_are_no_free_text_and_a_country_is_no_date() -> None:
    counts = ("no", "two", "three", "some other", "many more")
    labels = [f"a kind of household with {count} people who are related" for count in counts]
    assert detect("household", labels, rows=5).kind == "free text"  # type: ignore[union-attr]
    assert detect("household", labels, rows=3_000).kind == "family"  # type: ignore[union-attr]
    assert detect("country_of_birth", ["Peru", "Chile"]).kind == "origin"  # type: ignore[union-attr]
    assert detect("birth", ["1970-03-01", "1981-11-30"], dated=True).kind == "birth"  # type: ignore[union-attr]
