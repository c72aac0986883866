"""Linked rows: whose published row is found by an outsider who knows everybody's original numbers.

The outsider knows the replaced columns of all people exactly, and whatever is published. For each person they take one row:

- `value`  the nearest in value, columns scaled to the same range;
- `rank`   the nearest in rank order: the same share of people below, in every column;
- `place`  the nearest in rank order among the rows of the person's own partition, where partitions are classes of a column.

A column that keeps its order gives people away by rank, however far its values moved: so the share that counts is that of the
best of the three. Where several rows look alike the guess is as good as their number. With `linked_at_most` the share is a limit
that a release must not exceed, for this outsider; without it, it is a figure.

Departures
    [multitype §5.6] measures guesses of sensitive values only (`neighbours`), and leaves the choice of an outsider to future work.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.checks.neighbours import mid_ranks, numeric_columns, same_range
from sfumato.audit.space import localities_of
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.forms.replaced import Replaced, WalkTrace
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_FAR = 16.0
"""How far partitions stand from each other, times the columns: farther than any two ranks, which lie between 0 and 1."""


class RowsFound(Check):
    """Whose row an outsider who knows everybody's original numbers finds; a limit when the policy sets one."""

    name: ClassVar[str] = "linked rows"
    steady: ClassVar[bool] = False
    asked: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        form = exhibit.of(Replaced)
        known = exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkTrace).range)
        return form.linked_at_most is not None or (form.walked and known and exhibit.data.rows > 0)

    def examine(self, exhibit: Exhibit) -> Finding:
        limit = exhibit.of(Replaced).linked_at_most
        required = {} if limit is None else {"beyond": 0}
        if not exhibit.private or exhibit.behind is None:
            return Finding(self.name, True, required, {}, grade=NOT_JUDGED, reason="needs the original and the private trace")
        found = shares(exhibit)
        share = max(found.values(), default=0.0)
        achieved: dict[str, float] = {"share": round(share, 4)} | {f"by_{name}": round(one, 4) for name, one in found.items()}
        grade = MEASURED if limit is None else "exact"
        holds = limit is None or share <= limit
        if limit is not None:
            achieved |= {"at_most": limit, "beyond": max(0, math.ceil((share - limit) * exhibit.data.rows - 1e-9))}
        reason = "of an outsider who knows everybody's original numbers" if holds else f"the outsider finds {share:.1%} of the rows"
        names = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
        return Finding(self.name, holds, required, achieved, names, (), grade=grade, reason=reason)


def shares(exhibit: Exhibit) -> dict[str, float]:
    """By way of looking, the share of people whose row is found."""
    names = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
    if not names or exhibit.behind is None:
        return {}
    behind = exhibit.behind["data"]
    before = np.column_stack([exhibit.original.numbers(name) for name in names])[behind]
    after = np.column_stack([exhibit.data.numbers(name) for name in names])
    ways = {"value": same_range(before, after), "rank": (mid_ranks(before, before), mid_ranks(after, after))}
    by = [column.name for rule, _ in localities_of(exhibit) for column in rule.by]
    if by:
        home = np.asarray(group([exhibit.data.text(name).codes for name in by], rows=exhibit.data.rows).of, dtype=np.int64)
        ways["place"] = (_placed(before, home), _placed(after, home))
    return {name: found_share(*both) for name, both in ways.items()}


def found_share(before: FloatArray, after: FloatArray) -> float:
    """The share of rows i for which row i of `after` is nearest to row i of `before`; rows that look alike share the guess."""
    from scipy.spatial import cKDTree

    points, of, counts = np.unique(after, axis=0, return_inverse=True, return_counts=True)
    nearest = np.asarray(cKDTree(points).query(before)[1], dtype=np.int64)
    return float(np.where(nearest == of.ravel(), 1.0 / counts[nearest], 0.0).mean())


def _placed(values: FloatArray, home: IntArray) -> FloatArray:
    """Mid-ranks inside every partition, and partitions far from each other."""
    ranks = np.empty_like(values)
    for own in range(int(home.max(initial=-1)) + 1):
        inside = home == own
        ranks[inside] = mid_ranks(values[inside], values[inside])
    return np.column_stack([ranks, home * _FAR * max(1, values.shape[1])])
