"""The kernels of blocks against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from random_baskets import random_sets

from sfumato.kinds.baskets.methods.kernels import blocks as dealing
from sfumato.kinds.baskets.methods.kernels import blocks as exchange
from sfumato.kinds.baskets.methods.record_order import (
    BlockEffort,
    Partition,
    block_error,
    block_starts,
    partition,
    relative_matrix,
    start_order,
)


def piece(seed: int, count: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole-numbered distances, so that sums are exact, and blocks of a size."""
    rng = np.random.default_rng(seed)
    far = rng.integers(1, 50, (count, count)).astype(np.float32)
    far = np.triu(far, 1)
    block = np.repeat(np.arange(count // size), size)
    return far + far.T, block, np.arange(count).reshape(-1, size)


@pytest.mark.twin(of=[exchange.sums_of_distances, exchange.exchange])
@pytest.mark.parametrize("seed", range(4))
def test_exchanges_save_what_they_say_until_none_is_left(seed: int) -> None:
    far, block, members = piece(seed, 24, 4)
    near = exchange.sums_of_distances(far, members)
    assert (near == np.stack([far[block == b].sum(axis=0) for b in range(6)])).all()
    everybody = np.tile(np.arange(24), (24, 1))
    before, active = exchange.plain_within(far, block), np.ones(24, dtype=bool)
    while exchange.exchange(far, near, block, members, everybody, active):
        after = exchange.plain_within(far, block)
        assert after < before
        before = after
    assert (near == np.stack([far[block == b].sum(axis=0) for b in range(6)])).all()
    assert (np.sort(members.reshape(-1)) == np.arange(24)).all()
    assert all((block[members[b]] == b).all() for b in range(6))
    active[:] = True
    exchange.exchange(far, near, block, members, everybody, active)
    assert all(exchange.plain_best_trade(far, block, r, set(range(6))) <= 1e-5 for r in range(24))


@pytest.mark.twin(of=[exchange.anneal])
def test_annealing_keeps_its_sums_and_finds_more_than_exchanges_alone() -> None:
    far, block, members = piece(9, 60, 5)
    near, everybody = exchange.sums_of_distances(far, members), np.tile(np.arange(60), (60, 1))
    before = exchange.plain_within(far, block)
    assert exchange.anneal(far, near, block, members, everybody, 60 * 400, 10.0) > 0
    assert (near == np.stack([far[block == b].sum(axis=0) for b in range(12)])).all()
    assert all((block[members[b]] == b).all() for b in range(12))
    assert exchange.plain_within(far, block) < 0.8 * before


@pytest.mark.parametrize("density", [0.0, 0.02, 0.1, 0.9])
def test_relative_distances_are_those_of_sets(density: float) -> None:
    sets = random_sets(np.random.default_rng(4), 50, 80, density)
    rows = [set(one.tolist()) for one in np.split(sets.items, sets.starts[1:-1])]
    plain = [[np.float32(len(a ^ b)) / np.float32(max(len(a), 1) + max(len(b), 1)) for b in rows] for a in rows]
    assert np.array_equal(relative_matrix(sets), np.array(plain, dtype=np.float32))
    assert np.array_equal(relative_matrix(sets), plain)


@pytest.mark.twin(of=[dealing.deal])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_dealing_equals_its_twin(size: int) -> None:
    rng = np.random.default_rng(size)
    sets = random_sets(rng, 42, 9)
    members = rng.permutation(42).reshape(-1, size).astype(np.int32)
    base_starts, base, doubt_starts, doubt, threshold = dealing.deal(sets.starts, sets.items, members, 9)
    for b, group in enumerate(members):
        own = [set(sets.row(row).tolist()) for row in group]
        rows, open_ = dealing.plain_deal(own)
        for m in range(size):
            place = b * size + m
            assert set(base[base_starts[place] : base_starts[place + 1]].tolist()) == rows[m]
        assert set(doubt[doubt_starts[b] : doubt_starts[b + 1]].tolist()) == open_
        assert max(len(row) for row in rows) - min(len(row) for row in rows) <= 1
        assert all(len(mine ^ row) <= threshold[b] for mine in own for row in rows)


def test_what_is_dealt_does_not_depend_on_who_is_who() -> None:
    rng = np.random.default_rng(3)
    sets = random_sets(rng, 6, 9)
    first = dealing.deal(sets.starts, sets.items, np.arange(6, dtype=np.int32)[None, :], 9)
    for _ in range(5):
        again = dealing.deal(sets.starts, sets.items, rng.permutation(6).astype(np.int32)[None, :], 9)
        assert all((a == b).all() for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(("count", "size"), [(10, 3), (11, 3), (5, 5), (29, 7), (8, 1)])
def test_blocks_have_at_least_their_size_and_everybody_once(count: int, size: int) -> None:
    sets = random_sets(np.random.default_rng(count), count, 8)
    blocks = partition(sets, size)
    assert blocks.sizes.min() >= size
    assert (np.sort(blocks.order) == np.arange(count)).all()


def test_the_search_lowers_the_error_and_jobs_change_nothing() -> None:
    sets = random_sets(np.random.default_rng(1), 400, 16)
    starts = block_starts(400, 4)
    effort = BlockEffort(piece=120)
    one, two = partition(sets, 4, effort=effort), partition(sets, 4, jobs=2, effort=effort)
    assert (one.order == two.order).all()
    assert block_error(sets, one) < 0.9 * block_error(sets, Partition(start_order(sets, starts), starts))
