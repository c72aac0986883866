"""Numbers compare as numbers wherever somebody writes a value: COUNT queries of tables and baskets, and rules."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.kinds.baskets.form import Basket
from sfumato.kinds.tables.source_audit import rules_in_original
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from sfumato.workflow.estimate import _known_numbers, _share, answer, parse, parse_question

AGES = ["17.5", "22.0", "27.0", "32.0"]


@pytest.fixture(scope="module")
def release() -> sf.CountEstimator:
    rng = random.Random(3)
    people = {"age": [rng.choice(AGES) for _ in range(600)], "pay": [str(rng.randint(1, 3)) for _ in range(600)]}
    tree = {
        "version": 1,
        "data": {"kind": "table"},
        "columns": {"age": "quasi-identifier", "pay": "sensitive"},
        "protect": [{"k-anonymity": {"k": 5}}],
        "method": {"mondrian": {}},
    }
    return sf.estimate(sf.publish(sf.Policy.parse(tree), data=people, seed=1 << 130))


@pytest.mark.parametrize("spelled", ["22", "22.0", "22.00", "+22", "2.2e1"])
@pytest.mark.parametrize("words", ["age = {}", "age in (1, {})", "age between {} and {}", "age >= {} and age <= {}"])
def test_every_spelling_of_a_number_counts_the_same_people(
    release: sf.CountEstimator, spelled: str, words: str
) -> None:
    found = release.count("count where " + words.replace("{}", spelled))
    assert found == release.count("count where age = 22.0") > 0
    assert release.count(f"count where age != {spelled}") == pytest.approx(600 - found)
    assert release.count({"age": spelled}) == release.count({"age": 22}) == found


def test_an_interval_counts_with_the_values_that_the_column_shows() -> None:
    """Twelve people, ages in two classes of decimals: a third of the class 17.5-27.0 is counted for 22."""
    shown = {"age": ["17.5-27.0"] * 6 + ["22.0"] * 4 + ["32.0"] * 2}
    known = _known_numbers(sorted(set(shown["age"])))
    shares = {label: _share(label, None, parse("age = 22")[0], known) for label in set(shown["age"])}
    assert shares == {"17.5-27.0": pytest.approx(1 / 3), "22.0": 1.0, "32.0": 0.0}


def test_a_code_with_a_leading_zero_is_a_text(release: sf.CountEstimator) -> None:
    assert release.count("count where age = 022") == 0


def test_labels_of_baskets_compare_as_numbers() -> None:
    policy = sf.Policy.parse(
        {"version": 1, "data": {"kind": "baskets", "source": "b", "items": "i"}, "columns": {"grade": "sensitive"}}
    )
    rows = {
        "items": ["a", "a b", "b"],
        "distance_items": ["", "", ""],
        "threshold": ["0", "0", "0"],
        "grade": ["2.0", "2", "3"],
    }
    exhibit = ReleaseView(Basket(), {"data": Part(rows)}, policy)
    assert answer(exhibit, parse_question("count where grade = 2")).estimate == 2


@pytest.mark.parametrize("rule", ["age = 22", "age in {22, 23}", "age >= 22 and age <= 22"])
def test_rules_compare_numbers_as_numbers(rule: str) -> None:
    tree = {
        "version": 1,
        "data": {"kind": "table"},
        "columns": {"age": "quasi-identifier"},
        "protect": [{"k-anonymity": {"k": 2}}],
        "keep": [rule],
    }
    (finding,) = rules_in_original(sf.Policy.parse(tree), Table(pa.table({"age": ["22.0", "22", "22.00"]})))
    assert finding.holds, finding.reason
