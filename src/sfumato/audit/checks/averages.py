"""Averages: what a microaggregated table shows are the averages of the records behind its groups, and everything else is theirs.

With the private trace every group is averaged again. Without it, totals of averaged columns and the other columns as a whole are
compared with the original's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.generalization import MISSING
from sfumato.data.numbers import number
from sfumato.data.table import TextColumn
from sfumato.forms.microaggregated import Microaggregated
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Averages(Check):
    """Groups show the averages of their own records."""

    name: ClassVar[str] = "averages"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Microaggregated,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = [*_other_columns(exhibit)]
        wrong += _by_group(exhibit) if exhibit.behind is not None else _totals(exhibit)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _other_columns(exhibit: Exhibit) -> Iterator[str]:
    """Whatever is no quasi-identifier is published as it is, in rows as the original has them."""
    names = [name for name in exhibit.policy.published if name not in exhibit.policy.quasi_identifiers]
    if exhibit.data.rows != exhibit.original.rows:
        yield "there are not as many rows as records"
    elif names:
        both = [_side_by_side(exhibit.data.text(name), exhibit.original.text(name)) for name in names]
        classes, half = group(both), exhibit.data.rows
        if (np.bincount(classes.of[:half], minlength=len(classes)) * 2 != classes.counts).any():
            yield "columns that are published as they are differ from the original"


def _side_by_side(published: TextColumn, original: TextColumn) -> IntArray:
    """The codes of both columns, one below the other, in one numbering."""
    known = {label: code for code, label in enumerate(published.labels)}
    codes = np.array([known.setdefault(label, len(known)) for label in original.labels], dtype=np.int64)
    return np.concatenate([published.codes.astype(np.int64), codes[original.codes]])


def _by_group(exhibit: Exhibit) -> Iterator[str]:
    assert exhibit.behind is not None
    form, table, behind = exhibit.of(Microaggregated), exhibit.data, exhibit.behind["data"]
    alike = group([table.text(name).codes for name in exhibit.policy.quasi_identifiers], rows=table.rows)
    for name in exhibit.policy.quasi_identifiers:
        shown, own = table.text(name), exhibit.original.text(name)
        codes = own.codes[behind].astype(np.int64)
        if name in form.numbers and form.centre == "mean":
            off = _means_off(shown, own, codes, alike.of, alike.first)
        else:
            middle = form.centre if name in form.numbers else "mode"
            off = _values_off(shown, own, codes, alike.of, alike.first, middle)
        if off:
            yield f"{off} group(s) do not show the average of '{name}'"


def _means_off(shown: TextColumn, own: TextColumn, codes: IntArray, of: IntArray, first: IntArray) -> int:
    values = _numbers(own.labels)[codes]
    known = np.flatnonzero(~np.isnan(values))
    many = np.bincount(of[known], minlength=len(first))
    mean = np.bincount(of[known], weights=values[known], minlength=len(first)) / np.maximum(many, 1)
    written = _numbers(shown.labels)[shown.codes[first]]
    unit = 10.0 ** -min(len(label.partition(".")[2]) for label in shown.labels if label != MISSING) if (many > 0).any() else 1.0
    near = np.abs(written - mean) <= unit / 2 + 1e-9 * np.maximum(np.abs(mean), 1.0)
    return int((np.where(many > 0, ~near, ~np.isnan(written))).sum())


def _values_off(shown: TextColumn, own: TextColumn, codes: IntArray, of: IntArray, first: IntArray, middle: str) -> int:
    """Groups whose written value is no median, or not the most frequent one, of their records."""
    off = 0
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=len(first)))
    values = _numbers(own.labels) if middle == "median" else None
    for place, (begin, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]).tolist(), ends.tolist(), strict=True)):
        mine = codes[order[begin:end]]
        written = shown.labels[shown.codes[first[place]]]
        off += not (_is_median(values, mine, written) if values is not None else _is_mode(own, mine, written))
    return off


def _is_mode(own: TextColumn, mine: IntArray, written: str) -> bool:
    found, counts = np.unique(mine, return_counts=True)
    return written in {own.labels[code] for code in found[counts == counts.max()]}


def _is_median(values: FloatArray, mine: IntArray, written: str) -> bool:
    known = np.sort(values[mine][~np.isnan(values[mine])])
    if not len(known):
        return written == MISSING
    value = number(written)
    return value is not None and float(value) == float(known[(len(known) - 1) // 2])


def _totals(exhibit: Exhibit) -> Iterator[str]:
    form = exhibit.of(Microaggregated)
    for name in form.numbers if form.centre == "mean" and exhibit.data.rows == exhibit.original.rows else ():
        shown, own = exhibit.data.text(name), exhibit.original.text(name)
        if MISSING in own.labels:
            continue
        unit = 10.0 ** -min(len(label.partition(".")[2]) for label in shown.labels)
        total, stated = _numbers(own.labels) @ own.counts(), _numbers(shown.labels) @ shown.counts()
        if not abs(total - stated) <= exhibit.data.rows * unit / 2 + 1e-9 * max(abs(total), 1.0):
            yield f"the total of '{name}' is not the original's"


def _numbers(labels: tuple[str, ...]) -> FloatArray:
    read = [number(label) for label in labels]
    return np.array([np.nan if value is None else float(value) for value in read], dtype=np.float64)
