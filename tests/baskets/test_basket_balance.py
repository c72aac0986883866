"""A balanced vote: items are shown as often as records have them, at a bounded price, and every promise stays."""

from __future__ import annotations

import numpy as np
import pytest
from random_baskets import random_sets

from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.methods.kernels.blocks import cells, plain_vote
from sfumato.kinds.baskets.methods.nonreciprocal import ring_members
from sfumato.kinds.baskets.methods.record_order import gray_order
from sfumato.kinds.baskets.methods.voting import expected_error_rate, turning_rates, vote


def ring(sets: Sets, k: int) -> np.ndarray:
    return gray_order(sets)[ring_members(len(sets), k)].astype(np.int32)


@pytest.mark.twin(of=[cells])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 8])
def test_cells_count_what_the_majority_leaves(k: int) -> None:
    rng = np.random.default_rng(k)
    sets = random_sets(rng, 60, 9)
    rows = ring(sets, k)
    groups, cost = cells(sets.starts, sets.items, rows, sets.width)
    base, _, _ = plain_vote(sets.dense(), rows)
    count = sets.dense()[rows].sum(axis=1)
    share = 1 / np.maximum(sets.sizes[rows], 1)
    lead = np.abs(2 * np.einsum("jm,jmi->ji", share, sets.dense()[rows]) - share.sum(axis=1, keepdims=True)) / k
    for item in range(9):
        for cell in range(2, 2 * k + 2):
            here = (count[:, item] == cell // 2) & (base[:, item] == cell % 2)
            assert groups[item, cell] == here.sum()
            assert cost[item, cell] == pytest.approx(lead[here, item].sum())


@pytest.mark.parametrize("density", [0.15, 0.3, 0.7])
@pytest.mark.parametrize("k", [3, 4, 6, 9])
def test_with_enough_allowance_every_item_is_shown_as_often_as_it_is_there(k: int, density: float) -> None:
    sets = random_sets(np.random.default_rng(k), 400, 12, density)
    plain, even = vote(sets, ring(sets, k)), vote(sets, ring(sets, k), balance=1.0)
    assert np.abs(plain.base.support() - sets.support()).max() > 5
    assert np.abs(even.base.support() - sets.support()).max() <= 1


@pytest.mark.parametrize("allowance", [0.001, 0.01, 0.05])
def test_no_more_error_is_spent_than_allowed(allowance: float) -> None:
    sets = random_sets(np.random.default_rng(5), 600, 12, 0.3)
    rows = ring(sets, 6)
    plain, even = vote(sets, rows), vote(sets, rows, allowance)
    spent = expected_error_rate(sets, rows, even) - expected_error_rate(sets, rows, plain)
    assert 0 < spent <= 1.05 * allowance
    gap = [np.abs(votes.base.support() - sets.support()).sum() for votes in (plain, even)]
    assert gap[1] < gap[0]


def test_the_most_divided_groups_are_turned_round_first() -> None:
    sets = random_sets(np.random.default_rng(2), 300, 8, 0.3)
    rates = turning_rates(sets, ring(sets, 8), 1.0)
    for row in rates:
        low = row[[2 * count for count in range(4, 0, -1)]]
        high = row[[2 * count + 1 for count in range(4, 8)]]
        assert all((np.diff(part) <= 0).all() for part in (low, high))
        assert not (low.any() and high.any())


@pytest.mark.parametrize("balance", [0.01, 1.0])
def test_every_preimage_stays_a_possible_world(balance: float) -> None:
    sets = random_sets(np.random.default_rng(8), 120, 10, 0.3)
    rows = ring(sets, 5)
    votes, bits = vote(sets, rows, balance), sets.dense()
    base, doubt = votes.base.dense(), votes.doubt.dense()
    apart = bits[rows] != base[:, None, :]
    assert not (apart & ~doubt[:, None, :]).any()
    assert (apart.sum(axis=2).max(axis=1) == votes.threshold).all()
