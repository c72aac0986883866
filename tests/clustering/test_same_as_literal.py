"""The clusters are those of the pseudocode, group by group."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from literal import greedy_cpka
from random_problems import draw

from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity
from tests.slow import SLOW

WEIGHTS = ("0.1", "0.25", "0.3", "0.5", "1", "0.000001", "7")


def claims(k, p, names):
    return [Requirement(KAnonymity(k=k)), *([Requirement(PSensitivity(p=p), names)] if p else [])]


def groups_of(problem, grouping):
    """Each group as a sorted list of (quasi-identifier codes, sensitive codes), groups in their order."""
    of = problem.group_of_record(grouping)
    rows = [
        tuple(int(c[i]) for c in problem.codes) + tuple(int(s.codes[i]) for s in problem.sensitive)
        for i in range(len(of))
    ]
    return [sorted(rows[i] for i in np.flatnonzero(of == g)) for g in range(grouping.groups)], rows


def compare(source, *, rows, columns, sensitive, k, p, bounded, disperse, lines=True):
    names = tuple(f"s{j}" for j in range(sensitive))
    asked = claims(k, p, names)
    drawn = draw(
        source, rows=rows, columns=columns, sensitive=sensitive, bounded=bounded, requirements=asked, lines=lines
    )
    problem = drawn.problem
    order = [int(j) for j in source.permutation(columns)]
    chosen = [str(source.choice(WEIGHTS)) for _ in names]
    hidden = names if p else ()
    total = sum(map(Decimal, chosen))
    grouping = cluster(
        problem, weights={n: float(w) for n, w in zip(names, chosen, strict=True)}, disperse=disperse,
        tie_order=[f"q{j}" for j in order],
    )  # fmt: skip
    found, row_values = groups_of(problem, grouping)
    records = drawn.records(order, hidden)
    weights = [Fraction(w) / Fraction(total) for w in chosen] if p else []
    kept, out = greedy_cpka(
        records, [drawn.columns[j] for j in order], [p] * len(hidden), k, weights, disperse == "growth"
    )
    expected = [sorted(row_values[record[3]] for record in group) for group in kept]
    assert sorted(found) == sorted(expected)  # sorted, because regions may come in another order
    assert problem.suppressed == len(out)


@pytest.mark.parametrize("disperse", ["growth", "total"])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(60 if SLOW else 25))
def test_random_tables(seed, bounded, disperse):
    source = np.random.default_rng([seed, bounded, disperse == "growth"])
    p = int(source.integers(0, 4)) or None
    compare(
        source, rows=int(source.integers(1, 45)), columns=int(source.integers(1, 5)), sensitive=int(source.integers(1,
        4)),
        k=int(source.integers(1, 7)), p=p, bounded=bounded, disperse=disperse,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_more_sensitive_columns_than_patterns(seed):
    source = np.random.default_rng(seed)
    compare(source, rows=30, columns=2, sensitive=8, k=3, p=2, bounded=False, disperse="growth")


@pytest.mark.parametrize(("k", "p"), [(2, 2), (3, 1), (4, 3), (10, 4)])
def test_enough_tuples_for_a_deep_index(k, p):
    compare(
        np.random.default_rng(k),
        rows=120,
        columns=4,
        sensitive=2,
        k=k,
        p=p,
        bounded=False,
        disperse="growth",
        lines=False,
    )
