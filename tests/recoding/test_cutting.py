"""Cutting one group after the other comes to the groups that cutting in rounds comes to."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.arrays import IntArray
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.kernels.partitioning import cut_by_size
from sfumato.kinds.tables.methods.multidimensional_partitioning import in_rounds as plain_rounds
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity


def tree(leaves: int) -> Hierarchy:
    """Paths of different lengths below a root, some nodes with one child."""
    paths = []
    for leaf in range(leaves):
        path = [f"leaf {leaf}"]
        if leaf % 5:
            path.append(f"low {leaf // 3}")
        paths.append([*path, f"high {leaf // 6}", "*"])
    return Hierarchy.from_paths(paths)


def problem(seed: int, k: int, *, wide: bool = False) -> RecodingProblem:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(k, 500))
    domains: list[Generalization] = [tree(17), Ranges(tuple(map(str, range(40))))]
    domains.append(Ranges(tuple(map(str, range(3000)))) if wide else tree(7))
    codes = [np.minimum(draw.zipf(1.4, rows) - 1, domain.size - 1) for domain in domains[:2]]
    codes.append(draw.integers(0, domains[2].size, rows))
    made = tuple(code.astype(np.int32) for code in codes)
    return RecodingProblem(("a", "b", "c"), tuple(domains), made, (), (Requirement(KAnonymity(k=k)),))


def together(made: RecodingProblem, grouping: Grouping) -> IntArray:
    """For each cell the first cell of its group, so that the numbers of groups do not matter."""
    first = np.full(grouping.groups, len(made.row_cell), dtype=np.int64)
    np.minimum.at(first, grouping.group, grouping.cell)
    of = np.full(len(made.row_cell), -1, dtype=np.int64)
    of[grouping.cell] = first[grouping.group]
    return of


@pytest.mark.twin(of=[cut_by_size])
@pytest.mark.parametrize("objective", ["loss", "ntil", "entropy_loss"])
@pytest.mark.parametrize("seed", range(12))
def test_the_same_groups(seed: int, objective: str) -> None:
    made = problem(seed, k=2 + seed % 7)
    plain = plain_rounds(made, Claims(made), objective=objective)
    found = mondrian(made, objective=objective)
    assert found.groups == plain.groups
    assert np.array_equal(together(made, found), together(made, plain))


@pytest.mark.parametrize("seed", range(6))
def test_wide_ranges_cost_the_same(seed: int) -> None:
    """Widths of wide ranges are computed in another order there, so that ties may be broken otherwise."""
    made = problem(seed, k=3, wide=True)
    costs = Costs.of(made, "loss")
    found, plain = mondrian(made), plain_rounds(made, Claims(made))
    assert made.satisfied(found).all()
    assert costs.mean(made, found) == pytest.approx(costs.mean(made, plain), rel=0.05)


def test_regions_are_never_joined() -> None:
    paths = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    bounded = Hierarchy.from_paths(paths).bounded(["ab", "cd"])
    codes = np.repeat(np.arange(4, dtype=np.int32), [3, 2, 4, 1])
    made = RecodingProblem(("a",), (bounded,), (codes,), (), (Requirement(KAnonymity(k=3)),))
    found = mondrian(made)
    region = made.regions.of[made.cell_point[found.cell]]
    assert all(len(set(region[found.group == g].tolist())) == 1 for g in range(found.groups))
    assert np.array_equal(together(made, found), together(made, plain_rounds(made, Claims(made))))
