"""A graph that is published again and again: the law of all flips together, by listing every outcome, and what is
refused."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible, LedgerError, PolicyError
from sfumato.data.edge_channel import EdgeChannel, epsilon_of
from sfumato.kinds.graphs.planted_account_attacks import Structural, Walk
from sfumato.models.edge_privacy import EdgePrivacy
from sfumato.models.structural_attack import StructuralAttack, _power, needed_flip, path_bound, success_bound
from sfumato.workflow.forecast import forecast_publish
from tests.secret import secret

CLUB = nx.powerlaw_cluster_graph(400, 5, 0.4, seed=2)
ATTACK = {"structural-attack": {"planted": 12, "success_at_most": 0.2}}


def policy(*protect, method="edge-perturbation", **parameters):
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": list(protect), "method": {method: parameters}}
    return sf.Policy.parse(tree)


def chance(flip, tie, seen):
    return ((1 - flip.delete) if seen else flip.delete) if tie else (flip.add if seen else 1 - flip.add)


FLIPS = [
    [EdgeChannel.symmetric(0.1), EdgeChannel.symmetric(0.3)],
    [EdgeChannel(0.2, 0.05), EdgeChannel(0.1, 0.3), EdgeChannel.symmetric(0.25)],
]


@pytest.mark.parametrize("flips", FLIPS)
def test_the_odds_of_a_tie_change_by_exactly_what_is_said(flips):
    outcomes = list(product((False, True), repeat=len(flips)))
    laws = [
        {seen: math.prod(chance(flip, tie, one) for flip, one in zip(flips, seen, strict=True)) for seen in outcomes}
        for tie in (False, True)
    ]
    worst = max(abs(math.log(laws[1][seen] / laws[0][seen])) for seen in outcomes)
    assert epsilon_of(flips) == pytest.approx(worst)
    assert EdgePrivacy(epsilon=worst + 1e-9).holds(flips[0], 10, flips[1:])
    assert not EdgePrivacy(epsilon=worst - 1e-6).holds(flips[0], 10, flips[1:])


@pytest.mark.parametrize("density", [0.1, 0.5])
def test_the_best_guess_of_planted_accounts_stays_below_the_bound(density):
    """Even for whoever knows who is who in both: the pairs of both releases are one observation with four outcomes
    each."""
    nodes, accounts, ties = 4, 3, [(0, 1), (1, 2)]
    flips = FLIPS[0]
    pairs = list(combinations(range(nodes), 2))
    places = list(permutations(range(nodes), accounts))
    both = np.array([_seen(place, ties, pairs, flips, density) for place in places])
    assert both.sum(axis=1) == pytest.approx(np.ones(len(places)))
    best = both.max(axis=0).sum() / len(places)
    assert best <= success_bound(flips[0], accounts, nodes, flips[1:]) + 1e-12
    alone = max(
        np.array([_seen(place, ties, pairs, [flip], density) for place in places]).max(axis=0).sum() for flip in flips
    )
    assert best > 1.05 * alone / len(places)  # two publications do say more than one


def _tied(place, ties, pair):
    inside = [place.index(node) for node in pair if node in place]
    return None if len(inside) < 2 else tuple(sorted(inside)) in ties


def _seen(place, ties, pairs, flips, density):
    """The chance of everything that can be seen; pairs outside the accounts are tied by chance, the same in all
    publications."""
    outcomes = list(product((False, True), repeat=len(flips)))
    law = {
        t: np.array([math.prod(chance(f, t, one) for f, one in zip(flips, seen, strict=True)) for seen in outcomes])
        for t in (0, 1)
    }
    found = np.ones(1)
    for pair in pairs:
        tie = _tied(place, ties, pair)
        mine = density * law[1] + (1 - density) * law[0] if tie is None else law[int(tie)]
        found = np.multiply.outer(found, mine).reshape(-1)
    return found


def test_the_power_of_two_counts_is_that_of_the_best_test():
    from scipy.optimize import linprog

    chances, backgrounds = (0.8, 0.6), (0.2, 0.3)
    outcomes = list(product((0, 1), repeat=6))  # three pairs in each of two releases
    hit, noise = (
        np.array([math.prod(p[i // 3] if bit else 1 - p[i // 3] for i, bit in enumerate(bits)) for bits in outcomes])
        for p in (chances, backgrounds)
    )
    for size in (1e-3, 0.05, 0.4):
        best = linprog(-hit, A_ub=noise[None, :], b_ub=[size], bounds=(0, 1))
        assert _power([3, 3], chances, backgrounds, -math.log(size)) == pytest.approx(-best.fun, rel=1e-6)


def test_many_different_flips_are_bounded_from_above():
    flips = [EdgeChannel.symmetric(0.3 + 0.01 * place) for place in range(6)]
    many = success_bound(flips[0], 20, 5000, flips[1:])
    fewer = success_bound(flips[0], 20, 5000, flips[1:2])
    assert fewer < many <= success_bound(flips[0], 20, 5000, [flips[0]] * 5)
    assert path_bound(flips[0], 20, flips[1:]) == pytest.approx((1 - math.prod(f.delete for f in flips)) ** 19)


def test_the_flip_that_is_needed_beside_others_is_the_least_that_holds():
    before = [EdgeChannel.symmetric(0.35)]
    for against in ("any", "ties", "paths"):
        model = StructuralAttack(planted=12, success_at_most=0.3, against=against)
        mu = needed_flip(12, 0.3, 400, against=against, beside=before)
        assert model.holds(EdgeChannel.symmetric(mu), 400, before)
        assert not model.holds(EdgeChannel.symmetric(mu - 2e-4), 400, before)


def test_the_second_publication_flips_more_and_the_third_is_refused(tmp_path):
    book = tmp_path / "club.ledger"
    first = sf.publish(policy(ATTACK, mu=0.3), data=CLUB, ledger=book, new_ledger=True, seed=secret(1))
    first.write(tmp_path / "r1")
    alone = sf.publish(policy(ATTACK), data=CLUB, seed=secret(2)).release.form.mu
    second = sf.publish(policy(ATTACK), data=CLUB, ledger=book, seed=secret(2))
    second.write(tmp_path / "r2")
    assert second.release.form.mu > alone
    flips = [EdgeChannel.symmetric(one.release.form.mu) for one in (first, second)]
    assert second.findings[0].achieved["by_paths"] == pytest.approx(path_bound(flips[1], 12, flips[:1]), abs=1e-5)
    assert second.findings[0].holds
    assert sf.verify(tmp_path / "r2", ledger=book, original=CLUB).holds
    assert "after each release" in (tmp_path / "r2.private.html").read_text(encoding="utf-8")
    with pytest.raises(Infeasible, match="2 earlier release"):
        sf.publish(policy(ATTACK), data=CLUB, ledger=book, seed=secret(3))


def test_an_earlier_promise_still_binds(tmp_path):
    book = tmp_path / "club.ledger"
    strict, loose = {"edge-privacy": {"epsilon": 1.5}}, {"edge-privacy": {"epsilon": 4}}
    sf.publish(policy(strict, mu=0.3), data=CLUB, ledger=book, new_ledger=True, seed=secret(1)).write(tmp_path / "r1")
    second = sf.publish(policy(loose), data=CLUB, ledger=book, seed=secret(2))
    assert epsilon_of([EdgeChannel.symmetric(0.3), EdgeChannel.symmetric(second.release.form.mu)]) <= 1.5
    with pytest.raises(Infeasible, match="does not withstand"):
        sf.publish(policy(loose, mu=0.1), data=CLUB, ledger=book, seed=secret(2))


def test_what_cannot_go_on_is_refused_before_data_moves(tmp_path):
    book = tmp_path / "club.ledger"
    sf.publish(policy(ATTACK, mu=0.21), data=CLUB, ledger=book, new_ledger=True, seed=secret(1)).write(tmp_path / "r1")
    nx.write_edgelist(CLUB, tmp_path / "club.tsv", data=False, delimiter="\t")
    tree = {"version": 1, "data": {"kind": "graph", "source": str(tmp_path / "club.tsv")}, "protect": [ATTACK]}
    with pytest.raises(PolicyError, match="leave no flip"):
        forecast_publish(sf.Policy.parse(tree), ledger=book)
    with pytest.raises(PolicyError, match="in the next; publish without a ledger"):
        forecast_publish(policy({"k-degree-anonymity": {"k": 3}}, method="degree-anonymity"), ledger=book)
    table = {"version": 1, "columns": {"name": "identifier", "age": "quasi-identifier"}, "key": "name"}
    with pytest.raises(LedgerError, match="ledger of its own"):
        forecast_publish(sf.Policy.parse(table | {"protect": [{"k-anonymity": {"k": 2}}]}), ledger=book)


@pytest.mark.parametrize(("attack", "more"), [(Structural, {"beam": 500}), (Walk, {})])
def test_the_attack_on_two_publications_stays_within_what_the_certificate_says(attack, more, tmp_path):
    nx.write_edgelist(CLUB, tmp_path / "club.tsv", data=False, delimiter="\t")
    played = {
        "target": str(tmp_path / "club.tsv"),
        "planted": 10,
        "victims": 4,
        "trials": 8,
        "seed": 7,
        "releases": 2,
    } | more
    loud = attack(mu=0.002, **played).run()
    assert loud["success_rate"] > 0.5  # the adversary can find what is hardly hidden
    flip = EdgeChannel.symmetric(0.36)
    quiet = attack(mu=0.36, **played).run()
    assert quiet["bound_for_paths"] == pytest.approx(path_bound(flip, 10, [flip])) == pytest.approx(0.3, abs=0.02)
    assert quiet["confidence_95"][0] <= max(quiet["bound_for_paths"], quiet["bound_for_ties"])
    assert quiet["success_rate"] < loud["success_rate"]
