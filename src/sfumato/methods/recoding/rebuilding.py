"""Neighbourhoods of some groups, taken apart and put together again (`kernels.neighbourhoods`), for one round over them.

A neighbourhood is a costly group and a few groups near it. Its records are moved one unit at a time, surplus records of large
groups are lent, groups are dissolved into others, and the whole neighbourhood is grown anew around random units; the
cheapest arrangement is proposed. Points may be divided between groups: overlapping local recoding. Neighbourhoods have room for a
few of the groups that cost most, so they grow with these.

Invariants
    I1  Proposals keep within one region and place every record they take.
    I2  A proposal is accepted only when the models themselves say that each of its groups satisfies the claims.
    I3  An accepted proposal lowers the cost.
    I4  The same groups and number give the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.units import Entries

if TYPE_CHECKING:
    from sfumato.methods.recoding.ground import Ground
    from sfumato.methods.recoding.kernels.neighbourhoods import Proposals, State

REACH, FEW = 9, 4
"""The largest neighbourhood, in groups, where these are small and where they are large."""
NEAR = 16
"""How many of the nearest groups neighbourhoods are chosen from."""
TRIES = 6
"""Neighbourhoods that are tried around each group."""
SMALL, LARGE = 80, 320
"""The largest neighbourhood, in units, where groups are small and where they are large."""
PIECES = 16
"""A round is taken in so many pieces, between which proposals are accepted."""


class Rebuilding:
    """Groups of units that get cheaper."""

    def __init__(self, ground: Ground, entries: Entries, number: int) -> None:
        self.ground, self.entries = ground, entries
        self.draw = np.random.default_rng(number)  # I4
        self.dice = np.array([88172645463325252 ^ (number * 0x9E3779B97F4A7C15 & (1 << 63) - 1)], dtype=np.uint64)
        self.offer = ground.offer()
        self.work = 0
        self.state = self._state()
        self.tired: FloatArray = np.ones(len(self.state.size))
        """How often each group was looked at in vain; fresh groups are looked at first."""
        self.pool, self.reach = neighbourhood_of(self.state)

    @property
    def cost(self) -> float:
        return float((self.state.size * self.state.cost).sum())

    def _state(self) -> State:
        from sfumato.methods.recoding.kernels.neighbourhoods import State, extents

        first, columns = self.entries.first, len(self.ground.columns)
        groups = len(first) - 1
        lo, last = (np.zeros((groups, columns), dtype=np.int32) for _ in range(2))
        region, order = self.ground.units.region[self.entries.unit[first[:-1]]], np.arange(groups)
        state = State(
            self.ground.codes, self.ground.units.tags, self.entries.unit, self.entries.count, first,
            np.zeros(groups, dtype=np.int64), lo, last, np.zeros(groups), region, order, order,
        )  # fmt: skip
        extents(state, self.ground.costs)
        return state

    def round(self) -> None:
        """Once over all groups that cost something, in pieces between which proposals are accepted."""
        pieces = max(1, min(PIECES, len(self.state.size) // 64))
        for _ in range(pieces):
            costly = np.flatnonzero(self.state.cost > 1e-12)
            weary = self.tired[costly] * self.draw.random(len(costly))
            seeds = costly[np.argsort(weary)[: max(1, len(costly) // pieces)]]
            self.tired[seeds] += 1
            self._accept(self._propose(seeds))  # I1, I3: the kernel proposes nothing else

    def _propose(self, seeds: IntArray) -> Proposals:
        from sfumato.methods.recoding.kernels.draft import new_draft, new_pool
        from sfumato.methods.recoding.kernels.neighbourhoods import Proposals, propose

        columns, groups = len(self.ground.columns), len(self.state.size)
        room = 2 * len(self.state.unit) + 4 * self.pool
        unit, records, owner, proposal = np.zeros((4, room), dtype=np.int64)
        gone = np.full(groups, -1, dtype=np.int64)
        out = Proposals(unit, records, owner, proposal, gone, np.zeros(4, dtype=np.int64))
        pool = new_pool(self.pool, columns, self.ground.units.tags.shape[1])
        one, other, spare = (new_draft(6 * self.reach, self.pool, columns) for _ in range(3))
        near, chosen, left = (np.zeros(n, dtype=np.int64) for n in (NEAR, self.reach, self.pool))
        propose(
            self.state, self.ground.costs, self.offer, seeds, groups, TRIES, out, pool, (one, other, spare), near, np.zeros(NEAR),
            chosen, left, self.dice,
        )  # fmt: skip
        self.work += int(out.used[3])
        return out

    def _accept(self, out: Proposals) -> None:
        """Replace groups by proposals whose groups all satisfy the claims (I2)."""
        entries, groups, proposals = (int(n) for n in out.used[:3])
        if not proposals:
            return
        unit, owner, count = out.unit[:entries], out.group[:entries], out.records[:entries]
        holds = self.ground.claims.hold(self.ground.units.part(unit, owner, count))
        accepted = np.bincount(out.proposal[:groups], weights=~holds, minlength=proposals) == 0
        gone = (out.gone >= 0) & accepted[out.gone]
        kept, new = ~gone[self.entries.group], accepted[out.proposal[owner]]
        owners = np.concatenate([self.entries.group[kept], len(gone) + owner[new]])
        self.tired = np.concatenate([self.tired, np.ones(groups)])[np.flatnonzero(np.bincount(owners))]
        units = np.concatenate([self.entries.unit[kept], unit[new]])
        counts = np.concatenate([self.entries.count[kept], count[new]])
        self.entries = Entries.tidy(units, owners, counts)
        self.state = self._state()


def neighbourhood_of(state: State) -> tuple[int, int]:
    """How many units and groups a neighbourhood holds: room for a few of the groups that cost most."""
    typical = typical_size(state)
    pool = int(np.clip(FEW * typical, SMALL, LARGE))
    return pool, int(np.clip(pool / max(typical, 1.0), FEW, REACH))


def typical_size(state: State) -> float:
    """Entries of a group, in the mean over what groups cost."""
    cost, size = state.cost * state.size, np.diff(state.first)
    return float((cost * size).sum() / max(float(cost.sum()), 1e-12))
