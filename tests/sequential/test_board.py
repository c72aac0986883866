"""The compiled engine against the audit's plain joins, in random states of random releases."""

import numpy as np
import pytest

from sfumato.history.judge.full_match_join import kernel_join, match_join
from sfumato.history.judge.sequence import diversity, linkability, linkage_of
from sfumato.history.release_sequence import ReleaseSequence
from sfumato.kinds.tables.methods.sequential_state import Board, Goal, SequelProblem, StepsDown, Taxonomy
from tests.slow import SLOW

from .instances import TREES, random_instance


def random_task(rng, **kwargs):
    columns, published, leaves = random_instance(rng, N=int(rng.integers(4, 30)), **kwargs)
    publish = [m for m in range(len(columns)) if rng.random() < 0.7]
    told = any((hi - lo)[0, -1] == 1 for lo, hi in published[:-1])
    if not told and len(columns) - 1 not in publish:
        publish.append(len(columns) - 1)
    trees = {m: Taxonomy.of_intervals(TREES[a.size]) for m, a in enumerate(columns) if a.role != "sensitive"}
    return columns, published[:-1], leaves, SequelProblem.of_records(columns, published[:-1], leaves, publish, trees)


def boxes_of(board, columns, task):
    """The release in the making, per record."""
    base_of = task.bases[2]
    sizes = [a.size for a in columns]
    lo, hi = np.zeros((len(base_of), len(columns)), dtype=np.int64), np.tile(np.array(sizes), (len(base_of), 1))
    for b in range(int(base_of.max()) + 1):
        rows = np.flatnonzero(base_of == b)
        at = 0
        for u in np.flatnonzero(
            (board.unit_base.data[: board.unit_count] == b) & (board.records.data[: board.unit_count] > 0)
        ):
            count = board.records.data[u]
            e = board.unit_class.data[u]
            for i, m in enumerate(task.columns):
                node = board.class_nodes.data[i, e]
                lo[rows[at : at + count], m], hi[rows[at : at + count], m] = (
                    board.trees[i].lo[node],
                    board.trees[i].hi[node],
                )
            if task.tells:
                lo[rows[at : at + count], -1] = board.class_value.data[e]
                hi[rows[at : at + count], -1] = board.class_value.data[e] + 1
            at += count
    return lo, hi


@pytest.mark.parametrize("join", ["kernel", "match"])
@pytest.mark.parametrize("seed", range(8))
def test_levels_equal_the_audit_after_random_moves(seed, join):
    rng = np.random.default_rng(500 + seed)
    for _ in range(12 if SLOW else 2):
        columns, published, leaves, task = random_task(rng)
        boards = {goal: Board(task, Goal(2, goal, join)) for goal in ("linkability", "diversity")}
        for _ in range(3):
            move(rng, boards)
            lo, hi = boxes_of(boards["linkability"], columns, task)
            sequence = ReleaseSequence.of_records(columns, [*published, (lo, hi)], (leaves, leaves + 1))
            plain = kernel_join if join == "kernel" else match_join
            link = linkage_of(sequence, plain(sequence), tuple("abcd"))
            assert boards["linkability"].levels().min() == linkability(link)
            assert boards["diversity"].levels().min() == pytest.approx(diversity(link))


def move(rng, boards):
    board = boards["linkability"]
    for column in range(len(board.trees)):
        movable = np.flatnonzero((board.steps(column) >= 0) & (board.records.data[: board.unit_count] > 0))
        if not len(movable):
            continue
        units = movable[rng.random(len(movable)) < 0.6]
        amount = rng.integers(1, board.records.data[units] + 1) if len(units) else units
        for b in boards.values():
            b.make(StepsDown(units, np.full(len(units), column), amount))


def test_a_move_can_be_taken_back():
    rng = np.random.default_rng(9)
    _, _, _, task = random_task(rng, R=3)
    board = Board(task, Goal(2))
    before = board.levels()
    units = np.flatnonzero(board.steps(0) >= 0)
    moves = StepsDown(units, np.zeros_like(units), board.records.data[units].copy())
    went = board.make(moves)
    board.undo(moves, went)
    assert np.array_equal(board.levels(), before)
