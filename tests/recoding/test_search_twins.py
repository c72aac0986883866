"""The kernels of the local search against plain twins: every step of a draft, rebuilding it, and whole rounds of
proposals.

Costs are small whole numbers, so that both sides compute the same numbers whatever the order of their sums.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.kinds.tables.methods.kernels.cell_costs import CLIMB, SPAN, TABLE, CellCosts, beyond_tables, cell_cost
from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import (
    Offer,
    Proposals,
    State,
    clear,
    construct,
    copy,
    cost_without,
    extents,
    lacking,
    new_draft,
    new_pool,
    polish,
    propose,
    put,
    random_below,
    sound,
    take,
    total_cost,
)
from tests.slow import SLOW

from .plain_search import Board, PlainNeighbourhoods, move_out, plain_random_below

SIZE, UNITS, GROUPS = 6, 12, 7


def plain_cell_cost(column, lo, last):
    """Three columns: any table that grows with the interval, numbers in a row, and a tree of halves of halves."""
    if column == 0:
        return 0 if lo == last else 2 * (last - lo) + (lo % 2)
    if column == 1:
        return 3 * (last - lo)
    if lo == last:
        return 0
    return 2 if lo // 3 == last // 3 else 7


def costs():
    """The same as flat arrays: a table, a span, and a tree in which leaves 0-2 and 3-5 are under nodes 6 and 7, these
    under 8."""
    table = [plain_cell_cost(0, min(lo, last), max(lo, last)) for lo in range(SIZE) for last in range(SIZE)]
    climb = [0] * 6 + [2, 2, 7]
    values = np.array([*table, *range(SIZE), *climb], dtype=np.float64)
    start = np.array([0, 36, 42])
    parent, reach = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    parent[42:], reach[42:] = [6, 6, 6, 7, 7, 7, 8, 8, 8], [1, 2, 3, 4, 5, 6, 3, 6, 6]
    return CellCosts(
        1, np.array([TABLE, SPAN, CLIMB]), np.full(3, SIZE), start, np.array([1.0, 3.0, 1.0]), values, parent, reach
    )


def random_board(rng, units=UNITS):
    kinds = [[], [2], [2, 3]][rng.integers(3)]
    return Board(
        rng.integers(0, SIZE, (units, 3)).tolist(), rng.integers(0, 4, (units, len(kinds))).tolist(),
        rng.integers(1, 6, units).tolist(), rng.integers(0, 9, units).astype(float).tolist(), plain_cell_cost,
        int(rng.integers(1, 5)), kinds, [bool(rng.integers(2)) for _ in kinds],
    )  # fmt: skip


def offer_of(board):
    return Offer(board.fewest, np.array(board.kinds, np.int64), np.array(board.even, np.bool_), np.zeros(5, np.int64))


def pool_of(board):
    pool = new_pool(len(board.codes), 3, len(board.kinds))
    pool.code[:], pool.tag[:], pool.records[:], pool.price[:] = board.codes, board.tags, board.records, board.prices
    return pool


def draft_of(board, pool, groups):
    draft = new_draft(GROUPS, len(board.codes), 3)
    draft.number[0] = len(groups)
    for place, group in enumerate(groups):
        for unit, many in group.items():
            put(costs(), pool, draft, place, unit, many)
    return draft


def dealt(rng, board, groups=4):
    """All records in some groups, anyhow."""
    draft = [Counter() for _ in range(groups)]
    for unit, many in enumerate(board.records):
        for _ in range(many):
            draft[rng.integers(groups)][unit] += 1
    return draft


def groups_in(draft, units):
    return [
        Counter({v: int(draft.held[g, v]) for v in range(units) if draft.held[g, v]})
        for g in range(int(draft.number[0]))
    ]


@pytest.mark.twin(of=[cell_cost, beyond_tables])
def test_what_an_interval_costs():
    made = costs()
    boxes = [(lo, last) for lo in range(SIZE) for last in range(lo, SIZE)]
    for column in range(3):
        assert [cell_cost(made, column, lo, last) for lo, last in boxes] == [
            plain_cell_cost(column, *box) for box in boxes
        ]
    rng = np.random.default_rng(1)
    for _ in range(50):
        lo, last = np.sort(rng.integers(0, SIZE, (2, 4, 3)).astype(np.int32), axis=0)
        around = [plain_cell_cost(c, min(lo[1, c], lo[3, c]), max(last[1, c], last[3, c])) for c in (1, 2)]
        assert beyond_tables(made, lo, last, 1, lo, last, 3) == sum(around)


@pytest.mark.twin(of=[put, take, cost_without, lacking, total_cost, sound, clear, copy])
@pytest.mark.parametrize("seed", range(20))
def test_a_draft_is_what_its_groups_hold(seed):
    rng = np.random.default_rng(seed)
    board = random_board(rng)
    pool, wanted = pool_of(board), offer_of(board)
    plain = dealt(rng, board)
    draft = draft_of(board, pool, plain)
    for _ in range(40):
        place, home = rng.integers(4, size=2).tolist()
        if not plain[place]:
            continue
        unit = int(rng.choice(list(plain[place])))
        many = int(rng.integers(1, plain[place][unit] + 1))
        without = [other for other in plain[place] if other != unit]
        assert cost_without(costs(), pool, draft, place, unit, UNITS) == board.cost(without)
        take(costs(), pool, draft, place, unit, many, UNITS)
        put(costs(), pool, draft, home, unit, many)
        plain[place] = move_out(plain[place], unit, many)
        plain[home] = plain[home] + Counter({unit: many})
        assert groups_in(draft, UNITS) == plain
        assert draft.size[:4].tolist() == [group.total() for group in plain]
        assert draft.cost[:4].tolist() == [board.cost(group) for group in plain]
        assert [lacking(pool, draft, wanted, g, UNITS) for g in range(4)] == [
            board.plain_lacking(group) for group in plain
        ]
        assert sound(pool, draft, wanted, UNITS) == board.plain_sound(plain)
        assert total_cost(draft) == board.plain_total_cost(plain)
        assert not wanted.tally.any()
    other = draft_of(board, pool, dealt(rng, board))
    copy(draft, other, UNITS)
    assert groups_in(other, UNITS) == plain
    assert total_cost(other) == total_cost(draft)
    clear(other, UNITS)
    assert (int(other.number[0]), other.size.any(), other.held.any()) == (0, False, False)


@pytest.mark.twin(of=[random_below])
def test_the_small_generator():
    ours, theirs = np.array([88172645463325252], dtype=np.uint64), [88172645463325252]
    assert [random_below(ours, n) for n in range(1, 500)] == [plain_random_below(theirs, n) for n in range(1, 500)]


@pytest.mark.twin(of=[polish])
@pytest.mark.parametrize("seed", range(60))
def test_polishing_takes_the_steps_that_pay(seed):
    rng = np.random.default_rng(seed)
    board = random_board(rng)
    pool = pool_of(board)
    plain = [*dealt(rng, board), Counter()]
    draft = draft_of(board, pool, plain)
    polish(costs(), pool, draft, new_draft(GROUPS, UNITS, 3), offer_of(board), UNITS)
    board.plain_polish(plain)
    assert groups_in(draft, UNITS) == plain


@pytest.mark.twin(of=[construct])
@pytest.mark.parametrize("greed", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("seed", range(40))
def test_groups_grow_anew_around_the_same_seeds(seed, greed):
    rng = np.random.default_rng(seed)
    board = random_board(rng)
    pool, draft = pool_of(board), new_draft(GROUPS, UNITS, 3)
    limit = [60.0, 200.0, 1e9][seed % 3]
    dice, twin = np.array([seed + 1], dtype=np.uint64), [seed + 1]
    made = construct(costs(), pool, draft, offer_of(board), np.zeros(UNITS, np.int64), UNITS, greed, limit, dice)
    expected = board.plain_construct(GROUPS, greed, limit, twin)
    assert made == (expected is not None)
    assert int(dice[0]) == twin[0]
    if made:
        assert [group for group in groups_in(draft, UNITS) if group] == [group for group in expected if group]


def state_of(board, groups, region, order):
    entries = [(number, unit, many) for number, group in enumerate(groups) for unit, many in sorted(group.items())]
    first = np.searchsorted([number for number, _, _ in entries], np.arange(len(groups) + 1))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    extent = [np.zeros((len(groups), 3), np.int32) for _ in range(2)]
    return State(
        np.array(board.codes, np.int32), np.array(board.tags, np.int32).reshape(len(board.codes), len(board.kinds)),
        np.array([unit for _, unit, _ in entries]), np.array([many for _, _, many in entries]), first.astype(np.int64),
        np.zeros(len(groups), np.int64), *extent, np.zeros(len(groups)), np.array(region), np.array(order), place,
    )  # fmt: skip


@pytest.mark.twin(of=[extents, propose])
@pytest.mark.parametrize("seed", range(30 if SLOW else 12))
def test_whole_rounds_propose_the_same(seed):
    """Neighbours, pools, arrangements and what is written down: the groups that go and those that come."""
    rng = np.random.default_rng(seed)
    board = random_board(rng, 30)
    groups = [group for group in dealt(rng, board, 12) if group]
    region = rng.integers(0, 2, len(groups)).tolist()
    order = rng.permutation(len(groups)).tolist()
    reach, near, pool = 4, 6, int(rng.integers(14, 40))
    state, made = state_of(board, groups, region, order), costs()
    plain = PlainNeighbourhoods(board, groups, region, order, reach, near, pool, 6 * reach)
    extents(state, made)
    told = zip(state.size.tolist(), state.lo.tolist(), state.last.tolist(), state.cost.tolist(), strict=True)
    assert list(told) == list(plain.plain_extents())
    unit, records, owner, proposal = np.zeros((4, 400), dtype=np.int64)
    out = Proposals(unit, records, owner, proposal, np.full(len(groups), -1, np.int64), np.zeros(4, np.int64))
    drafts = tuple(new_draft(6 * reach, pool, 3) for _ in range(3))
    room = [np.zeros(near, np.int64), np.zeros(near), np.zeros(reach, np.int64), np.zeros(pool, np.int64)]
    dice, twin = np.array([seed + 7], dtype=np.uint64), [seed + 7]
    seeds, window = rng.permutation(len(groups)), int(rng.integers(4, 20))
    empty = new_pool(pool, 3, len(board.kinds))
    propose(state, made, offer_of(board), seeds, window, 3, out, empty, drafts, *room, dice)
    expected = plain.plain_propose(seeds.tolist(), window, 3, twin)
    assert int(dice[0]) == twin[0]
    assert [sorted(np.flatnonzero(out.gone == n).tolist()) for n in range(int(out.used[2]))] == [
        sorted(g) for g, _ in expected
    ]
    new = [Counter() for _ in range(int(out.used[1]))]
    for entry in range(int(out.used[0])):
        new[int(out.group[entry])][int(out.unit[entry])] += int(out.records[entry])
    told = [[new[g] for g in range(len(new)) if out.proposal[g] == n] for n in range(int(out.used[2]))]
    assert told == [arranged for _, arranged in expected]


def test_rounds_find_something_to_propose():
    """Else the comparison above would compare nothing with nothing."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        board = random_board(rng, 30)
        groups = [group for group in dealt(rng, board, 12) if group]
        plain = PlainNeighbourhoods(board, groups, [0] * len(groups), list(range(len(groups))), 4, 6, 30, 24)
        found += len(plain.plain_propose(range(len(groups)), 12, 3, [seed + 7]))
    assert found > 10
