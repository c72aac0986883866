"""Fixed totals of a table that lies in shares: every share gets a total of its own, and is then made by itself.

Definition
    A table with given totals is drawn in two steps: first what every share adds to them, then the records of each share given what
    it adds. The second step needs the share alone. The first needs of all records only how many of each context stand in which
    share.

Guarantee
    Both steps together have the law that the whole table has in one piece: every legal table is equally likely.

Invariants
    I1  What a share adds is drawn as the sum of independent records and accepted with probability pmf_rest(what is left) /
        peak_rest, `rest` being the shares after it; the last share gets what is left. That is the step of `totals.py` from one half
        to the other, taken from share to share.
    I2  The records that were added up are forgotten. Given what it adds, a share is drawn anew, by chance of its own.

Cost: one draw for every record, here, without keeping any; a few dozen Fourier points a share.

>>> from sfumato.randomness import Randomness
>>> sampler = TotalSampler([np.arange(6)[:, None]], [np.ones(6)], np.zeros(0, dtype=np.int64), np.array([7]))
>>> dealt = dealt_totals(sampler, np.array([20]), np.array([[3], [3], [1]]), Randomness(seed=1))
>>> dealt.shape, int(dealt.sum())
((3, 1), 20)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.engines import NewColumn
from sfumato.methods.replacing.sampling.lattice import Law, Sum
from sfumato.methods.replacing.sampling.sums import Balanced, GroundOfTotals
from sfumato.methods.replacing.sampling.totals import TotalSampler, placed_by
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness

_TRIES = 100_000
_AT_ONCE = 1 << 20


def dealt_totals(sampler: TotalSampler, total: IntArray, counts: IntArray, random: Randomness) -> IntArray:
    """What each share adds to the totals, one row a share; `counts` has the records of every class (columns) in every share."""
    law = sampler.law_towards(total)
    cumulative = [np.cumsum(weight) for weight in law.weights]
    found = np.zeros((len(counts), sampler.dimensions), dtype=np.int64)
    left, behind = np.asarray(total, dtype=np.int64), counts.sum(axis=0)
    for share, own in enumerate(counts[:-1]):
        behind = behind - own
        found[share] = _added(law, cumulative, own, Sum(law, behind), left, random)
        left = left - found[share]
    found[-1] = left
    return found


def _added(law: Law, cumulative: list[FloatArray], own: IntArray, rest: Sum, left: IntArray, random: Randomness) -> IntArray:
    """What a share adds, in the law that it has when all shares together reach what is left (I1)."""
    for _ in range(_TRIES):
        added = sum(
            (_sum_of(law.values[place], cumulative[place], int(own[place]), random) for place in np.flatnonzero(own)),
            np.zeros(law.dimensions, dtype=np.int64),
        )
        if random.uniform(1)[0] < rest.pmf((left - added)[None, :])[0] / rest.peak:
            return added
    raise Infeasible("the totals cannot be reached together", hint="change one of the totals or the domain")


def _sum_of(values: IntArray, cumulative: FloatArray, count: int, random: Randomness) -> IntArray:
    """The sum of independent contributions, of which none is kept (I2)."""
    often = np.zeros(len(values), dtype=np.int64)
    for start in range(0, count, _AT_ONCE):
        drawn = placed_by(cumulative, random.uniform(min(_AT_ONCE, count - start)))
        often += np.bincount(drawn, minlength=len(values))
    found: IntArray = often @ values
    return found


class DealtBalance:
    """Totals over a table in shares, as whoever deals them sees it: no record, how many of each context every share has."""

    name = "fixed totals"
    uniform = True
    reads_original = False

    def __init__(self, ground: GroundOfTotals, counts: IntArray) -> None:
        self.counts, self.units = counts, tuple(ground.units)
        self.whole = Balanced(ground, counts.sum(axis=0))

    def deal(self, random: Randomness) -> IntArray:
        """What each share must add."""
        whole = self.whole
        total = whole.sampler.choose_total(whole.low, whole.high, random)
        whole.sampler.require_reachable(total)
        return dealt_totals(whole.sampler, total, self.counts, random)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        raise NotImplementedError("records are made share by share")


@dataclass(frozen=True)
class DealtShare:
    """The records of one share, given what they add together."""

    ground: GroundOfTotals
    added: IntArray

    name = "fixed totals"
    uniform = True
    reads_original = False

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        return self.ground.records(self.ground.sampler().draw(self.added, random), random)
