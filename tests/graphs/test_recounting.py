"""Counts after a few edges have changed: around the edges, by whole matrices, and counted anew."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs import recovery
from sfumato.kinds.graphs.edge_flips import EdgeChange, flip_edges_keeping_names
from sfumato.kinds.graphs.kernels.subgraph_counts import changed_rings, changed_walks, plain_changed
from sfumato.kinds.graphs.subgraph_counts import PatternCounts, UpdatedCounts, update_counts
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern


def changes(count: int) -> Iterator[tuple[Graph, EdgeChange]]:
    """Graphs from thin to crowded, with few or many edges that go and come."""
    rng = np.random.default_rng(4)
    for number in range(count):
        nodes = int(rng.integers(2, 20))
        low, high = np.triu_indices(nodes, 1)
        tied = rng.random(len(low)) < rng.uniform(0.05, 0.95)
        graph = Graph.from_pairs(low[tied], high[tied], nodes)
        yield graph, EdgeChange.drawn(graph, EdgeChannel(*rng.choice([0.0, 0.1, 0.4], 2)), Randomness(number))


@pytest.mark.twin(of=[changed_walks, changed_rings])
def test_what_changes_equals_whole_matrices() -> None:
    for graph, change in changes(60):
        low, high = np.divmod(np.concatenate([change.lost, change.gained]), graph.nodes)
        given = (graph.starts, graph.neighbours, low, high, len(change.lost))
        assert (*changed_walks(*given), *changed_rings(*given)) == plain_changed(*given)


def test_every_pattern_is_counted_as_in_the_new_graph() -> None:
    for graph, change in changes(12):
        near, anew = UpdatedCounts(PatternCounts(graph), change), PatternCounts(change.applied(graph))
        assert near.degrees.tolist() == anew.degrees.tolist()
        for name in SubgraphPattern.names():
            assert near.copies(SubgraphPattern.named(name)) == anew.copies(SubgraphPattern.named(name)), name


def test_the_shorter_way_is_taken() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(2000, 4, seed=1))
    few = EdgeChange.drawn(graph, EdgeChannel.symmetric(1e-5), Randomness(1))
    many = EdgeChange.drawn(graph, EdgeChannel.symmetric(0.05), Randomness(1))
    assert isinstance(update_counts(PatternCounts(graph), few), UpdatedCounts)
    assert not isinstance(update_counts(PatternCounts(graph), many), UpdatedCounts)


def test_recovered_errors_are_the_same_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(300, 3, seed=2))
    names = ["square", "paw", "diamond", "clique", "path"]
    flip = EdgeChannel.symmetric(3e-4)
    fast = recovery.recover(graph, flip, patterns=names, distribution=False).to_json()
    monkeypatch.setattr(recovery, "update_counts", lambda before, change: PatternCounts(change.applied(before.graph)))
    assert recovery.recover(graph, flip, patterns=names, distribution=False).to_json() == fast


def test_a_change_applied_is_the_flip() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(50, 0.2, seed=3))
    flip = EdgeChannel(0.3, 0.1)
    change = EdgeChange.drawn(graph, flip, Randomness(5))
    assert change.applied(graph).codes.tolist() == flip_edges_keeping_names(graph, flip, Randomness(5)).codes.tolist()
    assert set(change.lost.tolist()) <= set(graph.codes.tolist())
    assert not set(change.gained.tolist()) & set(graph.codes.tolist())
