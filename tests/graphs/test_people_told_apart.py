"""degree-attack and neighbourhood against the best guess over all flips of small graphs, and on nodes drawn from real
flips."""

from collections import defaultdict
from itertools import combinations, product

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.models.degree_attack import DegreeAttack, distinguishing_success
from sfumato.models.neighbourhood_attack import NeighbourhoodAttackModel, majority_success
from sfumato.policy.policy import Policy


def best_guess(nodes, edges, mu, seen):
    """Over all flips: nodes 0 and 1 are published in either order; the outsider sees what `seen` says and guesses the
    order."""
    pairs = list(combinations(range(nodes), 2))
    law = defaultdict(lambda: [0.0, 0.0])
    for flips in product([0, 1], repeat=len(pairs)):
        chance = float(np.prod([mu if flip else 1 - mu for flip in flips]))
        tied = {pair for pair, flip in zip(pairs, flips, strict=True) if (pair in edges) != bool(flip)}
        law[seen(tied, 0, 1)][0] += chance / 2
        law[seen(tied, 1, 0)][1] += chance / 2
    return sum(max(both) for both in law.values())


def numbers_of_ties(tied, one, two):
    count = [sum(node in pair for pair in tied) for node in (one, two)]
    return (*count, (min(one, two), max(one, two)) in tied)


def ties_to(known):
    def seen(tied, one, two):
        return tuple(tuple((min(node, other), max(node, other)) in tied for other in known) for node in (one, two))

    return seen


@pytest.mark.parametrize("mu", [0.05, 0.2, 0.4])
@pytest.mark.parametrize(
    ("edges", "apart"),
    [
        ({(0, 2)}, 1),
        ({(0, 1), (0, 2), (0, 3)}, 2),
        ({(0, 2), (0, 3), (0, 4)}, 3),
        ({(0, 1), (0, 2), (0, 3), (1, 4), (3, 4)}, 1),
        ({(0, 2), (0, 3), (1, 2), (2, 3)}, 1),
    ],
)
def test_best_guess_from_numbers_of_ties_over_all_flips(edges, apart, mu):
    assert distinguishing_success(apart, 3, mu) == pytest.approx(best_guess(5, edges, mu, numbers_of_ties), abs=1e-12)


@pytest.mark.parametrize("mu", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("known", [1, 2])
def test_best_guess_from_known_people_over_all_flips(known, mu):
    """People who differ in every known tie are the worst case; others are told apart less often."""
    friends = tuple(range(2, 2 + known))
    worst = best_guess(4, {(0, friend) for friend in friends}, mu, ties_to(friends))
    assert majority_success(known, mu) == pytest.approx(worst, abs=1e-12)
    for edges in ({(0, 2)}, {(0, 2), (1, 2)}, {(0, 2), (1, 3)}, set()):
        assert best_guess(4, edges, mu, ties_to(friends)) <= majority_success(known, mu) + 1e-12


def test_several_publications_add_up_to_a_bound():
    """Two publications of one pair each: four pairs, and the best guess over all of them."""
    one, two, law = 0.2, 0.35, defaultdict(lambda: [0.0, 0.0])
    for flips in product([0, 1], repeat=4):
        chance = np.prod([mu if flip else 1 - mu for flip, mu in zip(flips, (one, one, two, two), strict=True)])
        x, y = (flips[0], flips[2]), (1 - flips[1], 1 - flips[3])
        law[x, y][0] += chance / 2
        law[y, x][1] += chance / 2
    exact = sum(max(both) for both in law.values())
    bound = DegreeAttack(apart=1, success_at_most=0.99).success(
        EdgeChannel.symmetric(one), 3, [EdgeChannel.symmetric(two)]
    )
    assert exact <= bound + 1e-12
    assert bound < 1.0


def test_guesses_on_flipped_graphs_come_out_as_promised():
    """A hub with 30 ties beside one with 20, flipped a thousand times: as often as computed, within five standard
    errors."""
    pairs = [(0, other) for other in range(2, 32)] + [(1, other) for other in range(2, 22)]
    graph, flip = Graph.from_pairs(*map(np.array, zip(*pairs, strict=True))), EdgeChannel.symmetric(0.2)
    right = 0.0
    for seed in range(1000):
        degrees = flip_edges_keeping_names(graph, flip, Randomness(seed=seed)).degrees
        right += 1.0 if degrees[0] > degrees[1] else 0.5 * (degrees[0] == degrees[1])
    wanted = distinguishing_success(10, graph.nodes - 2, 0.2)
    assert abs(right / 1000 - wanted) < 5 * (wanted * (1 - wanted) / 1000) ** 0.5


def test_a_flip_in_one_direction_is_not_trusted():
    lost = EdgeChannel(0.3, 0.001)
    for model in (DegreeAttack(apart=1, success_at_most=0.9), NeighbourhoodAttackModel(known=1, success_at_most=0.9)):
        assert not model.holds(lost, 1000)
        assert model.level(lost, 1000)["success_at_most"] == 1.0


@pytest.mark.parametrize(
    "model",
    [{"degree-attack": {"apart": 2, "success_at_most": 0.7}}, {"neighbourhood": {"known": 2, "success_at_most": 0.8}}],
)
def test_the_derived_flip_is_the_smallest_that_holds_and_is_certified(model):
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [model], "method": {"edge-perturbation": {}}}
    policy = Policy.parse(tree)
    claim = policy.claims[0].model
    pairs = [(i, (i + step) % 40) for i in range(40) for step in (1, 2, 5)]
    made = sf.publish(policy, data=Graph.from_pairs(*map(np.array, zip(*pairs, strict=True))))
    mu = made.release.form.flip.delete
    assert claim.holds(EdgeChannel.symmetric(mu), 40)
    assert not claim.holds(EdgeChannel.symmetric(mu - 1e-4), 40)
    finding = next(found for found in made.findings if found.model == claim.name)
    assert finding.holds and finding.achieved["success_at_most"] <= claim.success_at_most


def test_what_cannot_be_hidden_is_refused():
    tree = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": 0.01}}}
    policy = Policy.parse(tree | {"protect": [{"neighbourhood": {"known": 5, "success_at_most": 0.6}}]})
    with pytest.raises(Infeasible, match="does not withstand"):
        sf.publish(policy, data=Graph.from_pairs([0, 1, 2], [1, 2, 3]))
