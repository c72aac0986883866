"""The hierarchical distance of t-closeness: the transport problem itself, the model and the floor say the same."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import sfumato as sf
from sfumato.audit.recount.definitions import RecountedClasses, count_level, level_of
from sfumato.data.linkage import Linkage
from sfumato.models.t_closeness import TCloseness
from tests.house.cases import random_tree

PAPER = {"any": {"lungs": ["flu", "pneumonia", "bronchitis"], "stomach": ["ulcer", "gastritis", "cancer"]}}


def linkage(groups: list[list[str]]) -> Linkage:
    labels = tuple(dict.fromkeys(value for group in groups for value in group))
    codes = np.array([labels.index(value) for group in groups for value in group], dtype=np.int64)
    return Linkage.of_groups(
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]), {"ill": (codes, labels)}
    )


def chains(tree: Any, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Leaf → nodes above it, the nearest first."""
    if isinstance(tree, dict):
        return {leaf: chain for name, below in tree.items() for leaf, chain in chains(below, (name, *above)).items()}
    return dict.fromkeys(tree, above)


def transported(one: Counter[str], other: Counter[str], tree: Any) -> float:
    """Linear programming over all ways to move one distribution to the other."""
    chain = chains(tree)
    (root,) = tree
    height = {node: max(c.index(node) + 1 for c in chain.values() if node in c) for c in chain.values() for node in c}
    values = sorted({*one, *other})

    def apart(a: str, b: str) -> float:
        if a == b:
            return 0.0
        above = [node for node in chain.get(a, (root,)) if node in chain.get(b, (root,))]
        return height[above[0]] / height[root]

    n = len(values)
    rows = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    totals = [counter[value] / sum(counter.values()) for counter in (one, other) for value in values]
    return float(linprog([apart(a, b) for a in values for b in values], A_eq=np.vstack(rows), b_eq=totals).fun)


def by_floor(groups: list[list[str]], tree: Any) -> float:
    level = level_of("t-closeness", {"t": "1", "distance": "hierarchical", "tree": tree})
    spreads, whole = [Counter(group) for group in groups], Counter(value for group in groups for value in group)
    return float(count_level("t-closeness", RecountedClasses(1, {"ill": spreads}, {"ill": whole}), level)["t"])


def test_a_group_of_one_branch_is_farther_than_one_of_both() -> None:
    """Similarity: three illnesses of the stomach say more than three of anywhere, whatever their number."""
    mixed = [["flu", "ulcer", "pneumonia"], ["gastritis", "cancer", "bronchitis"]]
    alike = [["ulcer", "gastritis", "cancer"], ["flu", "pneumonia", "bronchitis"]]
    near, far = (
        TCloseness(t=1, distance="hierarchical", tree=PAPER).achieved(linkage(each))["t"] for each in (mixed, alike)
    )
    assert far == pytest.approx(0.5)  # half of the people move through the root, at height 2 of 2
    assert near == pytest.approx(
        2 / 6 * 1 / 2 + 1 / 6
    )  # a sixth through the root, two sixths inside of a branch at height 1 of 2
    assert TCloseness(t=1).achieved(linkage(mixed))["t"] == TCloseness(t=1).achieved(linkage(alike))["t"] == 0.5


def test_model_and_floor_solve_the_transport_problem() -> None:
    rng = random.Random(20)
    for _ in range(40):
        values = [f"v{i}" for i in range(rng.randint(2, 6))]
        tree = random_tree(rng, list(values), "any")
        groups = [
            [rng.choice([*values, "stranger", ""]) for _ in range(rng.randint(1, 5))] for _ in range(rng.randint(1, 4))
        ]
        whole = Counter(value for group in groups for value in group)
        expected = max(transported(Counter(group), whole, tree) for group in groups)
        assert TCloseness(t=1, distance="hierarchical", tree=tree).achieved(linkage(groups))["t"] == pytest.approx(
            expected, abs=1e-5
        )
        assert by_floor(groups, tree) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "level",
    [
        {"distance": "hierarchical"},
        {"tree": PAPER},
        {"distance": "hierarchical", "tree": {"a": ["x"], "b": ["y"]}},
        {"tree": 3},
    ],
)
def test_a_distance_without_its_tree_is_refused(level: dict[str, Any]) -> None:
    tree = {
        "version": 1,
        "columns": {"q": "quasi-identifier", "ill": "sensitive"},
        "protect": [{"t-closeness": {"t": 0.3, **level}}],
    }
    with pytest.raises(sf.PolicyError, match="tree"):
        sf.Policy.parse(tree)
