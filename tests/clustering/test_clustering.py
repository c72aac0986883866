"""What the paper reports of GreedyCPKA, and what a caller may rely on."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from benchmarks_adult import QUASI, TABLE_6, WEIGHTS, adult, ntil, problem
from random_problems import draw

from sfumato.core.errors import PolicyError
from sfumato.kinds.tables.methods.greedy_clustering import cluster, implied
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from tests.stand_in.people import DECADES, REGIONS


@pytest.fixture(scope="module")
def table(shared):
    return adult(folder=shared / "data" / "adult")


@pytest.mark.parametrize(("claims", "suppressed"), TABLE_6.items())
def test_suppressed_records_of_table_6(table, is_public, claims, suppressed):
    """Both columns, and an independent count over the published groups; elsewhere a count over the boundaries'
    regions."""
    k, p = claims
    both, only_k = suppressed if is_public else (hopeless(table, k, p), hopeless(table, k, 1))
    bounded = problem(table, k, p)
    grouping = cluster(bounded, weights=WEIGHTS)
    assert bounded.records - int(grouping.count.sum()) == both
    assert problem(table, k).suppressed == only_k
    if not len(grouping.count):
        return
    of = bounded.group_of_record(grouping)
    size = np.bincount(of[of >= 0])
    assert size.min() >= k
    for column in bounded.sensitive:
        there = np.zeros((len(size), len(column.labels)), dtype=bool)
        there[of[of >= 0], column.codes[of >= 0]] = True
        assert there.sum(axis=1).min() >= p


def hopeless(table, k, p):
    """Records of our own census whose decade and region hold fewer than k people, or fewer than p values of a sensitive
    column."""
    domains, codes, sensitive = table
    age, country = (QUASI.index(name) for name in ("age", "native-country"))
    decade = [next(name for name, (lo, hi) in DECADES.items() if lo <= int(leaf) <= hi) for leaf in domains[age].leaves]
    regions = defaultdict(list)
    for record, (old, land) in enumerate(zip(codes[age], codes[country], strict=True)):
        regions[decade[old], REGIONS[domains[country].leaves[land]]].append(record)
    few = [
        own for own in regions.values() if len(own) < k or any(len(set(s.codes[own].tolist())) < p for s in sensitive)
    ]
    return sum(map(len, few))


def test_without_p_it_is_k_anonymous_clustering(table, is_public):
    only_k = problem(table, 10)
    assert only_k.records - int(cluster(only_k).count.sum()) == (51 if is_public else hopeless(table, 10, 1))


def test_dispersal_by_growth_loses_far_less_than_as_printed(table, is_public):
    hard = problem(table, 20, 10)
    growth, printed = (
        ntil(hard, cluster(hard, weights=WEIGHTS)),
        ntil(hard, cluster(hard, weights=WEIGHTS, disperse="total")),
    )
    assert growth < 0.29 < 0.4 < printed if is_public else growth < printed


def test_the_same_input_gives_the_same_groups(table):
    one, two = (cluster(problem(table, 8, 4), weights=WEIGHTS) for _ in range(2))
    assert (one.cell == two.cell).all()
    assert (one.group == two.group).all()
    assert (one.count == two.count).all()


def test_the_order_of_records_does_not_matter(table):
    domains, codes, sensitive = table
    shuffle = np.random.default_rng(0).permutation(len(codes[0]))
    hidden = tuple(replace(s, codes=s.codes[shuffle]) for s in sensitive)
    one, two = problem(table, 10, 6), problem((domains, tuple(c[shuffle] for c in codes), hidden), 10, 6)
    before, after = cluster(one, weights=WEIGHTS), cluster(two, weights=WEIGHTS)
    assert (before.cell == after.cell).all()
    assert (before.group == after.group).all()
    assert (before.count == after.count).all()


def test_progress_goes_from_nothing_to_everything(table):
    told = []
    quiet, told_of = (cluster(problem(table, 8, 4), weights=WEIGHTS, progress=p) for p in (None, told.append))
    assert told == sorted(told)
    assert told[-1] == 1
    assert (quiet.group == told_of.group).all()


def test_when_everything_must_be_suppressed_no_group_is_left():
    claims = [Requirement(KAnonymity(k=6))]
    drawn = draw(np.random.default_rng(0), rows=5, columns=2, sensitive=1, bounded=False, requirements=claims)
    assert cluster(drawn.problem).groups == 0


def test_claims_imply_size_and_distinct_values():
    claims = [
        Requirement(KAnonymity(k=3)), Requirement(AlphaK(alpha=0.3, k=5), ("s0",)), Requirement(PSensitivity(p=2),
        ("s0", "s1")),
        Requirement(LDiversity(l=2.5, kind="entropy"), ("s2",)),
    ]  # fmt: skip
    drawn = draw(np.random.default_rng(0), rows=9, columns=1, sensitive=4, bounded=False, requirements=claims)
    assert implied(drawn.problem) == (5, {"s0": 4, "s1": 2, "s2": 3})


@pytest.mark.parametrize(
    "options",
    [
        {"weights": {"nobody": 1}}, {"weights": {"s0": -1, "s1": 1}}, {"weights": {"s0": 1}}, {"weights": {"s0": 0,
        "s1": 0}},
        {"weights": {"s0": float("nan"), "s1": 1}}, {"tie_order": ["q0"]}, {"tie_order": ["q0", "q0"]},
    ],
)  # fmt: skip
def test_impossible_options_are_refused(options):
    claims = [Requirement(PSensitivity(p=2), ("s0", "s1"))]
    drawn = draw(np.random.default_rng(3), rows=20, columns=2, sensitive=2, bounded=False, requirements=claims)
    with pytest.raises(PolicyError):
        cluster(drawn.problem, **options)


def test_the_order_of_ties_changes_groups_but_not_what_is_suppressed(table):
    bounded = problem(table, 8, 4)
    usual, other = (cluster(bounded, weights=WEIGHTS, tie_order=order) for order in (None, QUASI[::-1]))
    assert usual.count.sum() == other.count.sum()
    assert ntil(bounded, usual) != ntil(bounded, other)
