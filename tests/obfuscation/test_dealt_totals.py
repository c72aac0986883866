"""Totals over a table in shares: dealt to shares and drawn share by share, all tables that have them are equally
likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.engines.protocol import COUNT, NUMBER
from sfumato.kinds.testdata.methods.remote_shares import (
    IndependentDraws,
    dealt_totals,
    reason_records_are_tied,
    title_of,
)
from sfumato.kinds.testdata.methods.sampling.sum_distribution import TotalSampler
from tests.slow import SLOW

DRAWS, TABLES = (3_000, 4_000) if SLOW else (1_000, 150)


def _asked(keep: list[str], **domains: list[int]) -> sf.Policy:
    columns: dict[str, Any] = {
        name: {"role": "replaced", "domain": {"integers": ends}} for name, ends in domains.items()
    }
    return sf.Policy.parse(
        {"version": 1, "columns": columns | {"age": "other"}, "keep": keep, "method": {"obfuscation": {}}}
    )


def _maker(policy: sf.Policy, ages: list[str]) -> IndependentDraws:
    """What shares are made with, from the ages that all records have."""
    make = IndependentDraws(policy, records=len(ages))
    classes = Table(pa.table({"age": ages}), counts=np.ones(len(ages), np.int64))
    make = replace(make, constants={atom: make.fact(atom, classes) for atom in make.facts})
    parts, said = make.planned(pa.table({"age": ages}), _counted(make, ages, [0]))
    assert {(part.engine, part.uniform, part.reads_original) for part in parts} == {("fixed totals", True, False)}
    assert "statistics of the original" in said[-1]
    return make


def _drawn(
    make: IndependentDraws, ages: list[str], cuts: list[int], counted: pa.Table, number: int
) -> tuple[tuple[str, ...], ...]:
    """A whole table from shares that begin at the cuts, each made by itself, the last one first."""
    make = replace(make, secret=number.to_bytes(32)).with_totals(counted)
    names, rows = make.policy.with_role("replaced"), []
    for begin, end in reversed(list(zip(cuts, [*cuts[1:], len(ages)], strict=True))):
        new = make(pa.table({"age": ages[begin:end], NUMBER: np.arange(begin, end)}))
        rows.append(list(zip(*(new[name].to_pylist() for name in names), strict=True)))
    return tuple(row for share in reversed(rows) for row in share)


def _counted(make: IndependentDraws, ages: list[str], cuts: list[int]) -> pa.Table:
    share = [max(cut for cut in cuts if cut <= place) for place in range(len(ages))]
    plain = pa.table({"age": ages, NUMBER: share}).select([*make.weighing, NUMBER])
    found = plain.group_by(plain.column_names).aggregate([([], "count_all")])
    return found.rename_columns([*found.column_names[:-1], COUNT])


CASES: dict[str, tuple[sf.Policy, list[str], list[int], Any]] = {
    "a sum, three shares": (
        _asked(["sum(a) = 5"], a=[0, 3]),
        ["1"] * 4,
        [0, 2, 3],
        lambda rows, ages: sum(a for (a,) in rows) == 5,
    ),
    "a sum within bounds, records that are not alike": (
        _asked(["sum(a) <= 4", "a >= age"], a=[0, 2]),
        ["0", "1", "0", "1"],
        [0, 1, 3],
        lambda rows, ages: sum(a for (a,) in rows) <= 4 and all(a >= age for (a,), age in zip(rows, ages, strict=True)),
    ),
    "a mean and a count at once": (
        _asked(["mean(a) = 1", "count(b >= 2) = 1", "a <= b"], a=[0, 2], b=[0, 2]),
        ["1"] * 3,
        [0, 1],
        lambda rows, ages: (
            sum(a for a, _ in rows) == 3 and sum(b >= 2 for _, b in rows) == 1 and all(a <= b for a, b in rows)
        ),
    ),
    "weighed with kept values, a kept total on the other side": (
        _asked(["sum(a * age) = sum(age) + 1"], a=[0, 3]),
        ["1", "2", "1", "3"],
        [0, 2],
        lambda rows, ages: sum(a * age for (a,), age in zip(rows, ages, strict=True)) == sum(ages) + 1,
    ),
    "the largest is reached": (
        _asked(["max(a) = 2"], a=[0, 4]),
        ["1"] * 4,
        [0, 1, 2, 3],
        lambda rows, ages: max(a for (a,) in rows) == 2,
    ),
}


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not hang on chance is made once, however many tables of a case are drawn."""
    asked: dict[str, Callable[..., Hashable]] = {
        "_problem": lambda table: str(table.frame.to_pydict()),
        "_parts_with_totals": lambda: (),
        "_balance": lambda part, counted, share, shares: (title_of(part), shares),
        "_ground": lambda problem, part, units=None: (id(problem), title_of(part), str(units)),
    }
    for name, key in asked.items():
        monkeypatch.setattr(IndependentDraws, name, _remembered(getattr(IndependentDraws, name), key))


def _remembered(made: Callable[..., Any], key: Callable[..., Hashable]) -> Callable[..., Any]:
    known: dict[Hashable, Any] = {}

    def asked(self: IndependentDraws, *given: Any) -> Any:
        if (which := key(*given)) not in known:
            known[which] = made(self, *given)
        return known[which]

    return asked


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("once")
def test_every_legal_table_is_equally_likely(case: str) -> None:
    """By enumeration of all tables: exactly the legal ones come, and chi-squared finds no difference between them."""
    policy, ages, cuts, legal = CASES[case]
    names, given = policy.with_role("replaced"), [int(age) for age in ages]
    domains = [
        range(policy.columns[name].domain["integers"][0], policy.columns[name].domain["integers"][1] + 1)
        for name in names
    ]
    records = list(product(*domains))
    expected = {rows for rows in product(records, repeat=len(ages)) if legal(rows, given)}
    make = _maker(policy, ages)
    counted = _counted(make, ages, cuts)
    drawn = (_drawn(make, ages, cuts, counted, number) for number in range(1, TABLES + 1))
    found = Counter(tuple(tuple(map(int, row)) for row in table) for table in drawn)
    assert set(found) <= expected
    each, free = TABLES / len(expected), len(expected) - 1
    apart = sum((found[table] - each) ** 2 / each for table in expected)
    assert abs(apart - free) < 5 * sqrt(2 * free)


def test_shares_add_what_they_add_in_one_piece() -> None:
    """The law of what shares add, by enumeration, for two totals at once and two kinds of records."""
    values, weights = (
        [np.array([[0, 0], [1, 1], [2, 1]]), np.array([[0, 1], [1, 0]])],
        [np.array([1.0, 2, 1]), np.array([3.0, 1])],
    )
    counts, total = np.array([[1, 1], [1, 0], [0, 2]]), (3, 3)
    kinds = [0, 1, 0, 1, 1]  # of the records, share by share
    of = [0, 0, 1, 2, 2]
    law: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for chosen in product(*(range(len(values[kind])) for kind in kinds)):
        added = np.zeros((3, 2), dtype=np.int64)
        weight = Fraction(1)
        for record, (kind, place) in enumerate(zip(kinds, chosen, strict=True)):
            added[of[record]] += values[kind][place]
            weight *= Fraction(weights[kind][place])
        if tuple(added.sum(axis=0)) == total:
            law[tuple(map(tuple, added.tolist()))] += weight
    assert len(law) > 3
    sampler = TotalSampler(values, weights, np.zeros(0, dtype=np.int64), counts.sum(axis=0))
    random = Randomness(seed=11)
    found = Counter(
        tuple(map(tuple, dealt_totals(sampler, np.array(total), counts, random).tolist())) for _ in range(DRAWS)
    )
    assert set(found) <= set(law)
    whole = sum(law.values())
    for added, weight in law.items():
        share = float(Fraction(weight) / whole)
        assert abs(found[added] - DRAWS * share) < 5 * sqrt(DRAWS * share * (1 - share)) + 1


def test_a_share_that_is_made_again_is_the_same() -> None:
    policy, ages = _asked(["sum(a) = 90", "sum(a where age > 1) >= 40"], a=[0, 9]), ["1", "2"] * 10
    make, cuts = _maker(policy, ages), [0, 7, 15]
    first, again, other = (_drawn(make, ages, cuts, _counted(make, ages, cuts), number) for number in (5, 5, 6))
    assert first == again
    assert first != other
    assert sum(int(a) for (a,) in first) == 90


def test_what_cannot_be_dealt_is_said() -> None:
    """Out of reach, or of a kind that shares do not add up to."""
    make = IndependentDraws(_asked(["sum(a) = 50"], a=[0, 3]), b"", 4)
    with pytest.raises(Infeasible, match="out of reach"):
        make.planned(pa.table({"age": ["1"]}), pa.table({COUNT: [4]}))
    keyed = IndependentDraws(_asked(["sum(a) = 50", "unique(a)"], a=[0, 30]), b"", 4)
    with pytest.raises(PolicyError, match="cannot be divided among shares"):
        keyed.planned(pa.table({"age": ["1"]}), pa.table({COUNT: [4]}))
    for rule in (
        "median(a) = 2",
        "sum(a by age) = 2",
        "sum(a) != 2",
        "sum(a) = 2 or sum(a) = 4",
        "correlation(a, age) >= 0.5",
    ):
        assert "ties records" in reason_records_are_tied(_asked([rule], a=[0, 3]))
