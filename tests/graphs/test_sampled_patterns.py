"""Patterns of five and six people: drawn copies against brute force, before and after flips, and errors that cover."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges
from sfumato.kinds.graphs.subgraph_counts import _maps, sampled_copies, tree_of
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern

LARGER = SubgraphPattern.larger_names()
GRAPH = nx.gnp_random_graph(8, 0.6, seed=3)


def copies(graph: nx.Graph, pattern: SubgraphPattern) -> float:
    """All maps of the pattern's nodes, those that carry ties to ties, over its symmetries."""
    maps = sum(all(graph.has_edge(at[a], at[b]) for a, b in pattern.ties) for at in permutations(graph, pattern.nodes))
    return maps / sum(pattern.renamed(order).ties == pattern.ties for order in permutations(range(pattern.nodes)))


@pytest.mark.parametrize("name", LARGER)
def test_without_a_flip_drawn_copies_are_those_counted(name: str) -> None:
    found = sampled_copies(
        Graph.from_networkx(GRAPH),
        SubgraphPattern.named(name),
        EdgeChannel.symmetric(0.0),
        np.random.default_rng(1),
        30_000,
    )
    assert abs(found.copies - copies(GRAPH, SubgraphPattern.named(name))) < 4.5 * found.error + 1e-9
    assert found.error < 0.1 * max(found.copies, 1)


@pytest.mark.parametrize("name", ["pentagon", "clique-of-5"])
def test_drawn_maps_have_the_chance_they_say(name: str) -> None:
    """Every map is drawn about as often as its chance, from a start and along the tree."""
    graph, pattern = Graph.from_pairs([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], 6), SubgraphPattern.named("path")
    people, density = _maps(graph, pattern, np.random.default_rng(2), 120_000)
    _, first, often = np.unique(people.T @ 6 ** np.arange(4), return_index=True, return_counts=True)
    common = often > 300
    assert common.sum() > 20
    expected = density[first[common]] * 120_000
    assert np.abs((often[common] - expected) / np.sqrt(expected)).max() < 5
    assert len(tree_of(SubgraphPattern.named(name))) == 5


def test_a_flip_is_undone_on_average() -> None:
    """The mean over flips of what is recovered is what was there, and the errors tell how far each is off."""
    town, flip = Graph.from_networkx(nx.gnp_random_graph(24, 0.45, seed=5)), EdgeChannel.symmetric(0.1)
    pattern = SubgraphPattern.named("pentagon")
    truth = sampled_copies(town, pattern, EdgeChannel.symmetric(0.0), np.random.default_rng(0), 30_000)
    found = [
        sampled_copies(
            flip_edges(town, flip, Randomness(seed=n)), pattern, flip, np.random.default_rng(n), 6_000
        ).copies
        for n in range(120)
    ]
    assert abs(np.mean(found) - truth.copies) < 4.5 * np.std(found) / np.sqrt(120) + 4.5 * truth.error


def test_recover_tells_larger_patterns_with_errors_that_cover() -> None:
    town, flip = Graph.from_networkx(nx.powerlaw_cluster_graph(60, 4, 0.6, seed=2)), EdgeChannel.symmetric(0.02)
    truth = sf.recover(town, 0.0, distribution=False, patterns=["bow-tie"])["bow-tie"]
    found = sf.recover(
        flip_edges(town, flip, Randomness(seed=3)), flip, distribution=False, patterns=["bow-tie", "square"]
    )
    assert abs(found["bow-tie"].estimate - truth.estimate) < 5 * found["bow-tie"].standard_error
    assert found["square"].standard_error > 0


def test_too_few_people_have_no_pattern() -> None:
    small = Graph.from_pairs([0, 1], [1, 2], 3)
    assert (
        sampled_copies(
            small, SubgraphPattern.named("pentagon"), EdgeChannel.symmetric(0.1), np.random.default_rng(1)
        ).copies
        == 0
    )
