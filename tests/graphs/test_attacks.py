"""The adversaries: their searches against plain twins, and what they achieve with and without noise."""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
import pytest

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.kernels.planted_account_search import (
    extend_guesses,
    has_edge,
    plain_extend_guesses,
    plain_walk_search,
    walk_search,
)
from sfumato.kinds.graphs.planted_account_attacks import (
    IntervalWalk,
    Walk,
    backbone_ties,
    degree_intervals,
    growth_order,
    interval_walk_attack,
    plant_and_publish,
    structural_attack,
    victim_links,
    walk_attack,
    wilson,
)
from tests.slow import SLOW

CROWD = Graph.from_networkx(nx.powerlaw_cluster_graph(1500, 4, 0.4, seed=1))


def planted(mu, seed, accounts=14, victims=30):
    return plant_and_publish(
        CROWD, EdgeChannel.symmetric(mu), Randomness(seed=seed), accounts=accounts, victims=victims
    )


@pytest.mark.twin(of=[walk_search, has_edge])
@pytest.mark.parametrize("budget", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_walk_finds_what_plain_recursion_finds(budget, seed):
    rng = np.random.default_rng(seed)
    graph = Graph.from_networkx(nx.gnp_random_graph(14, 0.35, seed=seed))
    ties = backbone_ties(4, rng)
    low, high = np.full(4, 2), np.full(4, 6)
    paths, steps = walk_search(graph.starts, graph.neighbours, low, high, ties, budget, 10**6, 10**4)
    assert sorted(paths.tolist()) == sorted(plain_walk_search(graph.starts, graph.neighbours, low, high, ties, budget))
    assert steps < 10**6
    for u in range(14):
        near = set(graph.neighbours_of(u).tolist())
        assert [has_edge(graph.starts, graph.neighbours, u, v) for v in range(14)] == [v in near for v in range(14)]


def test_the_walk_gives_up_at_its_limit():
    graph = Graph.from_networkx(nx.complete_graph(20))
    ties = ~np.eye(6, dtype=bool)
    low = np.full(6, 0)
    paths, steps = walk_search(graph.starts, graph.neighbours, low, low + 30, ties, 0, 500, 10**6)
    assert steps == 500
    assert len(paths) < 20 * 19 * 18 * 17 * 16 * 15


@pytest.mark.twin(of=[extend_guesses])
def test_the_beam_grows_as_the_plain_twin():
    graph = Graph.from_networkx(nx.gnp_random_graph(25, 0.3, seed=3))
    near = [set(graph.neighbours_of(v).tolist()) for v in range(25)]
    pair, by_degree = np.log(np.array([[0.9, 0.2], [0.1, 0.8]])), np.linspace(-1, 1, 30)
    guesses = [[0, int(graph.neighbours_of(0)[0])], [3, int(graph.neighbours_of(3)[0])]]
    arguments = (np.array([True, False]), np.array([0, 1]), pair, by_degree)
    parent, node, score = extend_guesses(
        graph.starts, graph.neighbours, np.array(guesses, np.int32), np.zeros(2), *arguments, 10_000
    )
    ours = {(int(p), int(v)): s for p, v, s in zip(parent, node, score, strict=True)}
    plain = plain_extend_guesses(near, guesses, [0.0, 0.0], [True, False], [0, 1], pair, by_degree)
    assert ours.keys() == plain.keys()
    assert all(ours[key] == pytest.approx(plain[key]) for key in ours)


def test_a_full_beam_keeps_the_best():
    graph = Graph.from_networkx(nx.gnp_random_graph(60, 0.5, seed=3))
    pair, by_degree = np.zeros((2, 2)), np.linspace(0, 1, 60)
    guesses = np.array([[v, int(graph.neighbours_of(v)[0])] for v in range(60)], np.int32)
    arguments = (np.array([True, True]), np.array([0]), pair, by_degree)
    everything = extend_guesses(graph.starts, graph.neighbours, guesses, np.zeros(60), *arguments, 10_000)[2]
    few = extend_guesses(graph.starts, graph.neighbours, guesses, np.zeros(60), *arguments, 20)[2]
    assert sorted(few)[-20:] == pytest.approx(sorted(everything)[-20:])


def test_planting_keeps_its_promises():
    rng = np.random.default_rng(1)
    links = victim_links(20, 60, 3, 1, rng)
    assert (links.sum(axis=1) == 3).all()
    assert len({tuple(row) for row in links.tolist()}) == 60
    world = planted(0.0, 1)
    assert world.published.nodes == CROWD.nodes + 14
    i, j = np.triu_indices(14, 1)
    assert (world.published.has_edges(world.true_accounts[i], world.true_accounts[j]) == world.ties[i, j]).all()
    assert (world.published.degrees[world.true_accounts] == world.degrees).all()
    with pytest.raises(Infeasible):
        victim_links(4, 50, 3, 2, rng)


def test_without_noise_everybody_is_found():
    world = planted(0.0, 2)
    for attack in (walk_attack, interval_walk_attack, partial(structural_attack, beam=2_000)):
        found = attack(world)
        assert found.accounts
        assert found.victims == 1.0


def test_a_little_noise_ends_the_walk_but_not_the_interval_walk():
    exact = [walk_attack(planted(1e-3, seed)).accounts for seed in range(8)]
    interval = [interval_walk_attack(planted(1e-3, seed), limit=10**7).accounts for seed in range(8)]
    assert sum(exact) == 0
    assert sum(interval) >= 5


def test_narrow_intervals_fail_where_exact_ones_succeed():
    """Table 4.2 mislabelled: widths of 3 look sufficient and are not."""
    flip, nodes = EdgeChannel.symmetric(1e-3), 21_000
    low, high = degree_intervals(np.full(20, 30), nodes, flip, None, 0.9)
    assert 10 <= (high - low).max() / 2 <= 16
    narrow = degree_intervals(np.full(20, 30), nodes, flip, 3, 0.9)
    first, law = flip.degree_law(30, nodes)
    inside = law[narrow[0][0] - first : narrow[1][0] - first + 1].sum()
    assert inside**20 < 1e-4
    assert law[low[0] - first : high[0] - first + 1].sum() ** 20 >= 0.9


def test_what_the_planner_derives_stops_all_adversaries():
    from sfumato.models.structural_attack import StructuralAttack

    mu = StructuralAttack(planted=14, success_at_most=0.1).needed_mu(CROWD.nodes + 14)
    hits = 0
    for seed in range(5 if SLOW else 2):
        world = planted(mu, seed)
        hits += interval_walk_attack(world, errors=3, limit=3 * 10**6 if SLOW else 10**6).accounts
        hits += structural_attack(world, beam=300).accounts
    assert hits == 0


def test_growth_begins_where_ties_are_many():
    ties = backbone_ties(12, np.random.default_rng(4))
    order = growth_order(ties)
    assert sorted(order.tolist()) == list(range(12))
    assert all(ties[order[level], order[:level]].any() for level in range(1, 12))


def test_trials_report_rate_and_interval(tmp_path):
    path = tmp_path / "crowd.tsv"
    low, high = CROWD.edges()
    path.write_text("".join(f"{a}\t{b}\n" for a, b in zip(low, high, strict=True)))
    figures = IntervalWalk(target=str(path), mu=1e-4, planted=14, victims=20, trials=3, seed=1).run()
    assert figures["success_rate"] == 1.0
    assert figures["confidence_95"][0] < 1.0
    assert Walk(target=str(path), mu=1e-2, planted=14, victims=20, trials=3, seed=1).run()["found_all_accounts"] == 0
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
