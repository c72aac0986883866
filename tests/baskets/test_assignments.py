"""Walks: they always close, they find disjoint assignments, and each edge is as likely as any other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_baskets import regular_targets

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.baskets.methods.nonreciprocal import assignments, assignments_and_steps, ring_members, ring_targets

WALKS = ("truncated", "closed", "backtracking")


def check_disjoint(rounds: np.ndarray, edges: np.ndarray) -> None:
    """Each round is a permutation, and together they use every edge exactly once."""
    count = edges.shape[0]
    assert (np.sort(rounds, axis=1) == np.arange(count)).all()
    used = sorted((int(u), v) for owner in rounds for v, u in enumerate(owner))
    assert used == sorted((u, int(v)) for u in range(count) for v in edges[u])


@pytest.mark.parametrize("walk", WALKS)
@given(count=st.integers(1, 40), degree=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_rings_fall_apart_into_disjoint_assignments(walk: str, count: int, degree: int, seed: int) -> None:
    if count < degree:
        with pytest.raises(Infeasible, match="candidates"):
            ring_targets(count, degree)
        return
    edges = ring_targets(count, degree)
    check_disjoint(assignments(edges, walk, Randomness(seed)), edges)  # type: ignore[arg-type]


@pytest.mark.parametrize("walk", WALKS)
@given(seed=st.integers(0, 10**6), degree=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_walks_close_on_any_regular_graph(walk: str, seed: int, degree: int) -> None:
    """Theorem 3.6.1: with as many ways in as out, a walk can always be closed without using an edge twice."""
    edges = regular_targets(np.random.default_rng(seed), 20, degree)
    check_disjoint(assignments(edges, walk, Randomness(seed)), edges)  # type: ignore[arg-type]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_theorem_as_stated_for_paths(seed: int) -> None:
    """From the end of any path that repeats no edge there is a way back to its start that uses none of its edges."""
    rng = np.random.default_rng(seed)
    out = {u: set(map(int, row)) for u, row in enumerate(regular_targets(rng, 9, 3))}
    start = int(rng.integers(9))
    u = start
    for _ in range(int(rng.integers(1, 20))):
        if not out[u]:
            break
        v = int(rng.choice(sorted(out[u])))
        out[u].discard(v)
        u = v
    reached, frontier = {u}, [u]
    while frontier:
        for v in out[frontier.pop()] - reached:
            reached.add(v)
            frontier.append(v)
    assert start in reached


@pytest.mark.parametrize("walk", WALKS)
def test_every_edge_is_equally_likely_for_any_draw(walk: str) -> None:
    """Whatever the walks find, one of k disjoint assignments drawn uniformly makes each edge true with probability
    1/k."""
    edges, weight = ring_targets(7, 3), np.zeros((7, 7))
    for seed in range(40):
        for owner in assignments(edges, walk, Randomness(seed)):  # type: ignore[arg-type]
            weight[owner, np.arange(7)] += 1 / 3 / 40
    there = np.zeros((7, 7), dtype=bool)
    there[np.arange(7)[:, None], edges] = True
    assert np.allclose(weight[there], 1 / 3)
    assert not weight[~there].any()


@pytest.mark.parametrize("walk", WALKS)
def test_assignments_differ_between_draws(walk: str) -> None:
    edges = ring_targets(12, 4)
    seen = {assignments(edges, walk, Randomness(seed)).tobytes() for seed in range(20)}  # type: ignore[arg-type]
    assert len(seen) == 20


def test_members_are_the_other_side_of_targets() -> None:
    edges, back = ring_targets(11, 4), ring_members(11, 4)
    assert {(u, int(v)) for u in range(11) for v in edges[u]} == {(int(u), v) for v in range(11) for u in back[v]}


def test_the_truncated_walk_takes_fewer_steps_than_the_closed_one() -> None:
    edges = ring_targets(3000, 8)
    steps = {walk: assignments_and_steps(edges, walk, Randomness(1))[1] for walk in WALKS}  # type: ignore[arg-type]
    assert steps["truncated"] * 1.5 < steps["closed"]
