"""Original against published distributions: for the data holder only."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.data.arrays import FloatArray
from sfumato.report.charts import paired_bars
from sfumato.report.section import Section, paragraph
from sfumato.report.view import View

_MOST = 12


class Distributions(Section):
    """Each quasi-identifier before and after, a generalized cell spread evenly over what it stands for."""

    name: ClassVar[str] = "distributions"
    title: ClassVar[str] = "Original and release side by side"
    order: ClassVar[int] = 40

    def applies(self, view: View) -> bool:
        return view.private and view.form == "recoded table"

    def render(self, view: View) -> Markup:
        parts = [paragraph("A generalized cell is spread evenly over the values it stands for, as an analyst would read it.")]
        for name in view.policy.quasi_identifiers:
            rows = _rows(view, name)
            parts += [Markup("<h3>{}</h3>").format(name), paired_bars(rows, title=name, names=("original", "release"))]
        return Markup("").join(parts)


def _rows(view: View, name: str) -> list[tuple[str, float, float]]:
    domain = view.domain(name)
    assert domain is not None
    original = view.original.text(name)
    before = np.zeros(domain.size)
    before[[domain.code_of[label] for label in original.labels]] = original.counts() / view.original.rows
    after = _spread(view, name)
    shown = np.argsort(-before, kind="stable")[:_MOST] if domain.size > _MOST else np.arange(domain.size)
    return [(domain.leaves[leaf] or "(missing)", float(before[leaf]), float(after[leaf])) for leaf in np.sort(shown)]


def _spread(view: View, name: str) -> FloatArray:
    domain = view.domain(name)
    assert domain is not None
    text = view.data.text(name)
    edges = np.zeros(domain.size + 1)
    for label, count in zip(text.labels, text.counts(), strict=True):
        lo, hi = domain.interval(label) or (0, domain.size)
        edges[lo] += count / (hi - lo)
        edges[hi] -= count / (hi - lo)
    shares: FloatArray = np.cumsum(edges)[:-1] / max(view.data.rows, 1)
    return shares
