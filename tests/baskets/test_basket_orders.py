"""Orders: Gray against the code itself, cuts against brute force, windows against what they promise."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_baskets import random_sets

from sfumato.data.item_sets import Sets
from sfumato.io.basket_source import read_fimi
from sfumato.kinds.baskets.methods.nonreciprocal import RingEffort, window_error, window_order
from sfumato.kinds.baskets.methods.record_order import cut_points, entropy_columns, gray_order, gray_tsp_order


def gray_rank(bits: list[bool]) -> int:
    """The position of a code word in the reflected binary code."""
    rank, bit = 0, 0
    for one in bits:
        bit ^= int(one)
        rank = 2 * rank + bit
    return rank


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=25))
@settings(max_examples=60, deadline=None)
def test_gray_order_sorts_by_the_reflected_code(rows: list[list[bool]]) -> None:
    order = gray_order(Sets.from_dense(rows))
    ranks = [gray_rank(rows[row]) for row in order]
    assert ranks == sorted(ranks)
    assert sorted(order.tolist()) == list(range(len(rows)))


def test_column_order_is_respected() -> None:
    rng = np.random.default_rng(0)
    sets = random_sets(rng, 40, 7)
    columns = rng.permutation(7)
    order = gray_order(sets, columns)
    ranks = [gray_rank(sets.dense()[row][columns].tolist()) for row in order]
    assert ranks == sorted(ranks)


def test_entropy_puts_even_columns_first() -> None:
    bits = np.zeros((8, 3), dtype=bool)
    bits[:1, 0] = bits[:4, 1] = bits[:6, 2] = True
    assert entropy_columns(Sets.from_dense(bits)).tolist() == [1, 2, 0]


def _all_cuts(count: int, smallest: int, largest: int) -> list[tuple[int, ...]]:
    found = []
    for pieces in range(1, count // smallest + 1):
        for inner in combinations(range(1, count), pieces - 1):
            bounds = (0, *inner, count)
            if all(smallest <= b - a <= largest for a, b in pairwise(bounds)):
                found.append(bounds)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_the_cheapest_there_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, near = 12, rng.integers(0, 9, 11)
    chosen = cut_points(near, count, 2, 4)
    cost = lambda bounds: sum(near[b - 1] for b in bounds[1:-1])  # noqa: E731
    assert cost(chosen) == min(cost(bounds) for bounds in _all_cuts(count, 2, 4))
    assert all(2 <= b - a <= 4 for a, b in pairwise(chosen))


def test_where_no_cut_exists_pieces_are_even() -> None:
    assert cut_points(np.ones(399), 400, 300, 350) == [0, 200, 400]


@pytest.mark.parametrize("k", [2, 3, 8])
def test_window_order_beats_the_others_on_clustered_sets(k: int) -> None:
    rng = np.random.default_rng(k)
    centres = rng.random((12, 30)) < 0.4
    bits = centres[rng.integers(0, 12, 240)] ^ (rng.random((240, 30)) < 0.1)
    sets = Sets.from_dense(bits)
    order = window_order(sets, k)
    assert sorted(order.tolist()) == list(range(240))
    ours = window_error(sets, order, k)
    assert ours < window_error(sets, gray_order(sets), k)
    assert ours < window_error(sets, gray_tsp_order(sets), k)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_tiny_data_has_an_order_too(count: int) -> None:
    sets = random_sets(np.random.default_rng(count), count, 5)
    for k in (1, 2, 3, 8):
        assert sorted(window_order(sets, k).tolist()) == list(range(count))
    assert sorted(gray_tsp_order(sets).tolist()) == list(range(count))


def test_window_order_looks_at_items_only_and_repeats_itself() -> None:
    sets = random_sets(np.random.default_rng(4), 90, 12)
    assert (window_order(sets, 4) == window_order(sets, 4)).all()


def test_chess_reaches_the_figures_of_the_plan(shared: Path, is_public: bool) -> None:
    sets = read_fimi(shared / "data" / "set_valued" / "chess.dat.gz").sets
    order = window_order(sets, 4, RingEffort(piece=1200))
    tour, gray = (window_error(sets, other, 4) for other in (gray_tsp_order(sets), gray_order(sets)))
    found = window_error(sets, order, 4)
    assert found < 0.066 < tour < gray if is_public else found <= min(tour, gray)
