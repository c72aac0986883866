"""The cheapest anonymous sequence and the bounds, against brute force and against each other."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from degree_cases import anonymous, fewest_by_brute_force, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.graph import Graph
from sfumato.kinds.graphs.checks import fewest_new_edges, total_rise
from sfumato.kinds.graphs.methods import degree_anonymity
from sfumato.kinds.graphs.methods.degree_anonymity import (
    anonymous_degrees,
    fewest_edges,
    least_total_increase,
    most_touched,
    prefix_increases,
)

sequences = st.lists(st.integers(0, 4), min_size=4, max_size=6).map(
    lambda values: np.sort(np.array(values, dtype=np.int64))[::-1]
)


def rises(degrees, k, first=None):
    """By brute force: the least rise (of the first people) over all anonymous sequences above, none higher than the
    largest."""
    top = int(degrees[0])
    above = product(*(range(degree, top + 1) for degree in degrees.tolist()))
    return min(sum(one[:first]) - int(degrees[:first].sum()) for one in above if anonymous(one, k))


@settings(max_examples=60, deadline=None)
@given(sequences, st.integers(1, 4))
def test_no_anonymous_sequence_is_cheaper(degrees, k):
    goals = anonymous_degrees(degrees, k)
    assert anonymous(goals, k)
    assert (goals >= degrees).all()
    assert int((goals - degrees).sum()) == least_total_increase(degrees, k) == rises(degrees, k)


@settings(max_examples=40, deadline=None)
@given(sequences, st.integers(1, 3))
def test_no_anonymous_sequence_is_cheaper_for_the_first_people(degrees, k):
    found = prefix_increases(degrees, k, len(degrees))
    for m in range(1, len(degrees) + 1):
        descending = min(
            sum(one[:m]) - int(degrees[:m].sum())
            for one in product(*(range(degree, int(degrees[0]) + 1) for degree in degrees.tolist()))
            if anonymous(one, k) and list(one) == sorted(one, reverse=True)
        )
        assert found[m] == descending


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=30, max_size=120), st.integers(1, 5))
def test_crowded_degrees_need_not_be_looked_at_whole(values, k):
    degrees = np.sort(np.array(values, dtype=np.int64))[::-1]
    whole, _ = degree_anonymity._program(degrees, k)
    assert least_total_increase(degrees, k) == whole[-1] == int((anonymous_degrees(degrees, k) - degrees).sum())


@pytest.mark.parametrize("seed", range(25))
def test_the_bound_of_the_audit_agrees_and_both_are_below_the_optimum(seed):
    graph = random_graph(7, 0.1 + 0.03 * seed, seed) if seed % 2 else random_graph(6, 0.5, seed)
    for k in (2, 3, 4):
        assert fewest_edges(graph, k) == fewest_new_edges(graph, k) <= fewest_by_brute_force(graph, k)


LARGER = (nx.barabasi_albert_graph(400, 3, seed=1), nx.star_graph(40), nx.gnp_random_graph(150, 0.2, seed=1))


@pytest.mark.parametrize("large", LARGER)
def test_both_sides_of_the_wall_count_alike_on_larger_graphs(large):
    graph = Graph.from_networkx(large)
    for k in (1, 2, 7, 20):
        assert fewest_edges(graph, k) == fewest_new_edges(graph, k)
        assert total_rise(graph, k) == least_total_increase(np.sort(graph.degrees)[::-1], k)


def test_no_choice_of_people_touches_more_edges_than_the_bound():
    from itertools import combinations

    graph = random_graph(9, 0.4, 3)
    low, high = graph.edges()
    for m in (1, 2, 3, 4):
        best = max(int((np.isin(low, some) | np.isin(high, some)).sum()) for some in combinations(range(9), m))
        for some in combinations(range(9), m):
            assert most_touched(graph, np.array(some)) >= best


def test_the_hubs_of_a_star_need_more_than_degrees_alone_tell():
    star = Graph.from_networkx(nx.star_graph(60))
    rise = least_total_increase(np.sort(star.degrees)[::-1], 2)
    assert fewest_edges(star, 2) == 59 > (rise + 1) // 2
