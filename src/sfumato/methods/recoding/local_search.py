"""Local search: take small neighbourhoods of groups apart and put them together more cheaply, again and again.

A neighbourhood is a costly group and a few groups near it. Its records are moved one unit at a time, surplus records of large
groups are lent, groups are dissolved into others, and the whole neighbourhood is grown anew around random units; the
cheapest arrangement is proposed. Points may be divided between groups: overlapping local recoding.

Paper: in the spirit of sequential clustering (Goldberger, Tassa 2010); any claims, within the regions of [boundaries Def. 9].

Invariants
    I1  Proposals keep within one region and place every record they take.
    I2  A proposal is accepted only when the models themselves say that each of its groups satisfies the claims.
    I3  An accepted proposal lowers the cost, so the result is never worse than the best start.

Cost: see `kernels.neighbourhoods`. The search ends when some rounds over all costly groups brought next to nothing, or with
the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.errors import Infeasible
from sfumato.methods.recoding.cell_costs import cell_costs
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.units import Entries, Units

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.draft import Offer
    from sfumato.methods.recoding.kernels.neighbourhoods import Proposals, State

Progress = Callable[[float], None]

WINDOW = 4096
"""How many groups are searched for neighbours."""
REACH = 9
"""The largest neighbourhood, in groups."""
NEAR = 16
"""How many of the nearest groups neighbourhoods are chosen from."""
TRIES = 6
"""Neighbourhoods that are tried around each group."""
POOL = 80
"""The largest neighbourhood, in units."""
PATIENCE = 3
"""Rounds in a row that may bring next to nothing."""


def refine(
    problem: RecodingProblem,
    starts: Sequence[Grouping],
    *,
    objective: str = "loss",
    seconds: float = 15.0,
    progress: Progress | None = None,
) -> Grouping:
    """The best of the starts, improved until nothing helps or the time (of this thread) is over."""
    if not starts:
        raise Infeasible("a search needs a grouping to start from")
    costs = Costs.of(problem, objective)
    best = min(starts, key=lambda start: costs.mean(problem, start))
    if best.groups == 0:
        return best
    search = _GroupSearch(problem, objective, best)
    end = time.thread_time() + seconds  # compiling on first use is not searching
    idle = 0
    while idle < PATIENCE and time.thread_time() < end:
        before = search.cost
        search.merge_alike()
        search.round(end)
        idle = idle + 1 if before - search.cost <= 2e-4 * before else 0
        if progress is not None:
            progress(1.0 - max(end - time.thread_time(), 0.0) / max(seconds, 1e-9))
    return search.units.grouping(search.entries)


class _GroupSearch:
    """Groups of units that get cheaper."""

    def __init__(self, problem: RecodingProblem, objective: str, start: Grouping) -> None:
        self.problem = problem
        self.draw = np.random.default_rng(1)
        self.claims = Claims(problem)
        self.units = Units(problem, self.claims)
        self.costs = cell_costs(problem, objective)
        self._sort_columns()
        self.entries = self.units.entries(start)
        self.dice = np.array([88172645463325252], dtype=np.uint64)
        self.wanted = _wanted(problem, self.claims)
        self.tired = np.ones(start.groups)
        """How often each group was looked at in vain; fresh groups are looked at first."""
        self.state = self._state()
        self._propose(np.zeros(0, dtype=np.int64))

    def _sort_columns(self) -> None:
        """Tables first, and columns that tell units apart most, so that hopeless comparisons end early."""
        from sfumato.methods.recoding.kernels.cell_costs import TABLE, cell_costs_of

        codes = self.units.codes.astype(np.int64)
        one, other = codes[self.draw.integers(0, len(codes), (2, 1000))]
        pairs = list(zip(np.minimum(one, other).T, np.maximum(one, other).T, strict=True))
        apart = [cell_costs_of(self.costs, column, lo, last).mean() for column, (lo, last) in enumerate(pairs)]
        self.columns = np.lexsort((-np.array(apart), self.costs.rule))
        self.codes = np.ascontiguousarray(self.units.codes[:, self.columns])
        kept = {name: getattr(self.costs, name)[self.columns] for name in ("rule", "size", "start", "weight")}
        self.costs = self.costs._replace(tables=int((kept["rule"] == TABLE).sum()), **kept)

    @property
    def cost(self) -> float:
        return float((self.state.size * self.state.cost).sum())

    def _state(self) -> State:
        from sfumato.methods.recoding.kernels.neighbourhoods import State, extents

        first, columns = self.entries.first, len(self.problem.domains)
        groups = len(first) - 1
        lo, last = (np.zeros((groups, columns), dtype=np.int32) for _ in range(2))
        region = self.units.region[self.entries.unit[first[:-1]]]
        state = State(
            self.codes, self.units.tags, self.entries.unit, self.entries.count, first,
            np.zeros(groups, dtype=np.int64), lo, last, np.zeros(groups), region, *self._order(region, first),
        )  # fmt: skip
        extents(state, self.costs)
        return state

    def _order(self, region: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
        """Groups by region and by the codes of a member, in a new order of columns every time, so that windows differ."""
        if len(region) <= WINDOW:
            return np.arange(len(region)), np.arange(len(region))
        member = self.codes[self.entries.unit[first[:-1]]]
        keys = [member[:, column] for column in self.draw.permutation(member.shape[1])]
        order = np.lexsort(np.array([*keys, region]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return order, place

    def round(self, end: float) -> None:
        """Once over all groups that cost something, in pieces between which proposals are accepted."""
        pieces = max(1, min(16, len(self.state.size) // 64))
        for _ in range(pieces):
            costly = np.flatnonzero(self.state.cost > 1e-12)
            weary = self.tired[costly] * self.draw.random(len(costly))
            seeds = costly[np.argsort(weary)[: max(1, len(costly) // pieces)]]
            self.tired[seeds] += 1
            self._accept(self._propose(seeds))  # I1, I3: the kernel proposes nothing else
            if time.thread_time() > end:
                break

    def _propose(self, seeds: IntArray) -> Proposals:
        from sfumato.methods.recoding.kernels.draft import new_draft, new_pool
        from sfumato.methods.recoding.kernels.neighbourhoods import Proposals, propose

        columns, groups = len(self.problem.domains), len(self.state.size)
        room = 2 * len(self.state.unit) + 4 * POOL
        unit, records, owner, proposal = np.zeros((4, room), dtype=np.int64)
        gone = np.full(groups, -1, dtype=np.int64)
        out = Proposals(unit, records, owner, proposal, gone, np.zeros(3, dtype=np.int64))
        pool = new_pool(POOL, columns, self.units.tags.shape[1])
        one, other, spare = (new_draft(6 * REACH, POOL, columns) for _ in range(3))
        near, chosen, left = (np.zeros(n, dtype=np.int64) for n in (NEAR, REACH, POOL))
        propose(
            self.state, self.costs, self.wanted, seeds, WINDOW, TRIES, out, pool, (one, other, spare), near, np.zeros(NEAR),
            chosen, left, self.dice,
        )  # fmt: skip
        return out

    def _accept(self, out: Proposals) -> None:
        """Replace groups by proposals whose groups all satisfy the claims (I2)."""
        entries, groups, proposals = (int(n) for n in out.used)
        if not proposals:
            return
        unit, owner, count = out.unit[:entries], out.group[:entries], out.records[:entries]
        holds = self.claims.hold(self.units.part(unit, owner, count))
        accepted = np.bincount(out.proposal[:groups], weights=~holds, minlength=proposals) == 0
        gone = (out.gone >= 0) & accepted[out.gone]
        kept, new = ~gone[self.entries.group], accepted[out.proposal[owner]]
        self._become(
            np.concatenate([self.entries.unit[kept], unit[new]]),
            np.concatenate([self.entries.group[kept], len(gone) + owner[new]]),
            np.concatenate([self.entries.count[kept], count[new]]),
            np.concatenate([self.tired, np.ones(groups)]),
        )

    def _become(self, unit: IntArray, owner: IntArray, count: IntArray, tired: FloatArray) -> None:
        self.tired = tired[np.unique(owner)]
        self.entries = Entries.tidy(unit, owner, count)
        self.state = self._state()

    def merge_alike(self) -> None:
        """Groups that are published alike become one, which has more to lend; unless it would not fit into a neighbourhood."""
        if not all(requirement.model.monotone for requirement in self.problem.requirements):
            return
        published = [self.state.region]
        for column, source in enumerate(self.columns):
            domain = self.problem.domains[source]
            lo, last = self.state.lo[:, column].astype(np.int64), self.state.last[:, column].astype(np.int64)
            published += domain.close(lo, last + 1)
        alike = group(published)
        entries = np.bincount(alike.of, weights=np.diff(self.state.first), minlength=len(alike))
        alone = entries[alike.of] > POOL // 4
        number = np.where(alone, len(alike) + np.arange(len(alone)), alike.of)
        tired = np.ones(len(alike) + len(alone))
        tired[number] = self.tired
        self._become(self.entries.unit, number[self.entries.group], self.entries.count, tired)


def _wanted(problem: RecodingProblem, claims: Claims) -> Offer:
    from sfumato.methods.recoding.kernels.draft import Offer

    asked = [claims.variety(name) for name in claims.hidden]
    labels = max((len(column.labels) for column in problem.sensitive), default=0)
    kinds = np.array([kinds for kinds, _ in asked], dtype=np.int64)
    even = np.array([even for _, even in asked], dtype=np.bool_)
    return Offer(claims.fewest, kinds, even, np.zeros(labels + 1, dtype=np.int64))
