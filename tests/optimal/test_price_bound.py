"""The price bound holds whatever the prices are; the list of nodes is complete; the kernel does what its plain twin
does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.generalization import Ranges
from sfumato.kinds.tables.methods.integer_program import part_of, solve
from sfumato.kinds.tables.methods.kernels.price_bound import (
    NOTHING,
    node_gains,
    plain_node_gains,
    plain_share_gains,
    share_gains,
)
from sfumato.kinds.tables.methods.price_bound import PriceBound, RecodingSpace, find_quotas
from sfumato.kinds.tables.methods.recoding import problem_of
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.base import Model
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from tests.optimal.small_worlds import least_loss, random_policy
from tests.slow import SLOW


def asked(seed: int, **kind: bool) -> tuple[RecodingProblem, str]:
    tree, records = random_policy(seed, **kind)
    policy = sf.Policy.parse({**tree, "method": "optimal"})
    table = policy.data.read({name: [row[name] for row in records] for name in records[0]})
    return problem_of(policy, table), tree["utility"]["minimize"]


@cache
def problem(seed: int, **kind: bool) -> tuple[RecodingProblem, str, float | None]:
    """With the least loss of all partitions, which takes longer than anything else here."""
    return *asked(seed, **kind), least_loss(*random_policy(seed, **kind))


@pytest.mark.twin(of=[node_gains])
def test_gains_equal_those_of_the_plain_twin() -> None:
    draw = np.random.default_rng(3)
    impossible, skipped = 0, 0
    for _ in range(300):
        units, nodes = int(draw.integers(1, 12)), int(draw.integers(1, 6))
        sets = [np.flatnonzero(draw.random(units) < 0.6).astype(np.int32) for _ in range(nodes)]
        start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
        member = np.concatenate([*sets, np.zeros(0, np.int32)])
        count, tag = draw.integers(1, 4, units), draw.integers(0, 4, units)
        u, cost, toll = draw.integers(-20, 60, units), draw.integers(0, 40, nodes), draw.integers(0, 2, nodes) * 9
        least, kinds = int(draw.integers(1, 6)), int(draw.integers(1, 4))
        gain, taken = np.zeros(nodes, np.int64), np.zeros(units, np.int64)
        total = node_gains(start, member, cost, count, tag, u, toll, least, kinds, True, gain, taken)
        plain = plain_node_gains(start, member, cost, count, tag, u, toll, least, kinds)
        assert gain.tolist() == plain
        assert total == sum(max(one, 0) for one in plain)
        impossible += plain.count(int(NOTHING))
        quick, same = np.zeros(nodes, np.int64), np.zeros(units, np.int64)
        assert node_gains(start, member, cost, count, tag, u, toll, least, kinds, False, quick, same) == total
        assert same.tolist() == taken.tolist()
        assert np.maximum(quick, 0).tolist() == np.maximum(gain, 0).tolist()
        skipped += int(((quick == 0) & (gain < 0)).sum())
    assert impossible > 20
    assert skipped > 20


@pytest.mark.twin(of=[share_gains])
def test_gains_under_shares_equal_those_of_the_plain_twin() -> None:
    draw = np.random.default_rng(5)
    impossible, wanted = 0, 0
    for _ in range(1000 if SLOW else 300):
        units, nodes = int(draw.integers(1, 10)), int(draw.integers(1, 6))
        sets = [np.flatnonzero(draw.random(units) < 0.6).astype(np.int32) for _ in range(nodes)]
        start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
        member = np.concatenate([*sets, np.zeros(0, np.int32)])
        count, tag = draw.integers(1, 4, units), draw.integers(0, 4, units)
        u, cost, toll = draw.integers(-20, 60, units), draw.integers(0, 40, nodes), draw.integers(0, 2, nodes) * 9
        least, often = int(draw.integers(1, 6)), np.arange(31)
        needed = np.maximum(np.ceil(often * draw.choice([1.5, 2, 2, 3])), least).astype(np.int64)
        gain, taken = np.zeros(nodes, np.int64), np.zeros(units, np.int64)
        total = share_gains(start, member, cost, count, tag, u, toll, needed, True, gain, taken)
        plain = plain_share_gains(start, member, cost, count, tag, u, toll, needed)
        assert gain.tolist() == plain
        assert total == sum(max(one, 0) for one in plain)
        quick, same = np.zeros(nodes, np.int64), np.zeros(units, np.int64)
        assert share_gains(start, member, cost, count, tag, u, toll, needed, False, quick, same) == total
        assert same.tolist() == taken.tolist()
        impossible, wanted = impossible + plain.count(int(NOTHING)), wanted + sum(one > 0 for one in plain)
    assert impossible > 20
    assert wanted > 100


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (LDiversity(l=2, kind="frequency"), lambda tally: 2 * tally[0] <= sum(tally)),
        (AlphaK(alpha=0.4, k=2), lambda tally: tally[0] <= 0.4 * sum(tally) + 1e-9 and sum(tally) >= 2),
        (LDiversity(l=2.2, kind="entropy"), lambda tally: entropy(tally) >= math.log(2.2) - 1e-9),
    ],
    ids=["frequency", "share", "entropy"],
)
def test_a_group_that_shows_a_value_often_needs_so_many_records(
    claim: Model, holds: Callable[[list[int]], bool]
) -> None:
    """Against all tallies of four values; frequency and share are met exactly."""
    values = np.repeat(np.arange(4), [6, 4, 3, 3]).astype(np.int32)
    hidden = Sensitive("s", values, tuple("abcd"))
    case = RecodingProblem(
        ("q",), (Ranges(("0", "1")),), (np.zeros(16, np.int32),), (hidden,), (Requirement(claim, ("s",)),)
    )
    space = RecodingSpace(case, "loss")
    assert space.shared == "s"
    fewest = {}
    for tally in itertools.product(range(7), repeat=4):
        ranked = sorted(tally, reverse=True)
        if sum(tally) and holds(ranked):
            fewest[ranked[0]] = min(sum(tally), fewest.get(ranked[0], 99))
    assert all(space.needed[often] <= least for often, least in fewest.items())
    assert any(space.needed[often] > max(often, space.least) for often in fewest)
    if claim.demand().sufficient:
        assert [int(space.needed[often]) for often in sorted(fewest)] == [fewest[often] for often in sorted(fewest)]


def entropy(tally: list[int]) -> float:
    return -sum(n / sum(tally) * math.log(n / sum(tally)) for n in tally if n)


def test_what_is_taken_is_the_slope_of_the_bound() -> None:
    """Raising one price by a little changes the bound by the records that no node takes."""
    case, objective = asked(17)
    space = RecodingSpace(case, objective)
    bound = PriceBound(space, space.nodes(seconds=5), may_suppress=False)
    draw = np.random.default_rng(1)
    for _ in range(50):
        u = draw.integers(0, space.scale, len(space.count))
        here, missing = bound.at(u)
        for unit in range(len(u)):
            step = np.zeros(len(u), dtype=np.int64)
            step[unit] = 1
            assert bound.at(u + step)[0].total - here.total <= missing.records[unit]


@pytest.mark.parametrize("kind", [{}, {"budget": True}, {"linear": False}], ids=["linear", "budget", "other"])
def test_any_prices_give_a_bound(kind: dict[str, bool]) -> None:
    budget = kind.get("budget", False)
    draw = np.random.default_rng(11)
    met = 0
    seeds = range(3000, 3150 if SLOW else 3020)
    for seed in seeds:
        case, objective, best = problem(seed, **kind)
        if best is None:
            continue
        space = RecodingSpace(case, objective)
        bound = PriceBound(space, space.nodes(seconds=5), may_suppress=budget)
        for scale in (0.1, 0.5, 1.5):
            u = np.minimum((draw.random(len(space.count)) * scale * space.scale).astype(np.int64), bound.top)
            proven = bound.at(u)[0].total / space.scale
            assert space.figure(proven, case.suppressed) <= best + 1e-9, f"seed {seed}"
        raised = bound.ascend(best * case.records, seconds=0.01).total / space.scale
        assert space.figure(raised, case.suppressed) <= best + 1e-9, f"seed {seed}"
        assert raised >= bound.at(bound.cheapest())[0].total / space.scale
        met += 1
    assert met > len(seeds) // 5


@pytest.mark.parametrize("kind", [{}, {"budget": True}, {"linear": False}], ids=["linear", "budget", "other"])
def test_any_tolls_give_a_bound(kind: dict[str, bool]) -> None:
    draw = np.random.default_rng(12)
    quotas = 0
    for seed in range(5000, 5200 if SLOW else 5040):
        case, objective, best = problem(seed, **kind)
        if best is None:
            continue
        space = RecodingSpace(case, objective)
        plain = PriceBound(space, space.nodes(seconds=5), may_suppress=kind.get("budget", False))
        prices = plain.ascend(best * case.records, seconds=0.01)
        bound, same = plain.with_quotas(prices)
        assert same.total == prices.total
        for scale in (0.1, 0.5, 1.5):
            w = (draw.random(len(bound.quotas)) * scale * space.scale).astype(np.int64)
            u = np.minimum(prices.u + (draw.random(len(prices.u)) * scale * space.scale).astype(np.int64), bound.top)
            proven = bound.at(u, w)[0].total / space.scale
            assert space.figure(proven, case.suppressed) <= best + 1e-9, f"seed {seed}"
        raised = bound.ascend(best * case.records, seconds=0.01, start=same).total / space.scale
        assert space.figure(raised, case.suppressed) <= best + 1e-9, f"seed {seed}"
        quotas += len(bound.quotas)
    assert quotas > 20


def test_quotas_are_the_boxes_that_have_no_room_for_all_the_nodes_inside() -> None:
    """Against every pair of nodes."""
    found = 0
    for seed in range(60):
        case, objective = asked(seed)
        space = RecodingSpace(case, objective)
        nodes = space.nodes(seconds=5)
        if len(nodes):
            sets = [set(nodes.member[a:b].tolist()) for a, b in itertools.pairwise(nodes.start.tolist())]
            quotas = find_quotas(space, nodes, np.zeros(len(nodes), dtype=np.int64))
            listed = {
                (int(quotas.box[q]), t)
                for t in range(len(sets))
                for q in quotas.quota[quotas.start[t] : quotas.start[t + 1]]
            }
            room = [int(space.count[list(one)].sum()) // space.least for one in sets]
            inside = {b: {t for t in range(len(sets)) if sets[t] <= sets[b]} for b in range(len(sets))}
            tight = {b for b in inside if len(inside[b]) > room[b] and space.count[list(sets[b])].sum() % space.least}
            assert listed == {(b, t) for b in tight for t in inside[b]}
            assert quotas.most.tolist() == [room[b] for b in quotas.box.tolist()]
            found += len(quotas)
    assert found > 20


def test_quotas_raise_the_bound_to_the_optimum() -> None:
    """Three people in a row, two in a group: prices use half of each of three groups, a release must put all into
    one."""
    codes = np.array([0, 1, 2], dtype=np.int32)
    case = RecodingProblem(("q",), (Ranges(("0", "1", "2")),), (codes,), (), (Requirement(KAnonymity(k=2)),))
    space = RecodingSpace(case, "loss")
    plain = PriceBound(space, space.nodes(seconds=5), may_suppress=False)
    prices = plain.ascend(3.0, seconds=0.1)
    assert prices.total / space.scale == pytest.approx(2.0, rel=0.01)
    bound, start = plain.with_quotas(prices)
    assert bound.ascend(3.0, seconds=0.2, start=start).total / space.scale == pytest.approx(3.0, rel=0.01)


def test_shares_raise_the_bound() -> None:
    """Three equal values stand beside one other: two of them must go with the two that are far away."""
    hidden = Sensitive("s", np.array([0, 0, 0, 1, 2, 1], dtype=np.int32), tuple("abc"))
    codes = np.array([0, 0, 0, 0, 9, 9], dtype=np.int32)
    frequent = Requirement(LDiversity(l=2, kind="frequency"), ("s",))
    case = RecodingProblem(("q",), (Ranges(tuple(map(str, range(10)))),), (codes,), (hidden,), (frequent,))
    space = RecodingSpace(case, "loss")
    bound = PriceBound(space, space.nodes(seconds=5), may_suppress=False)
    raised = bound.ascend(6.0, seconds=0.2).total / space.scale
    assert raised == pytest.approx(2 * 2, rel=1e-3)


def test_a_list_that_was_cut_short_still_bounds() -> None:
    cut = 0
    for seed in range(3000, 3100 if SLOW else 3050):
        case, objective, best = problem(seed)
        if best is not None:
            space = RecodingSpace(case, objective)
            nodes = space.nodes(seconds=5, pairs=3)
            bound = PriceBound(space, nodes, may_suppress=False)
            cut += nodes.cap < space.highest
            figure = space.figure(bound.ascend(best * case.records, seconds=0.01).total / space.scale, case.suppressed)
            assert figure <= best + 1e-9, f"seed {seed}"
    assert cut > (20 if SLOW else 10)


def test_a_list_without_any_node_is_no_answer() -> None:
    """As when the time is over before the first one."""
    case, objective = asked(17)
    space = RecodingSpace(case, objective)
    nodes = space.nodes(seconds=5)
    unit = np.flatnonzero(space.count > 0)
    nothing = part_of(space, nodes.only(np.zeros(len(nodes), dtype=np.bool_)), unit, space.count[unit])
    assert not solve(space, nothing, seconds=1).found
    assert solve(space, part_of(space, nodes, unit, space.count[unit]), seconds=5).found


def test_every_closed_node_is_listed_once() -> None:
    """Against the closures of all sets of units."""
    for seed in range(40):
        case, objective = asked(seed)
        space = RecodingSpace(case, objective)
        units = np.flatnonzero(space.count > 0)
        if not 0 < len(units) <= 7:
            continue
        nodes = space.nodes(seconds=5)
        listed = [frozenset(nodes.member[a:b].tolist()) for a, b in itertools.pairwise(nodes.start.tolist())]
        expected = set()
        for size in range(1, len(units) + 1):
            for some in itertools.combinations(units.tolist(), size):
                members = closure(space, some)
                if members and space.count[list(members)].sum() >= space.least:
                    expected.add(members)
        assert len(listed) == len(set(listed)), f"seed {seed}"
        assert set(listed) == expected, f"seed {seed}"


def closure(space: RecodingSpace, some: tuple[int, ...]) -> frozenset[int]:
    """The units of the region below the smallest tuple around some units; empty when they are not of one region."""
    region, codes = space.units.region, space.units.codes
    if len(set(region[list(some)].tolist())) > 1:
        return frozenset()
    inside = (region == region[some[0]]) & (space.count > 0)
    for column, domain in enumerate(space.problem.domains):
        own = codes[list(some), column].astype(np.int64)
        lo, hi = domain.close(np.array([own.min()]), np.array([own.max() + 1]))
        inside &= (codes[:, column] >= lo[0]) & (codes[:, column] < hi[0])
    return frozenset(np.flatnonzero(inside).tolist())
