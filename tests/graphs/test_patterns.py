"""Counts of small patterns: compiled, plain, and by trying every choice of nodes."""

from __future__ import annotations

from itertools import pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import PolicyError
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.kernels.subgraph_counts import (
    by_degree,
    four_cliques,
    four_cycles,
    pays_off,
    plain_four_cliques,
    plain_four_cycles,
    plain_shared_neighbours,
    plain_triangles,
    shared_neighbours,
    triangles,
)
from sfumato.kinds.graphs.subgraph_counts import PatternCounts
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern

GRAPHS = st.builds(
    lambda n, p, seed: Graph.from_networkx(nx.gnp_random_graph(n, p, seed=seed)),
    st.integers(2, 30),
    st.floats(0.05, 0.95),
    st.integers(0, 1000),
)


@pytest.mark.twin(of=[triangles, four_cycles, four_cliques, shared_neighbours])
@given(GRAPHS)
@settings(max_examples=40, deadline=None)
def test_kernels_and_plain_twins_agree(graph):
    starts, neighbours = by_degree(graph.starts, graph.neighbours)
    at_node, at_slot = triangles(starts, neighbours)
    plain_node, plain_edge = plain_triangles(starts, neighbours)
    assert at_node.tolist() == plain_node.tolist()
    assert sorted(at_slot[at_slot > 0].tolist()) == sorted(plain_edge[plain_edge > 0].tolist())
    assert four_cycles(starts, neighbours) == plain_four_cycles(starts, neighbours)
    assert four_cliques(starts, neighbours) == plain_four_cliques(starts, neighbours)
    ours, theirs = shared_neighbours(starts, neighbours), plain_shared_neighbours(starts, neighbours)
    assert ours[0].tolist() == theirs[0].tolist()
    assert ours[1:] == theirs[1:]


def plain_by_degree(graph):
    """The lists of neighbours after renumbering, people with few ties first."""
    order = sorted(range(graph.nodes), key=lambda node: graph.degrees[node])
    return [sorted(order.index(other) for other in graph.neighbours_of(node).tolist()) for node in order]


@pytest.mark.twin(of=[by_degree])
def test_renumbering_by_degree_keeps_the_graph():
    graph = Graph.from_networkx(nx.barabasi_albert_graph(40, 3, seed=1))
    starts, neighbours = by_degree(graph.starts, graph.neighbours)
    assert [neighbours[a:b].tolist() for a, b in pairwise(starts)] == plain_by_degree(graph)
    assert np.diff(starts).tolist() == sorted(graph.degrees.tolist())
    assert all((np.diff(neighbours[starts[v] : starts[v + 1]]) > 0).all() for v in range(40))


@pytest.mark.parametrize("name", SubgraphPattern.names())
@pytest.mark.parametrize("density", [0.3, 0.8])
def test_maps_are_counted_as_by_trying_all_choices(name, density):
    drawn = nx.gnp_random_graph(8, density, seed=3)
    pattern = SubgraphPattern.named(name)
    counts = PatternCounts(Graph.from_networkx(drawn))
    tried = sum(all(drawn.has_edge(m[a], m[b]) for a, b in pattern.ties) for m in permutations(range(8), pattern.nodes))
    assert counts.maps(pattern) == tried
    assert counts.copies(pattern) * pattern.symmetries == tried


def test_crowded_and_sparse_graphs_take_different_ways_to_the_same_counts():
    graph = Graph.from_networkx(nx.gnp_random_graph(120, 0.5, seed=4))
    assert pays_off(graph.degrees)
    crowded = PatternCounts(graph)
    starts, neighbours = by_degree(graph.starts, graph.neighbours)
    at_node, at_edge = triangles(starts, neighbours)
    assert crowded.copies(SubgraphPattern.named("triangle")) == at_node.sum() // 3
    assert crowded.copies(SubgraphPattern.named("diamond")) == (at_edge * (at_edge - 1) // 2).sum()
    assert crowded.copies(SubgraphPattern.named("square")) == four_cycles(starts, neighbours)
    assert not pays_off(np.full(20_000, 8))


def test_an_unknown_pattern_is_named():
    with pytest.raises(PolicyError, match="did you mean 'triangle'"):
        SubgraphPattern.named("triangel")
