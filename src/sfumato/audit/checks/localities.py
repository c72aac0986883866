"""Localities: every sampled exhibit of two distances comes out in the release as it does in the original.

For every sampled triple of records (a, b, c) the audit compares |a − b| with |b − c| in both tables, with absolute values and
exactly (tolerance 0). It also asks that the triples lie inside one partition or (`across`) in three, that as many different ones
of each kind were sampled as the policy says, and that records of a partition that shared a value share one still.

Paper
    [multitype Def. 5, §5.5]
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.space import levels, localities_of
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
        judged, across, broken, untied, missing = 0, 0, 0, 0, 0
        domains = replacements_of(exhibit.policy)
        for rule, name in localities_of(exhibit):
            domain = domains[name]
            assert isinstance(domain, Ordered)
            before, after = levels(exhibit, name, domain)
            triples = exhibit.traced(WalkTrace).localities.get(name, np.empty((0, 4), np.int64))
            size = rule.partition or max(1, before.size)
            inside, apart = spread(triples, size)
            judged += len(triples)
            across += int(apart.sum())
            broken += broken_triples(before, after, triples, size)
            untied += untied_records(before, after, size)
            missing += abs(expected(before, size, rule.sample) - different(triples[inside]))
            missing += abs(rule.across - different(triples[apart]))
        wrong = {"broken": broken, "untied": untied, "missing": missing}
        reason = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
        holds = not reason
        achieved = {"judged": judged, "across": across, **wrong}
        return Finding(self.name, holds, dict.fromkeys(wrong, 0), achieved, reason=reason)


def broken_triples(before: IntArray, after: IntArray, triples: IntArray, size: int) -> int:
    """Triples neither inside a partition nor in three, or whose exhibit is not that of the original."""
    a, b, c = triples[:, :3].T
    inside, apart = spread(triples, size)
    old = abs(before[a] - before[b]) - abs(before[b] - before[c])
    new = abs(after[a] - after[b]) - abs(after[b] - after[c])
    between = (before[a] < before[b]) & (before[b] < before[c])
    kept = np.where(old > 0, new >= 0, new <= 0)
    return int((~((inside | apart) & between & kept)).sum())


def spread(triples: IntArray, size: int) -> tuple[BoolArray, BoolArray]:
    """Which triples lie in one partition, and which in three."""
    a, b, c = triples[:, :3].T // size
    return (a == b) & (b == c), (a != b) & (b != c) & (a != c)


def different(triples: IntArray) -> int:
    """How many triples there are, repetitions counted once."""
    return int(np.unique(triples[:, :3], axis=0).shape[0])


def untied_records(before: IntArray, after: IntArray, size: int) -> int:
    """Records that shared a value with the one sorted before them in their partition and do not share it any more."""
    partition = np.arange(before.size) // size
    order = np.lexsort((before, partition))
    tied = (np.diff(before[order]) == 0) & (np.diff(partition[order]) == 0)
    return int((np.diff(after[order])[tied] != 0).sum())


def expected(values: IntArray, size: int, share: Fraction) -> int:
    """How many localities the policy asks for: the rounded share of each partition's, or the unimplied ones when it wants all."""
    total = 0
    for start in range(0, values.size, size):
        points = np.unique(values[start : start + size])
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
