"""Localities: every sampled exhibit of two distances comes out in the release as it does in the original.

For every sampled triple of records (a, b, c) the audit compares |a − b| with |b − c| in both tables, with absolute values and
exactly (tolerance 0). It also asks that the triples lie inside one partition or (`across`) in three (in several, where partitions
are the classes of a column), that as many different ones of each kind were sampled as the policy says, that records of a partition
that shared a value share one still, and that partitions of near records have as many as asked. Of `distances` it compares |a − b|
with |c − d| in both tables, for as many choices of two pairs of four values of a partition as the policy says.

Paper
    [multitype Def. 5, §5.5]
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.space import levels, localities_of, partition_of
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.forms.replaced import Replaced, WalkTrace
from sfumato.policy.keep import replacements_of
from sfumato.policy.replacements import Ordered
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class KeptLocalities(Check):
    """Which of two values is closer to a third stays true for every sampled triple."""

    name: ClassVar[str] = "localities"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        walked = exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkTrace).range)
        return walked and any(localities_of(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        judged, across, broken, untied, missing, small = 0, 0, 0, 0, 0, 0
        domains = replacements_of(exhibit.policy)
        for rule, name in localities_of(exhibit):
            domain = domains[name]
            assert isinstance(domain, Ordered)
            before, after = levels(exhibit, name, domain)
            triples = exhibit.traced(WalkTrace).localities.get(name, np.empty((0, 4), np.int64))
            home = partition_of(exhibit, rule, name)
            inside, apart = spread(triples, home, loose=bool(rule.by))
            judged += len(triples)
            across += int(apart.sum())
            broken += broken_triples(before, after, triples, inside | apart)
            untied += untied_records(before, after, home)
            small += too_small(home, rule.partition) if rule.near else 0
            missing += abs(expected(before, home, rule.sample) - different(triples[inside]))
            missing += abs(rule.across - different(triples[apart]))
            pairs = exhibit.traced(WalkTrace).distances.get(name, np.empty((0, 4), np.int64))
            judged += len(pairs)
            broken += broken_pairs(before, after, pairs, home)
            missing += abs(rule.distances - int(np.unique(pairs, axis=0).shape[0]))
        wrong = {"broken": broken, "untied": untied, "missing": missing} | ({"small": small} if small else {})
        reason = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
        holds = not reason
        achieved = {"judged": judged, "across": across, **wrong}
        return Finding(self.name, holds, dict.fromkeys(wrong, 0), achieved, reason=reason)


def broken_triples(before: IntArray, after: IntArray, triples: IntArray, placed: BoolArray) -> int:
    """Triples neither inside a partition nor across (not `placed`), or whose exhibit is not that of the original."""
    a, b, c = triples[:, :3].T
    old = abs(before[a] - before[b]) - abs(before[b] - before[c])
    new = abs(after[a] - after[b]) - abs(after[b] - after[c])
    between = (before[a] < before[b]) & (before[b] < before[c])
    kept = np.where(old > 0, new >= 0, new <= 0)
    return int((~(placed & between & kept)).sum())


def broken_pairs(before: IntArray, after: IntArray, pairs: IntArray, home: IntArray) -> int:
    """Two pairs of four values that are not of one partition, or whose distances are not ordered as in the original."""
    a, b, c, d = pairs.T
    four = np.sort(before[pairs], axis=1)
    placed = (home[pairs] == home[pairs[:, :1]]).all(axis=1) & (np.diff(four, axis=1) > 0).all(axis=1)
    was, is_ = (abs(values[b] - values[a]) <= abs(values[d] - values[c]) for values in (before, after))
    return int((~(placed & was & is_)).sum())


def spread(triples: IntArray, home: IntArray, *, loose: bool = False) -> tuple[BoolArray, BoolArray]:
    """Which triples lie in one partition, and which in three; `loose` takes two for enough."""
    a, b, c = home[triples[:, :3].T]
    inside = (a == b) & (b == c)
    return inside, ~inside if loose else (a != b) & (b != c) & (a != c)


def too_small(home: IntArray, fewest: int | None) -> int:
    """Partitions of fewer records than asked, when the table has as many."""
    counts = np.bincount(home)
    return int(((counts > 0) & (counts < min(fewest or 0, home.size))).sum())


def different(triples: IntArray) -> int:
    """How many triples there are, repetitions counted once."""
    return int(np.unique(triples[:, :3], axis=0).shape[0])


def untied_records(before: IntArray, after: IntArray, home: IntArray) -> int:
    """Records that shared a value with the one sorted before them in their partition and do not share it any more."""
    order = np.lexsort((before, home))
    tied = (np.diff(before[order]) == 0) & (np.diff(home[order]) == 0)
    return int((np.diff(after[order])[tied] != 0).sum())


def expected(values: IntArray, home: IntArray, share: Fraction) -> int:
    """How many localities the policy asks for: the rounded share of each partition's, or the unimplied ones when it wants all."""
    total = 0
    order = np.argsort(home, kind="stable")
    for own in np.split(values[order], np.flatnonzero(np.diff(home[order])) + 1):
        points = np.unique(own)
        total += _all_of(points) if share >= 1 else int(np.floor(float(share) * _per_pair(points) + 0.5))
    return total


def _mirrors(points: IntArray) -> Iterator[tuple[int, IntArray]]:
    """For every inner point b the first point above it that is at least as far as each point below, nearest first."""
    for b in range(1, points.size - 1):
        first = np.searchsorted(points, 2 * points[b] - points[:b][::-1], side="left")
        yield b, np.maximum(first, b + 1)


def _per_pair(points: IntArray) -> int:
    """The localities [multitype Algorithm 5] lists: one each side of the mirror image of every pair."""
    return sum(int((first < points.size).sum() + (first - 1 > b).sum()) for b, first in _mirrors(points))


def _all_of(points: IntArray) -> int:
    """Those that no other one implies: one per distinct neighbour of a mirror image."""
    return sum(np.unique(first[first < points.size]).size + np.unique(first[first - 1 > b]).size for b, first in _mirrors(points))
