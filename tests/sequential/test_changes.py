"""Values that change: refused unless the policy expects them, and then judged like everything else."""

import re

import numpy as np
import pytest

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED
from tests.slow import SLOW

from .test_forgetting import office, office_policy


def twice(path, second, **series):
    ledger = path / "book"
    first = office_policy(series={"date": "2025-03-31", "cohorts": series.get("cohorts", "known")})
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


@pytest.mark.parametrize(("changes", "years"), [({}, 1), ({"age": "+1 per year"}, 3)])
def test_who_comes_back_after_an_absence_is_known_by_what_was_said_before_it(tmp_path, changes, years):
    """The newest release has nothing about them; the one before it has."""
    ledger, three = tmp_path / "book", [f"2025-0{month}-01" for month in (1, 2, 3)]
    first = {name: values[6:] for name, values in office().items()}
    for place, (day, data) in enumerate(zip(three, [office(), first], strict=False)):
        made = publish(office_policy(series={"date": day}), data, seed=SEED, ledger=ledger, new_ledger=not place)
        made.write(tmp_path / f"r{place}", report=False)
    back = office()
    back["age"][0] = str(int(back["age"][0]) + years)
    with pytest.raises(Infeasible, match="not what they were when they were published: 1 in 'age'"):
        publish(office_policy(series={"date": three[2], "changes": changes}), back, seed=SEED, ledger=ledger)
    assert publish(office_policy(series={"date": three[2]}), office(), seed=SEED, ledger=ledger).certificate.holds


def test_a_step_needs_days(tmp_path):
    with pytest.raises(PolicyError, match="days of both releases"):
        twice(tmp_path, older(office()), changes={"age": "+1 per year"}, date=None)


def worlds(ages, cells):
    """All ways to give the rows of a release to the people in it: every cell covers the age of its time."""

    def covers(label, age):
        ends = [int(end) for end in re.findall(r"\d+", label)]
        return label == "*" or ends[0] <= int(age) <= ends[-1]

    fits = [[row for row in range(len(cells)) if covers(cells[row], age)] for age in ages]

    def extend(person, used):
        if person == len(ages):
            yield ()
            return
        for row in fits[person]:
            if row not in used:
                for rest in extend(person + 1, used | {row}):
                    yield (row, *rest)

    return list(extend(0, frozenset()))


@pytest.mark.parametrize("sensitive_changes", [False, True])
@pytest.mark.parametrize("seed", range(5 if SLOW else 3))
def test_nobody_who_knows_all_ages_of_all_years_is_left_with_one_value(tmp_path, seed, sensitive_changes):
    """By listing: an outsider knows everybody's age in both years and who is there, and that a value stays where it
    does."""
    rng = np.random.default_rng(seed)
    first = {"who": [f"p{i}" for i in range(6)], "age": [str(30 + a) for a in rng.integers(0, 8, 6)], "s": [*"aabbcc"]}
    second = older(first) | {"s": rng.permutation(first["s"]).tolist() if sensitive_changes else first["s"]}
    roles = {
        "who": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}},
        "s": "sensitive",
    }
    series = {"changes": {"age": "free", "s": "free"}}
    tree = {"version": 1, "columns": roles, "key": "who", "protect": [{"l-diversity": {"l": 2}}], "series": series}
    told = []
    for r, table in enumerate((first, second)):
        made = publish(Policy.parse(tree), table, seed=SEED + seed, ledger=tmp_path / "book", new_ledger=not r)
        made.write(tmp_path / f"r{r}", report=False)
        shown, behind = made.release.parts["data"].table.to_pydict(), made.release.trace.rows["data"]
        ways = worlds([table["age"][person] for person in sorted(behind)], shown["age"])
        assert tuple(np.argsort(behind).tolist()) in ways  # the truth is one of them
        told.append({tuple(shown["s"][row] for row in way) for way in ways})
    if not sensitive_changes:
        assert len(next(iter(told[0]))) == len(next(iter(told[1]))) == 6
        told = [told[0] & told[1]]
    for values in told:
        assert all(len(set(of_one)) >= 2 for of_one in zip(*values, strict=True))
