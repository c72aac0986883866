"""Attacks against each way of publishing a graph: never above what is promised, and what is not promised is seen."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.methods.private_figures import (
    ladder_error,
    ladder_mechanism,
    ladder_rung,
    laplace_error,
    laplace_mechanism,
)
from sfumato.kinds.graphs.noise_attacks import DegreeSignatures, NeighbourhoodAttack, OneTie, alike, signatures, ties_to
from sfumato.models.neighbourhood_attack import majority_success
from tests.secret import secret


@pytest.fixture
def town(tmp_path):
    graph = nx.powerlaw_cluster_graph(120, 4, 0.5, seed=1)
    nx.write_edgelist(graph, tmp_path / "town.tsv", data=False, delimiter="\t")
    return str(tmp_path / "town.tsv")


@pytest.mark.parametrize("mu", [0.05, 0.3])
@pytest.mark.parametrize("whom", ["any", "hubs"])
def test_known_ties_tell_as_much_as_expected_and_no_more_than_promised(town, mu, whom):
    got = NeighbourhoodAttack(target=town, mu=mu, known=8, whom=whom, trials=24, seed=secret(1)).run()
    assert abs(got["beyond"]) < 4.5
    assert 0.5 <= got["expected"] <= got["promised"]
    assert got["told_apart"] <= got["promised"] + 0.02


@pytest.mark.parametrize("differ", [0, 1, 2, 3])
def test_the_expected_chance_of_a_pair_by_listing_all_flips(differ):
    """Two people who differ in so many known ties: every way to flip the 2 · differ pairs, most votes win, or a
    coin."""
    mu, right = 0.2, 0.0
    for flips in product((0, 1), repeat=2 * differ):
        votes = sum(1 - 2 * flip for flip in flips)
        weight = np.prod([mu if flip else 1 - mu for flip in flips])
        right += weight * (0.5 if votes == 0 else float(votes > 0))
    assert majority_success(differ, mu) == pytest.approx(right)


def test_ties_to_known_people_are_read_from_the_graph(town):
    graph = nx.read_edgelist(town, nodetype=str)
    read = Graph.from_networkx(graph)
    people, known = np.array([0, 5, 9]), np.array([3, 4])
    wanted = [[graph.has_edge(read.labels[a], read.labels[b]) for b in known] for a in people]
    assert ties_to(read, people, known).tolist() == wanted


def test_more_known_people_than_there_are_is_refused(town):
    with pytest.raises(PolicyError, match="cannot hold"):
        NeighbourhoodAttack(target=town, mu=0.1, known=200).run()


def test_the_ladder_and_the_noise_err_as_their_laws_say():
    source, drawn = Randomness(secret(2)), 1500
    for first, most, epsilon in ((2, 6, 1.0), (5, 20, 0.4)):
        away = np.array([abs(ladder_mechanism(100, first, most, epsilon, source) - 100) for _ in range(drawn)])
        assert abs(away.mean() - ladder_error(first, most, epsilon)) < 4.5 * away.std() / np.sqrt(drawn)
    pytest.importorskip("opendp", reason="noise needs OpenDP (extra 'privacy')")
    away = np.abs(laplace_mechanism([0] * drawn, 2, 0.5))
    assert abs(away.mean() - laplace_error(2, 0.5)) < 4.5 * away.std() / np.sqrt(drawn)


def test_exact_errors_by_adding_up_the_laws():
    chance = np.array([np.exp(-abs(k) * 0.7 / 2) for k in range(-400, 401)])
    assert laplace_error(2, 0.7) == pytest.approx((chance * np.abs(np.arange(-400, 401))).sum() / chance.sum())
    values = np.arange(-3000, 3001)
    weight = np.array([np.exp(-0.5 * ladder_rung(int(value), 0, 2, 5) / 2) for value in values])
    assert ladder_error(2, 5, 0.5) == pytest.approx((weight * np.abs(values)).sum() / weight.sum(), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_one_tie_is_guessed_no_more_often_than_epsilon_allows(town, epsilon):
    pytest.importorskip("opendp", reason="noise needs OpenDP (extra 'privacy')")
    got = OneTie(target=town, epsilon=epsilon, trials=100, seed=secret(3)).run()
    assert got["beyond"] < 4
    assert got["right"] > 0.5 or epsilon < 1  # 0.88 is promised at ε = 2


def test_numbers_of_ties_hide_and_those_of_friends_do_not(tmp_path):
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 4}}]}
    graph = nx.powerlaw_cluster_graph(150, 4, 0.5, seed=2)
    made = sf.publish(sf.Policy.parse(tree), data=graph, seed=secret(1))
    got = DegreeSignatures(target=str(made.write(tmp_path / "out", report=False))).run()
    assert got["fewest_by_ties"] >= 4 and got["found_by_ties"] <= 0.25
    assert got["alone_by_friends"] > 0.5  # not promised
    assert "degree-signatures" in {attack.name for attack in made.certificate.attacks}


def test_signatures_are_those_of_the_definition():
    graph = nx.gnp_random_graph(25, 0.2, seed=4)
    plain = [tuple(sorted(graph.degree(friend) for friend in graph[person])) for person in graph]
    often = alike(signatures(Graph.from_networkx(graph)))
    assert often.tolist() == [plain.count(row) for row in plain]
