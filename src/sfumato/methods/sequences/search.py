"""Top-down specialization of a new release: first whole nodes of the taxonomies, then cells.

Paper: [sequential Alg. 3, Eq. 7]

Invariants
    I1  The board satisfies the claim (on the claim's join) before and after every step that is kept.
    I2  Linkability is monotone: a step that breaks it breaks it for ever, for every record of the same unit, and for whatever these
        records become in other columns. So group testing may condemn, and ends maximal: no cell can be specialized any more.
    I3  Records of a unit are exchangeable: trying one of them again in an unchanged state gives the same answer.

Departures
    Eq. 7 divides by the loss of privacy, which is normally 0 and may be negative for diversity. A step that costs no privacy comes
    first (ratio +∞), among those the one that gains most information; then the ratio decides. Candidates are tried from the
    largest gain, so the first that costs nothing ends the round.
    Diversity is not monotone: dropping a node for ever (Step 13) and skipping repeated tries are heuristics there.
    The shrinking of buckets, which the paper omits: a tenth of the open cells, then half of that, down to one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.sequences.partial_release import Board, StepsDown
from sfumato.methods.sequences.sequel_problem import Goal, Measure
from sfumato.randomness import Randomness

_EXACT = float(1 << 52)


def holds(claim: Goal, weights: FloatArray) -> np.ndarray:
    """Per tuple, does the claim hold? Diversity is decided in exact arithmetic where rounding could matter.

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
        """The time for searching is over; whatever the board shows then satisfies the claim (I1)."""
        return time.process_time() >= self.until

    def ok(self) -> bool:
        return bool(holds(self.claim, self.board.weights()).all())

    def loss(self) -> float:
        """Information loss of the release as it stands, over all cells."""
        board = self.board
        counts = board.records.data[: board.unit_count]
        nodes = board.class_nodes.data[:, board.unit_class.data[: board.unit_count]]
        return float(sum((cost[nodes[i]] * counts).sum() for i, cost in enumerate(self.costs)))

    # -- stage 1 ----------------------------------------------------------------------------------------------------------

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
        """The level after the moves, or nothing when the claim breaks; the board stays as it was."""
        went = self.board.make(moves)
        weights = self.board.weights()
        self.board.undo(moves, went)
        if not holds(self.claim, weights).all():
            return None
        if self.claim.goal == "linkability":
            return float((weights > 0).sum(axis=1).min())
        return float((weights.sum(axis=1) / weights.max(axis=1)).min())

    # -- stage 2 ----------------------------------------------------------------------------------------------------------

    def specialize_cells(self) -> None:
        """Specialize single cells: group testing for linkability, shrinking buckets for diversity."""
        if self.claim.goal == "linkability":
            self.test_groups()
        else:
            self.fill_buckets()

    def _keep(self, moves: StepsDown) -> IntArray | None:
        """Make the moves if the claim survives them; where the records went."""
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
