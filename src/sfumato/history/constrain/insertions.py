"""New records when membership is unknown: which of them join a persistent class, and which form new classes.

    mending   a class whose present members violate a requirement gets as many new records as it needs; each saves one
    counterfeit
    parting   new records that no class covers form new classes; records that only a coarse class covers may do so. A
    new class takes the new records that lose least in it. All others join the smallest class that covers them
    waiting   if the policy allows deferral, the records whose place would cost most are deferred, alone or with the
    members they need

Everything here is a proposal: lineages are judged by the models after it (`lineages`), and new groups are the method's
own.

Notation
    kind    new records with equal values in the columns of classes and in protected columns
    price   information loss of a new record in the smallest class that covers it

Cost: classes below level and new records that form classes, times kinds of new records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.models.base import Demand

UNCOVERED = 0.3
"""What a person whom no lineage covers is taken to lose elsewhere, as a share of the most that can be lost."""
_TRIED = 2
"""Groups that are tried around each of them, by who joins first."""
_PARTING = 4_000
"""Largest number of new records that search for a new class: the costliest ones."""
WORTH = 0.1
"""What a person who waits must save in every later release, as a share of the most that can be lost: who waits is
missing once, and a place lasts."""


@dataclass(frozen=True)
class ClassRequirements:
    """What requirements ask of a group, as far as it can be counted: records, different values and the largest share of
    each column."""

    size: int
    distinct: tuple[int, ...]
    share: tuple[float, ...]

    @classmethod
    def of(cls, demands: Sequence[tuple[Demand, Sequence[str]]], columns: Sequence[str]) -> ClassRequirements:
        """Of demands with the columns that each of them hides."""
        mine = [[demand for demand, hide in demands if name in hide] for name in columns]
        return cls(
            max([1, *(demand.fewest for demand, _ in demands)]),
            tuple(max([0, *(demand.distinct for demand in some)]) for some in mine),
            tuple(min([1.0, *(demand.largest_share for demand in some)]) for some in mine),
        )

    def enough(self, size: int, counts: Sequence[Counter[int]]) -> bool:
        """Whether a group of this size with these values has what is asked."""
        shares = zip(counts, self.distinct, self.share, strict=True)
        return size >= self.size and all(
            len(some) >= wanted and max(some.values(), default=0) <= share * size + 1e-9
            for some, wanted, share in shares
        )

    def helpful(self, size: int, counts: Sequence[Counter[int]], kinds: NewRecordKinds) -> BoolArray:
        """Which kinds bring a group nearer to what is asked."""
        fine = np.ones(len(kinds.left), dtype=np.bool_)
        for some, column, wanted, share in zip(counts, kinds.values, self.distinct, self.share, strict=True):
            if len(some) < wanted:
                fine &= ~np.isin(column, list(some))
            fine &= ~np.isin(
                column, [value for value, many in some.items() if many + 1 > share * max(size + 1, self.size)]
            )
        return fine


@dataclass
class NewRecordKinds:
    """New records by kind."""

    codes: IntArray
    """kinds × columns: leaves."""
    values: list[IntArray]
    """Per sensitive column the value of each kind."""
    left: IntArray
    """How many new records of each kind have no place yet."""
    price: FloatArray
    """What one of them loses in the smallest lineage that covers it; infinite when none does."""

    def take(self, kind: int) -> None:
        self.left[kind] -= 1


def repair_classes(
    kinds: NewRecordKinds, wants: ClassRequirements, thin: Iterable[ClassBelowLevel], *, whole: bool
) -> list[tuple[int, int]]:
    """Assign new records to classes below level, cheapest first, as (class, kind) pairs; `whole`: all needed or
    none."""
    found: list[tuple[int, int]] = []
    for one in thin:
        counts, size, chosen = [Counter(some) for some in one.counts], one.size, []
        left = kinds.left.copy()
        inside = ((one.lo <= kinds.codes) & (kinds.codes < one.hi)).all(axis=1)
        while not wants.enough(size, counts):
            some = np.flatnonzero(inside & (left > 0) & wants.helpful(size, counts, kinds))
            if not len(some):
                break
            kind = int(some[np.argmax(kinds.price[some])])  # who has the worst place otherwise
            left[kind] -= 1
            chosen.append(kind)
            size += 1
            for tally, column in zip(counts, kinds.values, strict=True):
                tally[int(column[kind])] += 1
        if chosen and (not whole or wants.enough(size, counts)):
            kinds.left[:] -= np.bincount(chosen, minlength=len(left))
            found += [(one.lineage, kind) for kind in chosen]
    return found


@dataclass(frozen=True)
class ClassBelowLevel:
    """A lineage whose present people break a promise."""

    lineage: int
    lo: IntArray
    hi: IntArray
    size: int
    counts: list[Counter[int]]


def form_new_classes(kinds: NewRecordKinds, wants: ClassRequirements, domains: Sequence[Generalization]) -> IntArray:
    """Return how many new records of each kind form classes with other new records."""
    most = float(len(domains))
    price = np.where(np.isfinite(kinds.price), kinds.price, UNCOVERED * most)
    seeds = np.flatnonzero((kinds.left > 0) & (kinds.price > 1e-9))
    seeds = seeds[np.lexsort((-price[seeds], np.isfinite(kinds.price[seeds])))][:_PARTING]
    part = np.zeros(len(kinds.left), dtype=np.int64)
    for seed in seeds.tolist():
        while kinds.left[seed] > 0:
            group, saved = _company(kinds, wants, domains, price, seed)
            forced = not np.isfinite(kinds.price[seed])
            if not group or (saved <= 1e-9 and not forced):
                break
            for kind in group:
                kinds.take(kind)
                part[kind] += 1
    return part


def defer_records(
    kinds: NewRecordKinds, wants: ClassRequirements, domains: Sequence[Generalization], most: int
) -> IntArray:
    """Return how many new records of each kind are deferred, at most so many in all, costliest first."""
    wait = np.zeros(len(kinds.left), dtype=np.int64)
    if most <= 0:
        return wait
    covered = np.isfinite(kinds.price)
    worth = np.where(covered, kinds.price, 0.0)
    price = np.where(covered, kinds.price, UNCOVERED * len(domains))
    for seed in np.flatnonzero(~covered & (kinds.left > 0)).tolist():
        group, saved = _company(kinds, wants, domains, price, seed)
        worth[seed] = price[seed] - saved if group else np.inf
    may = kinds.left - form_new_classes(replace(kinds, left=np.where(covered, kinds.left, 0)), wants, domains)
    for kind in np.argsort(-worth, kind="stable").tolist():
        if most > 0 and worth[kind] >= WORTH * len(domains):
            wait[kind] = min(int(may[kind]), most)
            most -= int(wait[kind])
    kinds.left -= wait
    return wait


def _company(
    kinds: NewRecordKinds, wants: ClassRequirements, domains: Sequence[Generalization], price: FloatArray, seed: int
) -> tuple[list[int], float]:
    """Return the best of a few groups around a new record and what it saves; None if the requirements cannot be met."""
    alone = _Group(kinds, wants, domains, price).with_one(seed)
    tried = []
    for kind in alone.nearest(_TRIED):
        group = alone.with_one(kind)
        while (more := group.nearest(1)) and (not group.met or group.added(more[0]) < -1e-12):
            group = group.with_one(more[0])
        tried += [(group.members, group.saved)] if group.met else []
    return max(tried, key=lambda one: one[1], default=([], 0.0))


class _Group:
    """New records that would form one class."""

    def __init__(
        self, kinds: NewRecordKinds, wants: ClassRequirements, domains: Sequence[Generalization], price: FloatArray
    ) -> None:
        self.kinds, self.wants, self.domains, self.price = kinds, wants, domains, price
        self.members: list[int] = []
        self.cost = 0.0
        self.lo, self.hi = kinds.codes.max(axis=0, initial=0), kinds.codes.min(axis=0, initial=0) * 0
        self.counts: list[Counter[int]] = [Counter() for _ in kinds.values]

    @property
    def met(self) -> bool:
        return self.wants.enough(len(self.members), self.counts)

    @property
    def saved(self) -> float:
        return float(self.price[self.members].sum()) - len(self.members) * self.cost

    def with_one(self, kind: int) -> _Group:
        """Return the group with one more new record."""
        more = _Group(self.kinds, self.wants, self.domains, self.price)
        more.members = [*self.members, kind]
        more.lo, more.hi = np.minimum(self.lo, self.kinds.codes[kind]), np.maximum(self.hi, self.kinds.codes[kind] + 1)
        more.cost = float(_cost(self.domains, more.lo[None], more.hi[None])[0])
        more.counts = [Counter(tally) for tally in self.counts]
        for tally, column in zip(more.counts, self.kinds.values, strict=True):
            tally[int(column[kind])] += 1
        return more

    def added(self, kind: int) -> float:
        """Return the added loss of the group with one more new record, minus the loss of that record elsewhere."""
        return float(self._added(np.array([kind]))[0])

    def _added(self, some: IntArray) -> FloatArray:
        codes = self.kinds.codes[some]
        wider = _cost(self.domains, np.minimum(self.lo, codes), np.maximum(self.hi, codes + 1))
        many = len(self.members)
        found: FloatArray = (many + 1) * wider - many * self.cost - self.price[some]
        return found

    def nearest(self, many: int) -> list[int]:
        """The kinds that add least, of those that help as long as requirements are not met."""
        left = self.kinds.left.copy()
        np.subtract.at(left, self.members, 1)
        fine = left > 0
        if not self.met:
            fine &= self.wants.helpful(len(self.members), self.counts, self.kinds)
        some = np.flatnonzero(fine)
        added = self._added(some)
        first = np.argpartition(added, many - 1)[:many] if len(some) > many else np.arange(len(some))
        found: list[int] = some[first[np.argsort(added[first], kind="stable")]].tolist()
        return found


def _cost(domains: Sequence[Generalization], lo: IntArray, hi: IntArray) -> FloatArray:
    """What a record loses in each box: the widths of the smallest publishable intervals around it."""
    total = np.zeros(len(lo))
    for column, domain in enumerate(domains):
        total += domain.width(*domain.close(lo[:, column], hi[:, column]))
    return total
