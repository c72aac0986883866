"""Learned weights: values drawn as often as they occur in the original, under per-record rules and totals.

Guarantee
    A legal record is drawn with probability proportional to the product of its values' frequencies, conditioned on the totals. The
    output then depends on the original through these frequencies; it is not zero-knowledge.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling import keyed
from sfumato.methods.replacing.sampling.engines import NewColumn, Spaces
from sfumato.methods.replacing.sampling.legal import Legal
from sfumato.methods.replacing.sampling.problem import SamplingProblem
from sfumato.methods.replacing.sampling.spaces import Records
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness

MOST = 4_000_000


def weigh(problem: SamplingProblem, rows: Records) -> FloatArray:
    """The product of the learned frequencies of each row's values."""
    found = np.ones(len(next(iter(rows.values()))))
    for column, codes in rows.items():
        weights = problem.weights(column)
        if weights is not None:
            found = found * weights[codes]
    return found


class Weighed:
    """Independent records, each a legal record by its weight."""

    name = "legal records by learned weights"
    uniform = False
    reads_original = True

    def __init__(self, problem: SamplingProblem, spaces: Spaces) -> None:
        self.spaces = spaces
        assert spaces.legal is not None
        self.tables = [self._listed(problem, one) for one in spaces.legal]

    def _listed(self, problem: SamplingProblem, one: Legal) -> tuple[Records, FloatArray]:
        rows = one.space.codes(np.arange(one.space.size, dtype=np.int64))
        weights = weigh(problem, rows)
        if not weights.sum() > 0:
            named = " and ".join(f'"{rule}"' for rule in self.spaces.part.rules)
            hint = "use uniform weights or relax a rule"
            raise Infeasible("no legal record has values that occur in the original", where=f"rules {named}", hint=hint)
        return rows, np.cumsum(weights)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        key = random.bytes(16)
        drawn = []
        for (rows, cumulative), context in zip(self.tables, self.spaces.contexts, strict=True):
            target = keyed.uniform(key, context.records) * cumulative[-1]
            place = np.minimum(np.searchsorted(cumulative, target, side="right"), len(cumulative) - 1)
            drawn.append({column: codes[place] for column, codes in rows.items()})
        return self.spaces.merged(drawn)
