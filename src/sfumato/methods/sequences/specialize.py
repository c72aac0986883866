"""From a task to the boxes of the new release: Algorithm 3, the exact guard, and one box per record.

Guarantee
    The result satisfies the claim on the full join: by construction for one and two releases, by proof for more.

Paper: [sequential Alg. 3]

Invariants
    I1  Which records of a base get which of its boxes is drawn at random: they are exchangeable, and nobody may guess the draw.
    I2  With three and more releases the search ends when its share of the budget is spent, and so does every attempt at a proof.
        What is left unproven is never published: the next rung of the ladder is coarser, the last needs no program, and when even
        that one fails the release is refused.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.methods.sequences.back_off import Ladder
from sfumato.methods.sequences.partial_release import Board
from sfumato.methods.sequences.search import Specialization
from sfumato.methods.sequences.sequel_problem import Goal, Measure, SequelProblem
from sfumato.randomness import Randomness

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
    """What was proven: the cells as searched, the cut, the cut without some columns, or nothing but suppressed columns."""
    spent: bool = False
    """Whether the search, or the proof of what it found, ended because its time was over."""


def specialize(
    task: SequelProblem, claim: Goal, chance: Randomness, *, measure: Measure = "loss", cells: bool = True, budget: float = 60.0
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
    return Specialized(lo, hi, search.loss(), cut_loss, cut_level, board.checks, ladder.programs, ladder.lifted, rung, spent)


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
    """As long as nobody published the sensitive column nothing can be linked: leaves for everybody (Def. 4.2a)."""
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
