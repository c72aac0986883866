"""Labels: what withholding promises, what the printed greedy loses, and what re-execution does to label-aware rings."""

from __future__ import annotations

import numpy as np
import pytest
from baselines.cahd import cahd_groups
from baselines.greedy import greedy_assignments
from hypothesis import given, settings
from hypothesis import strategies as st
from random_baskets import random_sets

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.baskets.attacks import guesses, turns_that_reproduce
from sfumato.kinds.baskets.methods.nonreciprocal import (
    arrange_rings,
    assignments,
    distinct_shown,
    labels_to_suppress,
    ring_targets,
    rotate_rings,
    space_labels,
)
from sfumato.kinds.baskets.methods.record_order import gray_order


def windows(values: np.ndarray, degree: int) -> np.ndarray:
    return values[(np.arange(len(values))[:, None] + np.arange(degree)[None, :]) % len(values)]


def most_shown(labels: np.ndarray, hidden: np.ndarray, degree: int) -> int:
    """The largest number of times anybody's candidates show one label, counted one by one."""
    worst = 0
    for window, out in zip(windows(labels, degree), windows(hidden, degree), strict=True):
        shown = [int(label) for label, gone in zip(window, out, strict=True) if not gone]
        worst = max([worst, *(shown.count(label) for label in shown)])
    return worst


@given(
    labels=st.lists(st.integers(0, 3), min_size=6, max_size=40),
    degree=st.integers(2, 6),
    most=st.integers(1, 3),
    start=st.integers(0, 39),
)
@settings(max_examples=300, deadline=None)
def test_nobody_sees_a_label_too_often(labels: list[int], degree: int, most: int, start: int) -> None:
    published = np.array(labels)
    hidden = labels_to_suppress(published, degree, most, start % len(labels))
    assert most_shown(published, hidden, degree) <= most


@given(labels=st.lists(st.integers(0, 5), min_size=8, max_size=30), start=st.integers(0, 29))
@settings(max_examples=100, deadline=None)
def test_withholding_does_not_look_at_who_has_a_label(labels: list[int], start: int) -> None:
    """Renaming labels renames nothing in the result: it depends on equality of published labels only."""
    published, names = np.array(labels), np.array([3, 5, 0, 2, 4, 1])
    begin = start % len(labels)
    assert (labels_to_suppress(published, 4, 1, begin) == labels_to_suppress(names[published], 4, 1, begin)).all()


def test_nothing_is_withheld_without_need() -> None:
    assert not labels_to_suppress(np.array([0, 1, 2, 3, 0, 1, 2, 3]), 4, 1, 5).any()
    assert distinct_shown(np.array([0, 1, 2, 3, 0, 1, 2, 3]), np.zeros(8, dtype=bool), 4) == 4


def test_the_printed_greedy_loses_diversity() -> None:
    """Under the identity it holds by construction; under the other assignments people lose it."""
    rng = np.random.default_rng(2)
    sets, labels, level = random_sets(rng, 300, 20), rng.integers(0, 30, 300), 4
    order = gray_order(sets)
    rounds = greedy_assignments(sets, order, labels, level, Randomness(3))
    assert (rounds[0] == np.arange(300)).all()
    candidates = np.argsort(rounds, axis=1).T  # candidates[u, r]: where u is published in round r
    below = []
    for owner in rounds:
        shown = labels[order][owner]
        below.append(np.mean([len(set(row)) < level for row in shown[candidates].tolist()]))
    assert below[0] == 0
    assert min(below[1:]) > 0.02


def test_the_printed_greedy_can_get_stuck() -> None:
    """Two labels with a third each and many rare ones: eligible for l = 3, and yet a walk finds no way on."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.zeros(60), np.ones(60), 2 + np.arange(60)]).astype(np.int64)
    rng.shuffle(labels)
    sets = random_sets(rng, 180, 15)
    with pytest.raises(Infeasible, match="stuck"):
        greedy_assignments(sets, gray_order(sets), labels, 3, Randomness(1))


@pytest.mark.parametrize("seed", range(6))
def test_cahd_groups_partition_and_are_diverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets, labels = random_sets(rng, 200, 15), rng.integers(0, 12, 200)
    groups = cahd_groups(sets, labels, 4)
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    assert all(np.bincount(labels[group]).max() * 4 <= len(group) for group in groups)


def test_cahd_refuses_what_cannot_be() -> None:
    with pytest.raises(Infeasible):
        cahd_groups(random_sets(np.random.default_rng(0), 10, 4), np.array([0] * 6 + [1] * 4), 2)


@pytest.mark.parametrize("seed", range(8))
def test_rings_by_label_keep_neighbours_different(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 15, 400)
    rings = arrange_rings(rng.permutation(400), labels, 4, 64)
    assert sorted(rings.order.tolist()) == list(range(400))
    for begin, end in zip(rings.bounds[:-1], rings.bounds[1:], strict=True):
        ring = labels[rings.order[begin:end]]
        assert (np.array([len(set(row)) for row in windows(ring, 4).tolist()]) == 4).all()


def test_rings_by_label_refuse_frequent_labels() -> None:
    with pytest.raises(Infeasible, match="too frequent"):
        arrange_rings(np.arange(40), np.array([0] * 30 + [1] * 10), 2, 20)


def test_re_execution_breaks_rings_by_label() -> None:
    """The outsider tries every turn; for nearly all rings only the true one reproduces the arrangement."""
    rng = np.random.default_rng(9)
    different, right, alone = 4, 0, 0
    for _ in range(20):
        pool, labels = rng.permutation(48), rng.integers(0, 10, 48)
        ring = space_labels(pool, labels, different)
        if ring is None:
            continue
        secret = int(rng.integers(different))
        shown = np.roll(labels[ring], secret)  # the record at place p is published at place p + secret
        found = turns_that_reproduce(pool, ring, shown, different)
        right += secret in found
        alone += found == [secret]
    assert right >= 18
    assert alone >= 0.8 * right


def test_turning_moves_every_record_by_the_secret_amount() -> None:
    rings = arrange_rings(np.arange(60), np.arange(60) % 7, 3, 20)
    owner = rotate_rings(rings, np.array([2] * (len(rings.bounds) - 1)))
    assert sorted(owner.tolist()) == list(range(60))
    assert owner[2] == 0


def test_re_execution_of_a_label_blind_ring_guesses_no_better_than_promised() -> None:
    """Labels independent of items: guesses from shown labels alone are right at most one time in l, on average."""
    rng = np.random.default_rng(4)
    degree, level, right, people = 8, 4, 0, 0
    for seed in range(6):
        labels = rng.integers(0, 40, 400)
        owner = assignments(ring_targets(400, degree), "truncated", Randomness(seed))[seed % degree]
        hidden = labels_to_suppress(labels[owner], degree, degree // level, 3)
        shown = np.array([str(label) for label in labels[owner]], dtype=object)
        shown[hidden] = ""
        right += int((guesses(shown, degree, hints=False) == np.array([str(x) for x in labels], dtype=object)).sum())
        people += 400
    assert right / people <= 1 / level + 4 * np.sqrt(0.25 * 0.75 / people)
