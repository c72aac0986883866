"""Columns of surveys and lists found in the wild: answers, questions as names, shortened words, labels of codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.data.personal_columns.detector import detect
from sfumato.workflow.discover.discover import discover


@pytest.mark.parametrize(
    "name, values, role",
    [
        ("clso", ["Oui", "Non", "Ne sait pas"], "sensitive"),
        ("wohnlage_frage", ["zufrieden", "unzufrieden"], "sensitive"),
        ("werk_hinder", ["nooit", "soms", "vaak"], "sensitive"),
        ("La société a-t-elle besoin de se transformer ?", ["oui", "non", "ne sait pas"], "sensitive"),
        ("relig", ["A", "B"], "sensitive"),
        ("grp", ["Liberal Party", "Labour", "Green Party"], "sensitive"),
    ],
)
def test_answers_and_shortened_names_are_recognized(name: str, values: list[str], role: str) -> None:
    found = detect(name, values, rows=100)
    assert found is not None and found.role == role and found.certainty != "low"


def test_a_long_label_that_mentions_a_word_is_no_answer() -> None:
    found = detect("niveau", ["N'a jamais fait d'etudes", "Enseignement superieur"], rows=100)
    assert found is None or found.kind != "opinion"


def test_one_word_of_a_question_decides_nothing() -> None:
    found = detect("Do you think that every company should train people ?", ["a", "b"], rows=100)
    assert found is None or found.certainty == "low"


@pytest.mark.parametrize(
    "name, values", [("Kennzeichen", ["Kreisvorschlag", "Landesliste"]), ("Family", ["1", "2", "3", "4"])]
)
def test_labels_are_no_numbers_of_people_and_digits_no_names(name: str, values: list[str]) -> None:
    found = detect(name, values, rows=100)
    assert found is None or found.role != "identifier"


def test_numbers_of_people_and_names_are_still_identifiers() -> None:
    plates, names = detect("Kennzeichen", ["B-AB 123", "M-XY 7"], rows=2), detect("Family name", ["Roe", "Doe"], rows=2)
    assert plates is not None and plates.role == "identifier"
    assert names is not None and names.role == "identifier"


def test_days_with_two_digits_of_the_year_are_read(tmp_path: Path) -> None:
    file = tmp_path / "survey.csv"
    rows = [f"{month}/27/{year},3{month}\n" for month in range(1, 10) for year in (14, 17)]
    file.write_text("Timestamp,Age\n" + "".join(rows))
    found = discover(str(file))
    assert found.policy["data"]["date_format"] == {"Timestamp": "%m/%d/%y"}


def test_days_that_cannot_be_read_get_no_hierarchy(tmp_path: Path) -> None:
    file = tmp_path / "survey.csv"
    file.write_text("day,Age\n" + "".join(f"{month}/{month}/2014,3{month}\n" for month in range(1, 10)))
    found = discover(str(file))
    assert "date_format" not in found.policy["data"]
    assert any("days or months come first" in each for each in found.warnings)
    assert "hierarchy" not in str(found.policy["columns"]["day"])
