"""Unchanged: what a perturbed table does not say it changed is as it was, and columns that only changed places kept their values.

With the private trace row by row; without it the columns are compared as a whole.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.table import TextColumn
from sfumato.forms.perturbed import PerturbedTable
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class ColumnsAsTheyWere(Check):
    """Columns that are not said to have changed have not."""

    name: ClassVar[str] = "unchanged"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (PerturbedTable,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        form, table, original = exhibit.of(PerturbedTable), exhibit.data, exhibit.original
        wrong = []
        if table.rows != original.rows:
            wrong.append("there are not as many rows as records")
        else:
            same = [name for name in exhibit.policy.published if name not in form.columns]
            if same and not _as_they_were(exhibit, same):
                wrong.append("columns that are said to be as they were differ from the original")
            moved = form.columns if form.keeps_values else ()
            lost = [name for name in moved if _tally(table.text(name)) != _tally(original.text(name))]
            wrong += [f"{len(lost)} column(s) do not have the values of the original"] if lost else []
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _tally(text: TextColumn) -> Counter[str]:
    return Counter(dict(zip(text.labels, text.counts().tolist(), strict=True)))


def _as_they_were(exhibit: Exhibit, names: list[str]) -> bool:
    table, original, half = exhibit.data, exhibit.original, exhibit.data.rows
    both = [_one_numbering(table.text(name), original.text(name)) for name in names]
    if exhibit.behind is not None:
        behind = exhibit.behind["data"]
        return all(bool((codes[:half] == codes[half:][behind]).all()) for codes in both)
    classes = group(both)
    return bool((np.bincount(classes.of[:half], minlength=len(classes)) * 2 == classes.counts).all())


def _one_numbering(shown: TextColumn, own: TextColumn) -> IntArray:
    known = {label: code for code, label in enumerate(shown.labels)}
    codes = np.array([known.setdefault(label, len(known)) for label in own.labels], dtype=np.int64)
    return np.concatenate([shown.codes.astype(np.int64), codes[own.codes]])
