"""How many people look alike, and what that means for somebody who tries to find one.

Where a person may stand in several rows, the size of a class is no number of people, so nothing is said of the risk of being found:
a class of six may be one man. What holds for people then stands among the findings.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import TERRA, bars, columns
from sfumato.report.section import Section, paragraph

_BINS = 14
_ROWS = "These are rows: a person may stand in several of them. What is promised to people was counted for people, see above."


class ClassSizes(Section):
    """The distribution of class sizes and the prosecutor's risk."""

    name: ClassVar[str] = "classes"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "How many look alike"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.data.records > 0 and bool(exhibit.policy.quasi_identifiers)

    def render(self, exhibit: Exhibit) -> Markup:
        sizes = exhibit.classes.counts
        people = columns(_binned(sizes), title="Records by size of their class")
        words = (
            f"The {exhibit.data.records:,} published records form {len(sizes):,} classes of records that look alike. "
            f"The smallest has {int(sizes.min()):,}, half of all records are in classes of {_median(sizes):,} or more."
        )
        if exhibit.policy.person is not None:
            return paragraph(f"{words} {_ROWS}") + people
        risk = (
            f"Somebody who knows a person's quasi-identifiers and looks for the record is right with probability "
            f"{1 / int(sizes.min()):.1%} at worst and {len(sizes) / exhibit.data.records:.2%} on average."
        )
        heading = Markup("<h3>Risk of being found</h3>")
        return Markup("").join([paragraph(words), people, heading, paragraph(risk), _before(exhibit, sizes)])


def _before(exhibit: Exhibit, sizes: IntArray) -> Markup:
    """The risk in the original, for the data holder only."""
    if not exhibit.private:
        return Markup("")
    table = exhibit.original
    original = group(
        [table.text(name).codes for name in exhibit.policy.quasi_identifiers], rows=table.rows, weights=table.counts
    ).counts
    unique = int((original == 1).sum())
    rows = [
        ("highest, original", 1 / int(original.min()), f"{1 / int(original.min()):.1%}"),
        ("highest, release", 1 / int(sizes.min()), f"{1 / int(sizes.min()):.1%}"),
        ("average, original", len(original) / table.records, f"{len(original) / table.records:.1%}"),
        ("average, release", len(sizes) / exhibit.data.records, f"{len(sizes) / exhibit.data.records:.1%}"),
    ]
    words = f"In the original, {unique:,} of {table.records:,} people are unique in their quasi-identifiers."
    return paragraph(words) + bars(rows, title="Risk before and after", fill=TERRA)


def _binned(sizes: IntArray) -> list[tuple[str, float, str]]:
    """Records per size of class: every size by itself when they are few, else bins that grow by half."""
    low, high = int(sizes.min()), int(sizes.max())
    edges = [low]
    while edges[-1] <= high:
        edges.append(edges[-1] + (1 if high - low < _BINS else max(1, edges[-1] // 2)))
    rows = []
    for lo, hi in pairwise(edges):
        people = int(sizes[(sizes >= lo) & (sizes < hi)].sum())
        rows.append((str(lo) if hi == lo + 1 else f"{lo}–{hi - 1}", float(people), f"{people:,}"))
    return rows


def _median(sizes: IntArray) -> int:
    """The size such that half of all people are in classes at least that large."""
    order = np.sort(sizes)[::-1]
    return int(order[np.searchsorted(np.cumsum(order), order.sum() / 2)])
