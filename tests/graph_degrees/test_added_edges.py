"""The edges that are added: minimal against brute force on small graphs, lawful on all."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from degree_cases import anonymous, fewest_by_brute_force, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.methods.degree_anonymity import DegreeRealisation, add_edges, anonymous_degrees, mixed

SMALL = [graph for graph in nx.graph_atlas_g() if 2 <= graph.number_of_nodes() <= 6]


def grown(graph, k, seed=1, exact_up_to=60):
    return add_edges(graph, k, Randomness(seed), exact_up_to=exact_up_to, effort=10)


def check_lawful(graph, k, found):
    """A supergraph with new edges only, k-degree anonymous by counting, and not below its own bound."""
    assert not graph.has_edges(found.low, found.high).any()
    assert (found.low < found.high).all()
    after = graph.joined(0, found.low, found.high)
    assert after.size == graph.size + found.size
    assert anonymous(after.degrees.tolist(), k)
    assert found.least <= found.size


@pytest.mark.parametrize("k", [2, 3, 4])
def test_all_graphs_of_up_to_six_people_gain_as_few_edges_as_possible(k):
    tried = 0
    for atlas in SMALL:
        graph = Graph.from_networkx(atlas)
        if graph.nodes >= k:
            found = grown(graph, k)
            check_lawful(graph, k, found)
            assert found.size == found.least == fewest_by_brute_force(graph, k)
            tried += 1
    assert tried > 150


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_of_seven_people_gain_as_few_edges_as_possible(seed):
    graph = random_graph(7, 0.15 + 0.035 * seed, seed)
    for k in (2, 3, 5, 7):
        found = grown(graph, k, seed)
        check_lawful(graph, k, found)
        assert found.size == found.least == fewest_by_brute_force(graph, k)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 10**6), st.integers(1, 12))
def test_without_the_solver_every_answer_is_lawful(nodes, density, seed, k):
    graph = random_graph(nodes, density, seed)
    if graph.nodes >= k:
        check_lawful(graph, k, grown(graph, k, seed, exact_up_to=0))


@settings(max_examples=8, deadline=None)
@given(st.integers(100, 500), st.sampled_from([2, 5, 20]), st.integers(0, 1000))
def test_graphs_with_hubs_stay_near_the_bound(nodes, k, seed):
    graph = Graph.from_networkx(nx.barabasi_albert_graph(nodes, 3, seed=seed))
    found = grown(graph, k, seed)
    check_lawful(graph, k, found)
    assert found.size <= 2 * found.least + 3 * k


def test_an_odd_number_of_missing_ties_raises_no_crowd_for_nothing():
    """Twenty people who all lack ties, and crowds of even size: raising these one after the other never makes the sum
    even."""
    graph = Graph.from_networkx(nx.barabasi_albert_graph(109, 3, seed=1))
    found = grown(graph, 20)
    check_lawful(graph, 20, found)
    assert found.size <= found.least + 20


def test_the_degree_method_is_never_better_than_the_solver_and_the_solver_proves_it():
    worse = 0
    for seed in range(8):
        graph = Graph.from_networkx(nx.barabasi_albert_graph(16, 2, seed=seed))
        plain, best = grown(graph, 3, seed, exact_up_to=0), grown(graph, 3, seed)
        assert plain.least <= best.least == best.size <= plain.size
        worse += best.size < plain.size
    assert worse


def test_what_is_anonymous_already_gains_nothing():
    ring = Graph.from_networkx(nx.cycle_graph(9))
    assert grown(ring, 9).size == 0 == grown(ring, 9).least


def test_a_plan_that_cannot_be_met_grows_until_it_can():
    """In a complete graph less one edge the two people who lack it are the only ones with room."""
    graph = Graph.from_networkx(nx.complete_graph(6))
    fewer = Graph.from_codes(graph.codes[1:], 6)
    found = grown(fewer, 5, exact_up_to=0)
    assert found.size == 1
    check_lawful(fewer, 5, found)


def test_growing_towards_a_plan_meets_it_or_a_higher_one():
    graph = random_graph(60, 0.1, 5)
    order = np.argsort(-graph.degrees, kind="stable")
    plan = np.empty(60, dtype=np.int64)
    plan[order] = anonymous_degrees(graph.degrees[order], 6)
    done = DegreeRealisation(graph, 6, plan, Randomness(2)).finish()
    assert (done.plan >= plan).all()
    assert (graph.joined(0, *done.edges()).degrees == done.plan).all()


def test_mixing_keeps_degrees_and_changes_partners():
    graph = random_graph(80, 0.1, 8)
    found = grown(graph, 8, exact_up_to=0)
    low, high = mixed(graph, found.low, found.high, Randomness(4))
    before, after = (graph.joined(0, *ends) for ends in ((found.low, found.high), (low, high)))
    assert (before.degrees == after.degrees).all()
    assert after.size == before.size
    assert (before.codes != after.codes).any()


def test_two_runs_differ_and_a_seed_repeats_one():
    graph = Graph.from_networkx(nx.barabasi_albert_graph(200, 3, seed=4))
    one, again, other = (grown(graph, 5, seed) for seed in (1, 1, 2))
    assert (one.low == again.low).all()
    assert (one.high == again.high).all()
    assert len(one.low) != len(other.low) or (one.low != other.low).any() or (one.high != other.high).any()


@pytest.mark.parametrize("seed", range(20))
def test_exchanging_edges_never_ties_two_people_twice(seed):
    """Somebody lacks four ties while others have a triangle of added edges, which can be opened once only."""
    growing = DegreeRealisation(Graph.from_pairs([], [], 4), 1, np.array([4, 2, 2, 2]), Randomness(seed))
    for one, other in ((1, 2), (2, 3), (1, 3)):
        growing._join(one, other)
    growing._exchange()
    degrees = Graph.from_pairs(*growing.edges(), 4).degrees
    assert (degrees + growing.lacking).tolist() == [4, 2, 2, 2]
    assert degrees[0] == 2
