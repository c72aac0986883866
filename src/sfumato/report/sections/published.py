"""What the release shows: the most frequent published values of every quasi-identifier."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.report.charts import SOFT, bars
from sfumato.report.section import Section, paragraph
from sfumato.report.view import View

_MOST = 6


class PublishedValues(Section):
    """The published values of each quasi-identifier, straight from the published table."""

    name: ClassVar[str] = "published"
    title: ClassVar[str] = "What the release shows"
    order: ClassVar[int] = 35

    def applies(self, view: View) -> bool:
        return view.form == "recoded table" and not view.private and view.data.rows > 0

    def render(self, view: View) -> Markup:
        parts = [paragraph("The most frequent published values of every quasi-identifier, as they stand in the table.")]
        for name in view.policy.quasi_identifiers:
            heading = Markup("<h3>{} · {} different values</h3>").format(name, len(view.data.text(name).labels))
            parts += [heading, bars(_rows(view, name), title=name, fill=SOFT)]
        return Markup("").join(parts)


def _rows(view: View, name: str) -> list[tuple[str, float, str]]:
    text = view.data.text(name)
    counts = text.counts()
    order = np.argsort(-counts, kind="stable")[:_MOST]
    return [(text.labels[i] or "(missing)", float(counts[i]), f"{counts[i] / view.data.rows:.1%}") for i in order]
