"""Medians and quantiles per group: what is made has them by the definition, and the audit counts the same."""

from fractions import Fraction
from statistics import median

import pyarrow as pa
import pytest

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.kinds.testdata.methods.obfuscation import Obfuscation
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.policy import Policy
from sfumato.release.method import Task

SHARES = ("0.1", "0.25", "0.5", "0.9", "1")


def made(sizes, *rules, domain=(0, 50)):
    """New values by group, for groups of the given sizes."""
    names = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    table = Table(pa.table({"g": names, "x": [str(place * 7 % 51) for place in range(len(names))]}))
    columns = {"g": "other", "x": {"role": "replaced", "domain": {"integers": list(domain)}}}
    policy = Policy.parse({"version": 1, "columns": columns, "keep": list(rules), "method": {"obfuscation": {}}})
    rows = Obfuscation().run(Task(policy, table, Randomness())).parts["data"].table.to_pylist()
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["g"], []).append(int(row["x"]))
    judge = ConstraintEvaluator(
        {None: {key: [row[key] for row in rows] for key in ("g", "x")}}, {None: {k: table.text(k) for k in ("g", "x")}}
    )
    assert [judge.broken(parse(rule)) for rule in rules] == [0] * len(rules)
    return found


def by_definition(values, share):
    """The smallest value that at least the share does not exceed."""
    return min(v for v in values if sum(w <= v for w in values) >= Fraction(share) * len(values))


@pytest.mark.parametrize("share", SHARES)
def test_a_quantile_of_every_group(share):
    found = made(range(1, 8), f"quantile(x, {share} by g) = 20")
    assert {by_definition(values, share) for values in found.values()} == {20}


def test_a_median_between_two_values_and_several_figures_at_once():
    assert median(made([6], "median(x) = 20.5")["g0"]) == Fraction(41, 2)
    values = made([40], "quantile(x, 0.25) = 10", "median(x) >= 30", "quantile(x, 0.9) = 31", "max(x) <= 32")
    assert (by_definition(values["g0"], "0.25"), by_definition(values["g0"], "0.9"), max(values["g0"]) <= 32) == (
        10,
        31,
        True,
    )
    assert 30 <= median(values["g0"]) <= 31


@pytest.mark.parametrize(
    "rules", [("median(x by g) = 20.5",), ("median(x) = 70",), ("quantile(x, 0.2) = 30", "median(x) = 20")]
)
def test_what_no_values_reach_is_refused_before_the_run(rules):
    with pytest.raises(Infeasible, match="no values of a group"):
        made([3, 3], *rules)


def test_the_audit_sees_a_wrong_quantile():
    table = {"x": ["1", "2", "3", "4", "9"]}
    assert [ConstraintEvaluator({None: table}).broken(parse(f"quantile(x, 0.8) = {aim}")) for aim in (4, 9, 3)] == [
        0,
        1,
        1,
    ]


def test_a_share_lies_between_nothing_and_all():
    with pytest.raises(PolicyError, match="between 0 and 1"):
        parse("quantile(x, 1.5) = 3")
