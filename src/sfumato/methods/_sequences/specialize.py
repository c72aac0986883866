"""From a task to the boxes of the new release: Algorithm 3, the exact guard, and one box per record.

Guarantee
    The result satisfies the claim on the full join: by construction for one and two releases, by proof for more.

Paper: [sequential Alg. 3]

Invariants
    I1  Which records of a base get which of its boxes is drawn at random: they are exchangeable, and nobody may guess the draw.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from sfumato.data.domain import IntArray
from sfumato.errors import Infeasible
from sfumato.methods._sequences.board import Board
from sfumato.methods._sequences.search import Search
from sfumato.methods._sequences.task import Claim, Measure, Task
from sfumato.methods._sequences.witness import Witness, back_off
from sfumato.randomness import Randomness


@dataclass(frozen=True)
class Made:
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


def specialize(
    task: Task, claim: Claim, chance: Randomness, *, measure: Measure = "loss", cells: bool = True, budget: float = 120.0
) -> Made:
    """The most special release that Algorithm 3 finds and the exact guard confirms."""
    if not (task.tells or task.told):
        return _open(task)
    board = Board(task, claim)
    search = Search(board, measure, chance.child("search"))
    if not search.ok():
        raise _impossible(claim, board)
    search.specialize_cuts()
    cut_loss, cut_level = search.loss(), float(board.levels().min())
    if cells:
        search.specialize_cells()
    programs, lifted = _confirm(board, claim, budget)
    lo, hi = _boxes(board, chance.child("rows"))
    return Made(lo, hi, search.loss(), cut_loss, cut_level, board.checks, programs, lifted)


def _confirm(board: Board, claim: Claim, budget: float) -> tuple[int, int]:
    """Back off until the exact guard confirms the claim."""
    programs = lifted = 0
    deadline = time.process_time() + budget
    settled = None
    while claim.join == "kernel":
        witness = Witness(board, deadline, settled)
        done = witness.certified()
        settled = witness.settled
        programs += witness.programs
        if done:
            break
        late = time.process_time() > deadline
        moved = 0 if late else back_off(board, witness.short())
        if not moved:
            raise Infeasible(
                "the claim could not be proven for all releases together " + ("in time" if late else "by any generalization"),
                hint="allow more time (budget), publish fewer columns, or lower the level",
            )
        lifted += moved
    return programs, lifted


def _impossible(claim: Claim, board: Board) -> Infeasible:
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


def _open(task: Task) -> Made:
    """As long as nobody published the sensitive column nothing can be linked: leaves for everybody (Def. 4.2a)."""
    boxes, of = task.target
    return Made(boxes.lo[of], boxes.hi[of], 0.0, 0.0, float("inf"), 0, 0, 0)


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
