"""From an all-assignments graph to what is published: the vote of each published record's preimages.

Paper
    [multitype 3.5].


Balance
-------
Balancing the vote: which majority decisions are turned round so that items are shown as often as records have them.

A majority drops an item that a third of each group has, from every group: each bit is as right as it can be, and every
count is wrong in the same direction. Decisions are therefore turned round where that is cheapest, in the groups that
are most evenly divided about an item, until the item is shown in as many rows as records have it or the allowance is
spent.

Invariants
    I1  Only items in doubt are turned round, so every preimage still lies within the doubtful items.
    I2  Looks at items only, never at labels or at the assignment that is drawn.
    I3  The bit error rate to expect rises by at most about `allowance`.
Departures
    Not in the thesis, whose vote is the majority alone (allowance 0).
Cost
    One more pass over the items of all groups; memory O(items x k).


Needs
-----
What the requirements of a policy ask of a ring: how many candidates, what share of a label, how many different labels.

>>> from sfumato.models.k_anonymity import KAnonymity
>>> from sfumato.models.l_diversity import LDiversity
>>> needs = RingRequirements.of([KAnonymity(k=5), LDiversity(l=4, kind="frequency")])
>>> needs.degree(spread=1), needs.most(8)
(8, 2)


Separators
----------
What stands between the items of a published set: the first of a few signs that no item contains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import Infeasible
from sfumato.data.item_sets import Sets
from sfumato.models.base import Model


@dataclass(frozen=True, slots=True)
class Votes:
    """Base, doubt and threshold of every published record, and its distance from each of its preimages."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]
    distance: NDArray[np.int64]


def vote(sets: Sets, preimages: NDArray[np.int32], balance: float = 0.0) -> Votes:
    """The published form of each row of `preimages` (record numbers); `balance` is the bit error rate spent on true
    counts."""
    from sfumato.kinds.baskets.methods.kernels.blocks import vote as count_votes

    rows = np.ascontiguousarray(preimages, dtype=np.int32)
    rates = turning_rates(sets, rows, balance) if balance > 0 else np.zeros((0, 0), dtype=np.float32)
    base_starts, base, doubt_starts, doubt, threshold, distance = count_votes(
        sets.starts, sets.items, rows, sets.width, rates
    )
    width = sets.width
    return Votes(
        Sets(base_starts, base, width), Sets(doubt_starts, doubt, width), threshold, distance.reshape(rows.shape)
    )


def expected_error_rate(sets: Sets, preimages: NDArray[np.int32], votes: Votes) -> float:
    """The bit error rate averaged over all edges: what to expect before the assignment is drawn [multitype 3.7.1]."""
    return float((votes.distance / np.maximum(sets.sizes[preimages], 1)).mean())


# Balance
# -------


def turning_rates(sets: Sets, preimages: NDArray[np.int32], allowance: float) -> NDArray[np.float32]:
    """Items x cells: the share of the groups in this cell whose decision is turned round (cells as in
    `kernels.blocks`)."""
    from sfumato.kinds.baskets.methods.kernels.blocks import cells

    groups, cost = cells(sets.starts, sets.items, preimages, sets.width)  # I2
    wanted = _wanted(groups, sets.support(), preimages.shape[1])
    each = cost / np.maximum(groups, 1)
    taken = _affordable(wanted, each, allowance * len(preimages))
    return np.asarray(taken / np.maximum(groups, 1), dtype=np.float32)


def _wanted(groups: NDArray[np.int64], support: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Turns that would make every count true, the most evenly divided groups first."""
    shown = np.arange(2 * k + 2) % 2 == 1
    missing = support - groups[:, shown].sum(axis=1)
    wanted = np.zeros_like(groups)
    low = [2 * count for count in range(k // 2, 0, -1)]  # I1: neither none nor all of the group have the item
    high = [2 * count + 1 for count in range((k + 1) // 2, k)]
    wanted[:, low] = _first(groups[:, low], np.maximum(missing, 0))
    wanted[:, high] = _first(groups[:, high], np.maximum(-missing, 0))
    return wanted


def _first(groups: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first `number` groups of each row, column by column."""
    before = np.cumsum(groups, axis=1) - groups
    return np.clip(number[:, None] - before, 0, groups)


def _affordable(wanted: NDArray[np.int64], each: NDArray[np.float64], allowance: float) -> NDArray[np.int64]:
    """As many turns as the allowance pays for, the cheapest first."""
    item, cell = np.nonzero(wanted)
    order = np.argsort(each[item, cell], kind="stable")
    item, cell = item[order], cell[order]
    number, price = wanted[item, cell], each[item, cell]
    left = allowance - (np.cumsum(number * price) - number * price)
    taken = np.zeros_like(wanted)
    fits = np.floor(np.maximum(left, 0) / np.maximum(price, 1e-12) + 1e-9)  # I3
    taken[item, cell] = np.minimum(number, fits).astype(np.int64)
    return taken


# Needs
# -----


@dataclass(frozen=True, slots=True)
class RingRequirements:
    """At least `candidates`; no label above 1/`diversity` of them; at least `different` labels shown."""

    candidates: int = 1
    diversity: float = 1.0
    different: int = 0

    @classmethod
    def of(cls, models: Iterable[Model]) -> RingRequirements:
        """The strictest of all models together."""
        needs = [_of(model) for model in models]
        return cls(
            max((need.candidates for need in needs), default=1),
            max((need.diversity for need in needs), default=1.0),
            max((need.different for need in needs), default=0),
        )

    @property
    def about_labels(self) -> bool:
        return self.diversity > 1 or self.different > 1

    def degree(self, spread: int) -> int:
        """Candidates per record: a multiple of l, at least `spread` times l, and twice that where labels must be
        *shown*."""
        unit = max(1, math.ceil(self.diversity))
        wanted = max(self.candidates, spread * unit, 2 * self.different)
        return math.ceil(wanted / unit) * unit

    def most(self, degree: int) -> int:
        """How often one label may stand among `degree` candidates."""
        return max(1, math.floor(degree / self.diversity + 1e-9))


def can_satisfy(model: Model) -> bool:
    """Whether a ring can be made to satisfy the model."""
    return model.demand().sufficient and not model.joint


def _of(model: Model) -> RingRequirements:
    """A limit on shares gives as many labels by itself; where labels are counted, as many must also be shown."""
    demand = model.demand()
    shown = demand.distinct if demand.counts_values else 0
    return RingRequirements(demand.fewest, demand.diversity, shown)


# Separators
# ----------


def separator_for(names: Iterable[str]) -> str:
    """A sign that no item contains.

    >>> separator_for(["green tea"])
    ','
    """
    named = tuple(names)
    for candidate in (" ", ",", ";", "|", "\t"):
        if not any(candidate in name for name in named):
            return candidate
    raise Infeasible("items contain every separator a release could use", where="items", hint="rename items")
