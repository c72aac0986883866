"""What planted accounts achieve: the posterior and the best guess by enumeration, against formulas and bounds."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.models.structural_attack import (
    StructuralAttack,
    _power,
    log_odds,
    log_places,
    needed_flip,
    path_bound,
    posterior,
    same_victims,
    success_bound,
)

PLANTED = [
    Graph.from_pairs([0], [1], 2),
    Graph.from_pairs([0, 1], [1, 2], 3),
    Graph.from_pairs([0, 1, 0], [1, 2, 2], 3),
]


def graphs(nodes):
    pairs = list(combinations(range(nodes), 2))
    for there in product((0, 1), repeat=len(pairs)):
        yield dict(zip(pairs, there, strict=True))


def published_law(place, planted, nodes, flip, density):
    """Pr(published graph | planted at `place`): background pairs are ties with chance `density`, all are flipped."""
    where = {
        tuple(sorted((place[i], place[j]))): planted.has_edges([i], [j])[0]
        for i, j in combinations(range(planted.nodes), 2)
    }
    for graph in graphs(nodes):
        chance = 1.0
        for pair, there in graph.items():
            present = flip.published_density(float(where[pair]) if pair in where else density)
            chance *= present if there else 1 - present
        yield graph, chance


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize(("mu", "density"), [(0.05, 0.3), (0.2, 0.1)])
def test_the_posterior_is_bayes_by_enumeration_and_the_printed_one_is_not(planted, mu, density):
    nodes, flip = 4, EdgeChannel.symmetric(mu)
    places = list(permutations(range(nodes), planted.nodes))
    laws = {place: [chance for _, chance in published_law(place, planted, nodes, flip, density)] for place in places}
    worst_printed = 0.0
    for number, graph in enumerate(graphs(nodes)):
        drawn = Graph.from_pairs(
            [a for (a, _), t in graph.items() if t], [b for (_, b), t in graph.items() if t], nodes
        )
        total = sum(laws[place][number] for place in places)
        ours = posterior(drawn, planted, flip, density)
        assert [ours[place] for place in places] == pytest.approx(
            [laws[place][number] / total for place in places], abs=1e-12
        )
        worst_printed = max(
            worst_printed, abs(_printed(drawn, planted, flip, places[0]) - laws[places[0]][number] / total)
        )
    assert worst_printed > 0.005


def _printed(drawn, planted, flip, place):
    """Eq. 4.22: the likelihood without the background it must be compared with."""

    edges, pairs = drawn.to_networkx(), list(combinations(range(planted.nodes), 2))
    was = [planted.has_edges([i], [j])[0] for i, j in pairs]

    def likelihood(spot):
        seen = [edges.has_edge(spot[i], spot[j]) for i, j in pairs]
        wrong = sum(a != b for a, b in zip(seen, was, strict=True))
        return flip.delete**wrong * (1 - flip.delete) ** (len(seen) - wrong)

    return likelihood(place) / sum(likelihood(spot) for spot in permutations(range(drawn.nodes), planted.nodes))


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("mu", [0.02, 0.1, 0.25, 0.4])
@pytest.mark.parametrize("density", [0.05, 0.5])
def test_no_guess_beats_the_bound(planted, mu, density):
    nodes, flip = 4, EdgeChannel.symmetric(mu)
    places = list(permutations(range(nodes), planted.nodes))
    laws = np.array([[chance for _, chance in published_law(p, planted, nodes, flip, density)] for p in places])
    best_guess = laws.max(axis=0).sum() / len(places)
    assert best_guess <= success_bound(flip, planted.nodes, nodes) + 1e-12


@pytest.mark.parametrize("size", [1e-3, 0.04, 0.3, 0.9])
@pytest.mark.parametrize(("chance", "background"), [(0.8, 0.2), (0.95, 0.01), (0.6, 0.4)])
def test_the_power_is_that_of_the_best_test(size, chance, background):
    """Against a linear program over every outcome of four pairs: the most power any randomized test of this size
    has."""
    from scipy.optimize import linprog

    outcomes = list(product((0, 1), repeat=4))
    hit, noise = (
        np.array([math.prod(p if bit else 1 - p for bit in bits) for bits in outcomes]) for p in (chance, background)
    )
    best = linprog(-hit, A_ub=noise[None, :], b_ub=[size], bounds=(0, 1))
    assert _power([4], [chance], [background], -math.log(size)) == pytest.approx(-best.fun, rel=1e-6)


@given(st.integers(2, 25), st.floats(0.01, 0.45), st.integers(30, 10**6))
@settings(max_examples=60, deadline=None)
def test_bounds_fall_with_the_flip_and_with_the_crowd(planted, mu, nodes):
    less, more = EdgeChannel.symmetric(mu), EdgeChannel.symmetric(min(mu + 0.04, 0.49))
    assert success_bound(more, planted, nodes) <= success_bound(less, planted, nodes) + 1e-9
    assert success_bound(less, planted, 2 * nodes) <= success_bound(less, planted, nodes) + 1e-9
    assert path_bound(more, planted) <= path_bound(less, planted)


def test_equation_4_20_and_what_the_ties_ask_for():
    assert needed_flip(20, 0.05, 7115, against="paths") == pytest.approx(0.1459)
    both = needed_flip(20, 0.05, 7115)
    assert both > 0.1459
    assert (
        success_bound(EdgeChannel.symmetric(both), 20, 7115)
        <= 0.05
        < success_bound(EdgeChannel.symmetric(both - 2e-4), 20, 7115)
    )
    assert needed_flip(5, 0.05, 7115) == 0.5
    assert needed_flip(5, 0.05, 7115, against="ties") < 0.05


def test_log_odds_of_the_notes():
    figures = {9: (-11.6, -14.8, -22.3, -28.5), 22: (29.4, 21.5, 3.4, -12.0)}
    for ties, expected in figures.items():
        for mu, value in zip((1e-4, 1e-3, 1e-2, 5e-2), expected, strict=True):
            odds = log_odds(EdgeChannel.symmetric(mu), 10, ties, 10_000, 6e-4) / math.log(10)
            assert odds == pytest.approx(value, abs=0.06)


def test_places_are_counted():
    assert math.exp(log_places(3, 6)) == pytest.approx(120)


def test_claim_3_put_right_by_enumeration():
    flip, accounts, differing = EdgeChannel.symmetric(0.2), 3, 1
    one, other = (1, 1, 0), (1, 0, 0)
    same = 0.0
    for flips in product((0, 1), repeat=6):
        chance = math.prod(0.2 if f else 0.8 for f in flips)
        same += chance * all((a ^ f) == (b ^ g) for a, b, f, g in zip(one, other, flips[:3], flips[3:], strict=True))
    assert same == pytest.approx(same_victims(flip, accounts, differing))


def test_keeping_edges_bounds_paths_only():
    flip = EdgeChannel.keeping_edges(0.2, 100_000, 25_000_000)
    assert StructuralAttack(planted=20, success_at_most=0.05, against="paths").holds(flip, 7115)
    assert not StructuralAttack(planted=20, success_at_most=0.05).holds(flip, 7115)


def test_more_planted_accounts_than_people_is_infeasible():
    import networkx as nx
    import pytest

    import sfumato as sf

    attack = {"structural-attack": {"planted": 4, "success_at_most": 0.9}}
    for method in ({}, {"mu": 0.05}):
        tree = {"version": 1, "data": {"kind": "graph"}, "protect": [attack], "method": {"edge-perturbation": method}}
        with pytest.raises(sf.Infeasible, match="more than the 3 people"):
            sf.publish(sf.Policy.parse(tree), data=nx.path_graph(3))
