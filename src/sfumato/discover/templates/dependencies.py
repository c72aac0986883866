"""Dependencies: records that agree in one column agree in another.

Notation
    chance  that every group of m equal left values carries m equal right values when these are dealt at random: ∏ Σ p(v)^m over the
            groups, p the frequencies of the right column

Departures
    Left sides that (almost) number the rows determine everything and are left out, as are constant right sides. What follows
    from other proposals is left out: of columns that determine each other one speaks for all.

Cost: pairs of columns; a pass over the sample for each and one over all rows for those that survive.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"zip": [f"z{i % 8}" for i in range(80)], "town": [f"t{i % 8 // 2}" for i in range(80)]}))
>>> [(each.rule, round(each.chance)) for each in DependencyTemplate().propose(DataView.of({None: table}))]
[('zip determines town', -43)]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import ClassVar

import numpy as np

from sfumato.discover.proposal import Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView, sampled

_KEY_SHARE = 0.5
_COMMON = 1_000


class DependencyTemplate(Template):
    """`a determines b`."""

    name: ClassVar[str] = "dependencies"
    order: ClassVar[int] = 50

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            varied = [column for column in columns if len(column.values) > 1]
            sample = sampled(columns[0].rows)
            found = {(a, b) for a, b in permutations(varied, 2) if _repeats(a) and _determines(a, b, sample) and _determines(a, b)}
            for left, right in _needed(found, varied):
                support = left.rows - len(left.text.labels)
                yield Proposal(f"{left} determines {right}", DependencyTemplate.name, support, _chance(left, right))


def _repeats(left: ColumnView) -> bool:
    return len(left.text.labels) <= _KEY_SHARE * left.rows


def _determines(left: ColumnView, right: ColumnView, rows: np.ndarray | slice = slice(None)) -> bool:
    if len(left.text.labels) < len(right.text.labels):
        return False
    given, told = left.text.codes[rows], right.text.codes[rows]
    answer = np.full(len(left.text.labels), -1, dtype=np.int32)
    answer[given] = told
    return bool((answer[given] == told).all())


def _needed(found: set[tuple[ColumnView, ColumnView]], columns: list[ColumnView]) -> Iterator[tuple[ColumnView, ColumnView]]:
    """Those that do not follow from others; of columns that determine each other the first one speaks."""
    speaks = {one: next(two for two in columns if two is one or {(one, two), (two, one)} <= found) for one in columns}
    speakers = [one for one in columns if speaks[one] is one]
    for left, right in ((a, b) for a in columns for b in columns if (a, b) in found):
        if speaks[left] is speaks[right]:
            needed = speaks[left] in (left, right)
        else:
            between = any((left, one) in found and (one, right) in found for one in speakers if one not in (left, right))
            needed = left in speakers and right in speakers and not between
        if needed:
            yield left, right


def _chance(left: ColumnView, right: ColumnView) -> float:
    sizes, groups = np.unique(left.counts[left.counts > 1], return_counts=True)
    common = np.sort(right.counts)[::-1][:_COMMON] / right.rows
    equal = [float(size) * np.log10(common[0]) + np.log10(((common / common[0]) ** float(size)).sum()) for size in sizes]
    return float((groups * np.array(equal)).sum()) if len(sizes) else 0.0
