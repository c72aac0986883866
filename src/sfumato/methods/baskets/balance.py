"""Balancing the vote: which majority decisions are turned round so that items are shown as often as records have them.

A majority drops an item that a third of each group has, from every group: each bit is as right as it can be, and every count
is wrong in the same direction. Decisions are therefore turned round where that is cheapest, in the groups that are most evenly
divided about an item, until the item is shown in as many rows as records have it or the allowance is spent.

Invariants
    I1  Only items in doubt are turned round, so every preimage still lies within the doubtful items.
    I2  Looks at items only, never at labels or at the assignment that is drawn.
    I3  The bit error rate to expect rises by at most about `allowance`.
Departures
    Not in the thesis, whose vote is the majority alone (allowance 0).
Cost
    One more pass over the items of all groups; memory O(items x k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sets import Sets


def turning_rates(sets: Sets, preimages: NDArray[np.int32], allowance: float) -> NDArray[np.float32]:
    """Items x cells: the share of the groups in this cell whose decision is turned round (cells as in `kernels.votes`)."""
    from sfumato.methods.baskets.kernels.votes import cells

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
