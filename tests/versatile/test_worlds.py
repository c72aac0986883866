"""Random small tables and rule sets, acyclic and cyclic: every release judged by enumeration of all possible worlds."""

from fractions import Fraction

import numpy as np
import pytest
from baselines.dealing import deal
from baselines.short_rules import Diversity
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from versatile_worlds import largest_posterior, people

from sfumato.core.randomness import Randomness
from sfumato.kinds.subtables.guardian_normal_form import SubTable, decomposable, in_normal_form
from sfumato.kinds.subtables.joint_estimate import JointEstimate
from sfumato.kinds.subtables.methods.buckets import largest_l
from sfumato.kinds.subtables.methods.guardian import ExpectedDivergence, guardian
from sfumato.kinds.subtables.methods.subtable_method import utility_aware
from sfumato.policy.privacy_rules import PrivacyRule, remove_implied_rules

NAMES = "abcd"


@st.composite
def problems(draw, rows=5, most_rules=4):
    count = draw(st.integers(4, rows))
    columns = {name: np.array(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))) for name in NAMES}
    hidden = [name for name in NAMES if largest_l(columns[name]) >= 2]
    assume(hidden)
    rules = []
    for _ in range(draw(st.integers(1, most_rules))):
        hide = draw(st.sampled_from(hidden))
        known = draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3)) - {hide}
        if known:
            rules.append(PrivacyRule(frozenset(known), frozenset({hide}), Diversity(2)))
    assume(rules)
    return columns, list(remove_implied_rules(rules).kept)


def score(columns):
    return ExpectedDivergence(columns, dict.fromkeys(columns, 2.0), {name: [name] for name in columns})


def decompositions(columns, rules):
    yield "utility-aware", utility_aware(list(columns), rules)
    yield "guardian", guardian(list(columns), rules, score(columns))


def published(columns, dealt):
    visible = [{name: int(columns[name][i]) for name in sorted(dealt.table.visible)} for i in dealt.rows]
    hidden = [{name: int(columns[name][i]) for name in sorted(dealt.table.guarded)} for i in dealt.rows]
    return visible, None if dealt.buckets is None else dealt.buckets.tolist(), hidden


@given(problems(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_no_outsider_believes_a_hidden_value_with_more_than_one_half(problem, seed):
    columns, rules = problem
    for _, tables in decompositions(columns, rules):
        dealt = deal(columns, tables, dict.fromkeys(NAMES, 2), Randomness(seed=seed))
        tables_out = [published(columns, each) for each in dealt]
        for each in rules:
            assert largest_posterior(tables_out, sorted(each.given), each.hidden) <= Fraction(1, 2)


@given(problems(rows=6, most_rules=9))
@settings(max_examples=150, deadline=None)
def test_decompositions_end_in_normal_form_and_keep_every_column(problem):
    columns, rules = problem
    for _, tables in decompositions(columns, rules):
        assert in_normal_form(tables, rules)
        assert decomposable(tables)
        assert frozenset().union(*(table.columns for table in tables)) == set(NAMES)
        assert all(len(table.guarded) <= 1 for table in tables)


def test_rules_in_a_circle_end():
    columns = {name: np.array([0, 0, 1, 1, 2, 2]) for name in "abc"}
    circle = [
        PrivacyRule(frozenset(one), frozenset(other), Diversity(2))
        for one, other in ("ab", "ba", "bc", "cb", "ac", "ca")
    ]
    tables = guardian("abc", circle, score(columns))
    assert in_normal_form(tables, circle)
    assert sorted(sorted(table.columns) for table in tables) == [["a"], ["b"], ["c"]]


@given(problems(), st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_the_estimate_is_the_mean_over_all_worlds(problem, seed):
    """The closed form is not only the likeliest distribution: its counts are the exact expectations."""
    columns, rules = problem
    for _, tables in decompositions(columns, rules):
        dealt = deal(columns, tables, dict.fromkeys(NAMES, 2), Randomness(seed=seed))
        estimate = JointEstimate([each.sheet(columns, str(i)) for i, each in enumerate(dealt)])
        worlds = people([published(columns, each) for each in dealt])
        for one, other in (("a", "b"), ("c", "d")):
            where = {one: np.array([True, False, False]), other: np.array([False, True, False])}
            met = sum(w * sum(dict(p)[one] == 0 and dict(p)[other] == 1 for p in world) for world, w in worlds.items())
            assert estimate.count(where) == pytest.approx(met / sum(worlds.values()))


@given(problems())
@settings(max_examples=30, deadline=None)
def test_probabilities_agree_with_counts(problem):
    columns, rules = problem
    for _, tables in decompositions(columns, rules):
        dealt = deal(columns, tables, dict.fromkeys(NAMES, 2), Randomness(seed=1))
        estimate = JointEstimate([each.sheet(columns, str(i)) for i, each in enumerate(dealt)])
        grid = np.unravel_index(np.arange(3 ** len(NAMES)), [3] * len(NAMES))
        records = {name: codes.astype(np.int64) for name, codes in zip(NAMES, grid, strict=True)}
        shares = np.exp(estimate.log_probability(records))
        assert shares.sum() == pytest.approx(1)
        for i in range(0, len(shares), 7):
            where = {name: np.arange(3) == records[name][i] for name in NAMES}
            assert estimate.count(where) == pytest.approx(shares[i] * estimate.total, abs=1e-9)


def test_a_schema_outside_normal_form_is_seen_to_leak():
    """The checks can fail: two exact tables that share b give a away."""
    columns = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 2, 3]), "c": np.array([0, 1, 2, 3])}
    tables = [SubTable(frozenset("ab")), SubTable(frozenset("bc"))]
    dealt = deal(columns, tables, {}, Randomness(seed=1))
    assert largest_posterior([published(columns, each) for each in dealt], ["c"], "a") == 1
