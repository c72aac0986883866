"""Programs that know shares by whole levels find the optimum of small tables; groups that prices suggest satisfy the
claims."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from sfumato.data.generalization import Ranges
from sfumato.kinds.tables.methods import optimal
from sfumato.kinds.tables.methods.integer_program import Neighbourhood, Program, _edges, part_of, solve
from sfumato.kinds.tables.methods.optimal import guided_starts
from sfumato.kinds.tables.methods.price_bound import PriceBound, RecodingSpace
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.base import Model
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from tests.optimal.test_price_bound import problem
from tests.slow import SLOW


def crowded(seed: int) -> RecodingSpace:
    """Two or three dozen records at a few points, with shares of four values claimed."""
    draw = np.random.default_rng(seed)
    records = int(draw.integers(20, 36))
    codes = draw.choice(6, records, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1]).astype(np.int32)
    hidden = Sensitive("s", draw.choice(4, records, p=[0.3, 0.28, 0.22, 0.2]).astype(np.int32), tuple("abcd"))
    claims: list[Model] = [LDiversity(l=3 if seed % 2 else 2, kind="frequency"), AlphaK(alpha=0.4, k=3)]
    asked = (Requirement(KAnonymity(k=4)), Requirement(claims[seed % 3 == 0], ("s",)))
    return RecodingSpace(
        RecodingProblem(("q",), (Ranges(tuple(map(str, range(6)))),), (codes,), (hidden,), asked), "loss"
    )


def least_cost(space: RecodingSpace, part: Neighbourhood, share: float) -> float:
    """The program once more, with whole counts and the claim as it is written: no value has more than its share of a
    node."""
    pairs, nodes = len(part.member), len(part.node_cost)
    rows: list[np.ndarray] = []

    def row(where: np.ndarray, factor: float, node: int, of_node: float) -> None:
        line = np.zeros(pairs + nodes)
        line[:pairs][where] = factor
        line[pairs + node] = of_node
        rows.append(line)

    tag = space.tag[part.unit[part.member]]
    for node in range(nodes):
        own = part.owner == node
        row(own, 1.0, node, -float(space.least))
        row(own, -1.0, node, float(part.count.sum()))
        for value in range(4):
            row(own, share, node, 0.0)
            rows[-1][:pairs][own & (tag == value)] -= 1.0
    everybody = np.zeros((len(part.unit), pairs + nodes))
    everybody[part.member, np.arange(pairs)] = 1.0
    upper = np.concatenate([part.count[part.member], np.ones(nodes)])
    found = milp(
        np.concatenate([part.node_cost[part.owner], np.zeros(nodes)]),
        integrality=np.ones(pairs + nodes),
        bounds=Bounds(0, upper),
        constraints=[
            LinearConstraint(np.array(rows), -1e-9, np.inf),
            LinearConstraint(everybody, part.count, part.count),
        ],
    )
    return float(found.fun) if found.x is not None else np.inf


def test_levels_instead_of_whole_counts_lead_to_the_optimum() -> None:
    """Against a program with whole counts, in which the claim stands as it is defined."""
    met = 0
    for seed in range(150) if SLOW else range(7, 14):
        space = crowded(seed)
        unit = np.flatnonzero(space.count > 0)
        if not len(unit):
            continue  # the claim cannot be met at all
        part = part_of(space, space.nodes(seconds=5), unit, space.count[unit])
        program = Program(space, part)
        assert program.flows
        best = least_cost(space, part, program.shares[0][1])
        if np.isfinite(best):
            answer = solve(space, part, seconds=20)
            assert answer.cost == pytest.approx(best, abs=1e-6), f"seed {seed}"
            assert answer.bound <= best + 1e-6, f"seed {seed}"
            met += best > 0
    assert met > 4


def test_lines_are_below_all_pairs_of_levels_and_sizes() -> None:
    tight = 0
    for percent, least in itertools.product(range(10, 100), (1, 2, 5, 9)):
        limit = percent / 100
        for slope, base in _edges(limit, least):
            room = [max(-(-100 * m // percent), least) - slope * m - base for m in range(500)]
            assert min(room) >= 0
            tight += min(room) < 1e-6
    assert tight > 100


@pytest.mark.parametrize("kind", [{}, {"linear": False}], ids=["linear", "other"])
def test_guided_starts_hold_everybody_and_every_claim(kind: dict[str, bool]) -> None:
    met = 0
    for seed in range(7000, 7200 if SLOW else 7030):
        case, objective, best = problem(seed, **kind)
        if best is None:
            continue
        space = RecodingSpace(case, objective)
        bound = PriceBound(space, space.nodes(seconds=5), may_suppress=False)
        for start in guided_starts(bound, bound.ascend(best * case.records, seconds=0.02)):
            assert case.satisfied(start).all(), f"seed {seed}"
            assert (
                np.bincount(start.cell, weights=start.count, minlength=len(case.cell_point)).tolist()
                == np.where(case.out[case.cell_point], 0, case.row_cell.counts).tolist()
            ), f"seed {seed}"
            assert space.figure(space.total(start), case.suppressed) >= best - 1e-9, f"seed {seed}"
            met += 1
    assert met > 20


def test_there_is_no_guided_start_where_too_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left is compared with all groups, which takes minutes where that is much; a start that leaves nothing
    is one."""
    spaces = [crowded(seed) for seed in range(12)]
    bounds = [PriceBound(space, space.nodes(seconds=5), may_suppress=False) for space in spaces]
    prices = [
        bound.ascend(float(space.problem.records), seconds=0.02) for space, bound in zip(spaces, bounds, strict=True)
    ]
    found = []
    for most in (optimal._COMPARED, 0):
        monkeypatch.setattr(optimal, "_COMPARED", most)
        found.append(sum(len(guided_starts(bound, price)) for bound, price in zip(bounds, prices, strict=True)))
    assert found[1] < found[0]
