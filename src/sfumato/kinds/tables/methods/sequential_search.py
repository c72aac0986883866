"""Top-down specialization of a new release: first whole nodes of the taxonomies, then cells.

Paper: [sequential Alg. 3, Eq. 7]

Invariants
    I1  The board satisfies the requirement (on the requirement's join) before and after every step that is kept.
    I2  Linkability is monotone: a step that breaks it breaks it for ever, for every record of the same unit, and for
        whatever these records become in other columns. So group testing may condemn, and ends maximal: no cell can be
        specialized any more.
    I3  Records of a unit are exchangeable: trying one of them again in an unchanged state gives the same answer.

Departures
    Eq. 7 divides by the loss of privacy, which is normally 0 and may be negative for diversity. A step that costs no
    privacy comes first (ratio +∞), among those the one that gains most information; then the ratio decides. Candidates
    are tried from the largest gain, so the first that costs nothing ends the round. Diversity is not monotone: dropping
    a node for ever (Step 13) and skipping repeated tries are heuristics there. The shrinking of buckets, which the
    paper omits: a tenth of the open cells, then half of that, down to one.


Specialize
----------
From a task to the boxes of the new release: Algorithm 3, the exact guard, and one box per record.

Guarantee
    The result satisfies the requirement on the full join: by construction for one and two releases, by proof for more.

Paper: [sequential Alg. 3]

Invariants
    I1  Which records of a base get which of its boxes is drawn at random: they are exchangeable, and nobody may guess
        the draw.
    I2  With three and more releases the search ends when its share of the budget is spent, and so does every attempt at
        a proof. What is left unproven is never published: the next rung of the ladder is coarser, the last needs no
        program, and when even that one fails the release is refused.


Back off
--------
From a release that the kernel allows to one that is proven: back off cell by cell, then by whole columns, always in
time.

Guarantee
    `climb_down` returns only when the exact guard has certified the board as it then stands; else it raises
    `Infeasible`.

Paper: [sequential Thm. 3.4] (deciding the full join is NP-hard for three and more releases, so some proofs must be
given up)

Invariants
    I1  A rung that is not certified before its deadline is left for a coarser one; nothing uncertified is returned.
    I2  Each rung has a share of the budget, and rungs are finitely many.
    I3  Rungs of whole columns are tried without programs; only the last one, where nothing is left to give up, may use
        what time there is.


Witness
-------
The exact guard for three and more releases: links that are proven by a perfect matching, and a way back when they are
too few.

Guarantee
    `certified` is true only if the requirement holds when nothing but proven cliques is counted (linkability), or when
    every clique of the kernel is proven or refuted (diversity). Every proof is a matching in integers.

Paper: [sequential Def. 3.3, Thm. 3.4]

Notation
    amounts   how many records each clique stands for in a perfect matching; the first one is the truth

Invariants
    I1  A clique is proven only by amounts that are non-negative integers and use every node exactly as often as it has
        records.
    I2  A clique is refuted only by a linear program that finished with optimum zero.
    I3  Backing off generalizes: linkability cannot fall by it, and it ends at the latest when the whole release is
        suppressed.
    I4  A release *follows* another one if each node of that other one is in cliques with a single node of it. It then
        adds nothing: a matching of the other releases extends in one way, and the counts fit because the truth extends
        so too. When followers are dropped in turn until two releases are left, every clique of the kernel is proven,
        because for two the kernel is exact. A new release of suppressed columns follows, so this ends without any
        program where nothing else does.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray, positions_in_runs
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.tables.methods.sequential_state import Board, Goal, Measure, SequelProblem, StepsDown

_EXACT = float(1 << 52)


def holds(claim: Goal, weights: FloatArray) -> np.ndarray:
    """Per tuple, does the requirement hold? Diversity is decided in exact arithmetic where rounding could matter.

    >>> holds(Goal(2.5, "diversity"), np.array([[2.0, 2.0, 1.0], [3.0, 2.0, 2.0]])).tolist()
    [True, False]
    """
    if claim.goal == "linkability":
        return np.asarray((weights > 0).sum(axis=1) >= claim.k)
    total, largest = weights.sum(axis=1), weights.max(axis=1)
    verdict = np.asarray(largest * claim.k <= total)
    for row in np.flatnonzero(np.abs(largest * claim.k - total) <= 1e-9 * total):
        whole = total[row] < _EXACT
        verdict[row] = whole and int(largest[row]) * Fraction(str(claim.k)) <= int(total[row])
    return verdict


@dataclass
class SearchTrace:
    """What the search did, for the private report."""

    checks: int = 0
    cut_loss: float = 0.0
    cut_level: float = 0.0
    rounds: list[str] = field(default_factory=list)


class Specialization:
    """Algorithm 3 on a board."""

    def __init__(self, board: Board, measure: Measure, chance: Randomness, until: float = math.inf) -> None:
        self.board, self.claim, self.chance = board, board.claim, chance
        self.until = until
        costs = board.task.cost(measure)
        self.costs = [costs[m] for m in board.task.columns]

    def late(self) -> bool:
        """The time for searching is over; whatever the board shows then satisfies the requirement (I1)."""
        return time.process_time() >= self.until

    def ok(self) -> bool:
        return bool(holds(self.claim, self.board.weights()).all())

    def loss(self) -> float:
        """Information loss of the release as it stands, over all cells."""
        board = self.board
        counts = board.records.data[: board.unit_count]
        nodes = board.class_nodes.data[:, board.unit_class.data[: board.unit_count]]
        return float(sum((cost[nodes[i]] * counts).sum() for i, cost in enumerate(self.costs)))

    # -- stage 1 -------------------------------------------------------------------------------------------------------

    def specialize_cuts(self) -> None:
        """Split whole nodes of the cuts, best ratio of information to privacy first, until none can be split."""
        closed: set[tuple[int, int]] = set()
        level = float(self.board.levels().min())
        while True:
            chosen: tuple[float, StepsDown, float] | None = None
            for gain, (column, node), moves in self._candidates(closed):
                if self.late():
                    return
                after = self._try(moves)
                if after is None:
                    closed.add((column, node))
                    continue
                ratio = gain / (level - after) if after < level else np.inf
                if chosen is None or ratio > chosen[0]:
                    chosen = ratio, moves, after
                if ratio == np.inf:
                    break
            if chosen is None:
                return
            self.board.make(chosen[1])
            level = chosen[2]

    def _candidates(self, closed: set[tuple[int, int]]) -> list[tuple[float, tuple[int, int], StepsDown]]:
        """Nodes that can be split, with what splitting them gains, the largest gain first."""
        board, found = self.board, []
        counts = board.records.data[: board.unit_count]
        for column, cost in enumerate(self.costs):
            step = board.steps(column)
            units = np.flatnonzero((step >= 0) & (counts > 0))
            nodes = board.class_nodes.data[column, board.unit_class.data[units]]
            gains = (cost[nodes] - cost[step[units]]) * counts[units]
            for node in np.unique(nodes):
                if (column, int(node)) not in closed:
                    mine = units[nodes == node]
                    moves = StepsDown(mine, np.full(len(mine), column), counts[mine].copy())
                    found.append((float(gains[nodes == node].sum()), (column, int(node)), moves))
        return sorted(found, key=lambda entry: (-entry[0], entry[1]))

    def _try(self, moves: StepsDown) -> float | None:
        """The level after the moves, or nothing when the requirement breaks; the board stays as it was."""
        went = self.board.make(moves)
        weights = self.board.weights()
        self.board.undo(moves, went)
        if not holds(self.claim, weights).all():
            return None
        if self.claim.goal == "linkability":
            return float((weights > 0).sum(axis=1).min())
        return float((weights.sum(axis=1) / weights.max(axis=1)).min())

    # -- stage 2 -------------------------------------------------------------------------------------------------------

    def specialize_cells(self) -> None:
        """Specialize single cells: group testing for linkability, shrinking buckets for diversity."""
        if self.claim.goal == "linkability":
            self.test_groups()
        else:
            self.fill_buckets()

    def _keep(self, moves: StepsDown) -> IntArray | None:
        """Make the moves if the requirement survives them; where the records went."""
        went = self.board.make(moves)
        if self.ok():
            return went  # I1
        self.board.undo(moves, went)
        return None

    def test_groups(self) -> None:
        """Try all open cells of a column at once; split what fails; a single failing record condemns its unit (I2)."""
        condemned = [set[int]() for _ in self.costs]
        moved = True
        while moved and not self.late():
            moved = False
            for column in self.chance.permutation(len(self.costs)).tolist():
                moved |= self._test_column(column, condemned)

    def _test_column(self, column: int, condemned: list[set[int]]) -> bool:
        stack = self._open(column, condemned[column])
        moved = False
        while stack and not self.late():
            part = [(u, min(x, int(self.board.records.data[u]))) for u, x in stack.pop() if u not in condemned[column]]
            if not part:
                continue
            units = np.array([u for u, _ in part], dtype=np.int64)
            moves = StepsDown(units, np.full(len(part), column), np.array([x for _, x in part], dtype=np.int64))
            went = self._keep(moves)
            if went is not None:
                moved = True
                _inherit(condemned, column, units, went)
            elif len(part) > 1:
                stack += [part[len(part) // 2 :], part[: len(part) // 2]]
            elif part[0][1] > 1:
                half = part[0][1] // 2
                stack += [[(part[0][0], part[0][1] - half)], [(part[0][0], half)]]
            else:
                condemned[column].add(part[0][0])
        return moved

    def _open(self, column: int, condemned: set[int]) -> list[list[tuple[int, int]]]:
        board = self.board
        counts = board.records.data[: board.unit_count]
        units = np.flatnonzero((board.steps(column) >= 0) & (counts > 0))
        units = units[self.chance.permutation(len(units))]  # the order must not be guessable
        part = [(int(u), int(counts[u])) for u in units if int(u) not in condemned]
        return [part] if part else []

    def fill_buckets(self) -> None:
        """Random buckets of cells, each specialized if all of it may be; ever smaller ones."""
        size = max(1, sum(x for _, _, x in self._cells()) // 10)
        while True:
            self._one_pass(size)
            if size == 1 or self.late():
                return
            size //= 2

    def _cells(self) -> list[tuple[int, int, int]]:
        """(unit, column, records) of all cells that are not yet at their target."""
        board = self.board
        counts = board.records.data[: board.unit_count]
        found = []
        for column in range(len(self.costs)):
            units = np.flatnonzero((board.steps(column) >= 0) & (counts > 0))
            found += [(int(u), column, int(counts[u])) for u in units]
        return found

    def _one_pass(self, size: int) -> None:
        cells = self._cells()
        order = self.chance.permutation(len(cells)).tolist()
        bucket: list[tuple[int, int, int]] = []
        room, state, refused = size, 0, (-1, -1, -1)
        for place in order:
            unit, column, amount = cells[place]
            if self.late():
                return
            while amount:
                take = min(amount, room)
                bucket.append((unit, column, take))
                amount, room = amount - take, room - take
                if room:
                    continue
                alone = (unit, column, state) if len(bucket) == 1 else (-1, -1, -2)
                if alone == refused:  # I3
                    amount = 0
                elif self._keep_bucket(bucket):
                    state += 1
                else:
                    refused = alone
                bucket, room = [], size
        if bucket:
            self._keep_bucket(bucket)

    def _keep_bucket(self, bucket: list[tuple[int, int, int]]) -> bool:
        """Cells of one unit in several columns are taken from different records, as far as there are any."""
        left: dict[int, int] = {}
        kept = []
        for unit, column, amount in bucket:
            have = left.setdefault(unit, int(self.board.records.data[unit]))
            take = min(amount, have)
            left[unit] = have - take
            if take:
                kept.append((unit, column, take))
        if not kept:
            return False
        columns = np.array(kept, dtype=np.int64).T
        return self._keep(StepsDown(columns[0], columns[1], columns[2])) is not None


def _inherit(condemned: list[set[int]], column: int, units: IntArray, went: IntArray) -> None:
    """Records condemned in one column stay so when another column becomes more special (I2)."""
    for other, marked in enumerate(condemned):
        if other != column and marked:
            marked.update(int(new) for old, new in zip(units, went, strict=True) if int(old) in marked)


# Specialize
# ----------


_SEARCH = 0.4
"""The share of the budget after which the search ends and the proof begins."""


@dataclass(frozen=True)
class Specialized:
    """Boxes per record on all attributes, and how they came about (private)."""

    lo: IntArray
    hi: IntArray
    loss: float
    cut_loss: float
    cut_level: float
    checks: int
    programs: int
    lifted: int
    """Records that had to be generalized again because the exact guard said no."""
    rung: str = "cells"
    """What was proven: the cells as searched, the cut, the cut without some columns, or nothing but suppressed
    columns."""
    spent: bool = False
    """Whether the search, or the proof of what it found, ended because its time was over."""


def specialize(
    task: SequelProblem,
    claim: Goal,
    chance: Randomness,
    *,
    measure: Measure = "loss",
    cells: bool = True,
    budget: float = 60.0,
) -> Specialized:
    """The most special release that Algorithm 3 finds and the exact guard confirms."""
    if not (task.tells or task.told):
        return _open(task)
    started = time.process_time()
    board = Board(task, claim)
    proof = claim.join == "kernel" and board.past.cliques.shape[1] > 1
    deadline = started + _SEARCH * budget if proof else math.inf
    search = Specialization(board, measure, chance.child("search"), deadline)
    if not search.ok():
        raise _impossible(claim, board)
    search.specialize_cuts()
    cut, cut_loss, cut_level = board.state(), search.loss(), float(board.levels().min())
    if cells:
        search.specialize_cells()
    over = time.process_time() >= deadline
    ladder = Ladder(search, cut, started, budget)
    rung = ladder.climb_down() if proof else "cells"  # I2
    lo, hi = _boxes(board, chance.child("rows"))
    spent = over or ladder.spent or rung in ("columns", "suppressed")
    return Specialized(
        lo, hi, search.loss(), cut_loss, cut_level, board.checks, ladder.programs, ladder.lifted, rung, spent
    )


def _impossible(claim: Goal, board: Board) -> Infeasible:
    reach = float(board.levels().min())
    level = f"{int(reach)}" if claim.goal == "linkability" else f"{reach:.4g}"
    why = (
        "each further release with the sensitive column counts every link once more"
        if claim.goal == "diversity"
        else "the earlier releases and the sensitive column leave no more"
    )
    return Infeasible(
        f"even fully suppressed, the new release would leave a {claim.goal} of {level}, below {claim.k:g}",
        hint=f"{why}; ask for at most {level}, or leave the sensitive column out",
    )


def _open(task: SequelProblem) -> Specialized:
    """As long as nobody published the sensitive column nothing can be linked: leaves for all people (Def. 4.2a)."""
    boxes, of = task.target
    return Specialized(boxes.lo[of], boxes.hi[of], 0.0, 0.0, float("inf"), 0, 0, 0)


def _boxes(board: Board, chance: Randomness) -> tuple[IntArray, IntArray]:
    task = board.task
    boxes, of = task.target
    lo, hi = boxes.lo[of].copy(), boxes.hi[of].copy()
    base_of = task.bases[2]
    shuffled = chance.permutation(len(base_of))
    order = shuffled[np.argsort(base_of[shuffled], kind="stable")]  # I1
    units = np.flatnonzero(board.records.data[: board.unit_count])
    units = units[np.argsort(board.unit_base.data[units], kind="stable")]
    classes = np.repeat(board.unit_class.data[units], board.records.data[units])
    for i, m in enumerate(task.columns):
        node = board.class_nodes.data[i, classes]
        lo[order, m], hi[order, m] = board.trees[i].lo[node], board.trees[i].hi[node]
    return lo, hi


# Back off
# --------


_CELLS, _CUT = 0.75, 0.9
"""Shares of the budget after which proving the cells, and then the cut, is given up."""
_LITTLE = 0.02
"""A share of the budget too small to begin another attempt."""
_MANY = 6
"""Columns up to which all sets of them are tried for suppression; beyond, single ones and all of them."""


class Ladder:
    """Ever coarser versions of a release, until one is proven."""

    def __init__(self, search: Specialization, cut: IntArray, started: float, budget: float) -> None:
        self.search, self.board, self.cut = search, search.board, cut
        self.started, self.budget = started, budget
        self.programs = self.lifted = 0
        self.spent = False
        """Whether something was given up because an attempt to prove it took too long."""

    def climb_down(self) -> str:
        """The name of the first rung that is proven; the board then stands there."""
        if self._backing_off(self.started + _CELLS * self.budget):
            return "cells"
        self.board.restore(self.cut)
        if self._backing_off(self.started + _CUT * self.budget):
            return "cut"
        if self._without_columns():
            return "columns"
        self.board.restore(self.cut)
        self.lifted += self.board.suppress(tuple(range(len(self.board.task.columns))))
        if self._certified(self.started + self.budget):
            return "suppressed"
        raise Infeasible(
            f"the claim could not be proven for all releases together within {self.budget:g} CPU seconds, not even with"
            " all columns of the new release suppressed",
            hint="allow more time (budget), publish fewer columns that earlier releases share, or lower the level",
        )

    def _backing_off(self, deadline: float) -> bool:
        """Generalize around those whose requirement is not proven, or everybody when an attempt took too long (I1,
        I2)."""
        settled = None
        while True:
            begun = time.process_time()
            attempt = begun + (deadline - begun) / 2
            witness = Witness(self.board, attempt, settled)
            done = witness.certified()
            settled = witness.settled
            self.programs += witness.programs
            now = time.process_time()
            if done:
                return True
            self.spent |= now >= attempt
            if now >= deadline - _LITTLE * self.budget:
                return False
            moved = back_off(self.board, witness.short()) if now < attempt else self.board.lift(self._living())
            if not moved:
                return False
            self.lifted += moved

    def _living(self) -> IntArray:
        return np.flatnonzero(self.board.state())

    def _certified(self, deadline: float) -> bool:
        witness = Witness(self.board, deadline)
        done = witness.certified()
        self.programs += witness.programs
        return done

    def _without_columns(self) -> bool:
        """The cut with the cheapest set of shared columns suppressed for all people that leaves nothing to prove
        (I3)."""
        options = []
        for columns in _sets(self.board.shared):
            self.board.restore(self.cut)
            moved = self.board.suppress(columns)
            options.append((self.search.loss(), columns, moved))
        for _, columns, moved in sorted(options):
            self.board.restore(self.cut)
            self.board.suppress(columns)
            if Witness(self.board, self.started).plain():
                self.lifted += moved
                return True
        return False


def _sets(columns: list[int]) -> list[tuple[int, ...]]:
    """
    >>> _sets([3, 5])
    [(3,), (5,), (3, 5)]
    """
    sizes = range(1, len(columns) + 1) if len(columns) <= _MANY else (1, len(columns))
    return [chosen for size in sizes for chosen in combinations(columns, size)]


# Witness
# -------


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
        """Prove cliques until the requirement holds on them, or nothing more can be proven in time."""
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
        """Tuples whose requirement is not yet proven; with diversity everybody waits for the last clique."""
        if self.board.claim.goal == "diversity" and bool((~self.proven & ~self.refuted).any()):
            return np.ones(len(self.board.past.people), dtype=np.bool_)
        return self.short()

    def short(self) -> np.ndarray:
        """Tuples for which the requirement does not hold on what is proven alone."""
        alive = np.zeros(len(self.join[3]), dtype=np.bool_)
        alive[self.cliques[self.proven]] = True
        short = ~holds(self.board.claim, self.board.weights((*self.join[:3], alive)))
        if self.board.claim.goal == "linkability":
            self.settled |= ~short
            short &= ~self.settled
        return short

    def _wanted(self) -> np.ndarray:
        """Undecided cliques that might help a person who is short."""
        short, past, board = self._short(), self.board.past, self.board
        wanted = np.flatnonzero(~self.proven & ~self.refuted)
        history = board.clique_h.data[self.cliques[wanted]]
        width = past.item_start[history + 1] - past.item_start[history]
        who = past.item[np.repeat(past.item_start[history], width) + positions_in_runs(width)]
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
        """About `size` cliques: those among the nodes near this one, nearness spreading along cliques and true cliques
        in turn."""
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

    >>> collapses(np.array([[0, 0, 5], [0, 1, 6], [1, 1, 6]])), collapses(np.array([[0, 0, 5], [0, 1, 6], [1, 1, 5], [1,
    ...     0, 6]]))
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
    """Generalize the records around the tuples that are short by one step in every column; how many records moved
    (I3)."""
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
