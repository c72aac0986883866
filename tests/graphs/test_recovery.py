"""Recovery: unbiased, with the standard error it claims, by going through every graph the flip could have published."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges, flip_edges_keeping_names
from sfumato.kinds.graphs.recovery import DegreeLaw, found_modularity, halves, modularity, recover
from sfumato.kinds.graphs.subgraph_counts import PatternCounts, Unflipped, covariance
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern

NODES = 5
PAIRS = list(combinations(range(NODES), 2))
ORIGINAL = Graph.from_pairs([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], NODES)
FLIPS = [EdgeChannel.symmetric(0.2), EdgeChannel(0.3, 0.1)]


@cache
def every_graph():
    """All 1024 graphs on five nodes, alike ones together: which pairs are tied in each, and the patterns in the first
    of them."""
    outcomes = np.array(list(product((False, True), repeat=len(PAIRS))))
    place = {pair: number for number, pair in enumerate(PAIRS)}
    renamed = [[place[min(p[a], p[b]), max(p[a], p[b])] for a, b in PAIRS] for p in permutations(range(NODES))]
    least = np.min([outcomes[:, order] @ (1 << np.arange(len(PAIRS))) for order in renamed], axis=0)
    alike = [outcomes[least == number] for number in np.unique(least)]
    assert len(alike) == 34  # graphs on five nodes that are not the same under other names
    return [(members, PatternCounts(drawn(members[0]))) for members in alike]


def drawn(outcome):
    kept = [pair for pair, there in zip(PAIRS, outcome, strict=True) if there]
    return Graph.from_pairs([a for a, _ in kept], [b for _, b in kept], NODES)


def every_publication(flip):
    """All graphs, with the probability that the flip publishes them or one that is alike."""
    tied = ORIGINAL.has_edges([a for a, _ in PAIRS], [b for _, b in PAIRS])
    present = np.where(tied, 1 - flip.delete, flip.add)
    for members, counts in every_graph():
        yield float(np.where(members, present, 1 - present).prod(axis=1).sum()), counts


def test_patterns_are_counted_alike_in_graphs_that_are_alike():
    """On the last of those under other names, which is what lets the first stand for all of them here."""
    named = [SubgraphPattern.named(name) for name in SubgraphPattern.names()]
    for members, counts in every_graph():
        other = PatternCounts(drawn(members[-1]))
        assert [other.copies(pattern) for pattern in named] == [counts.copies(pattern) for pattern in named]


@pytest.fixture(scope="module", params=FLIPS, ids=["symmetric", "asymmetric"])
def publications(request):
    """The flip, and of every graph its probability and what is found out from it."""
    return request.param, [
        (chance, Unflipped(counts, request.param)) for chance, counts in every_publication(request.param)
    ]


def test_every_pattern_is_recovered_without_bias(publications):
    _, outcomes = publications
    true = PatternCounts(ORIGINAL)
    named = [SubgraphPattern.named(name) for name in SubgraphPattern.names()]
    mean = np.zeros(len(named))
    for chance, before in outcomes:
        mean += chance * np.array([float(before.copies(pattern)) for pattern in named])
    assert mean == pytest.approx([float(true.copies(pattern)) for pattern in named], abs=1e-9)


def test_open_triads_are_recovered_without_bias(publications):
    _, outcomes = publications
    wedge = SubgraphPattern.named("wedge")
    open_triads = sum(nx.subgraph(ORIGINAL.to_networkx(), three).size() == 2 for three in combinations(range(NODES), 3))
    mean = sum(chance * float(before.copies(wedge, exactly=True)) for chance, before in outcomes)
    assert mean == pytest.approx(open_triads)


def test_closed_form_covariances_are_the_true_ones_and_are_estimated_without_bias(publications):
    flip, outcomes = publications
    patterns = [SubgraphPattern.named(name) for name in ("edge", "wedge", "triangle")]
    values = np.array([[float(before.copies(p)) for p in patterns] for _, before in outcomes])
    weights = np.array([chance for chance, _ in outcomes])
    truth = np.cov(values.T, aweights=weights, ddof=0)
    exact = PatternCounts(ORIGINAL).maps
    closed = np.array([[float(covariance(one, other, exact, flip)) for other in patterns] for one in patterns])
    assert closed == pytest.approx(truth, rel=1e-9)
    triangle = patterns[2]
    estimated = sum(chance * float(covariance(triangle, triangle, before.maps, flip)) for chance, before in outcomes)
    assert estimated == pytest.approx(truth[2, 2], rel=1e-9)


def test_the_papers_triangle_and_triad_equations_are_the_same_estimates():
    """Eqs. 4.8 and 4.9 as printed, on a drawn graph."""
    mu = 0.1
    graph = Graph.from_networkx(nx.gnp_random_graph(12, 0.4, seed=2))
    drawn = graph.to_networkx()
    sizes = [nx.subgraph(drawn, three).size() for three in combinations(range(12), 3)]
    d, i, x, t = (sizes.count(number) for number in range(4))
    scale = -1 / (-1 + 2 * mu) ** 3
    tri = (
        i * mu**2
        - d * mu**3
        - i * mu**3
        + t
        - 3 * mu * t
        + 3 * mu**2 * t
        - mu**3 * t
        - mu * x
        + 2 * mu**2 * x
        - mu**3 * x
    )
    tri *= scale
    opened = -2 * i * mu + 3 * d * mu**2 + 4 * i * mu**2 - 3 * d * mu**3 - 3 * i * mu**3
    opened += -3 * mu * t + 6 * mu**2 * t - 3 * mu**3 * t + x - 3 * mu * x + 5 * mu**2 * x - 3 * mu**3 * x
    opened *= scale
    found = sf.recover(graph, mu)
    assert found["triangles"].estimate == pytest.approx(tri)
    assert found["open_triads"].estimate == pytest.approx(opened)
    assert found["transitivity"].estimate == pytest.approx(3 * tri / (3 * tri + opened))


def test_the_symmetric_triangle_error_is_the_closed_form_of_the_notes():
    graph = Graph.from_networkx(nx.gnp_random_graph(30, 0.2, seed=5))
    flip, n, h = EdgeChannel.symmetric(0.05), 30, graph.size
    v = flip.variance_with_edge
    matrix = nx.to_numpy_array(graph.to_networkx())
    shared = np.triu(matrix @ matrix, 1)
    triangle = SubgraphPattern.named("triangle")
    closed = math.comb(n, 3) * v**3 + h * (n - 2) * v**2 + v * (shared**2).sum()
    assert float(covariance(triangle, triangle, PatternCounts(graph).maps, flip)) == pytest.approx(closed)


def test_without_a_flip_everything_is_what_networkx_says():
    club = nx.karate_club_graph()
    parts = [v % 3 for v in range(34)]
    found = sf.recover(club, 0.0, partition=parts, patterns=["square", "clique"])
    groups = [{v for v in range(34) if v % 3 == part} for part in range(3)]
    assert found["density"].estimate == pytest.approx(nx.density(club))
    assert found["transitivity"].estimate == pytest.approx(nx.transitivity(club))
    assert found["triangles"].estimate == sum(nx.triangles(club).values()) / 3
    assert found["modularity"].estimate == pytest.approx(nx.community.modularity(club, groups, weight=None))
    assert found["clique"].estimate == sum(len(c) == 4 for c in nx.enumerate_all_cliques(club))
    assert found.degrees.tolist() == [float(club.degree(v)) for v in range(34)]
    assert found.distribution is not None
    assert found.distribution.distance(Graph.from_networkx(club).degrees) == pytest.approx(0, abs=1e-12)
    assert all(figure.standard_error == 0 for figure in found.values())


def test_modularity_errs_as_it_says_and_the_printed_equations_do_not():
    drawn = nx.planted_partition_graph(4, 40, 0.3, 0.03, seed=7)
    graph, parts, flip = Graph.from_networkx(drawn), np.repeat(np.arange(4), 40), EdgeChannel.symmetric(0.05)
    true = nx.community.modularity(drawn, [set(np.flatnonzero(parts == p).tolist()) for p in range(4)])
    runs = [modularity(flip_edges_keeping_names(graph, flip, Randomness(seed=s)), flip, parts) for s in range(300)]
    values, errors = np.array(runs).T
    assert values.mean() == pytest.approx(true, abs=4 * values.std() / math.sqrt(300) + 0.003)
    assert errors.mean() == pytest.approx(values.std(), rel=0.15)
    inside_as_printed = (2 * 780 * 0.05 - (40**2 + 40) * 0.05) / (2 - 0.2)
    assert abs(inside_as_printed) > 1  # Eq. 4.12 does not vanish on pure noise, z² − z does
    inside_as_corrected = (2 * 780 * 0.05 - (40**2 - 40) * 0.05) / (2 - 0.2)
    assert inside_as_corrected == pytest.approx(0)


def test_modularity_under_an_asymmetric_flip_errs_as_it_says():
    drawn = nx.planted_partition_graph(3, 40, 0.3, 0.05, seed=8)
    graph, parts, flip = Graph.from_networkx(drawn), np.repeat(np.arange(3), 40), EdgeChannel(0.3, 0.02)
    runs = [modularity(flip_edges_keeping_names(graph, flip, Randomness(seed=s)), flip, parts) for s in range(300)]
    values, errors = np.array(runs).T
    assert errors.mean() == pytest.approx(values.std(), rel=0.15)


def test_communities_of_pure_noise_are_not_found():
    """Without held-out judging a split of noise scores far above zero."""
    graph = Graph.from_networkx(nx.gnp_random_graph(400, 0.03, seed=9))
    flip = EdgeChannel.symmetric(0.1)
    scores = []
    for seed in range(6):
        value, error = found_modularity(flip_edges_keeping_names(graph, flip, Randomness(seed=seed)), flip)
        scores.append(value / error)
    assert abs(np.mean(scores)) < 2.5
    finding, judging = halves(400)
    both = finding.times(np.ones(400)) + judging.times(np.ones(400))
    assert both.tolist() == [399.0] * 400


def test_four_person_errors_cover_the_truth():
    graph = Graph.from_networkx(nx.powerlaw_cluster_graph(300, 4, 0.5, seed=3))
    flip, names = EdgeChannel.symmetric(0.01), ["square", "diamond", "star", "path"]
    true = sf.recover(graph, 0.0, patterns=names, distribution=False)
    off = []
    for seed in range(12):
        found = sf.recover(
            flip_edges_keeping_names(graph, flip, Randomness(seed=100 + seed)), flip, patterns=names, distribution=False
        )
        off += [(found[name].estimate - true[name].estimate) / found[name].standard_error for name in names]
    assert np.abs(off).max() < 5
    assert 0.3 < np.std(off) < 1.5


def test_the_degree_distribution_beats_the_histogram_of_estimates():
    graph = Graph.from_networkx(nx.barabasi_albert_graph(4000, 3, seed=1))
    mu = 2e-3
    published = flip_edges(graph, EdgeChannel.symmetric(mu), Randomness(seed=1))
    law = DegreeLaw.fit(published.degrees, EdgeChannel.symmetric(mu))
    rounded = np.clip(np.rint((published.degrees - 3999 * mu) / (1 - 2 * mu)), 0, None).astype(np.int64)
    naive = DegreeLaw(np.bincount(rounded) / 4000, np.zeros(1))
    assert law.share.sum() == pytest.approx(1)
    assert law.distance(graph.degrees) < naive.distance(graph.degrees) / 2
    assert (law.standard_error >= 0).all()


def test_rational_algebra_does_not_cancel_away():
    """A graph of nearly four million people: floats would lose the triangles among C(N, 3)."""
    graph = Graph.from_pairs([0, 1, 2], [1, 2, 0], 3_800_000)
    before = Unflipped(PatternCounts(graph), EdgeChannel.symmetric(1e-9))
    flat = before.copies(SubgraphPattern.named("triangle"))
    assert isinstance(flat, Fraction)
    assert float(flat) == pytest.approx(1.0, abs=0.1)


def test_an_estimated_variance_below_zero_gives_no_figure():
    """Nine people at μ = 0.37: a certificate said triangles −22.5 ± 0.0."""
    flip = EdgeChannel.symmetric(0.37)
    graph = Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=1))
    nothing = 0
    for seed in range(200):
        found = recover(flip_edges_keeping_names(graph, flip, Randomness(seed=seed)), flip, distribution=False)
        assert found["edges"].standard_error > 0
        for name, figure in found.items():
            assert figure.standard_error != 0, name
            assert math.isnan(figure.estimate) == math.isnan(figure.standard_error), name
        told = found.to_json()["triangles"]
        nothing += told["standard_error"] is None
        assert (told["estimate"] is None) == (told["standard_error"] is None)
    assert 0 < nothing < 100
