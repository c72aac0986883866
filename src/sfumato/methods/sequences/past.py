"""What never changes while a release is made: history cliques, their edges, and which known tuples they contain.

Paper: [sequential Alg. 2, Lemma 3.8]

Invariants
    I1  The kernel of all releases, restricted to the earlier ones, lies inside their own kernel: history cliques outside it can be
        left out from the start.
    I2  Known tuples that lie in the same history cliques with proportional weights and have the same leaves in the new release are
        linked alike; one of them stands for all.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.sequence import Boxes
from sfumato.methods.sequences.kernels.box_joins import box_pairs
from sfumato.methods.sequences.kernels.matches import kill_mismatches
from sfumato.methods.sequences.kernels.record_cliques import containing, signatures
from sfumato.methods.sequences.sequel_problem import Goal, SequelProblem
from sfumato.randomness import Randomness


class Past:
    """History cliques with everything the joins ask of them."""

    def __init__(self, task: SequelProblem, claim: Goal) -> None:
        self.columns = task.decisive
        nodes = list(task.nodes)
        matrix, self.records, self.base_of = task.bases
        self.true = np.ascontiguousarray(matrix[:, :-1])
        cliques, lo, hi = _extend([boxes for boxes, _ in nodes], self.columns)
        if claim.join == "kernel":
            keep = _kernel(cliques, self.true)
            cliques, lo, hi = cliques[keep], lo[keep], hi[keep]
        self.order_by_lead(cliques, lo, hi)
        self.lefts = np.array([len(boxes) for boxes, _ in nodes], dtype=np.int64)
        self.value = self._values(task)
        self._number_pairs()
        self.base_clique = locate(self.true, self.cliques)
        self._know(task, claim, nodes)

    def order_by_lead(self, cliques: IntArray, lo: IntArray, hi: IntArray) -> None:
        order, self.lead, self.block = blocks(lo, hi)
        self.cliques, self.lo, self.hi = cliques[order], np.ascontiguousarray(lo[order]), np.ascontiguousarray(hi[order])

    def _values(self, task: SequelProblem) -> IntArray:
        """s of each history clique, −1 while the sensitive column is unpublished."""
        if not task.told:
            return np.full(len(self.cliques), -1, dtype=np.int64)
        place = int(np.flatnonzero(self.columns == task.sensitive)[0])
        return self.lo[:, place].copy()

    def _number_pairs(self) -> None:
        """Edges between earlier releases, numbered through all pairs."""
        earlier = self.cliques.shape[1]
        starts, lefts, rights, flows, numbers, self.pair_sizes = [0], [], [], [], [], []
        for r, q in combinations(range(earlier), 2):
            classes = group([self.cliques[:, r], self.cliques[:, q]])
            edges = self.cliques[classes.first][:, [r, q]]
            flow = np.zeros(len(edges), dtype=np.bool_)
            flow[locate(self.true[:, [r, q]], edges)] = True
            numbers.append(classes.of + starts[-1])
            lefts.append(edges[:, 0])
            rights.append(edges[:, 1])
            flows.append(flow)
            starts.append(starts[-1] + len(edges))
            self.pair_sizes.append((int(self.lefts[r]), int(self.lefts[q])))
        none = np.zeros(0, dtype=np.int64)
        self.pair_start = np.array(starts, dtype=np.int64)
        self.pair_left = np.concatenate([none, *lefts])
        self.pair_right = np.concatenate([none, *rights])
        self.pair_flow = np.concatenate([none.astype(np.bool_), *flows])
        self.edge = np.stack(numbers) if numbers else np.zeros((0, len(self.cliques)), dtype=np.int64)

    def _know(self, task: SequelProblem, claim: Goal, nodes: list[tuple[Boxes, IntArray]]) -> None:
        """Representatives of the known tuples and, per history clique, which of them it contains (I2)."""
        quasi = task.quasi
        people = task.known.restricted(quasi)[0]
        holders = _holders(task, people, quasi, nodes)
        lead = int(np.argmin(np.diff(holders[0][:, [0, -1]], axis=1).ravel()))
        order = np.argsort(self.cliques[:, lead], kind="stable")
        by_start = np.searchsorted(self.cliques[order, lead], np.arange(int(self.lefts[lead]) + 1)).astype(np.int64)
        width = int(self.lefts.max())
        noise = Randomness().words(len(self.cliques))
        signed = signatures(*holders, lead, by_start, order, self.cliques, width, noise, claim.goal == "diversity")
        columns = np.array([m for m in task.columns if m in set(quasi.tolist())], dtype=np.int64)
        alike = group([*_words(signed), *(side[:, m] for m in columns for side in (people.lo, people.hi))], rows=len(people))
        self.people = Boxes(
            people.lo[alike.first], people.hi[alike.first], np.bincount(alike.of, weights=people.count).astype(np.int64)
        )
        which, item, weight = containing(alike.first, *holders, lead, by_start, order, self.cliques, width)
        by_clique = np.argsort(which, kind="stable")
        self.item_start = np.searchsorted(which[by_clique], np.arange(len(self.cliques) + 1)).astype(np.int64)
        self.item, self.item_weight = item[by_clique], weight[by_clique]


def _words(signed: np.ndarray) -> list[IntArray]:
    return [(signed >> np.uint64(32)).astype(np.int64), (signed & np.uint64(0xFFFFFFFF)).astype(np.int64)]


def _holders(
    task: SequelProblem, people: Boxes, quasi: IntArray, nodes: list[tuple[Boxes, IntArray]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Per earlier release and tuple, the nodes with rows that contain the tuple, and how many rows: (start, node, rows)."""
    starts, found, weights, total = [], [], [], 0
    q_lo, q_hi = np.ascontiguousarray(people.lo[:, quasi]), np.ascontiguousarray(people.hi[:, quasi])
    for (boxes, _), (merged, node_of) in zip(task.past, nodes, strict=True):
        lo, hi = boxes.lo[:, quasi], boxes.hi[:, quasi]
        order, lead, block = blocks(lo, hi)
        start, which = box_pairs(q_lo, q_hi, lo[order], hi[order], lead, block, True)
        who = np.repeat(np.arange(len(people)), np.diff(start))
        key, place = np.unique(who * len(merged) + node_of[order[which]], return_inverse=True)
        weights.append(np.bincount(place, weights=boxes.count[order[which]], minlength=len(key)))
        found.append(key % len(merged))
        starts.append(np.searchsorted(key // len(merged), np.arange(len(people) + 1)) + total)
        total += len(key)
    return np.stack(starts).astype(np.int64), np.concatenate(found), np.concatenate(weights).astype(np.float64)


def blocks(lo: IntArray, hi: IntArray) -> tuple[IntArray, int, IntArray]:
    """An order of boxes by the column with the most distinct intervals, that column, and where its intervals begin."""
    if lo.shape[1] == 0 or len(lo) == 0:
        return np.arange(len(lo)), -1, np.array([0, len(lo)], dtype=np.int64)
    sizes = [len(group([lo[:, m], hi[:, m]])) for m in range(lo.shape[1])]
    lead = int(np.argmax(sizes))
    order = np.lexsort((hi[:, lead], lo[:, lead]))
    a, b = lo[order, lead], hi[order, lead]
    change = np.flatnonzero((a[1:] != a[:-1]) | (b[1:] != b[:-1])) + 1
    return order.astype(np.int64), lead, np.concatenate([[0], change, [len(lo)]]).astype(np.int64)


def locate(rows: IntArray, table: IntArray) -> IntArray:
    """Where each row stands in a table of distinct rows (it must be there)."""
    both = np.concatenate([table, rows])
    classes = group([both[:, c] for c in range(both.shape[1])], rows=len(both))
    place = np.full(len(classes), -1, dtype=np.int64)
    place[classes.of[: len(table)]] = np.arange(len(table))
    return place[classes.of[len(table) :]]


def _extend(nodes: list[Boxes], columns: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """All cliques of nodes of the earlier releases with their boxes on the decisive columns."""
    cliques = np.arange(len(nodes[0]))[:, None]
    lo, hi = nodes[0].lo[:, columns], nodes[0].hi[:, columns]
    for boxes in nodes[1:]:
        other_lo, other_hi = boxes.lo[:, columns], boxes.hi[:, columns]
        order, lead, block = blocks(other_lo, other_hi)
        start, which = box_pairs(
            np.ascontiguousarray(lo), np.ascontiguousarray(hi), other_lo[order], other_hi[order], lead, block, False
        )
        i, j = np.repeat(np.arange(len(lo)), np.diff(start)), order[which]
        cliques = np.column_stack([cliques[i], j])
        lo, hi = np.maximum(lo[i], other_lo[j]), np.minimum(hi[i], other_hi[j])
    return cliques, lo, hi


def _kernel(cliques: IntArray, true: IntArray) -> np.ndarray:
    """Which history cliques lie in the kernel of the earlier releases (I1)."""
    alive = np.ones(len(cliques), dtype=np.bool_)
    pairs = list(combinations(range(cliques.shape[1]), 2))
    while True:
        before = int(alive.sum())
        for r, q in pairs:
            living = np.flatnonzero(alive)
            classes = group([cliques[living, r], cliques[living, q]])
            edges = cliques[living][classes.first][:, [r, q]]
            flow, lives = np.zeros(len(edges), dtype=np.bool_), np.ones(len(edges), dtype=np.bool_)
            flow[locate(true[:, [r, q]], edges)] = True
            sizes = int(cliques[:, r].max()) + 1, int(cliques[:, q].max()) + 1
            kill_mismatches(*sizes, np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]), flow, lives)
            alive[living] = lives[classes.of]
        if int(alive.sum()) == before:
            return alive
