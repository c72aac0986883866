"""The exact guard for three and more releases: links that are proven by a perfect matching, and a way back when they are too few.

Guarantee
    `certified` is true only if the claim holds when nothing but proven cliques is counted (linkability), or when every clique of
    the kernel is proven or refuted (diversity). Every proof is a matching in integers.

Paper: [sequential Def. 3.3, Thm. 3.4]

Notation
    amounts   how many records each clique stands for in a perfect matching; the first one is the truth

Invariants
    I1  A clique is proven only by amounts that are non-negative integers and use every node exactly as often as it has records.
    I2  A clique is refuted only by a linear program that finished with optimum zero.
    I3  Backing off generalizes: linkability cannot fall by it, and it ends at the latest when the whole release is suppressed.
    I4  A release *follows* another one if each node of that other one is in cliques with a single node of it. It then adds nothing:
        a matching of the other releases extends in one way, and the counts fit because the truth extends so too. When followers
        are dropped in turn until two releases are left, every clique of the kernel is proven, because for two the kernel is exact.
        A new release of suppressed columns follows, so this ends without any program where nothing else does.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray, places_within
from sfumato.methods.sequences.partial_release import Board
from sfumato.methods.sequences.search import holds

_TINY = 1e-6
_PATIENCE = 6
"""Batches that came out fractional before cliques are asked for one by one."""


class Witness:
    """Proofs for the cliques of a board in its present state."""

    def __init__(self, board: Board, deadline: float, settled: np.ndarray | None = None) -> None:
        self.board, self.deadline = board, deadline
        self.settled = np.zeros(len(board.past.people), dtype=np.bool_) if settled is None else settled
        """Tuples proven before the last back-off; they stay proven (I3)."""
        self.join = board.join()
        self.cliques = np.flatnonzero(self.join[3])
        self.system, self.supply, self.truth = self._system()
        self.proven = self.truth > 0
        self.refuted = np.zeros(len(self.cliques), dtype=np.bool_)
        self.component = _components(self.system, len(self.supply))
        self.programs = 0

    def _system(self) -> tuple[IntArray, IntArray, IntArray]:
        """Per clique its nodes in all releases numbered through, records per node, and the true amounts."""
        board, past = self.board, self.board.past
        starts = board.clique_start.data[: board.node_count + 1]
        self.owner = np.searchsorted(starts, self.cliques, side="right") - 1
        parts = [past.cliques[board.clique_h.data[self.cliques]], self.owner[:, None]]
        counts = [boxes.count for boxes, _ in board.task.nodes]
        per_class = np.zeros(board.node_count, dtype=np.int64)
        np.add.at(per_class, board.class_node.data[: board.class_count_total], self.join[0])
        offset = np.cumsum([0, *(len(count) for count in counts)])
        amounts = np.zeros(len(self.join[3]), dtype=np.int64)
        living = np.flatnonzero(board.records.data[: board.unit_count])
        np.add.at(amounts, board.unit_clique.data[living], board.records.data[living])
        return np.concatenate(parts, axis=1) + offset, np.concatenate([*counts, per_class]), amounts[self.cliques]

    def certified(self) -> bool:
        """Prove cliques until the claim holds on them, or nothing more can be proven in time."""
        if self.board.past.cliques.shape[1] == 1 or self.plain():
            return True
        self._in_batches()
        self._one_by_one()
        return not self._short().any()

    def plain(self) -> bool:
        """Is the truth with what needs no program enough (I4)? Independent components are looked at one by one."""
        order = np.argsort(self.component, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(self.component[order])) + 1):
            if not self.proven[part].all() and collapses(self.system[part]):
                self.proven[part] = True
        return not self._short().any()

    def _short(self) -> np.ndarray:
        """Tuples whose claim is not yet proven; with diversity everybody waits for the last clique."""
        if self.board.claim.goal == "diversity" and bool((~self.proven & ~self.refuted).any()):
            return np.ones(len(self.board.past.people), dtype=np.bool_)
        return self.short()

    def short(self) -> np.ndarray:
        """Tuples for which the claim does not hold on what is proven alone."""
        alive = np.zeros(len(self.join[3]), dtype=np.bool_)
        alive[self.cliques[self.proven]] = True
        short = ~holds(self.board.claim, self.board.weights((*self.join[:3], alive)))
        if self.board.claim.goal == "linkability":
            self.settled |= ~short
            short &= ~self.settled
        return short

    def _wanted(self) -> np.ndarray:
        """Undecided cliques that might help somebody who is short."""
        short, past, board = self._short(), self.board.past, self.board
        wanted = np.flatnonzero(~self.proven & ~self.refuted)
        history = board.clique_h.data[self.cliques[wanted]]
        width = past.item_start[history + 1] - past.item_start[history]
        who = past.item[np.repeat(past.item_start[history], width) + places_within(width)]
        owner, place = np.repeat(self.owner[wanted], width), np.repeat(wanted, width)
        helps = short[who]
        for i in range(len(board.shared_q)):
            lo, hi = board.node_q.data[0, i, owner], board.node_q.data[1, i, owner]
            helps &= (lo <= board.q_shared[0][who, i]) & (board.q_shared[1][who, i] <= hi)
        mask = np.zeros(len(self.cliques), dtype=np.bool_)
        mask[place[helps]] = True
        return mask

    def _in_batches(self) -> None:
        """Ask for many cliques at once."""
        broken = np.zeros(len(self.cliques), dtype=np.bool_)
        vain = 0
        while time.process_time() < self.deadline and vain < _PATIENCE:
            asked = self._wanted() & ~broken
            if not asked.any():
                return
            columns = np.flatnonzero(np.isin(self.component, self.component[asked]))
            solution = self._solve(columns, asked[columns])
            if solution is None:
                return
            if solution[asked[columns]].sum() <= _TINY:
                self.refuted |= asked  # I2
            elif not self._prove(columns, solution):
                broken[columns[asked[columns] & (solution > _TINY)]] = True
                vain += 1

    def _one_by_one(self) -> None:
        """Ask for one clique at a time, near the truth only: what that does not prove is cheaper to generalize away."""
        tried = np.zeros(len(self.cliques), dtype=np.bool_)
        while time.process_time() < self.deadline:
            left = np.flatnonzero(self._wanted() & ~tried)
            if not len(left):
                return
            for clique in left[:16].tolist():
                tried[clique] = True
                if time.process_time() >= self.deadline:
                    return
                if self.proven[clique]:
                    continue
                for size in (200, 2000):
                    columns = self._around(clique, size)
                    solution = self._change(columns, clique)
                    if (solution is not None and self._prove(columns, solution)) or len(columns) < size:
                        break

    def _prove(self, columns: IntArray, amounts: np.ndarray) -> bool:
        """I1: accept amounts only if they are a matching in integers."""
        whole = self.truth.copy()
        whole[columns] = np.rint(amounts).astype(np.int64)
        used = np.zeros(len(self.supply), dtype=np.int64)
        for r in range(self.system.shape[1]):
            np.add.at(used, self.system[:, r], whole)
        if (whole < 0).any() or not np.array_equal(used, self.supply):
            return False
        before = int(self.proven.sum())
        self.proven |= whole > 0
        return int(self.proven.sum()) > before

    def _matrix(self, columns: IntArray) -> tuple[Any, IntArray]:
        from scipy.sparse import csc_array

        rows, place = np.unique(self.system[columns], return_inverse=True)
        entries = np.repeat(np.arange(len(columns)), self.system.shape[1])
        return csc_array((np.ones(len(entries)), (place.ravel(), entries)), shape=(len(rows), len(columns))), rows

    def _solve(self, columns: IntArray, asked: np.ndarray) -> np.ndarray | None:
        """Amounts that use as many of the asked cliques as a fractional matching can, each counted up to one."""
        from scipy import optimize, sparse

        self.programs += 1
        matrix, rows = self._matrix(columns)
        extra = np.flatnonzero(asked)
        solve: Any = optimize.linprog
        stack: Any = sparse.hstack
        found = solve(
            np.concatenate([np.zeros(len(columns)), -np.ones(len(extra))]),
            A_eq=stack([matrix, matrix[:, extra]], format="csc"),
            b_eq=self.supply[rows],
            bounds=[(0, None)] * len(columns) + [(0, 1)] * len(extra),
            method="highs-ds",
            options={"time_limit": max(self.deadline - time.process_time(), 0.1)},
        )
        if found.status != 0:
            return None
        amounts: np.ndarray = found.x[: len(columns)].copy()
        amounts[extra] += found.x[len(columns) :]
        return amounts

    def _change(self, columns: IntArray, clique: int) -> np.ndarray | None:
        """Amounts that use the clique and differ least from the truth."""
        from scipy import optimize, sparse

        self.programs += 1
        matrix, rows = self._matrix(columns)
        bounds = [(0.0, None)] * len(columns) + [(0.0, float(x)) for x in self.truth[columns]]
        bounds[int(np.flatnonzero(columns == clique)[0])] = (1.0, None)
        solve: Any = optimize.linprog
        stack: Any = sparse.hstack
        found = solve(
            np.ones(2 * len(columns)),
            A_eq=stack([matrix, -matrix], format="csc"),
            b_eq=np.zeros(len(rows)),
            bounds=bounds,
            method="highs-ds",
            options={"time_limit": max(self.deadline - time.process_time(), 0.1)},
        )
        if found.status != 0:
            return None
        changed: np.ndarray = self.truth[columns] + found.x[: len(columns)] - found.x[len(columns) :]
        return changed

    def _around(self, clique: int, size: int) -> IntArray:
        """About `size` cliques: those among the nodes near this one, nearness spreading along cliques and true cliques in turn."""
        inside = np.zeros(len(self.supply), dtype=np.bool_)
        inside[self.system[clique]] = True
        columns = np.array([clique])
        for _ in range(8):
            inside[self.system[inside[self.system].sum(axis=1) >= self.system.shape[1] - 1]] = True
            inside[self.system[(self.truth > 0) & inside[self.system].any(axis=1)]] = True
            columns = np.flatnonzero(inside[self.system].all(axis=1))
            if len(columns) >= size:
                break
        return columns


def collapses(cliques: IntArray) -> bool:
    """Can releases (columns) that follow another one be dropped until two are left? (I4)

    >>> collapses(np.array([[0, 0, 5], [0, 1, 6], [1, 1, 6]])), collapses(np.array([[0, 0, 5], [0, 1, 6], [1, 1, 5], [1, 0, 6]]))
    (True, False)
    """
    left = list(range(cliques.shape[1]))
    while len(left) > 2:
        found = next((j for j in reversed(left) for r in left if j != r and _follows(cliques, r, j)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _follows(cliques: IntArray, leader: int, follower: int) -> bool:
    pairs = cliques[:, leader] * (int(cliques[:, follower].max()) + 1) + cliques[:, follower]
    return len(np.unique(pairs)) == len(np.unique(cliques[:, leader]))


def _components(nodes: IntArray, size: int) -> IntArray:
    """Per clique the number of its component: cliques that share nodes, even indirectly."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tail = np.repeat(nodes[:, 0], nodes.shape[1] - 1)
    graph = coo_array((np.ones(len(tail)), (tail, nodes[:, 1:].ravel())), shape=(size, size))
    _, label = connected_components(graph.tocsr(), directed=False)
    component: IntArray = label[nodes[:, 0]].astype(np.int64)
    return component


def back_off(board: Board, short: np.ndarray) -> int:
    """Generalize the records around the tuples that are short by one step in every column; how many records moved (I3)."""
    people = board.past.people
    quasi = [(i, m) for i, m in enumerate(board.task.columns) if m in set(board.task.quasi.tolist())]
    hit = np.zeros(board.class_count_total, dtype=np.bool_)
    for q in np.flatnonzero(short):
        around = np.ones(board.class_count_total, dtype=np.bool_)
        for i, m in quasi:
            node = board.class_nodes.data[i, : board.class_count_total]
            tree = board.trees[i]
            around &= (tree.lo[node] <= people.lo[q, m]) & (tree.hi[node] >= people.hi[q, m])
        hit |= around
    units = np.flatnonzero(board.records.data[: board.unit_count])
    near = units[hit[board.unit_class.data[units]]]
    return board.lift(near) or board.lift(units)
