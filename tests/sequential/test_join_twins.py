"""The kernels of sequential releases against plain twins."""

from __future__ import annotations

import itertools
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from sfumato.kinds.tables.methods import sequential_state
from sfumato.kinds.tables.methods.kernels.release_joins import (
    box_pairs,
    chain_classes,
    containing,
    inside,
    kill_mismatches,
    meets,
    number_edges,
    place_units,
    settle,
    signatures,
    tally,
)
from sfumato.kinds.tables.methods.sequential_state import Board, Goal, blocks

from .plain_joins import (
    plain_box_pairs,
    plain_containing,
    plain_inside,
    plain_kill_mismatches,
    plain_meets,
    plain_number_edges,
    plain_place_units,
    plain_settle,
)
from .test_board import move, random_task


def random_boxes(rng, count, columns):
    lo, hi = np.sort(rng.integers(0, 5, (2, count, columns)), axis=0)
    return lo, hi + 1


def pairs_of(lo, hi):
    return [list(zip(a, b, strict=True)) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)]


@pytest.mark.twin(of=[box_pairs, inside, meets])
@pytest.mark.parametrize("contain", [True, False])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_boxes_that_meet_or_contain(columns, contain):
    rng = np.random.default_rng(columns)
    for _ in range(8):
        (lo, hi), (other_lo, other_hi) = (
            random_boxes(rng, 9, columns),
            random_boxes(rng, int(rng.integers(0, 40)), columns),
        )
        order, lead, block = blocks(other_lo, other_hi)
        start, found = box_pairs(lo, hi, other_lo[order], other_hi[order], lead, block, contain)
        told = [set(order[found[a:b]].tolist()) for a, b in itertools.pairwise(start)]
        assert told == plain_box_pairs(pairs_of(lo, hi), pairs_of(other_lo, other_hi), contain)
        for one, mine in zip(range(9), pairs_of(lo, hi), strict=True):
            for other, theirs in zip(range(len(other_lo)), pairs_of(other_lo, other_hi), strict=True):
                assert inside(lo[one], hi[one], other_lo[other], other_hi[other]) == plain_inside(mine, theirs)
                assert meets(lo[one], hi[one], other_lo[other], other_hi[other]) == plain_meets(mine, theirs)


@pytest.mark.twin(of=[kill_mismatches])
@pytest.mark.parametrize("seed", range(60))
def test_an_edge_lives_when_records_could_change_along_it(seed):
    rng = np.random.default_rng(seed)
    lefts, rights = rng.integers(1, 9, 2).tolist()
    edges = sorted(
        {(int(a), int(b)) for a, b in zip(rng.integers(0, lefts, 25), rng.integers(0, rights, 25), strict=True)}
    )
    left, right = (np.array(side) for side in zip(*edges, strict=True))
    flow, alive = rng.random(len(edges)) < 0.3, rng.random(len(edges)) < 0.8
    alive |= flow
    expected = plain_kill_mismatches(edges, flow.tolist(), alive.tolist())
    before = int(alive.sum())
    killed = kill_mismatches(lefts, rights, left, right, flow, alive)
    assert alive.tolist() == expected
    assert killed == before - sum(expected)


@pytest.mark.twin(of=[place_units])
def test_units_get_numbers_once():
    rng = np.random.default_rng(1)
    keys, values, known, count = np.full(256, -1, dtype=np.int64), np.zeros(256, dtype=np.int64), {}, 0
    for _ in range(6):
        wanted = rng.integers(0, 40, 30) * (1 << 32) + rng.integers(0, 4, 30)
        found, total = place_units(keys, values, wanted, count)
        expected, count = plain_place_units(known, wanted.tolist(), count)
        assert (found.tolist(), total) == (expected, count)


@pytest.mark.twin(of=[number_edges])
@pytest.mark.parametrize("seed", range(10))
def test_edges_of_a_new_node_are_numbered_in_order_of_appearance(seed):
    rng = np.random.default_rng(seed)
    hist, first = rng.integers(0, 6, (20, 3)), rng.integers(0, 10, 3)
    found = np.sort(rng.choice(20, 9, replace=False))
    stamp, lefts, numbers = np.full((3, 6), -1), np.zeros((3, 40), dtype=np.int64), np.zeros((3, 40), dtype=np.int64)
    count = number_edges(found, hist, stamp, first, lefts, numbers, 5)
    ends, expected = plain_number_edges(found.tolist(), hist.tolist(), first.tolist())
    assert count.tolist() == [len(own) for own in ends]
    assert [lefts[r, first[r] : first[r] + count[r]].tolist() for r in range(3)] == ends
    assert numbers[:, 5:14].tolist() == expected
    assert (stamp == -1).all()


def boards(seed):
    """Random boards after random moves."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        _, _, _, task = random_task(rng, R=int(rng.integers(2, 4)))
        both = {goal: Board(task, Goal(2, goal)) for goal in ("linkability", "diversity")}
        for _ in range(2):
            move(rng, both)
            yield from both.values()


@pytest.mark.twin(of=[settle])
@pytest.mark.parametrize("seed", range(4))
def test_the_join_is_what_survives_by_the_definition(seed, monkeypatch):
    """Every clique of a history clique and a living node, and the records' own ones: edges are killed pair by pair."""
    seen = []
    monkeypatch.setattr(sequential_state, "settle", lambda *given: seen.append(given) or settle(*given))
    for board in boards(700 + seed):
        _, _, nodes, alive = board.join()
        starts, owner = board.clique_start.data, {}
        for node in nodes.tolist():
            for clique in range(int(starts[node]), int(starts[node + 1])):
                owner[clique] = (*board.past.cliques[board.clique_h.data[clique]].tolist(), node)
        units = board.living()[0]
        true = {owner[int(clique)] for clique in board.unit_clique.data[units]}
        survive = plain_settle(owner.values(), true)
        assert {clique for clique in owner if alive[clique]} == {
            clique for clique, nodes in owner.items() if nodes in survive
        }
    assert seen


@pytest.mark.twin(of=[tally, chain_classes])
@pytest.mark.parametrize("seed", range(4))
def test_record_cliques_are_counted_as_in_a_loop_over_people(seed):
    for board in boards(800 + seed):
        per_class, classes, nodes, alive = board.join()
        found = board.weights((per_class, classes, nodes, alive))
        past_of, expected = board.past, np.zeros_like(found)
        q_lo, q_hi, own_lo, own_hi = *board.q_shared, *board.q_own
        members = defaultdict(list)
        for number in classes.tolist():
            members[int(board.class_node.data[number])].append(number)
        for node in nodes.tolist():
            node_box = list(zip(*board.node_q.data[:, :, node].tolist(), strict=True))
            for clique in range(int(board.clique_start.data[node]), int(board.clique_start.data[node + 1])):
                history = int(board.clique_h.data[clique])
                for at in (
                    range(int(past_of.item_start[history]), int(past_of.item_start[history + 1]))
                    if alive[clique]
                    else ()
                ):
                    q = int(past_of.item[at])
                    if not plain_inside(list(zip(q_lo[q], q_hi[q], strict=True)), node_box):
                        continue
                    for number in members[node]:
                        own_box = list(zip(*board.class_q.data[:, :, number].tolist(), strict=True))
                        if plain_inside(list(zip(own_lo[q], own_hi[q], strict=True)), own_box):
                            value = int(past_of.value[history])
                            value = value if value >= 0 else int(board.class_value.data[number])
                            expected[q, value] += past_of.item_weight[at] * per_class[number]
        assert found.tolist() == expected.tolist()


@pytest.mark.twin(of=[containing, signatures])
@pytest.mark.parametrize("seed", range(4))
def test_history_cliques_that_contain_a_tuple(seed, monkeypatch):
    """Alike are tuples in the same cliques, with proportional weights where these count; nobody else."""
    given = {}
    monkeypatch.setattr(
        sequential_state, "containing", lambda *all_: given.update(containing=all_) or containing(*all_)
    )
    monkeypatch.setattr(
        sequential_state, "signatures", lambda *all_: given.update(signatures=all_) or signatures(*all_)
    )
    for _ in boards(900 + seed):
        chosen, w_start, w_node, w_weight, lead, by_start, by_item, hist, width = given["containing"]
        held = [
            [dict(zip(w_node[a:b].tolist(), w_weight[a:b].tolist(), strict=True)) for a, b in pairwise(line)]
            for line in w_start.tolist()
        ]
        rows = list(zip(*held, strict=True))
        expected = plain_containing(rows, hist.tolist())
        which, item, weight = containing(chosen, w_start, w_node, w_weight, lead, by_start, by_item, hist, width)
        told = [{} for _ in chosen]
        for clique, place, much in zip(which.tolist(), item.tolist(), weight.tolist(), strict=True):
            told[place][clique] = much
        assert told == [expected[q] for q in chosen.tolist()]
        signed = signatures(*given["signatures"])
        weighted = given["signatures"][-1]
        names = [alike(mine, weighted) for mine in expected]
        assert len(set(signed.tolist())) == len(set(names))
        assert len(set(zip(signed.tolist(), names, strict=True))) == len(set(names))


def alike(weights, weighted):
    """A name that tuples share when they are linked alike."""
    if not weighted:
        return tuple(sorted(weights))
    base = next(iter(weights.values()), 1.0)
    return tuple(sorted((clique, round(weight / base, 9)) for clique, weight in weights.items()))
