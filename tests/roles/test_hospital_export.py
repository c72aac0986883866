"""A German hospital export (Windows-1252, `;`, decimal comma): the draft asks, and nobody is published unprotected."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from tests.command_line import run

ROWS = 1_500
FAMILY = [
    "Müller",
    "Schröder",
    "Meyer",
    "Fischer",
    "Weiß",
    "Köhler",
    "Zimmermann",
    "Hartmann",
    "Öztürk",
    "Łukasik",
    "Brückner",
    "Jäger",
]
GIVEN = ["Sabine", "Jürgen", "Anja", "Uwe", "Heike", "Florian", "Petra", "Knut", "Ottilie", "Lukas", "Grete", "Mehmet"]
NOTES = [
    "Tochter {given} hat angerufen, bitte Rückruf unter 0171 {number}",
    "Patient wünscht Verlegung zu Dr. {family} in die Nähe der Familie",
    "wohnt bei Herrn {family} und hat einen Hund, der versorgt werden muss",
    "k.A.",
]
ICD = ["B20", "C50.9", "E11.9", "F32.1", "I10", "I21.4", "J45.0", "K35.8", "M54.5", "O80"]
WARDS = ["Innere", "Chirurgie", "Gynäkologie", "Psychiatrie"]


def record(rng: random.Random, number: int) -> dict[str, str]:
    given, family = rng.choice(GIVEN), rng.choice(FAMILY)
    year, month, day = rng.randint(1930, 2005), rng.randint(1, 12), rng.randint(1, 28)
    cost = rng.randint(800, 40_000)
    note = rng.choice(NOTES).format(given=given, family=family, number=rng.randint(1_000_000, 9_999_999))
    return {
        "Fallnummer": f"F{100_000 + number}",
        "Nachname": family,
        "Vorname": given,
        "Geburtsdatum": f"{day:02}.{month:02}.{year}",
        "Alter": str(2024 - year),
        "Geschlecht": rng.choice("mw"),
        "PLZ": f"{rng.choice(['01', '10', '50', '80'])}{rng.randint(100, 130)}",
        "Wohnort": rng.choice(["Köln", "Dresden", "Berlin", "München"]),
        "Familienstand": rng.choice(["ledig", "verheiratet", "geschieden", "verwitwet"]),
        "Krankenkasse": rng.choice(["AOK", "TK", "Barmer", "DAK"]),
        "Aufnahme": (
            f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.2024 {rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
        ),
        "Station": rng.choice(WARDS),
        "Hauptdiagnose": rng.choice(ICD),
        "Gewicht": f"{rng.randint(450, 1200) / 10:.1f}".replace(".", ","),
        "Kosten €": f"{cost:,}".replace(",", ".") + f",{rng.randint(0, 99):02}",
        "Nettoeinkommen": f"{rng.randint(800, 6000)},00",
        "Telefon": f"0{rng.randint(151, 179)} {rng.randint(1_000_000, 9_999_999)}",
        "Bemerkung": note,
        "verstorben": rng.choice(["ja", "nein", "nein", "nein"]),
        "Kz3": rng.choice(["A", "B", "C"]),
    }


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(5)
    rows = [record(rng, number) for number in range(ROWS)]
    path = tmp_path_factory.mktemp("hospital") / "entlassungen.csv"
    with path.open("w", encoding="windows-1252", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def draft(export: Path) -> Path:
    done = run("discover", export.name, "--read", "encoding=windows-1252", cwd=export.parent)
    assert done.returncode == 0, done.stderr
    policy = export.parent / "policy.yaml"
    policy.write_text(done.stdout, encoding="utf-8")
    return policy


def roles(policy: sf.Policy) -> dict[str, str]:
    asked = dict.fromkeys(policy.undecided, "review")
    return (
        {name: column.role for name, column in policy.columns.items()} | dict.fromkeys(policy.dropped, "drop") | asked
    )


def test_names_numbers_and_notes_are_left_out_and_diagnoses_protected(draft: Path) -> None:
    found = roles(sf.Policy.read(draft))
    expected = {
        "Fallnummer": "identifier", "Nachname": "identifier", "Vorname": "identifier", "Telefon": "identifier",
        "Bemerkung": "drop",
        "Geburtsdatum": "quasi-identifier", "Alter": "quasi-identifier", "Geschlecht": "quasi-identifier",
        "PLZ": "quasi-identifier", "Wohnort": "quasi-identifier", "Familienstand": "quasi-identifier",
        "Aufnahme": "quasi-identifier", "Station": "quasi-identifier", "Gewicht": "quasi-identifier",
        "Hauptdiagnose": "sensitive", "Kosten €": "sensitive", "Nettoeinkommen": "sensitive", "verstorben": "sensitive",
        "Kz3": "review", "Krankenkasse": "review",
    }  # fmt: skip
    assert {name: role for name, role in found.items() if expected[name] != role} == {}


def test_the_draft_published_unchanged_is_refused_with_every_question(export: Path, draft: Path) -> None:
    refused = run("publish", draft.name, "--out", "release", cwd=export.parent)
    assert refused.returncode == 2
    assert "'Kz3' needs a decision" in refused.stderr and "'Krankenkasse' needs a decision" in refused.stderr
    assert not (export.parent / "release").exists()


def test_what_is_published_with_the_proposals_names_nobody(export: Path, draft: Path) -> None:
    done = run("publish", draft.name, "--out", "accepted", "--accept-roles", cwd=export.parent)
    assert done.returncode == 0, done.stderr
    for file in (export.parent / "accepted").iterdir():
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        for word in (*FAMILY, *GIVEN, "Tochter", "0171"):
            assert word not in text, (file.name, word)


def test_risk_and_discover_infer_the_same(export: Path, draft: Path) -> None:
    told: dict[str, Any] = sf.risk(str(export), read={"encoding": "windows-1252"}).to_json()
    policy = sf.Policy.read(draft)
    found = {name: column.role for name, column in policy.columns.items()} | dict.fromkeys(policy.dropped, "drop")
    assert {each["name"]: each["role"] for each in told["columns"]} == found
    assert set(told["quasi_identifiers"]) == set(policy.quasi_identifiers)
