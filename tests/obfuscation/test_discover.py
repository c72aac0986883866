"""Planted rules are found, nothing that does not hold is proposed, and noise stays silent."""

import numpy as np
import pyarrow as pa

from sfumato.data.table import Table
from sfumato.ui.demos.testdata import students
from sfumato.workflow.discover.constraints import rules_that_hold

NAMES = ("name", "phone", "department", "registered", "graduated", "courses", "thesis", "final", "fee")


def test_the_students_rules_are_found():
    rows = students(600)
    table = Table(pa.table({name: [row[place] for row in rows] for place, name in enumerate(NAMES)}))
    found = [each.rule for each in rules_that_hold(table)]
    assert "unique(phone)" in found
    assert "registered < graduated" in found
    assert "final = (courses + thesis) / 2" in found
    assert 'match(phone, "05[0247][0-9]{7}")' in found
    assert not any("fee" in rule for rule in found)


def test_nothing_is_proposed_for_noise():
    rng = np.random.default_rng(1)
    noise = {name: [str(v) for v in rng.integers(0, 50, 400)] for name in "abcd"}
    assert rules_that_hold(Table(pa.table(noise))) == []


def test_few_rows_prove_nothing():
    assert rules_that_hold(Table(pa.table({"a": ["1", "2"], "b": ["2", "3"]}))) == []
