"""Rules under ``keep`` with methods that recode: kept where records stay as they are, refused where they might
break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf

COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
    "admitted": "other",
    "discharged": "other",
    "illness": "sensitive",
}
POLICY: dict[str, Any] = {
    "version": 1,
    "columns": COLUMNS,
    "protect": [{"k-anonymity": {"k": 2}}],
    "method": {"mondrian": {}},
}
DATA = {
    "age": ["31", "32", "47", "48"],
    "admitted": ["2024-01-01", "2024-01-05", "2024-02-01", "2024-03-01"],
    "discharged": ["2024-01-02", "2024-01-05", "2024-02-10", "2024-03-09"],
    "illness": ["a", "b", "a", "b"],
}


def test_a_rule_about_untouched_columns_is_kept_and_judged(tmp_path: Path) -> None:
    publication = sf.publish(sf.Policy.parse({**POLICY, "keep": ["admitted <= discharged"]}), data=DATA)
    assert any(finding.model == "rules" and finding.holds for finding in publication.certificate.findings)
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=DATA).holds
    file = tmp_path / "out" / "data.csv"
    file.write_text(file.read_text().replace("2024-01-02", "2023-01-02"))
    broken = {f.model for f in sf.verify(tmp_path / "out", original=DATA).findings if not f.holds}
    assert {"rules", "files", "truthfulness"} <= broken


@pytest.mark.parametrize("rule", ["age >= 18", "count(illness) = 4", "unique(admitted)"])
def test_a_rule_that_recoding_might_break_is_refused(rule: str) -> None:
    with pytest.raises(sf.PolicyError, match="speaks about more"):
        sf.publish(sf.Policy.parse({**POLICY, "keep": [rule]}), data=DATA)


def test_a_rule_that_is_broken_already_is_named_with_its_count() -> None:
    with pytest.raises(sf.DataError, match="is broken 3 time"):
        sf.publish(sf.Policy.parse({**POLICY, "keep": ["admitted = discharged"]}), data=DATA)


def test_an_unknown_column_in_a_rule_points_at_it() -> None:
    with pytest.raises(sf.PolicyError, match="admited"):
        sf.publish(sf.Policy.parse({**POLICY, "keep": ["admited <= discharged"]}), data=DATA)


def test_nothing_is_decided_by_words_in_a_sentence() -> None:
    """A rule whose value is a text that messages also use says nothing about the data."""
    tree = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "state": "other", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
        "keep": ["state in {'fine', 'is broken'}"],
        "method": {"mondrian": {}},
    }
    data = {"age": list("1122"), "state": ["fine", "is broken", "fine", "fine"], "illness": list("abab")}
    assert sf.publish(sf.Policy.parse(tree), data=data).certificate.holds
    with pytest.raises(sf.DataError, match="is broken 1 time"):
        sf.publish(sf.Policy.parse(tree), data=data | {"state": ["fine", "cracked", "fine", "fine"]})
