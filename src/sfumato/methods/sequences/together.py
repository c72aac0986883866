"""Cohorts that were arranged apart, looked at together: an outsider who cannot tell old rows from new ones joins all of them.

Guarantee
    What passes has the claimed level for that outsider too: by the kernel join for two releases, by proof for more.

Where cohorts are safe one by one, a count of values is safe together, because links only become more. A limit on shares is not:
rows of another cohort may bring the same value again and again.

Paper: [sequential Def. 4.2, §6]; the paper judges cohorts apart and leaves this outsider out.

Invariants
    I1  The releases are judged as if one more followed that says nothing: it multiplies all links by the same number.
"""

from __future__ import annotations

import time

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.sequence import Boxes
from sfumato.errors import Infeasible
from sfumato.history.aligned import Weave
from sfumato.methods.sequences.partial_release import Board
from sfumato.methods.sequences.search import holds
from sfumato.methods.sequences.sequel_problem import Goal, SequelProblem
from sfumato.methods.sequences.witness import Witness
from sfumato.policy.policy import Policy


def require_together(weave: Weave, policy: Policy, lo: IntArray, hi: IntArray, level: Goal, budget: float) -> None:
    """Refuse boxes of the new release that keep the claim in each cohort and not over all rows."""
    if level.goal == "linkability" or not (weave.sensitive_name in policy.published or _told(weave)):
        return
    shown = np.array([name in policy.published for name in weave.names])
    board = Board(_followed(weave, np.where(shown, lo, 0), np.where(shown, hi, weave.sizes)), level)
    safe = bool(np.asarray(holds(level, board.weights(board.join()))).all())
    if safe and len(weave.releases) > 1:
        safe = Witness(board, time.process_time() + budget).certified()
    if not safe:
        raise Infeasible(
            f"each cohort by itself keeps a diversity of {level.k:g}, all rows together do not: "
            "whoever cannot tell old rows from new ones meets some value too often",
            where="growth",
            hint="use 'growth: unifying', which arranges all rows together, or ask for less",
        )


def _told(weave: Weave) -> bool:
    return any(weave.sensitive_name in past.published for past in weave.releases)


def _followed(weave: Weave, lo: IntArray, hi: IntArray) -> SequelProblem:
    """All releases, this one included, as the past of one that publishes nothing (I1)."""
    attributes = weave.columns()
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    records = len(lo)
    own = weave.with_cohort(lo, hi, np.ones(records, dtype=np.bool_), len(weave.releases))
    earlier = tuple(Boxes.of_records(*boxes) for boxes in (*weave.earlier(), own))
    silent = np.zeros((records, len(sizes)), dtype=np.int64), np.tile(sizes, (records, 1))  # I1
    known, _ = Boxes.of_records(*weave.known())
    return SequelProblem(attributes, earlier, Boxes.of_records(*silent), known, {})
