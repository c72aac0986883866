"""What the release shows: the most frequent published values of every quasi-identifier."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import SOFT, bars
from sfumato.report.section import Section, paragraph

_MOST = 6


class PublishedValues(Section):
    """The published values of each quasi-identifier, straight from the published table."""

    name: ClassVar[str] = "published"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What the release shows"
    order: ClassVar[int] = 35
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return not exhibit.private and exhibit.data.records > 0

    def render(self, exhibit: Exhibit) -> Markup:
        parts = [paragraph("The most frequent published values of every quasi-identifier, as they stand in the table.")]
        for name in exhibit.policy.quasi_identifiers:
            heading = Markup("<h3>{} · {} different values</h3>").format(name, len(exhibit.data.text(name).labels))
            parts += [heading, bars(_rows(exhibit, name), title=name, fill=SOFT)]
        return Markup("").join(parts)


def _rows(exhibit: Exhibit, name: str) -> list[tuple[str, float, str]]:
    text = exhibit.data.text(name)
    counts = text.counts()
    order = np.argsort(-counts, kind="stable")[:_MOST]
    return [(text.labels[i] or "(missing)", float(counts[i]), f"{counts[i] / exhibit.data.records:.1%}") for i in order]
