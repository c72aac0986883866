"""Values that change: refused unless the policy expects them, and then judged like everything else."""

import pytest

from sfumato.errors import Infeasible, PolicyError
from sfumato.spine.publish import publish
from sfumato.spine.verify import verify
from tests.secret import SEED

from .test_forgetting import office, office_policy


def twice(path, second, **series):
    ledger = path / "book"
    first = office_policy(series={"date": "2025-03-31"})
    publish(first, office(), seed=SEED, ledger=ledger, new_ledger=True).write(path / "r1", report=False)
    made = publish(office_policy(series={"date": "2026-03-31", **series}), second, seed=SEED, ledger=ledger)
    made.write(path / "r2", report=False)
    assert verify(path / "r2", original=second, ledger=ledger).holds
    return made


def older(table, years=1):
    return table | {"age": [str(min(int(age) + years, 39)) for age in table["age"]]}


def test_a_value_that_is_not_what_it_was_is_refused(tmp_path):
    with pytest.raises(Infeasible, match="not what they were"):
        twice(tmp_path, older(office()))


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
@pytest.mark.parametrize("expected", ["free", "+1 per year"])
def test_expected_changes_are_published(tmp_path, expected, cohorts):
    assert twice(tmp_path, older(office()), changes={"age": expected}, cohorts=cohorts).certificate.holds


def test_a_change_that_is_no_known_step_is_refused(tmp_path):
    with pytest.raises(Infeasible, match="not what they were"):
        twice(tmp_path, older(office(), 5), changes={"age": "+1 per year"})


def test_a_sensitive_value_that_changes_is_judged_in_every_release(tmp_path):
    changed = office() | {"s": ["cold", "flu", "gout"] * 8}
    assert twice(tmp_path, changed, changes={"s": "free"}).certificate.holds


def test_a_step_needs_days(tmp_path):
    with pytest.raises(PolicyError, match="days of both releases"):
        twice(tmp_path, older(office()), changes={"age": "+1 per year"}, date=None)
