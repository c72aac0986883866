"""Flipping by skipping: every pair with the right probability, independently, whatever the size."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy

from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import chosen, flip_edges, flip_edges_keeping_names, merged, pair_codes

PATH = Graph.from_pairs([0, 1], [1, 2], 4)


@pytest.mark.parametrize("flip", [EdgeChannel.symmetric(0.2), EdgeChannel(0.4, 0.05)])
def test_all_outcomes_come_with_their_probability(flip):
    pairs = list(combinations(range(4), 2))
    edges = {(0, 1), (1, 2)}
    seen = np.zeros(64)
    for seed in range(2500):
        published = flip_edges_keeping_names(PATH, flip, Randomness(seed=seed))
        present = published.has_edges([a for a, _ in pairs], [b for _, b in pairs])
        seen[int((present << np.arange(6)).sum())] += 1
    wanted = np.ones(64)
    for outcome in range(64):
        for bit, pair in enumerate(pairs):
            there = outcome >> bit & 1
            chance = 1 - flip.delete if pair in edges else flip.add
            wanted[outcome] *= chance if there else 1 - chance
    often = wanted > 3e-3
    observed, expected = np.append(seen[often], seen[~often].sum()), np.append(wanted[often], wanted[~often].sum())
    assert scipy.stats.chisquare(observed, expected * 2500).pvalue > 1e-4


def test_skipping_chooses_each_place_equally_often():
    counts = np.zeros(50)
    for seed in range(1500):
        counts[chosen(50, 0.1, Randomness(seed=seed))] += 1
    assert scipy.stats.chisquare(counts).pvalue > 1e-4
    assert counts.mean() == pytest.approx(150, rel=0.06)


@pytest.mark.parametrize("nodes", [2, 3, 7, 1000, 3_000_000])
def test_pair_numbers_become_pairs_and_back(nodes):
    last = nodes * (nodes - 1) // 2 - 1
    index = np.unique(
        np.concatenate([np.arange(min(last + 1, 2000)), np.linspace(0, last, 999).astype(np.int64), [last]])
    )
    low, high = np.divmod(pair_codes(index, nodes), nodes)
    assert (low < high).all()
    assert high.max() < nodes
    assert (low * (2 * nodes - low - 1) // 2 + high - low - 1 == index).all()


def test_merging_keeps_order():
    first, second = np.arange(0, 100, 2), np.array([1, 33, 97])
    assert merged(first, second).tolist() == sorted([*first.tolist(), *second.tolist()])
    assert merged(second, first).tolist() == sorted([*first.tolist(), *second.tolist()])


def test_the_output_size_is_as_predicted_and_work_is_not_quadratic():
    graph = Graph.from_pairs(np.arange(199_999), np.arange(1, 200_000))
    published = flip_edges(graph, EdgeChannel.symmetric(1e-6), Randomness(seed=1))
    expected = EdgeChannel.symmetric(1e-6).expected_edges(graph.pairs, graph.size)
    assert abs(published.size - expected) < 6 * np.sqrt(graph.pairs * 1e-6)


def test_names_are_new_and_seeds_repeat():
    graph = Graph.from_pairs([0] * 30, range(1, 31), 40)
    one, again, other = (flip_edges(graph, EdgeChannel.symmetric(0.0), Randomness(seed=seed)) for seed in (1, 1, 2))
    assert (one.codes == again.codes).all()
    hubs = {
        int(np.argmax(flip_edges(graph, EdgeChannel.symmetric(0.0), Randomness(seed=seed)).degrees))
        for seed in range(20)
    }
    assert len(hubs) > 8
    assert other.size == one.size
