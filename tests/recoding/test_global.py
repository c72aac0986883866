"""`global` against every combination of levels tried one by one, with claims and losses written out from their
definitions."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.tables.methods.full_domain import FullDomain, cheapest_node
from sfumato.kinds.tables.methods.recoding import feasible_problem
from tests.secret import SEED
from tests.slow import SLOW

ADULT = Path(__file__).parents[3] / "shared" / "policies" / "adult-arx.yaml"
CLAIMS: dict[str, Any] = {
    "k": {"k-anonymity": {"k": 3}},
    "distinct": {"l-diversity": {"l": 2}},
    "frequency": {"l-diversity": {"l": 2, "kind": "frequency"}},
    "alpha": {"alpha-k-anonymity": {"alpha": 0.7, "k": 2}},
}


def holds(kind: str, values: list[str]) -> bool:
    """The definitions, on the hidden values of a class."""
    tally = Counter(values)
    most, n = max(tally.values()), len(values)
    return {
        "k": n >= 3,
        "distinct": len(tally) >= 2,
        "frequency": 2 * most <= n,
        "alpha": n >= 2 and most <= 0.7 * n,
    }[kind]


def world(seed: int) -> tuple[dict[str, list[str]], dict[str, list[list[str]]]]:
    """A small table, and per quasi-identifier what each value is called at each level."""
    rng = random.Random(seed)
    rows = rng.randint(6, 14)
    table = {f"q{i}": [str(rng.randint(0, 7)) for _ in range(rows)] for i in range(rng.randint(1, 3))}
    ladders = {
        name: [[v, f"{name}:{int(v) // 2}", f"{name}:{int(v) // 4}x", "*"] for v in map(str, range(8))]
        for name in table
    }
    return table | {"ill": [rng.choice("abc") for _ in range(rows)]}, ladders


def best(
    table: dict[str, list[str]], ladders: dict[str, list[list[str]]], kinds: list[str], budget: float
) -> float | None:
    """The least loss of all combinations of levels; classes that break a claim are suppressed."""
    rows, found = len(table["ill"]), None
    if not all(holds(kind, table["ill"]) for kind in kinds):
        return None  # what breaks a claim as a whole is suppressed as a whole, as in all recoding
    for node in product(range(4), repeat=len(ladders)):
        classes = defaultdict(list)
        for row in range(rows):
            classes[
                tuple(ladders[q][int(table[q][row])][level] for q, level in zip(ladders, node, strict=True))
            ].append(row)
        out = sum(
            len(some) for some in classes.values() if not all(holds(k, [table["ill"][r] for r in some]) for k in kinds)
        )
        if out <= budget * rows + 1e-9 and out < rows:
            cell = sum((2**level if level < 3 else 8) - 1 for level in node) / 7 / len(ladders)
            loss = (cell * (rows - out) + out) / rows
            found = loss if found is None else min(found, loss)
    return found


def tree(ladders: dict[str, list[list[str]]], kinds: list[str], budget: float) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in ladders:
        under = {
            f"{name}:{high}x": {f"{name}:{p}": [str(2 * p), str(2 * p + 1)] for p in (2 * high, 2 * high + 1)}
            for high in (0, 1)
        }
        columns[name] = {"role": "quasi-identifier", "hierarchy": {"*": under}}
    return {
        "version": 1,
        "columns": columns | {"ill": "sensitive"},
        "protect": [CLAIMS[kind] for kind in kinds],
        "utility": {"suppress_at_most": budget},
        "method": {"global": {}},
    }


@pytest.mark.parametrize("seed", range(60 if SLOW else 25))
def test_nothing_on_the_lattice_loses_less(seed: int) -> None:
    rng = random.Random(SEED + seed)
    table, ladders = world(SEED + seed)
    kinds = rng.sample(list(CLAIMS), rng.randint(1, 2))
    budget = rng.choice([0.0, 0.2, 0.5])
    least = best(table, ladders, kinds, budget)
    policy = sf.Policy.parse(tree(ladders, kinds, budget))
    if (
        least is None
    ):  # records of frequent values may still be left out one by one, which no combination of levels does
        try:
            made = sf.publish(policy, data=table)
        except sf.Infeasible:
            return
        assert any("frequent sensitive values" in said for said in made.certificate.assumptions)
        assert made.release.trace.optimality is None
        return
    made = sf.publish(policy, data=table)
    assert made.certificate.holds
    assert made.certificate.utility["loss"] == pytest.approx(least, abs=1e-6)
    said = made.release.trace.optimality
    assert said is not None
    assert said.proven_optimal


@pytest.mark.parametrize("budget, loss", [("0", 0.625), ("5%", 0.178339)])
def test_adult_as_others_found_it(budget: str, loss: float) -> None:
    """The optimum that ARX reports for these hierarchies, k = 5, and this loss."""
    text = ADULT.read_text().replace("suppress_at_most: 0", f"suppress_at_most: {budget}")
    policy = sf.Policy.parse(text.replace("{refined: {}}", "{global: {}}"), base=ADULT.parent)
    made = sf.publish(policy)
    assert made.certificate.holds
    assert made.certificate.utility["loss"] == pytest.approx(loss, abs=1e-5)


def test_few_looks_find_what_all_looks_find() -> None:
    """A fifth of the looks of a sweep over every combination, on a small table of correlated columns."""
    rng = np.random.default_rng(SEED)
    base = rng.integers(0, 8, 600)
    table = {f"q{i}": [str(v) for v in (base + rng.integers(0, 3, 600)) % 8] for i in range(5)} | {
        "ill": ["a", "b"] * 300
    }
    policy = sf.Policy.parse(tree({f"q{i}": [] for i in range(5)}, ["k"], 0.1))
    problem = feasible_problem(policy, policy.data.read(table))
    for spare in (0, 60):
        lattice = FullDomain(problem, "loss", spare=spare)
        found = cheapest_node(lattice, most=10_000)
        swept = {one: lattice.surcharge(one) for one in product(*map(range, lattice.shape))}
        assert found.cost == pytest.approx(
            min(lattice.bound(one) + extra for one, extra in swept.items() if extra is not None)
        )
        assert found.proven
        assert found.looks * 5 <= len(swept)


def test_a_lattice_too_large_is_gone_down_step_by_step() -> None:
    table, ladders = world(SEED)
    policy = sf.Policy.parse({**tree(ladders, ["k"], 0.2), "method": {"global": {"nodes": 3}}})
    made = sf.publish(policy, data=table)
    assert made.certificate.holds
    assert made.release.trace.optimality is None
