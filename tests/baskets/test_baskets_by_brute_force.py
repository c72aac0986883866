"""Small instances, everything enumerated: candidates by listing possible worlds, posteriors by listing all
assignments."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_baskets import random_sets

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table
from sfumato.kinds.baskets.evidence import Compatibility, fewest_matching_rows, pairs_compatible
from sfumato.kinds.baskets.methods.nonreciprocal import assignments, labels_to_suppress, ring_targets
from sfumato.kinds.baskets.metrics import count, true_count
from sfumato.kinds.baskets.published_baskets import PublishedBaskets, from_table
from tests.secret import secret
from tests.slow import SLOW

NAMES = ("a", "b", "c", "d", "e")
small_sets = st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=7)


@given(small_sets, small_sets, small_sets, st.integers(0, 3))
@settings(max_examples=150 if SLOW else 60, deadline=None)
def test_compatible_means_being_one_of_the_worlds(
    people: list[set[str]], bases: list[set[str]], doubts: list[set[str]], threshold: int
) -> None:
    rows = min(len(bases), len(doubts))
    original = Baskets.of([sorted(person) for person in people], names=NAMES)
    worlds = PublishedBaskets.of(
        [sorted(b) for b in bases[:rows]], [sorted(d) for d in doubts[:rows]], [threshold] * rows, names=NAMES
    )
    known = Compatibility.of(original, worlds)
    listed = [[original.set_of(i) in set(worlds.possible(j)) for j in range(rows)] for i in range(len(people))]
    assert known.candidates()[known.person].tolist() == [sum(row) for row in listed]
    pairs = np.array([(i, j) for i in range(len(people)) for j in range(rows)])
    assert pairs_compatible(original, worlds, pairs[:, 0], pairs[:, 1]).tolist() == [listed[i][j] for i, j in pairs]


@given(small_sets, small_sets, small_sets, st.integers(0, 2), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_few_items_by_listing_all_item_sets(
    people: list[set[str]], bases: list[set[str]], doubts: list[set[str]], threshold: int, m: int
) -> None:
    rows = min(len(bases), len(doubts))
    original = Baskets.of([sorted(person) for person in people], names=NAMES)
    worlds = PublishedBaskets.of(
        [sorted(b) for b in bases[:rows]], [sorted(d) for d in doubts[:rows]], [threshold] * rows, names=NAMES
    )
    least = fewest_matching_rows(original.sets, worlds.base, worlds.doubt, worlds.threshold, m)
    for i, person in enumerate(people):
        fits = [rows]
        for size in range(1, m + 1):
            for known in combinations(sorted(person), size):
                fits.append(sum(any(set(known) <= world for world in worlds.possible(j)) for j in range(rows)))
        assert least[i] == min(fits)


few_items = st.sets(st.sampled_from(NAMES), max_size=2)


@given(small_sets, small_sets, st.integers(0, 3), few_items, few_items)
@settings(max_examples=100, deadline=None)
def test_bounds_of_counts_by_listing_worlds(
    bases: list[set[str]], doubts: list[set[str]], threshold: int, present: set[str], absent: set[str]
) -> None:
    absent = absent - present
    rows = min(len(bases), len(doubts))
    worlds = PublishedBaskets.of(
        [sorted(b) for b in bases[:rows]], [sorted(d) for d in doubts[:rows]], [threshold] * rows, names=NAMES
    )
    answer = count(worlds, present=sorted(present), absent=sorted(absent))
    qualifies = lambda world: present <= world and not absent & world  # noqa: E731
    verdicts = [[qualifies(world) for world in worlds.possible(j)] for j in range(rows)]
    assert answer.high == sum(any(row) for row in verdicts)
    certain = sum(all(row) for row in verdicts)
    assert answer.low <= certain
    assert answer.low == certain or not all(present | absent)
    assert answer.low <= answer.estimate <= answer.high


def policy(k: int, extra: list[dict[str, object]] | None = None, **method: object) -> sf.Policy:
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": {"label": "sensitive"},
        "protect": [{"k-anonymity": {"k": k}}, *(extra or [])],
        "method": {"nonreciprocal": method},
    }
    return sf.Policy.parse(tree)


@pytest.mark.parametrize("order", ["window", "gray", "gray-tsp"])
@pytest.mark.parametrize("walk", ["truncated", "closed", "backtracking"])
@pytest.mark.parametrize(("count_", "k"), [(5, 2), (9, 3), (14, 4), (4, 4)])
def test_everybody_has_k_candidates_whatever_the_order_and_walk(order: str, walk: str, count_: int, k: int) -> None:
    rng = np.random.default_rng(count_ * k)
    sets = random_sets(rng, count_, 6)
    people = Baskets(sets, tuple("abcdef"), {"label": np.array([f"l{i % 5}" for i in range(count_)], dtype=object)})
    release = sf.publish(policy(k, order=order, walk=walk), data=people, seed=secret(count_)).release
    worlds = from_table(Table(release.parts["data"].table))
    for person in range(count_):
        fitting = [j for j in range(count_) if people.set_of(person) in set(worlds.possible(j))]
        assert len(fitting) >= k
    graph = release.trace.assignments
    assert graph.shape == (k, count_)
    for row in range(count_):
        assert len(set(graph[:, row].tolist())) == k
        assert all(people.set_of(int(who)) in set(worlds.possible(row)) for who in graph[:, row])


def draws(count_: int, degree: int, runs: int) -> dict[tuple[int, ...], float]:
    """The chance of each true assignment: k disjoint ones per run, one of them drawn uniformly."""
    chance: dict[tuple[int, ...], float] = defaultdict(float)
    for seed in range(runs):
        for owner in assignments(ring_targets(count_, degree), "truncated", Randomness(seed)):
            chance[tuple(owner.tolist())] += 1 / degree / runs
    return dict(chance)


def posteriors(
    count_: int, degree: int, most: int, labels: tuple[str, ...]
) -> list[tuple[tuple[str, ...], float, float]]:
    """For each release an outsider may see: the largest posterior of an edge, and of a label of a person.

    The outsider knows the ring, the program and which labels there are; every way to give them to people is equally
    likely."""
    chance, seen = draws(count_, degree, 60), defaultdict(list)
    ways = sorted(set(permutations(labels)))
    for given_labels in ways:
        for owner, probability in chance.items():
            published = [given_labels[who] for who in owner]
            codes = np.unique(published, return_inverse=True)[1]
            hidden = labels_to_suppress(codes, degree, most, 0)
            shown = tuple("" if gone else label for label, gone in zip(published, hidden, strict=True))
            seen[shown].append((probability / len(ways), owner, given_labels))
    found = []
    for shown, stories in seen.items():
        total = sum(weight for weight, _, _ in stories)
        edges, values = defaultdict(float), defaultdict(float)
        for weight, owner, given_labels in stories:
            for place, who in enumerate(owner):
                edges[who, place] += weight / total
            for who, label in enumerate(given_labels):
                values[who, label] += weight / total
        found.append((shown, max(edges.values()), max(values.values())))
    return found


@pytest.mark.parametrize("labels", [("x", "x", "y", "y", "z", "z"), ("x", "x", "x", "y", "z", "w")])
def test_an_outsider_who_knows_everything_but_the_draw_finds_nobody(labels: tuple[str, ...]) -> None:
    """The posterior of every edge is exactly 1/k in every release, withheld labels or not."""
    for _, edge, _ in posteriors(6, 3, 1, labels):
        assert edge == pytest.approx(1 / 3)


def test_labels_that_are_shown_are_guessed_no_better_than_one_in_l() -> None:
    results = posteriors(6, 3, 1, ("x", "x", "y", "y", "z", "z"))
    open_releases = [value for shown, _, value in results if "" not in shown]
    assert open_releases
    assert max(open_releases) <= 1 / 3 + 1e-9


def test_the_known_limit_of_withholding() -> None:
    """An outsider who reasons about *why* a label is withheld may be surer than 1/l: docs/explanation/limits.md says
    so."""
    results = posteriors(6, 3, 1, ("x", "x", "x", "y", "z", "w"))
    assert max(value for shown, _, value in results if "" in shown) > 1 / 3


def test_true_counts_lie_within_the_bounds() -> None:
    rng = np.random.default_rng(3)
    people = Baskets(random_sets(rng, 60, 6), tuple("abcdef"), {"label": np.array(["x"] * 60, dtype=object)})
    release = sf.publish(policy(4), data=people, seed=secret(1)).release
    worlds = from_table(Table(release.parts["data"].table))
    for size in (1, 2, 3):
        for items in combinations("abcdef", size):
            for question in ({"present": items}, {"absent": items}):
                answer = count(worlds, **question)
                assert answer.low <= true_count(people, **question) <= answer.high
