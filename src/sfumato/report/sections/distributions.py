"""Original against published distributions: for the data holder only."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.data.arrays import FloatArray
from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import paired_bars
from sfumato.report.section import Section, paragraph

_MOST = 12


class Distributions(Section):
    """Each quasi-identifier before and after, a generalized cell spread evenly over what it stands for."""

    name: ClassVar[str] = "distributions"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Original and release side by side"
    order: ClassVar[int] = 40
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def render(self, exhibit: Exhibit) -> Markup:
        parts = [paragraph("A generalized cell is spread evenly over the values it stands for, as an analyst would read it.")]
        for name in exhibit.policy.quasi_identifiers:
            rows = _rows(exhibit, name)
            parts += [Markup("<h3>{}</h3>").format(name), paired_bars(rows, title=name, names=("original", "release"))]
        return Markup("").join(parts)


def _rows(exhibit: Exhibit, name: str) -> list[tuple[str, float, float]]:
    domain = exhibit.generalization(name)
    assert domain is not None
    original = exhibit.original.text(name)
    before = np.zeros(domain.size)
    np.add.at(before, [domain.code_of[label] for label in original.labels], original.counts() / exhibit.original.records)
    after = _spread(exhibit, name)
    shown = np.argsort(-before, kind="stable")[:_MOST] if domain.size > _MOST else np.arange(domain.size)
    return [(domain.leaves[leaf] or "(missing)", float(before[leaf]), float(after[leaf])) for leaf in np.sort(shown)]


def _spread(exhibit: Exhibit, name: str) -> FloatArray:
    domain = exhibit.generalization(name)
    assert domain is not None
    text = exhibit.data.text(name)
    edges = np.zeros(domain.size + 1)
    for label, count in zip(text.labels, text.counts(), strict=True):
        lo, hi = domain.interval(label) or (0, domain.size)
        edges[lo] += count / (hi - lo)
        edges[hi] -= count / (hi - lo)
    shares: FloatArray = np.cumsum(edges)[:-1] / max(exhibit.data.records, 1)
    return shares
